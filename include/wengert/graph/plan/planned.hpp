// What a plan consists of: tasks, the homes of values, the memory that values share.
#pragma once

#include "arena.hpp"
#include "../tile/fused.hpp"
#include "../threads/waves.hpp"

namespace wengert::tiling {

/// A group in its place among the steps.
struct Task {
    Group group;
    std::shared_ptr<const FusedKernel> kernel;  ///< null: one operation by itself
    bool throws = false;   ///< it may fail: nothing of the caller's has been written before it
    bool guarded = false;  ///< a guard looks at what it makes
    ValueList over;        ///< for each result the value whose memory it takes over, or no_value

    bool is_risk() const noexcept { return throws || guarded; }
};

/// Whose memory a value has.
enum class Home : std::uint8_t { nowhere, input, constant, arena, output };

/// What is planned for a value that is no view.
struct Placed {
    Home home = Home::nowhere;
    std::uint32_t first = 0, last = 0;  ///< times of its making and of its last reading
    std::uint32_t reads = 0;
    std::uint32_t store = 0;  ///< values that lie in one another's place share a store
};

/// The memory of a chain of values, each of which is written over the one before.
struct Store {
    std::size_t bytes = 0;
    std::uint32_t first = 0, last = 0;
    std::uint32_t values = 0;
    ValueId begin = no_value;    ///< the first value in it
    std::uint32_t output = ~0U;  ///< the output that it becomes
    bool landed = false;         ///< that output is copied out of the arena at the end
    std::size_t offset = 0;      ///< in the arena
};

/// What is found out about a graph. Time 0 is before the first task, task t runs at time t + 1, and outputs live until the end.
struct Planned {
    const Graph& graph;
    Layouts layouts;
    std::vector<Task> tasks;
    std::vector<Wave> waves;     ///< tasks that run at once
    std::vector<Placed> values;  ///< by root
    std::vector<Store> stores;
    std::vector<ValueId> donors;        ///< for each output the input whose memory it may take
    std::vector<std::uint32_t> staged;  ///< inputs that are copied into the arena first
    ArenaSize arena;
    ValueId last_risk = no_value;  ///< the last task that may fail or whose result is guarded

    explicit Planned(const Graph& g)
        : graph(g), layouts(layouts_of(g)), values(g.size()), donors(g.outputs().size(), no_value)
    {}
    ValueId root(ValueId v) const { return layouts[v].root; }
    std::size_t bytes_of(ValueId v) const;
    /// The same elements as its root's, in the same order.
    bool whole(ValueId v) const;
    /// Puts task order[k] in place k.
    void reorder(const std::vector<std::uint32_t>& order);
    std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(tasks.size()) + 1; }
};

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/planned.ipp"
#endif

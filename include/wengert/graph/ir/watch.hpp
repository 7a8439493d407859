// PlanWatch: what a backend tells about its plan, and about a run, to those who ask for it (PlanOptions::watch). The pictures
// of graph/look/ are made of it.
#pragma once

#include "graph.hpp"

namespace wengert {

struct PlanWatch {
    /// Where a value is kept while the graph runs. `inside`: by the kernel that makes it, or it is not made at all.
    enum class Home : std::uint8_t { inside, input, constant, arena, output, view };

    /// Kernels are numbered as they run; their number stands for what comes behind the last one.
    struct Value {
        Home home = Home::inside;
        std::uint32_t number = 0;           ///< of the buffer, the output, or the value that a view shows
        std::uint32_t first = 0, last = 0;  ///< the kernels that make it and that read it last
    };
    /// A piece of the arena.
    struct Buffer {
        std::vector<ValueId> values;  ///< each is written over the one before
        std::size_t offset = 0, bytes = 0;
        std::uint32_t first = 0, last = 0;
    };

    std::vector<std::vector<ValueId>> kernels;  ///< the operations that each carries out
    /// Kernels that run at once: strand k is kernels waves[w][k] to waves[w][k + 1], one after the other.
    std::vector<std::vector<std::uint32_t>> waves;
    std::vector<Value> values;           ///< by id
    std::vector<std::string> transfers;  ///< by id, or none: between which devices a value is moved
    std::vector<Buffer> buffers;
    std::size_t arena_bytes = 0, lower_bound = 0;
    bool timed = false;               ///< each run is to fill in `ticks`; the watch must outlive it
    std::vector<std::int64_t> ticks;  ///< nanoseconds: beginning and end of each kernel
};

}  // namespace wengert

// Plan: in which order the groups of a graph run, and in whose memory each value lies.
#pragma once

#include "../ir/executable.hpp"
#include "../fuse/fusion.hpp"
#include "kernel_uses.hpp"
#include "library_rules.hpp"
#include "risks.hpp"
#include "strand_places.hpp"

namespace wengert::tiling {

/// A graph that is one step of a loop. Its first `states` outputs are the next values of its first inputs. Other outputs that show
/// one of these are read before the step. Inputs from number `fixed` on are the same in all steps.
struct Rotation {
    static constexpr std::size_t never = ~std::size_t{0};

    std::size_t states = 0, fixed = 0;
    /// States of so many bytes or more trade places with their next values by the caller, and are not copied.
    std::size_t swaps_from = never;
};

/// A result that is made where it lies in another value, so many bytes from its begin.
struct Inside {
    ValueId part = no_value, whole = no_value;
    std::int64_t offset = 0;
};

class Plan : public Planned {
public:
    Plan(const Graph& g, const PlanOptions& options);
    /// The same for a step of a loop, whose states keep their places from step to step.
    Plan(const Graph& g, const Rotation& rotation);
    /// The same for groups that somebody else has made and runs, in an order in which they can run. `elsewhere`: on a device, where
    /// no value is in line and operations by themselves make their results where nothing else lies. `inside`: parts of joins, which nobody
    /// else reads; the graph updates no input.
    Plan(const Graph& g, std::vector<Group> groups, std::optional<Rotation> rotation = {},
         bool elsewhere = false, const std::vector<Inside>& inside = {});

    bool is_state(ValueId v) const;
    /// Of a step: is output k read before it?
    bool read_before(std::size_t k) const;
    /// Of a step: has the next value of state i come about in its place?
    bool in_place(std::size_t i) const;
    /// Of a step whose caller changes the places of states: is the next value of state i made in a place of its own, the state's
    /// in the next step?
    bool swaps(std::size_t i) const;
    /// Is that the memory of state i, or of its next value? The state, or no_value.
    ValueId swapped(std::uint32_t store, bool& next) const;

private:
    void find_swaps();
    void work_out(std::size_t team, double wake);

    Task& add_task(Group group);
    /// As one pass over elements, where that cannot be its operations one by one.
    void add_pass(Group group);

    void find_lifetimes();

    /// Small inputs that are read more than once: to copy them is cheaper than to write their address everywhere.
    bool is_staged(ValueId v) const;
    std::uint32_t new_store(ValueId v);
    void make_stores();
    void make_stores(Task& task, std::uint32_t time);
    /// An output that may take over an input's memory does not take that of an intermediate value.
    bool is_update(ValueId v) const;
    bool is_next(ValueId v) const;
    /// The state of which the result is the next value, where nobody needs it when that is written.
    ValueId state_before(const Task& task, std::size_t r, std::uint32_t time) const;
    /// An operand that ends with this task and in whose memory the result may lie.
    ValueId successor_of(const Task& task, std::size_t r, std::uint32_t time,
                         const std::vector<ValueId>& taken) const;
    /// May result r lie where operand k does?
    bool fits(const Task& task, std::size_t r, std::size_t k) const;
    /// The loop reads o's memory only where it writes v's.
    bool overwrites_fused(const Task& task, ValueId v, ValueId o) const;

    void claim_outputs();

    void find_donors();
    bool handed_out(ValueId in) const;
    /// The input is not read after the store is first written, and nothing fails after that.
    bool survives(ValueId in, const Store& s) const;

    /// Finds what runs at once, and puts tasks and times in that order.
    void spread(std::size_t team, double wake);

    void place();

    std::optional<Rotation> rotation_;
    std::vector<std::size_t> swapped_;  ///< states that are
    bool elsewhere_ = false;
};

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/plan.ipp"
#endif

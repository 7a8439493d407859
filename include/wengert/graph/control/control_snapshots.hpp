// scan with memory for few states, eager: sections that run again, by the schedule of checkpoint_loop.
#pragma once

#include "../../transforms/loop_sections.hpp"
#include "control_eager.hpp"

namespace wengert {

struct GraphNode;

/// How a scan is swept back.
struct ScanOptions {
    std::uint64_t snapshots = 0;  ///< states kept in memory, the initial one included; 0: all
    /// Filled in while the scan runs and is swept. Inside of freeze only the plan is; loop_report() tells of a node.
    LoopReport* report = nullptr;
};

/// What the last run of a scan with snapshots, or of its derivative, has done; zeros for other nodes. The derivative's
/// `forward` counts the steps of the pass forward that made the states it began with: together they are `planned`. The last
/// step of that pass, which makes the result, is not in the plan.
LoopReport loop_report(const GraphNode& n);

namespace detail {

/// What the steps of a scan need for as long as they may be made again.
template <class Y, class Call, class State, class Xs> struct KeptScan {
    KeptScan(Call c, const State& s, const Xs& slices, const Site& line)
        : call(std::move(c)), form(s), xs(slices), at(line)
    {}
    KeptScan(const KeptScan&) = delete;
    KeptScan& operator=(const KeptScan&) = delete;
    AnyTensors operator()(std::uint64_t i, const AnyTensors& now)
    {
        auto next =
            step.on_leaves(nullptr, form, numbers, now, slice_of(xs, static_cast<std::int64_t>(i), at));
        if (!next)
            fail<TapeError>("scan",
                            "with snapshots the plain numbers of a state cannot change from step to step, "
                            "since they are not kept: make them tensors",
                            at);
        return *std::move(next);
    }

    const Call call;
    const State form;
    const Xs xs;
    const Site at;
    const Words numbers = read_tree(nullptr, form).plain.signature;
    ScanStep<Y, Call> step{call, at};
};

/// The same values and derivatives as scan_eagerly.
template <class Y, class Call, class State, class Xs>
std::pair<State, Y> scan_with_snapshots(Call call, const State& state, const Xs& xs, std::int64_t steps,
                                        const ScanOptions& options, const Site& at)
{
    auto kept = std::make_shared<KeptScan<Y, Call, State, Xs>>(std::move(call), state, xs, at);
    AnyTensors first = read_tree(nullptr, state).leaves;
    auto loop = std::make_shared<LoopSteps>();
    loop->step = [kept](std::uint64_t i, const AnyTensors& now) { return (*kept)(i, now); };
    loop->state_size = first.size();
    loop->active = Tape::current().active;
    loop->report = options.report;
    loop->at = at;
    const AnyTensors all =
        extend_loop(loop, std::move(first), 0, static_cast<std::uint64_t>(steps), options.snapshots);
    std::pair<State, Y> results(state, stacked(*kept->step.like, all, loop->state_size, at));
    write_tree(nullptr, results.first, all);
    return results;
}

inline LoopReport plan_of(std::int64_t steps, const ScanOptions& options)
{
    LoopReport report;
    report.steps = static_cast<std::uint64_t>(steps);
    if (options.snapshots) report.planned = revolve::forward_steps(report.steps, options.snapshots);
    return report;
}

/// Are states kept for a sweep? Not where nothing is recorded, in forward mode, nor where a trace has to see every step.
inline bool keeps_snapshots(std::int64_t steps, const ScanOptions& options)
{
    const Tape& tape = Tape::current();
    return steps > 0 && options.snapshots > 0 && tape.active && !(tape.active & tape.forward_levels) &&
           !(recorder() && recorder()->trace_of_loops());
}

}  // namespace detail
}  // namespace wengert

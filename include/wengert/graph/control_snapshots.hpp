// scan with memory for few states, eager: sections that run again, by the schedule of checkpoint_loop.
#pragma once

#include "../transforms/loop_sections.hpp"
#include "control_eager.hpp"

namespace wengert {

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

/// One step from a state's leaves to those of the next one, followed by the tensors of the step's results.
template <class Y, class Call, class State, class Xs> class SnapshotStep {
public:
    SnapshotStep(Call call, State state, Xs xs, const Site& at)
        : call_(std::move(call)), state_(std::move(state)), xs_(std::move(xs)), at_(at),
          plain_(read_tree(nullptr, state_).plain.signature)
    {}
    SnapshotStep(const SnapshotStep&) = delete;
    SnapshotStep& operator=(const SnapshotStep&) = delete;
    AnyTensors operator()(std::uint64_t i, const AnyTensors& now)
    {
        State state = tree::detail::copied(state_);
        write_tree(nullptr, state, now);
        const AnyTensors y = step_(state, slice_of(xs_, static_cast<std::int64_t>(i), at_));
        TreeReader next = read_tree(nullptr, state);
        if (next.plain.signature != plain_)
            fail<TapeError>("scan",
                            "with snapshots the plain numbers of a state cannot change from step to step, "
                            "since they are not kept: make them tensors",
                            at_);
        next.leaves.insert(next.leaves.end(), y.begin(), y.end());
        return std::move(next.leaves);
    }
    const Y& like() const { return *step_.like; }

private:
    Call call_;
    State state_;
    Xs xs_;
    Site at_;
    Words plain_;
    ScanStep<Y, Call> step_{call_, at_};
};

/// The same values and derivatives as scan_eagerly.
template <class Y, class Call, class State, class Xs>
std::pair<State, Y> scan_with_snapshots(Call call, const State& state, const Xs& xs, std::int64_t steps,
                                        const ScanOptions& options, const Site& at)
{
    auto step = std::make_shared<SnapshotStep<Y, Call, State, Xs>>(std::move(call), state, xs, at);
    AnyTensors first = read_tree(nullptr, state).leaves;
    auto loop = std::make_shared<LoopSteps>();
    loop->step = [step](std::uint64_t i, const AnyTensors& now) { return (*step)(i, now); };
    loop->state_size = first.size();
    loop->active = Tape::current().active;
    loop->report = options.report;
    loop->at = at;
    const AnyTensors all =
        extend_loop(loop, std::move(first), 0, static_cast<std::uint64_t>(steps), options.snapshots);
    std::pair<State, Y> results(state, step->like());
    write_tree(nullptr, results.first, part_of(all, 0, loop->state_size));
    const std::size_t width = (all.size() - loop->state_size) / static_cast<std::size_t>(steps);
    std::vector<AnyTensors> ys;
    for (std::size_t i = loop->state_size; ys.size() < static_cast<std::size_t>(steps); i += width)
        ys.push_back(part_of(all, i, i + width));
    results.second = stacked(step->like(), ys, at);
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
           !(recorder() && recorder()->trace());
}

}  // namespace detail
}  // namespace wengert

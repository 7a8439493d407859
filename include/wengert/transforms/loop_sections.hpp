// A loop of many steps on the tape: sections that are cut in two when the sweep comes to them, so that few states are alive
// at a time (Griewank & Walther 2000).
//
// A section [a, b) keeps the state before step a. To sweep it, states are computed up to the middle m without a recording,
// [a, m) becomes a section of its own, [m, b) is cut further until one step is left, and that one is recorded. The sweep
// goes on from there and comes to the sections from the last to the first.
#pragma once

#include <functional>

#include "../tape/run_log.hpp"
#include "revolve.hpp"
#include "section.hpp"
#include "snapshot_file.hpp"

namespace wengert {

/// What a loop with checkpoints has done; filled in while it runs and while it is swept.
struct LoopReport {
    std::uint64_t steps = 0;
    std::uint64_t planned = 0;   ///< forward steps that the schedule needs in all, recorded ones not counted
    std::uint64_t forward = 0;   ///< forward steps made so far
    std::uint64_t recorded = 0;  ///< steps recorded so far
};

namespace detail {

using AnyTensors = std::vector<AnyTensor>;

/// The tensors of a state, or of a state and of outputs, and what else the state holds: numbers, keys, text.
struct LoopState : AnyTensors {
    LoopState() = default;
    LoopState(AnyTensors t, std::shared_ptr<const void> other = {})
        : AnyTensors(std::move(t)), plain(std::move(other))
    {}
    std::shared_ptr<const void> plain;
};

/// A loop's step on type-erased state: (number, state) -> state, outputs.
struct LoopSteps {
    std::function<LoopState(std::uint64_t, const LoopState&)> step;
    std::size_t state_size = 0;
    std::uint64_t active = 0;           ///< levels that record while the loop is made
    Captured captured;                  ///< what steps depend on beside their state
    mutable bool communicates = false;  ///< a step has, so far
    std::uint64_t looked = 0;           ///< `captured` is known of the steps before this one
    std::vector<const void*> frozen;    ///< graphs of frozen functions that have been looked into
    LoopReport* report = nullptr;
    std::shared_ptr<SnapshotStore> disk;
    Site at;

    LoopState make(std::uint64_t i, const LoopState& state, std::uint64_t LoopReport::*count) const;
    /// A step made for the first time tells what it depends on: each may capture something else.
    LoopState look(std::uint64_t i, const LoopState& state);
};

class LoopSection : public SectionRule {
public:
    LoopSection(std::shared_ptr<LoopSteps> loop, std::uint64_t a, std::uint64_t b, std::uint64_t snapshots,
                std::shared_ptr<const void> plain);
    void keep_on_disk(std::shared_ptr<Snapshot> file) { file_ = std::move(file); }
    void expect(FirstResults results) { results_ = std::move(results); }

private:
    static AnyTensors rerun_loop(const SectionRule& rule, const AnyTensors& inputs, const Site&);

    std::shared_ptr<LoopSteps> loop_;
    std::uint64_t a_, b_, snapshots_;
    std::shared_ptr<const void> plain_;  ///< of the state before step a
    std::shared_ptr<Snapshot> file_;
    FirstResults results_;
};

/// State and outputs of the steps [a, b), nothing recorded.
LoopState advance_loop(LoopSteps& loop, LoopState state, std::uint64_t a, std::uint64_t b);

/// Cuts `section` off the front of a loop: state becomes what it leaves, outputs are appended.
void cut_loop(const std::shared_ptr<LoopSteps>& loop, LoopState& state, AnyTensors& outputs, std::uint64_t a,
              std::uint64_t m, std::uint64_t snapshots, LoopState values, bool on_disk = false);

/// The last state of the steps [a, b) and all their outputs, depending on `state`; at most `snapshots` states are kept, that
/// one included.
LoopState extend_loop(const std::shared_ptr<LoopSteps>& loop, LoopState state, std::uint64_t a,
                      std::uint64_t b, std::uint64_t snapshots);

/// The same with the states at every `chunk` steps on disk.
LoopState extend_on_disk(const std::shared_ptr<LoopSteps>& loop, LoopState state, std::uint64_t steps,
                         std::uint64_t chunk, std::uint64_t snapshots);

/// A loop of unknown length: states are kept at every k-th step, k doubled whenever there are too many of them, so that one
/// pass leaves between snapshots/2 and snapshots states at equal distances (after Stumm & Walther 2010).
template <class Condition>
LoopState extend_while(const std::shared_ptr<LoopSteps>& loop, LoopState state, const Condition& more,
                       std::uint64_t snapshots, std::uint64_t most, std::uint64_t& steps)
{
    struct Kept {
        std::uint64_t at;
        LoopState state;
        AnyTensors outputs;  ///< of the steps from here on to the next one kept
    };
    std::vector<Kept> kept;
    std::uint64_t distance = 1, i = 0;
    LoopState now = state;
    const auto tail = [&](AnyTensors& t) {
        AnyTensors rest(t.begin() + static_cast<std::ptrdiff_t>(loop->state_size), t.end());
        t.resize(loop->state_size);
        return rest;
    };
    for (; i < most && more(now); ++i) {
        if (i % distance == 0) {
            if (kept.size() == std::max<std::uint64_t>(snapshots, 1)) {
                std::size_t to = 0;
                distance *= 2;
                for (std::size_t k = 0; k < kept.size(); ++k)
                    if (kept[k].at % distance == 0) {
                        if (to != k) kept[to] = std::move(kept[k]);
                        ++to;
                    } else {
                        kept[to - 1].outputs.insert(kept[to - 1].outputs.end(), kept[k].outputs.begin(),
                                                    kept[k].outputs.end());
                    }
                kept.resize(to);
            }
            if (i % distance == 0) kept.push_back({i, now, {}});
        }
        LoopState next = advance_loop(*loop, now, i, i + 1);
        const AnyTensors y = tail(next);
        kept.back().outputs.insert(kept.back().outputs.end(), y.begin(), y.end());
        now = std::move(next);
    }
    steps = i;
    AnyTensors outputs;
    for (std::size_t k = 0; k < kept.size(); ++k) {
        const bool last = k + 1 == kept.size();
        LoopState values = last ? now : kept[k + 1].state;
        for (AnyTensor& t : values) t.node = {};
        values.insert(values.end(), kept[k].outputs.begin(), kept[k].outputs.end());
        cut_loop(loop, state, outputs, kept[k].at, last ? i : kept[k + 1].at,
                 snapshots - std::min<std::uint64_t>(k, snapshots - 1), std::move(values));
    }
    state.insert(state.end(), outputs.begin(), outputs.end());
    return state;
}

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/loop_sections.ipp"
#endif

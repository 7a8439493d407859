// The bodies of loop_sections.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../loop_sections.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE LoopState LoopSteps::make(std::uint64_t i, const LoopState& state,
                                         std::uint64_t LoopReport::*count) const
{
    if (report) ++(report->*count);
    const Tape& tape = Tape::current();
    const std::uint64_t communications = tape.communications;
    LoopState next = step(i, state);
    communicates = communicates || tape.communications != communications;
    return next;
}

WENGERT_INLINE LoopState LoopSteps::look(std::uint64_t i, const LoopState& state)
{
    const MaskRecorder run("checkpoint_loop", &frozen, active);
    LoopState next = make(i, state, &LoopReport::forward);
    captured.add(run.captured());
    for (const AnyTensor& t : next)
        if (t.node) captured.add(*t.node);  // captured, and returned untouched
    captured.levels &= active;
    looked = i + 1;
    return next;
}

WENGERT_INLINE LoopSection::LoopSection(std::shared_ptr<LoopSteps> loop, std::uint64_t a, std::uint64_t b,
                                        std::uint64_t snapshots, std::shared_ptr<const void> plain)
    : SectionRule("checkpoint_loop", rerun_loop, loop->captured), loop_(std::move(loop)), a_(a), b_(b),
      snapshots_(snapshots), plain_(std::move(plain))
{}

WENGERT_INLINE AnyTensors LoopSection::rerun_loop(const SectionRule& rule, const AnyTensors& inputs,
                                                  const Site&)
{
    const auto& r = static_cast<const LoopSection&>(rule);
    LoopState state(inputs, r.plain_);
    for (std::size_t i = 0; r.file_ && i < state.size(); ++i) state[i].value = r.file_->read(i);
    LoopState again = extend_loop(r.loop_, std::move(state), r.a_, r.b_, r.snapshots_);
    // on disk the elements of the inputs are not here
    r.results_.demand_same(again, r.file_ ? AnyTensors() : inputs, rule.name, r.loop_->at);
    return again;
}

/// What stands for a tensor in a run that is not recorded, under a header of its own that says whether it is a variable. A trace
/// knows it by its header.
inline Ref<Block> unrecorded_value(const AnyTensor& t, std::uint64_t recorded)
{
    Ref<Block> b(seen_as(Tape::current(), t));
    if (recorder() || !Tape::current().depends(*t.node, recorded)) return b;
    b = another_header(b);
    b->access.unrecorded = true;
    return b;
}

WENGERT_INLINE LoopState advance_loop(LoopSteps& loop, LoopState state, std::uint64_t a, std::uint64_t b)
{
    const std::uint64_t recorded = Tape::current().active;
    const detail::Unrecorded nothing_recorded;
    const auto without_nodes = [&](LoopState& values) {
        for (AnyTensor& t : values)
            if (t.node) t = {unrecorded_value(t, recorded), {}};
    };
    without_nodes(state);
    AnyTensors outputs;
    for (std::uint64_t i = a; i < b; ++i) {
        LoopState next = i < loop.looked ? loop.make(i, state, &LoopReport::forward) : loop.look(i, state);
        without_nodes(next);
        outputs.insert(outputs.end(), next.begin() + static_cast<std::ptrdiff_t>(loop.state_size),
                       next.end());
        next.resize(loop.state_size);
        state = std::move(next);
    }
    state.insert(state.end(), outputs.begin(), outputs.end());
    return state;
}

WENGERT_INLINE void cut_loop(const std::shared_ptr<LoopSteps>& loop, LoopState& state, AnyTensors& outputs,
                             std::uint64_t a, std::uint64_t m, std::uint64_t snapshots, LoopState values,
                             bool on_disk)
{
    std::vector<Ref<Block>> blocks;
    for (AnyTensor& t : values) blocks.push_back(as_result(std::move(t.value)));
    auto section = std::make_shared<LoopSection>(loop, a, m, snapshots, state.plain);
    if (!Tape::current().hooks) section->expect(FirstResults(blocks, false));
    if (on_disk) {
        std::vector<Ref<Block>> kept;
        for (AnyTensor& t : state) kept.push_back(t.value);
        section->keep_on_disk(std::make_shared<Snapshot>(loop->disk, kept));
        for (AnyTensor& t : state) t.value = stand_in(*t.value);
    }
    AnyTensors results =
        record_section(state, blocks, std::move(section), part_primitive, loop->at, loop->communicates);
    const auto end = results.begin() + static_cast<std::ptrdiff_t>(loop->state_size);
    outputs.insert(outputs.end(), end, results.end());
    results.erase(end, results.end());
    state = LoopState(std::move(results), values.plain);
}

WENGERT_INLINE LoopState extend_loop(const std::shared_ptr<LoopSteps>& loop, LoopState state, std::uint64_t a,
                                     std::uint64_t b, std::uint64_t snapshots)
{
    AnyTensors outputs;
    while (b - a > 1) {
        const std::uint64_t m = a + revolve::split(b - a, snapshots);
        cut_loop(loop, state, outputs, a, m, snapshots, advance_loop(*loop, state, a, m));
        a = m;
        snapshots = std::max<std::uint64_t>(snapshots, 2) - 1;
    }
    if (b > a) {
        const Restore<bool> soon(Tape::current().pull_follows, true);
        LoopState last = loop->make(a, state, &LoopReport::recorded);
        const auto end = last.begin() + static_cast<std::ptrdiff_t>(loop->state_size);
        outputs.insert(outputs.end(), end, last.end());
        last.erase(end, last.end());
        state = std::move(last);
    }
    state.insert(state.end(), outputs.begin(), outputs.end());
    return state;
}

WENGERT_INLINE LoopState extend_on_disk(const std::shared_ptr<LoopSteps>& loop, LoopState state,
                                        std::uint64_t steps, std::uint64_t chunk, std::uint64_t snapshots)
{
    AnyTensors outputs;
    std::uint64_t a = 0;
    for (; steps - a > chunk; a += chunk)
        cut_loop(loop, state, outputs, a, a + chunk, snapshots, advance_loop(*loop, state, a, a + chunk),
                 true);
    LoopState rest = extend_loop(loop, std::move(state), a, steps, snapshots);
    rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(loop->state_size), outputs.begin(), outputs.end());
    return rest;
}

}  // namespace detail
}  // namespace wengert

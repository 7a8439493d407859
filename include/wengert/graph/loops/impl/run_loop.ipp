// What the descriptions of loops call (loop.hpp): running a loop, its report. With WENGERT_COMPILED it is
// compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../transforms/loop_sections.hpp"
#include "../loop_run.hpp"

namespace wengert::detail {

WENGERT_INLINE std::shared_ptr<LoopCode> make_loop_code() { return std::make_shared<LoopCode>(); }

WENGERT_INLINE Ref<Block> run_loop(const void* op, const Ref<Block>* in, std::size_t n, const Site&)
{
    const LoopParameters& p = *static_cast<const Loop*>(op)->parameters;
    if (Speculation::active()) return packed_example(p, in);
    const Untraced untraced;
    const detail::Unrecorded unrecorded;
    auto plans = p.code->take(p);
    LoopSkeleton<LoopRun> run(p, *plans, in, n - p.ignored);
    run.go();
    p.code->give(std::move(plans));
    return run.result();
}

}  // namespace wengert::detail

namespace wengert {

WENGERT_INLINE LoopReport loop_report(const GraphNode& n)
{
    const LoopParameters* p = loop_parameters(n);
    if (!p || p->snapshots == 0) return {};
    LoopReport report;
    report.steps = static_cast<std::uint64_t>(p->steps);
    report.planned = revolve::forward_steps(report.steps, static_cast<std::uint64_t>(p->snapshots));
    report.forward = p->code->forward;
    report.recorded = p->code->recorded;
    if (p->kind == LoopParameters::Kind::scan_pull && report.recorded) report.forward += report.steps - 1;
    return report;
}

}  // namespace wengert

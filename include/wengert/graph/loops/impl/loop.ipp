// What the descriptions of loops call (loop.hpp): running a loop, its derivatives, its report. With WENGERT_COMPILED it is
// compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../transforms/loop_sections.hpp"
#include "../loop_rules.hpp"

namespace wengert::detail {

WENGERT_INLINE std::shared_ptr<LoopCode> make_loop_code() { return std::make_shared<LoopCode>(); }

WENGERT_INLINE Ref<Block> run_loop(const void* op, const Ref<Block>* in, std::size_t n, const Site&)
{
    const LoopParameters& p = *static_cast<const Loop*>(op)->parameters;
    if (Speculation::active()) return packed_example(p, in);
    const Untraced untraced;
    const NoGrad unrecorded;
    auto plans = p.code->take(p);
    LoopCourse<LoopRun> run(p, *plans, in, n - p.ignored);
    run.go();
    p.code->give(std::move(plans));
    return run.result();
}

WENGERT_INLINE void loop_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const auto& p = static_cast<const Loop*>(n.op)->parameters;
    LoopPull rule(n, *p, g, out, without_effects(p));
    switch (p->kind) {
    case Kind::scan: return scan_vjp(rule);
    case Kind::while_loop: return while_vjp(rule);
    case Kind::cond: return cond_vjp(rule);
    case Kind::while_pull: return while_pull_vjp(rule);
    default: return scan_pull_vjp(rule);
    }
}

WENGERT_INLINE AnyTensor loop_jvp(const void* op, const AnyTensor* in, const AnyTensor* tangents,
                                  std::size_t n, const AnyTensor&)
{
    auto p = static_cast<const Loop*>(op)->parameters;
    const std::vector<AnyTensor> x(in, in + (n - p->ignored));
    p = without_effects(std::move(p));
    if (p->kind == Kind::cond) return cond_jvp(*p, x, tangents);
    if (p->kind == Kind::while_pull) return while_pull_jvp(*p, x, tangents);
    if (p->kind == Kind::scan_pull) return scan_pull_jvp(*p, x, tangents);
    return joint_jvp(*p, x.data(), tangents, x.size());
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

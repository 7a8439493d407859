// The derivatives that the descriptions of loops call (loop.hpp). With WENGERT_COMPILED they are compiled in wengert::compiled
// alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../transforms/loop_sections.hpp"
#include "../loop_rules.hpp"

namespace wengert::detail {

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

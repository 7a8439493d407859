// The derivatives of loops and branches, as the tape calls them: loops and branches again, of any order.
//
// A scan that is swept back keeps its states before each step. Its derivative is a scan from the last step to the first that
// carries the cotangents of the states and the sums of those of the constants; the body is one step of the derivative. With
// memory for few states it is a scan_pull (scan_pull.hpp, scan_rules.hpp). A while_loop is swept back by a while_pull
// (while_rules.hpp), a cond by a cond (cond_rules.hpp). Forwards, states and tangents run together (loop_tangents.hpp).
#pragma once

#include "cond_rules.hpp"
#include "scan_rules.hpp"
#include "while_rules.hpp"

namespace wengert::detail {

inline void loop_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    auto p = static_cast<const Loop*>(n.op)->parameters;
    switch (p->kind) {
    case Kind::scan: return scan_vjp(n, g, out, std::move(p));
    case Kind::while_loop: return while_vjp(n, g, out, std::move(p));
    case Kind::cond: return cond_vjp(n, g, out, std::move(p));
    case Kind::while_pull: return while_pull_vjp(n, g, out, std::move(p));
    default: return scan_pull_vjp(n, g, out, *p);
    }
}

inline AnyTensor loop_jvp(const void* op, const AnyTensor* in, const AnyTensor* tangents, std::size_t n,
                          const AnyTensor&)
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

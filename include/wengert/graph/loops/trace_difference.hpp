// Compares two traces of one function: of a frozen one in replays that are checked, of a loop's body in the first call.
#pragma once

#include "../ir/guard_check.hpp"
#include "../ir/trace.hpp"
#include "loop.hpp"

namespace wengert::detail {

/// Where a value that no operation made is first used.
inline const GraphNode& first_use(const Graph& g, ValueId v)
{
    for (const GraphNode& n : g.nodes())
        if (std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end()) return n;
    return g.node(v);
}

inline std::string described(const GraphNode& n)
{
    return n.primitive
               ? std::string(n.primitive->name) + " of shape " + to_string(n.shape) + " at " + to_string(n.at)
               : "an operand of shape " + to_string(n.shape);
}

/// What a constant is in a graph: of which operation an operand, or a result.
inline std::string role_of(const Graph& g, ValueId v)
{
    const GraphNode& use = first_use(g, v);
    return use.primitive ? "an operand of " + described(use) : "a result of shape " + to_string(use.shape);
}

std::string trace_difference(const Graph& then, const Graph& now);

/// Functions that hold something cannot be compared: of two of one type the results are, and what is seen of their inside.
inline bool alike_parameters(const GraphNode& a, const GraphNode& b)
{
    if (same_parameters(a, b)) return true;
    if (fields_text(a, true) != fields_text(b, true)) return false;  // f may make functions anew in each call
    const auto same = [](const Graph* x, const Graph* y) {
        return x && y ? trace_difference(*x, *y).empty() : !x && !y;
    };
    if (const LoopParameters *p = loop_parameters(a), *q = loop_parameters(b); p && q)
        return same(p->body.get(), q->body.get()) && same(p->other.get(), q->other.get()) &&
               same(p->pull.get(), q->pull.get());
    if (!a.primitive->inside) return false;
    const auto* x = static_cast<const InsideGraph*>(a.primitive->inside(a.op.get()));
    const auto* y = static_cast<const InsideGraph*>(b.primitive->inside(b.op.get()));
    return same(x ? &x->graph : nullptr, y ? &y->graph : nullptr);
}

inline bool same_operation(const GraphNode& a, const GraphNode& b)
{
    return a.kind == b.kind && a.shape == b.shape && a.dtype == b.dtype && a.inputs == b.inputs &&
           (!a.primitive || (same_primitive(*a.primitive, *b.primitive) && alike_parameters(a, b)));
}

/// The same operations on the same constants: "". Anything else is a dependence that a graph cannot see.
inline std::string trace_difference(const Graph& then, const Graph& now)
{
    const std::size_t n = std::min(then.size(), now.size());
    for (ValueId v = 0; v < n; ++v) {
        const GraphNode &a = then.node(v), &b = now.node(v);
        if (!same_operation(a, b))
            return "the function did something else than when it was traced, without a tensor's value "
                   "having decided that: " +
                   described(a) + " was then, " + described(b) + " is now";
        if (a.constant && !meets(*b.constant, *a.constant))
            return "a tensor made of plain C++ data, " + role_of(then, v) +
                   ", holds other elements than when it was traced";
    }
    if (then.size() != now.size())
        return "the function did " + std::to_string(now.size()) + " operations where it did " +
               std::to_string(then.size()) + " when it was traced";
    if (then.outputs() != now.outputs() || then.updates() != now.updates())
        return "the function returned other values than when it was traced, or assigned others to live "
               "tensors, without a tensor's value having decided that";
    return {};
}
inline bool same_trace(const Graph& a, const Graph& b)
{
    const auto same_guard = [](const Guard& x, const Guard& y) {
        return x.value == y.value && meets(*x.expected, *y.expected);
    };
    return trace_difference(a, b).empty() &&
           std::equal(a.guards().begin(), a.guards().end(), b.guards().begin(), b.guards().end(), same_guard);
}

}  // namespace wengert::detail

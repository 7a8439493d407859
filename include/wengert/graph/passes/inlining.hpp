// Inlining: a function with a rule of the user's (custom_vjp, custom_jvp) becomes the operations that it consists of, so that
// they fuse with what is around them. The rule has done its work when the graph was recorded. So does what the library has a
// kernel for and a composition (Primitive::composed).
#pragma once

#include "../ir/trace.hpp"
#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// Does the graph take what the node takes, and give what it gives? A graph for another extent has been traced with other shapes.
bool stands_for(const Graph& inside, const Rewrite& r, const GraphNode& n);

/// The operations of g in the place of n.
ValueId put_inside(Rewrite& r, const GraphNode& n, const Graph& g);

/// Traces f, a function of tensors, on zeros, and puts the result in the place of n. Returns no_value if f has no result.
template <class F> ValueId traced_inside(Rewrite& r, const GraphNode& n, const F& f)
{
    const Untraced alone;
    const OnDevice host(0);
    std::vector<Ref<Block>> zeros;
    for (ValueId v : n.inputs) {
        if (element_count(r.node(v).shape) == 0) return no_value;
        zeros.push_back(zeros_block(r.node(v).dtype, r.node(v).shape));
    }
    const auto outputs = [&](const std::vector<AnyTensor>& in) {
        std::vector<AnyTensor> out{f(in)};
        if (!out[0].value) out.clear();
        return out;
    };
    const Graph g = trace_graph(outputs, zeros, n.at);
    return g.outputs().empty() ? no_value : put_inside(r, n, g);
}

ValueId compose_rule(Rewrite& r, GraphNode& n);

ValueId inline_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Only what has a composition as that: what a text is made of, also where nothing is optimized.
Graph composed(const Graph& g);

/// Functions with a rule as the operations inside. Exact. One that looks at elements in plain C++, has effects, or captures
/// arrays stays one operation, called in each replay.
inline constexpr Pass inlining{"inlining", detail::inline_rule};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/inlining.ipp"
#endif

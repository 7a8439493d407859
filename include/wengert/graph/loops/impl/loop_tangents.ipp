// What loop_tangents.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../loop_tangents.hpp"

namespace wengert::detail {

WENGERT_INLINE DualLoop::DualLoop(const LoopParameters& parameters, const std::vector<bool>& inputs)
    : p(parameters), active(active_in_loop(p, inputs)), states(p.states), xs(p.xs)
{
    const std::size_t n = active.size();
    std::size_t tangents = n;
    const std::size_t ends[] = {0, p.states, p.states + p.xs, n};
    for (std::size_t part = 0; part < 3; ++part) {
        append(order, all_of(ends[part], ends[part + 1]));
        const std::size_t count = chosen(active, ends[part], ends[part + 1]).size();
        append(order, all_of(tangents, tangents + count));
        tangents += count;
        if (part < 2) (part == 0 ? states : xs) += count;
    }
}

WENGERT_INLINE Graph DualLoop::body(const std::vector<bool>& wanted) const
{
    std::vector<bool> tangents = wanted;
    for (std::size_t k = 0; k < p.states; ++k) tangents[k] = active[k];
    const Graph g = jvp_graph(*p.body, active, tangents);
    std::vector<std::size_t> out = all_of(0, p.states);
    append(out, all_of(p.body->outputs().size(), g.outputs().size()));
    return rearranged(g, order, out);
}

WENGERT_INLINE Graph DualLoop::test(const Graph& body_graph) const
{
    std::vector<const GraphNode*> nodes;
    for (ValueId v : body_graph.inputs()) nodes.push_back(&body_graph.node(v));
    std::vector<std::size_t> place(active.size());
    for (std::size_t j = 0; j < order.size(); ++j)
        if (order[j] < active.size()) place[order[j]] = j;
    return with_inputs(*p.other, nodes, place, {0});
}

WENGERT_INLINE std::shared_ptr<LoopParameters> DualLoop::loop(const std::vector<bool>& wanted) const
{
    auto q = std::make_shared<LoopParameters>(p);
    const Graph g = body(wanted);
    if (p.other) q->other = shared_graph(test(g));
    q->body = shared_graph(g);
    q->states = states;
    q->xs = xs;
    q->kept = 0;
    q->code = make_loop_code();
    return q;
}

WENGERT_INLINE std::vector<AnyTensor> DualLoop::operands(const AnyTensor* in, const AnyTensor* tangents) const
{
    std::vector<AnyTensor> all(in, in + active.size()), out;
    for (std::size_t i : chosen(active, 0, active.size()))
        all.push_back(tangents[i].value ? tangents[i] : filled(in[i].value->dtype, in[i].value->shape, 0.0));
    for (std::size_t i : order) out.push_back(all[i]);
    return out;
}

WENGERT_INLINE AnyTensor joint_jvp(const LoopParameters& p, const AnyTensor* in, const AnyTensor* tangents,
                                   std::size_t n)
{
    const DualLoop dual(p, have_tangents(tangents, n));
    const std::vector<bool> wanted = active_outputs(*p.body, dual.active);
    auto q = dual.loop(wanted);
    q->results.assign(p.results.begin(), p.results.begin() + static_cast<std::ptrdiff_t>(p.states));
    for (auto& r : q->results) r.offset = LoopParameters::Result::nowhere;
    for (std::size_t k = 0; k < p.results.size(); ++k)
        if (k < p.states ? dual.active[k] : wanted[k]) q->results.push_back(p.results[k]);
    return apply_loop(q, dual.operands(in, tangents), Tape::current().site_override);
}

}  // namespace wengert::detail

// The bodies of loop_graphs.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <mutex>
#include <numeric>

#include "../../../base/separate.hpp"
#include "../loop_graphs.hpp"

namespace wengert::detail {

WENGERT_INLINE std::vector<std::size_t> all_of(std::size_t first, std::size_t last)
{
    std::vector<std::size_t> out(last - first);
    std::iota(out.begin(), out.end(), first);
    return out;
}

WENGERT_INLINE std::vector<LoopParameters::Result> results_of(const Graph& body, std::size_t states,
                                                              std::int64_t steps)
{
    std::vector<LoopParameters::Result> out;
    for (ValueId v : body.outputs()) {
        const GraphNode& n = body.node(v);
        out.push_back({n.dtype, out.size() < states ? n.shape : stacked_shape(steps, n.shape), 0});
    }
    return out;
}

inline bool same_graph(const Graph& a, const Graph& b)
{
    if (a.size() != b.size() || a.inputs() != b.inputs() || a.outputs() != b.outputs()) return false;
    const auto same_place = [](const Site& x, const Site& y) {
        return x.line == y.line && (x.file == y.file || to_string(x) == to_string(y));  // as text has it
    };
    for (ValueId v = 0; v < a.size(); ++v) {
        const GraphNode &m = a.node(v), &n = b.node(v);
        if (m.kind != n.kind || m.dtype != n.dtype || !(m.shape == n.shape) || m.inputs != n.inputs ||
            m.segment != n.segment || !same_place(m.at, n.at))
            return false;
        if (m.constant && !same_elements(*m.constant, *n.constant)) return false;
        if (m.primitive && !(same_primitive(*m.primitive, *n.primitive) && same_parameters(m, n)))
            return false;
    }
    return true;
}

WENGERT_INLINE std::shared_ptr<const Graph> shared_graph(Graph g)
{
    static std::mutex mutex;
    static std::vector<std::weak_ptr<const Graph>> known;
    const std::lock_guard lock(mutex);
    std::erase_if(known, [](const auto& w) { return w.expired(); });
    for (const auto& w : known)
        if (auto other = w.lock(); other && same_graph(*other, g)) return other;
    auto fresh = std::make_shared<const Graph>(std::move(g));
    known.push_back(fresh);
    return fresh;
}

WENGERT_INLINE Graph with_outputs(Graph g, const std::vector<std::size_t>& outputs)
{
    std::vector<ValueId> chosen;
    for (std::size_t k : outputs) chosen.push_back(g.outputs()[k]);
    g.set_outputs(std::move(chosen));
    return g;
}

WENGERT_INLINE Graph with_inputs(const Graph& g, const std::vector<const GraphNode*>& inputs,
                                 const std::vector<std::size_t>& place,
                                 const std::vector<std::size_t>& outputs)
{
    Graph h;
    std::vector<ValueId> map(g.size(), no_value);
    for (const GraphNode* n : inputs) h.input(n->dtype, n->shape, n->at);
    for (std::size_t i = 0; i < place.size(); ++i)
        if (place[i] != LoopParameters::npos) map[g.inputs()[i]] = h.inputs()[place[i]];
    for (ValueId v = 0; v < g.size(); ++v)
        if (g.node(v).kind != Graph::Kind::input) map[v] = h.copy(g.node(v), map);
    for (std::size_t k : outputs) h.output(map[g.outputs()[k]]);
    return h;
}

WENGERT_INLINE Graph rearranged(const Graph& g, const std::vector<std::size_t>& inputs,
                                const std::vector<std::size_t>& outputs)
{
    std::vector<const GraphNode*> nodes;
    std::vector<std::size_t> place(g.inputs().size(), LoopParameters::npos);
    for (std::size_t i : inputs) {
        place[i] = nodes.size();
        nodes.push_back(&g.node(g.inputs()[i]));
    }
    return with_inputs(g, nodes, place, outputs);
}

WENGERT_INLINE void drop_unused(LoopParameters& p, std::vector<AnyTensor>& in)
{
    const Graph& g = *p.body;
    std::vector<bool> used(g.size());
    for (const GraphNode& n : g.nodes())
        for (ValueId i : n.inputs) used[i] = true;
    for (ValueId v : g.outputs()) used[v] = true;
    std::vector<std::size_t> keep;
    std::vector<AnyTensor> kept;
    std::size_t xs = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (i >= p.states && !used[g.inputs()[i]]) continue;
        keep.push_back(i);
        kept.push_back(in[i]);
        xs += i >= p.states && i < p.states + p.xs;
    }
    p.body = shared_graph(rearranged(g, keep, all_of(0, g.outputs().size())));
    p.xs = xs;
    in = std::move(kept);
}

WENGERT_INLINE std::shared_ptr<LoopParameters> branch_of(Graph yes, Graph no)
{
    auto q = std::make_shared<LoopParameters>();
    q->kind = Kind::cond;
    q->results = results_of(yes, yes.outputs().size(), 0);
    q->body = shared_graph(std::move(yes));
    q->other = shared_graph(std::move(no));
    return completed(std::move(q));
}

}  // namespace wengert::detail

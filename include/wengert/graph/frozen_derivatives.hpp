// Derivatives of a path as paths of their own: tangents here, cotangents in frozen_rule_source.hpp.
#pragma once

#include "../transforms/section.hpp"
#include "optimize.hpp"

namespace wengert::detail {

/// What a graph's host_callbacks return, but for those in loops.
std::vector<ValueId> host_values(const Graph& g);

/// Results that a path's graph has computed from `in`: one section. Its derivatives are graphs, forwards and backwards and of any
/// order; the recorded operations once more where another trace watches. `cut`: what it has handed over are the last inputs.
std::vector<AnyTensor> record_path(const std::shared_ptr<FrozenCore>& core,
                                   const std::shared_ptr<FrozenPath>& path, const std::vector<AnyTensor>& in,
                                   const std::vector<Ref<Block>>& out, std::shared_ptr<const FrozenCut> cut,
                                   const Site& at);

/// The same graph with these as further inputs.
inline Graph with_host_values(const Graph& g)
{
    std::vector<ValueId> map;
    Graph out = g.like(map);
    for (const ValueId v : host_values(g)) map[v] = out.input(g.node(v).dtype, g.node(v).shape, g.node(v).at);
    for (ValueId v = 0; v < g.size(); ++v)
        if (map[v] == no_value) map[v] = out.copy(g.node(v), map);
    out.finish(g, map);
    return out;
}

inline std::string present_key(const std::vector<AnyTensor>& cotangents)
{
    std::string key;
    for (const auto& g : cotangents) key += g.value ? 'g' : '-';
    return key;
}

/// A derivative of a path as a path of its own.
inline std::shared_ptr<FrozenPath> path_of(const FrozenCore& core, Graph derivative)
{
    auto p = std::make_shared<FrozenPath>();
    p->recorded = std::move(derivative);
    p->optimized = optimized(p->recorded, core.options);
    p->executable = core.compile(p->optimized);
    p->results = p->recorded.outputs().size();
    return p;
}

/// Those that are there, contiguous.
inline void append_blocks(std::vector<Ref<Block>>& to, const std::vector<AnyTensor>& x)
{
    for (const auto& t : x)
        if (t.value) to.push_back(contiguous(t.value));
}
inline std::vector<Ref<Block>> blocks_of(const std::vector<AnyTensor>& x)
{
    std::vector<Ref<Block>> out;
    append_blocks(out, x);
    return out;
}

inline bool depends(const std::vector<AnyTensor>& x)
{
    const std::uint64_t active = Tape::current().active;
    return std::any_of(x.begin(), x.end(),
                       [&](const AnyTensor& t) { return t.node && (t.node->mask & active); });
}

/// A derivative on tensors that may depend on others: a section as well, so that derivatives of any order are graphs. Nothing where
/// a guard fails.
inline std::optional<std::vector<AnyTensor>> run_derivative(const std::shared_ptr<FrozenCore>& core,
                                                            const FrozenDerivative& d,
                                                            const std::vector<AnyTensor>& in, const Site& at)
{
    std::vector<Ref<Block>> blocks = blocks_of(in), out;
    if (d.path->executable->run(blocks, out) != d.path->optimized.guards().size()) return {};
    if (depends(in)) return record_path(core, d.path, in, out, {}, at);
    std::vector<AnyTensor> results;
    for (auto& b : out) results.push_back({std::move(b), {}});
    return results;
}

/// The tangents of a graph's results from those of its inputs, operation by operation; `of` gets which results have some.
inline std::vector<AnyTensor> pushed(const Graph& g, const std::vector<AnyTensor>& inputs,
                                     const std::vector<AnyTensor>& dots, std::vector<std::size_t>& of,
                                     const Site& at)
{
    const auto run = [&](const std::vector<AnyTensor>& x) { return replay(g, x); };
    std::vector<AnyTensor> out;
    for (std::size_t k = 0; AnyTensor & dot : push_by_running(run, inputs, dots.data(), "jvp", at)) {
        if (dot.value) of.push_back(k), out.push_back(std::move(dot));
        ++k;
    }
    return out;
}

/// f as a graph, of inputs and of what is there among `given`.
template <class F>
Graph derivative_graph(const std::vector<AnyTensor>& inputs, const std::vector<AnyTensor>& given, const F& f,
                       const Site& at)
{
    std::vector<Ref<Block>> like;
    for (const auto* some : {&inputs, &given})
        for (const auto& x : *some)
            if (x.value) like.push_back(make_view(contiguous(x.value), x.value->shape, nullptr, 0));
    const auto on_values = [&](const std::vector<AnyTensor>& x) {
        auto next = x.begin() + static_cast<std::ptrdiff_t>(inputs.size());
        const std::vector<AnyTensor> own(x.begin(), next);
        std::vector<AnyTensor> here(given.size());
        for (std::size_t k = 0; k < given.size(); ++k)
            if (given[k].value) here[k] = *next++;
        return f(own, here);
    };
    return trace_graph(on_values, like, at);
}

/// A path's derivative of that name. graph(of) makes it when it is first asked for.
template <class F>
const FrozenDerivative& derivative_of(const FrozenCore& core, FrozenPath& path, const std::string& name,
                                      const F& graph)
{
    auto& slot = path.derivatives[name];
    if (slot) return *slot;
    auto d = std::make_unique<FrozenDerivative>();
    d->path = path_of(core, graph(d->of));
    slot = std::move(d);
    return *slot;
}

/// Tangents of a section's results at one level.
inline void push_path(const std::shared_ptr<FrozenCore>& core, FrozenPath& path,
                      const std::vector<AnyTensor>& in, std::vector<AnyTensor>& results, std::size_t level,
                      const Site& at)
{
    std::vector<AnyTensor> all = in, dots(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
        if (const AnyTensor* dot = in[i].node ? in[i].node->tangent(level) : nullptr)
            all.push_back(dots[i] = *dot);
    if (all.size() == in.size()) return;
    Tape& tape = Tape::current();
    const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(level));
    const Restore<int> lowered(tape.lowered, tape.lowered + 1);
    const Restore<Site> site(tape.site_override, at);
    const Graph with_host = path.effects ? with_host_values(path.recorded) : Graph();
    const Graph& g = path.effects ? with_host : path.recorded;
    const auto push = [&](std::vector<std::size_t>& of) {
        return derivative_graph(
            in, dots, [&](const auto& x, const auto& given) { return pushed(g, x, given, of, at); }, at);
    };
    const FrozenDerivative& p =
        derivative_of(*core, path, (tape.allow_nan ? "n>" : "0>") + present_key(dots), push);
    std::vector<std::size_t> of = p.of;
    auto out = run_derivative(core, p, all, at);
    if (!out) {
        of.clear();
        out = pushed(g, in, dots, of, at);
    }
    for (std::size_t k = 0; k < out->size(); ++k)
        if (Node* node = results[of[k]].node.get()) node->add_tangent(level, std::move((*out)[k]));
}

}  // namespace wengert::detail

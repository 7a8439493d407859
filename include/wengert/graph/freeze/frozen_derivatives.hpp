// Derivatives of a path as paths of their own: tangents here, cotangents in frozen_rule.ipp.
#pragma once

#include "../../transforms/section.hpp"
#include "../ir/interpret.hpp"
#include "../ir/trace.hpp"
#include "frozen.hpp"  // before its families: its bodies need them whole
#include "frozen_families.hpp"
#include "frozen_rule.hpp"
#include "optimize.hpp"

namespace wengert::detail {

/// The values that host_callbacks of a graph return, except for those in loops.
inline std::vector<ValueId> host_values(const Graph& g)
{
    std::vector<ValueId> found;
    for (ValueId v = 0; v < g.size(); ++v)
        if (const Primitive* p = g.node(v).primitive; p && p->effects && !p->communicates && !p->loop)
            found.push_back(v);
    return found;
}

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
    p->reached_from = reaching_inputs(p->recorded);
    p->results = p->recorded.outputs().size();
    return p;
}

inline FrozenDerivatives& derivatives_of(FrozenPath& path)
{
    if (!path.derivatives) path.derivatives = std::make_shared<FrozenDerivatives>();
    return *path.derivatives;
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

inline bool depends(const std::vector<AnyTensor>& x) { return std::any_of(x.begin(), x.end(), depends_now); }

inline std::vector<AnyTensor> as_constants(std::vector<Ref<Block>> blocks)
{
    std::vector<AnyTensor> out;
    for (auto& b : blocks) out.push_back({std::move(b), {}});
    return out;
}

/// f(inputs, given) as a graph of what is there among them, and of the results of f that are there, too: `present`. `bodies_twice`:
/// see Trace.
template <class F>
Graph derivative_graph(const std::vector<AnyTensor>& inputs, const std::vector<AnyTensor>& given, const F& f,
                       std::vector<bool>& present, bool bodies_twice, const Site& at)
{
    // What hooks bring back are other blocks, which the graph would take for constants.
    const Restore<std::shared_ptr<SavedHooks>> unpacked(Tape::current().hooks, nullptr);
    std::vector<Ref<Block>> like;
    for (const auto* some : {&inputs, &given})
        for (const auto& x : *some)
            if (x.value) like.push_back(make_view(contiguous(x.value), x.value->shape, nullptr, 0));
    const auto on_values = [&](const std::vector<AnyTensor>& x) {
        auto next = x.begin() + static_cast<std::ptrdiff_t>(inputs.size());
        const std::vector<AnyTensor> own(x.begin(), next);
        std::vector<AnyTensor> here(given.size()), out;
        for (std::size_t k = 0; k < given.size(); ++k)
            if (given[k].value) here[k] = *next++;
        for (AnyTensor& y : f(own, here)) {
            present.push_back(y.value.get() != nullptr);
            if (y.value) out.push_back(std::move(y));
        }
        return out;
    };
    return trace_graph(on_values, like, at, bodies_twice);
}
/// Results of such a graph as those of f.
inline std::vector<AnyTensor> with_empty(std::vector<AnyTensor> there, const std::vector<bool>& present)
{
    std::vector<AnyTensor> all(present.size());
    auto next = there.begin();
    for (std::size_t k = 0; k < all.size(); ++k)
        if (present[k]) all[k] = std::move(*next++);
    return all;
}

/// f(inputs, given) by a graph that the path keeps under this name; as it is where a guard of that fails. A section as well where its
/// arguments depend on others, so that derivatives of any order are graphs.
template <class F>
std::vector<AnyTensor> run_derivative(const std::shared_ptr<FrozenCore>& core, FrozenPath& path,
                                      const std::string& name, const std::vector<AnyTensor>& inputs,
                                      const std::vector<AnyTensor>& given, const F& f, const Site& at)
{
    auto& slot = derivatives_of(path).named[name];
    if (!slot) {
        auto made = std::make_unique<FrozenDerivative>();
        made->path =
            path_of(*core, derivative_graph(inputs, given, f, made->present, core->options.check, at));
        slot = std::move(made);
    }
    const FrozenDerivative& d = *slot;
    std::vector<AnyTensor> in = inputs;
    for (const AnyTensor& x : given)
        if (x.value) in.push_back(x);
    std::vector<Ref<Block>> blocks = blocks_of(in), out;
    if (d.path->executable->run(blocks, out) != d.path->optimized.guards().size()) return f(inputs, given);
    return with_empty(depends(in) ? record_path(core, d.path, in, out, {}, at) : as_constants(std::move(out)),
                      d.present);
}

/// Tangents of a section's results at one level.
inline void push_path(const std::shared_ptr<FrozenCore>& core, FrozenPath& path,
                      const std::vector<AnyTensor>& in, std::vector<AnyTensor>& results, std::size_t level,
                      const Site& at)
{
    std::vector<AnyTensor> dots(in.size());
    bool any = false;
    for (std::size_t i = 0; i < in.size(); ++i)
        if (const AnyTensor* dot = in[i].node ? in[i].node->tangent(level) : nullptr)
            dots[i] = *dot, any = true;
    if (!any) return;
    Tape& tape = Tape::current();
    const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(level));
    const Restore<int> lowered(tape.lowered, tape.lowered + 1);
    const Restore<Site> site(tape.site_override, at);
    const Graph with_host = path.effects ? with_host_values(path.recorded) : Graph();
    const Graph& g = path.effects ? with_host : path.recorded;
    const auto run = [&](const std::vector<AnyTensor>& x) { return replay(g, x); };
    const auto push = [&](const std::vector<AnyTensor>& x, const std::vector<AnyTensor>& d) {
        return push_by_running(run, x, d.data(), "jvp", at);
    };
    auto out =
        run_derivative(core, path, (tape.allow_nan ? "n>" : "0>") + present_key(dots), in, dots, push, at);
    for (std::size_t k = 0; k < out.size(); ++k)
        if (Node* node = out[k].value ? results[k].node.get() : nullptr)
            node->add_tangent(level, std::move(out[k]));
}

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/frozen_rule.ipp"  // of frozen_rule.hpp: it needs these templates
#endif

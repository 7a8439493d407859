// A frozen function on the tape: one section, whose derivative is a graph as well.
#pragma once

#include <map>
#include <optional>

#include "../transforms/section.hpp"
#include "optimize.hpp"

namespace wengert::detail {

/// What a graph's host_callbacks return, but for those in loops.
inline std::vector<ValueId> host_values(const Graph& g)
{
    std::vector<ValueId> found;
    for (ValueId v = 0; v < g.size(); ++v)
        if (const Primitive* p = g.node(v).primitive; p && p->effects && p->kind == "host_callback")
            found.push_back(v);
    return found;
}
inline bool loops_call_host(const Graph& g)
{
    const auto calls = [](const GraphNode& n) { return n.primitive && n.primitive->effects; };
    return static_cast<std::size_t>(std::count_if(g.nodes().begin(), g.nodes().end(), calls)) >
           host_values(g).size();
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

/// A derivative would call it again: f is to run instead.
inline bool loops_call_host(const FrozenEntry& e)
{
    return std::any_of(e.paths.begin(), e.paths.end(),
                       [](const auto& p) { return p->effects && loops_call_host(p->recorded); });
}

class FrozenRule : public SectionRule {
public:
    FrozenRule(std::shared_ptr<FrozenCore> core, std::shared_ptr<FrozenPath> path)
        : SectionRule("frozen", pull_frozen), core_(std::move(core)), path_(std::move(path))
    {}

private:
    static std::vector<AnyTensor> pull_frozen(const SectionRule& rule, const std::vector<AnyTensor>& inputs,
                                              const std::vector<AnyTensor>& cotangents,
                                              const std::vector<bool>& wanted, const Site& at)
    {
        return static_cast<const FrozenRule&>(rule).cotangents_of(inputs, cotangents, wanted, at);
    }
    std::vector<AnyTensor> cotangents_of(const std::vector<AnyTensor>& inputs,
                                         const std::vector<AnyTensor>& cotangents,
                                         const std::vector<bool>& wanted, const Site& at) const
    {
        const Occupied occupied(*core_);
        if (!occupied || recorder() || depends(inputs) || depends(cotangents))
            return sweep(inputs, cotangents, wanted, at);
        FrozenPullback& p = pullback(inputs, cotangents, wanted, at);
        std::vector<Ref<Block>> in, out;
        for (const auto& x : inputs) in.push_back(contiguous(x.value));
        for (const auto& g : cotangents)
            if (g.value) in.push_back(contiguous(g.value));
        if (p.executable->run(in, out) != p.guards) return sweep(inputs, cotangents, wanted, at);
        std::vector<AnyTensor> result(inputs.size());
        for (std::size_t k = 0; k < out.size(); ++k) result[p.inputs[k]].value = std::move(out[k]);
        return result;
    }
    static bool depends(const std::vector<AnyTensor>& x)
    {
        const std::uint64_t active = Tape::current().active;
        return std::any_of(x.begin(), x.end(),
                           [&](const AnyTensor& t) { return t.node && (t.node->mask & active); });
    }
    /// The rule in tensors: the recorded operations again, each on the tape.
    std::vector<AnyTensor> sweep(const std::vector<AnyTensor>& inputs, std::vector<AnyTensor> cotangents,
                                 const std::vector<bool>& wanted, const Site& at) const
    {
        const Graph given = path_->effects ? with_host_values(path_->recorded) : Graph();
        const Graph& graph = path_->effects ? given : path_->recorded;
        cotangents.resize(graph.outputs().size());
        return pull_by_running([&](const std::vector<AnyTensor>& x) { return replay(graph, x); }, inputs,
                               cotangents, wanted, name, at);
    }
    /// Made at the first sweep with cotangents of these results, for these inputs.
    FrozenPullback& pullback(const std::vector<AnyTensor>& inputs, const std::vector<AnyTensor>& cotangents,
                             const std::vector<bool>& wanted, const Site& at) const
    {
        std::string key(1, Tape::current().allow_nan ? 'n' : '0');
        for (bool w : wanted) key += w ? '1' : '0';
        for (const auto& g : cotangents) key += g.value ? 'g' : '-';
        auto& slot = path_->pullbacks[key];
        if (slot) return *slot;
        auto p = std::make_unique<FrozenPullback>();
        // What hooks bring back are other blocks, which the graph would take for constants.
        const Restore<std::shared_ptr<SavedHooks>> unpacked(Tape::current().hooks, nullptr);
        std::vector<Ref<Block>> like;
        for (const auto& x : inputs)
            like.push_back(make_view(contiguous(x.value), x.value->shape, nullptr, 0));
        for (const auto& g : cotangents)
            if (g.value) like.push_back(make_view(contiguous(g.value), g.value->shape, nullptr, 0));
        const Graph graph = trace_graph(
            [&](const std::vector<AnyTensor>& x) {
                const std::vector<AnyTensor> primal(x.begin(),
                                                    x.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
                std::vector<AnyTensor> g(cotangents.size());
                std::size_t next = inputs.size();
                for (std::size_t k = 0; k < g.size(); ++k)
                    if (cotangents[k].value) g[k] = x[next++];
                std::vector<AnyTensor> found;
                const std::vector<AnyTensor> all = sweep(primal, g, wanted, at);
                for (std::size_t i = 0; i < all.size(); ++i)
                    if (all[i].value) {
                        p->inputs.push_back(i);
                        found.push_back(all[i]);
                    }
                return found;
            },
            like, at);
        const Graph fast = optimized(graph, core_->options);
        p->guards = fast.guards().size();
        p->executable = core_->compile(fast);
        slot = std::move(p);
        return *slot;
    }

    std::shared_ptr<FrozenCore> core_;
    std::shared_ptr<FrozenPath> path_;
};

inline std::vector<AnyTensor> section_inputs(const CallArguments& a)
{
    std::vector<AnyTensor> in;
    for (std::size_t i = 0; i < a.inputs.size(); ++i) in.push_back({a.inputs[i], a.node(i)});
    return in;
}

/// The levels at which a call is recorded. Refuses arguments that no section can be recorded from, before anything has been
/// done; nothing for live tensors of that kind, the last inputs, as f may only mean to write over them.
inline std::optional<std::uint64_t> recorded_levels(const CallArguments& a, std::size_t live, const Site& at)
{
    const std::vector<AnyTensor> in = section_inputs(a);
    std::vector<const AnyTensor*> operands;
    for (const AnyTensor& x : in) operands.push_back(&x);
    const std::size_t own = in.size() - live;
    Tape& tape = Tape::current();
    std::uint64_t levels = tape.dependence(operands.data(), own, "frozen", at);
    try {
        levels |= tape.dependence(operands.data() + own, live, "frozen", at);
    } catch (const TapeError&) {
        return {};
    }
    if (levels) refuse_writers(section_primitive, operands.data(), in.size(), at);
    return levels;
}

}  // namespace wengert::detail

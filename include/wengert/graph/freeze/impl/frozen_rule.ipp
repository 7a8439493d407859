// The bodies of frozen_rule.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../compiler.hpp"
#include "../frozen.hpp"
#include "../frozen_derivatives.hpp"
#include "../frozen_lock.hpp"

namespace wengert::detail {

WENGERT_INLINE bool derivative_calls_host(const FrozenEntry& e)
{
    const auto calls = [](const GraphNode& n) {
        return n.primitive && n.primitive->effects && n.primitive->loop;
    };
    const auto calls_host = [&](const auto& p) {
        return p->effects && std::any_of(p->recorded.nodes().begin(), p->recorded.nodes().end(), calls);
    };
    return std::any_of(e.paths.begin(), e.paths.end(), calls_host);
}

WENGERT_INLINE bool communicates_under_transforms(FrozenCore& core, const FrozenEntry& e)
{
    const auto communicates = [](const auto& p) { return p->communicates; };
    if (!levels_of_transforms(Tape::current()) || std::none_of(e.paths.begin(), e.paths.end(), communicates))
        return false;
    core.reason = "it communicates and was called under a transform, which sweeps every communication by "
                  "itself: it ran eagerly (freeze the gradient: freeze(grad(f)))";
    return true;
}

/// Which inputs want a cotangent, and whether the zero-cotangent rule is on: by these a derivative's graph is known.
inline std::string wanted_key(const std::vector<bool>& wanted)
{
    std::string key(1, Tape::current().allow_nan ? 'n' : '0');
    for (bool w : wanted) key += w ? '1' : '0';
    return key;
}

class FrozenRule : public SectionRule {
public:
    /// `cut`: what it has handed over are the section's last inputs.
    FrozenRule(std::shared_ptr<FrozenCore> core, std::shared_ptr<FrozenPath> path,
               std::shared_ptr<const FrozenCut> cut)
        : SectionRule("frozen", pull_frozen), core_(std::move(core)), path_(std::move(path)),
          cut_(std::move(cut)), soon_(Tape::current().pull_follows)
    {}

private:
    using Tensors = std::vector<AnyTensor>;
    using Blocks = std::vector<Ref<Block>>;

    static Tensors pull_frozen(const SectionRule& section, const Tensors& inputs, const Tensors& cotangents,
                               const std::vector<bool>& wanted, const Site& at)
    {
        const auto& rule = static_cast<const FrozenRule&>(section);
        if (!rule.cut_) return rule.cotangents_of(inputs, {}, cotangents, wanted, at);
        const std::size_t own = inputs.size() - rule.cut_->handed.size();
        const auto end = inputs.begin() + static_cast<std::ptrdiff_t>(own);
        const Tensors handed(end, inputs.end());
        return rule.cotangents_of(
            Tensors(inputs.begin(), end), handed, cotangents,
            std::vector<bool>(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(own)), at);
    }
    Tensors cotangents_of(const Tensors& inputs, const Tensors& handed, const Tensors& cotangents,
                          const std::vector<bool>& wanted, const Site& at) const
    {
        const FrozenLock occupied(*core_);
        if (!occupied || recorder()) return sweep(inputs, cotangents, wanted, at);
        if ((soon_ || cut_) && !depends(inputs) && !depends(cotangents))
            if (auto result = pull_cut(inputs, handed, cotangents, wanted, at)) return *std::move(result);
        return run_derivative(
            core_, *path_, wanted_key(wanted) + present_key(cotangents), inputs, cotangents,
            [&](const Tensors& x, const Tensors& g) { return sweep(x, g, wanted, at); }, at);
    }
    /// By the graph that is handed what it reads; where the call was not the one to hand it over, that is computed now. Nothing where
    /// there is no such graph.
    std::optional<Tensors> pull_cut(const Tensors& inputs, const Tensors& handed, const Tensors& cotangents,
                                    const std::vector<bool>& wanted, const Site& at) const
    {
        const FrozenCut& c = cut(inputs, cotangents, wanted, at);
        if (!c.pullback) return {};
        Blocks in = blocks_of(inputs), out;
        if (&c == cut_.get()) {
            append_blocks(in, handed);
        } else {
            Blocks values, own = in;
            if (c.value->run(own, values) != c.guards) return {};
            for (const std::size_t k : c.handed) in.push_back(values[k]);
        }
        append_blocks(in, cotangents);
        c.pullback->run(in, out);
        return with_empty(as_constants(std::move(out)), c.present);
    }
    /// Made at the first sweep of its kind, and now the first of the path's.
    const FrozenCut& cut(const Tensors& inputs, const Tensors& cotangents, const std::vector<bool>& wanted,
                         const Site& at) const
    {
        auto& cuts = derivatives_of(*path_).cuts;
        const std::string w = wanted_key(wanted), g = present_key(cotangents);
        const auto found = std::find_if(cuts.begin(), cuts.end(),
                                        [&](const auto& c) { return c->wanted == w && c->cotangents == g; });
        if (found != cuts.end()) {
            std::rotate(cuts.begin(), found, found + 1);
        } else {
            auto c = std::make_shared<FrozenCut>();
            c->wanted = w;
            c->cotangents = g;
            if (!path_->effects && path_->live.empty() && !core_->options.memory_limit)
                make_cut(*c, inputs, cotangents, wanted, at);
            cuts.insert(cuts.begin(), std::move(c));
        }
        return *cuts.front();
    }
    void make_cut(FrozenCut& c, const Tensors& inputs, const Tensors& cotangents,
                  const std::vector<bool>& wanted, const Site& at) const
    {
        const auto shows = [&](const Tensors& x, const Tensors& g) {
            Tensors out;
            const Tensors swept = sweep(x, g, wanted, at, &out);
            out.insert(out.end(), swept.begin(), swept.end());
            return out;
        };
        const Graph shown = derivative_graph(inputs, cotangents, shows, c.present, core_->options.check, at);
        if (!shown.guards().empty()) return;  // a rule that looks at values
        c.present.erase(c.present.begin(), c.present.end() - static_cast<std::ptrdiff_t>(inputs.size()));
        const std::size_t results = path_->recorded.outputs().size();
        const Graph whole = with_outputs_as_guards(shown, results, path_->recorded.guards());
        const auto parts = graph_compiler().cut(whole, inputs.size(), results, core_->options.passes.costs);
        if (!parts) return;
        const Graph value = optimized(parts->early, core_->options);
        c.guards = value.guards().size();
        c.handed = parts->handed;
        c.value = core_->compile(value);
        c.pullback = core_->compile(optimized(parts->late, core_->options));
    }

    /// The rule in tensors: the recorded operations again, each on the tape. `values` gets what they give, guarded values too.
    Tensors sweep(const Tensors& inputs, Tensors cotangents, const std::vector<bool>& wanted, const Site& at,
                  Tensors* values = nullptr) const
    {
        const Graph other = path_->effects ? with_host_values(path_->recorded)
                            : values       ? with_guards_as_outputs(path_->recorded)
                                           : Graph();
        const Graph& graph = path_->effects || values ? other : path_->recorded;
        cotangents.resize(graph.outputs().size());
        return pull_by_running(
            [&](const Tensors& x) {
                Tensors y = replay(graph, x);
                if (values)
                    for (const AnyTensor& t : y) values->push_back({t.value, {}});
                return y;
            },
            inputs, cotangents, wanted, name, at);
    }

    std::shared_ptr<FrozenCore> core_;
    std::shared_ptr<FrozenPath> path_;
    std::shared_ptr<const FrozenCut> cut_;
    bool soon_;  ///< was a sweep to follow when it was recorded?
};

WENGERT_INLINE std::vector<AnyTensor> record_path(const std::shared_ptr<FrozenCore>& core,
                                                  const std::shared_ptr<FrozenPath>& path,
                                                  const std::vector<AnyTensor>& in,
                                                  const std::vector<Ref<Block>>& out,
                                                  std::shared_ptr<const FrozenCut> cut, const Site& at)
{
    std::vector<AnyTensor> results =
        record_section(in, out, std::make_shared<FrozenRule>(core, path, std::move(cut)), part_primitive, at);
    std::uint64_t variables = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
        if (in[i].node) variables |= bit_of_input(i);
    for (std::size_t k = 0; k < results.size(); ++k)
        if (!(path->reached_from[k] & variables)) results[k].node = {};  // a constant, as in eager code
    const Tape& tape = Tape::current();
    std::uint64_t levels = 0;
    for (const AnyTensor& y : results)
        if (y.node) levels |= y.node->mask;
    for (levels &= tape.forward_levels; levels; levels &= levels - 1)
        push_path(core, *path, in, results, static_cast<std::size_t>(std::countr_zero(levels)), at);
    return results;
}

WENGERT_INLINE std::vector<AnyTensor> section_inputs(const CallArguments& a)
{
    std::vector<AnyTensor> in;
    for (std::size_t i = 0; i < a.inputs.size(); ++i) in.push_back({a.inputs[i], a.node(i)});
    return in;
}

WENGERT_INLINE std::uint64_t tell_of_call(const CallArguments& a, const Site& at)
{
    const std::vector<AnyTensor> in = section_inputs(a);
    const Tape& tape = Tape::current();
    std::uint64_t variables = tape.passes_marks() ? a.unrecorded : 0;
    for (std::size_t i = 0; i < in.size() && recorder(); ++i) {
        if (!in[i].value || (!in[i].node && !in[i].value->access.unrecorded)) continue;
        const Ref<Block> as = another_header(in[i].value);
        recorder()->alias(in[i], as, at);
        if (as->access.unrecorded) variables |= bit_of_input(i);
    }
    return tape.constants ? 0 : variables;
}
/// What somebody else has is a constant of the function.
WENGERT_INLINE void mark_result(const FrozenPath* path, std::uint64_t variables, std::size_t k,
                                const Ref<Block>& result)
{
    const bool depends = !path || k >= path->reached_from.size() || (path->reached_from[k] & variables);
    if (variables && depends && result && differentiable(result->dtype) && is_unique(result.get()))
        result->access.unrecorded = true;
}

WENGERT_INLINE std::optional<std::uint64_t> recorded_levels(const CallArguments& a, std::size_t live,
                                                            const Site& at)
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
    if (levels) refuse_operands(section_primitive, operands.data(), in.size(), at);
    return levels;
}

WENGERT_INLINE std::shared_ptr<const FrozenCut> run_before_pull(FrozenCore& core, const FrozenEntry& e,
                                                                CallArguments& a, std::uint64_t levels,
                                                                std::vector<Ref<Block>>& values)
{
    if (e.paths.empty() || !e.paths.front()->derivatives || (levels & (levels - 1))) return {};
    FrozenPath& p = *e.paths.front();
    const auto& cuts = p.derivatives->cuts;
    if (!p.confirmed || core.is_checked(p)) return {};
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
        wanted.push_back(a.node(i) && Tape::current().depends(*a.node(i), levels));
    const std::string key = wanted_key(wanted);
    const auto c = std::find_if(cuts.begin(), cuts.end(), [&](const auto& x) { return x->wanted == key; });
    if (c == cuts.end() || !(*c)->value) return {};
    std::vector<Ref<Block>> out;
    try {
        if ((*c)->value->run(a.inputs, out) != (*c)->guards) return {};
    } catch (const Error&) {
        return {};  // the ordinary way finds it out again, and says so
    }
    values.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(p.results));
    for (const std::size_t k : (*c)->handed) values.push_back(out[k]);
    ++p.replays;
    ++core.stats.replays;
    return *c;
}

}  // namespace wengert::detail

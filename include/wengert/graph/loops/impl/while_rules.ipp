// What while_rules.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../while_rules.hpp"

namespace wengert::detail {

WENGERT_INLINE std::shared_ptr<LoopParameters> while_pull(const LoopParameters& p,
                                                          const std::vector<bool>& wanted)
{
    const std::vector<bool> active = active_in_loop(p, wanted);
    std::vector<bool> given(p.states), summed = active;
    for (std::size_t i = 0; i < p.states; ++i) {
        given[i] = active[i];
        summed[i] = false;
    }
    auto q = std::make_shared<LoopParameters>();
    q->kind = Kind::while_pull;
    q->body = p.body;
    q->other = p.other;
    q->pull = shared_graph(vjp_graph(*p.body, active, given, summed));
    q->states = p.states;
    q->guard = p.guard;
    q->active_states = chosen(active, 0, p.states);
    q->active_constants = chosen(active, p.states, active.size());
    for (std::size_t i : pulled_inputs(*q)) {
        const GraphNode& n = p.body->node(p.body->inputs()[i]);
        q->results.push_back({n.dtype, n.shape, 0});
    }
    return completed(std::move(q));
}

WENGERT_INLINE void while_vjp(const LoopPull& rule)
{
    auto q = while_pull(*rule.p, rule.wanted);
    if (q->results.empty() && !rule.p->communicates) return;
    std::vector<AnyTensor> in = rule.in;
    for (std::size_t i : q->active_states)
        in.push_back(or_zeros(rule.cotangents[i], rule.p->results[i].dtype, rule.p->results[i].shape));
    rule.add(*q, apply_loop(q, in, rule.n.at), pulled_inputs(*q));
}

WENGERT_INLINE std::shared_ptr<LoopParameters> PullOfPull::loop() const
{
    auto q = dual.loop(std::vector<bool>(p.body->outputs().size()));
    q->kind = Kind::while_loop;
    q->pull = nullptr;
    q->active_states = q->active_constants = {};
    q->results = results_of(*q->body, q->states, 0);
    return completed(std::move(q));
}

WENGERT_INLINE std::vector<AnyTensor> PullOfPull::pull(const std::vector<AnyTensor>& tangents,
                                                       const std::vector<bool>& wanted,
                                                       const std::vector<AnyTensor>& dots,
                                                       const Site& at) const
{
    const auto j = loop();
    std::vector<bool> of(dual.order.size());
    for (std::size_t k = 0; k < of.size(); ++k) of[k] = dual.order[k] < n && wanted[dual.order[k]];
    const auto q = while_pull(*j, of);
    std::vector<AnyTensor> operands = dual.operands(in.data(), tangents.data());
    const std::vector<bool> mine = is_active();
    const std::vector<std::size_t> rank = ranks(mine), tangent = tangent_states();
    for (std::size_t k : q->active_states) {
        const bool value = dual.order[k] < n;
        const std::size_t state = value ? dual.order[k] : tangent[k];
        AnyTensor g;
        if (mine[state]) g = value ? dots[rank[state]] : in[n + rank[state]];
        const auto& like = p.body->node(p.body->inputs()[state]);
        operands.push_back(g.value ? g : filled(like.dtype, like.shape, 0.0));
    }
    const AnyTensor packed = apply_loop(q, operands, at);
    std::vector<AnyTensor> out(n);
    const std::vector<std::size_t> inputs = pulled_inputs(*q);
    for (std::size_t k = 0; k < inputs.size(); ++k)
        if (const std::size_t i = dual.order[inputs[k]]; i < n) out[i] = unpacked(packed, q->results[k], at);
    return out;
}

WENGERT_INLINE std::vector<AnyTensor> PullOfPull::push(const std::vector<AnyTensor>& tangents,
                                                       const Site& at) const
{
    const auto j = loop();
    const AnyTensor packed = apply_loop(j, dual.operands(in.data(), tangents.data()), at);
    const std::vector<std::size_t> tangent = tangent_states();
    std::vector<AnyTensor> out(p.states);
    for (std::size_t k = p.states; k < dual.states; ++k)
        out[tangent[k]] = unpacked(packed, j->results[k], at);
    return out;
}

WENGERT_INLINE std::vector<std::size_t> PullOfPull::tangent_states() const
{
    std::vector<std::size_t> out(p.states, LoopParameters::npos);
    append(out, chosen(dual.active, 0, p.states));
    return out;
}

WENGERT_INLINE std::vector<bool> PullOfPull::is_active() const
{
    std::vector<bool> out(p.states);
    for (std::size_t i : p.active_states) out[i] = true;
    return out;
}

WENGERT_INLINE std::vector<AnyTensor> by_input(const LoopParameters& p, const std::vector<AnyTensor>& results,
                                               std::size_t n)
{
    std::vector<AnyTensor> out(n);
    const std::vector<std::size_t> inputs = pulled_inputs(p);
    for (std::size_t k = 0; k < inputs.size(); ++k) out[inputs[k]] = results[k];
    return out;
}

WENGERT_INLINE void while_pull_vjp(const LoopPull& rule)
{
    const std::vector<std::size_t>& states = rule.p->active_states;
    const std::size_t n = rule.in.size() - states.size();
    const std::vector<AnyTensor> tangents = by_input(*rule.p, rule.cotangents, n);
    const PullOfPull p(*rule.p, rule.in, tangents);
    const std::vector<bool> wanted(rule.wanted.begin(), rule.wanted.begin() + static_cast<std::ptrdiff_t>(n));
    if (!chosen(wanted, 0, n).empty()) {
        const auto pulled = p.pull(tangents, wanted, std::vector<AnyTensor>(states.size()), rule.n.at);
        for (std::size_t i = 0; i < n; ++i)
            if (wanted[i] && pulled[i].value) rule.out.add(i, pulled[i]);
    }
    if (chosen(rule.wanted, n, rule.in.size()).empty()) return;
    const auto pushed = p.push(tangents, rule.n.at);
    for (std::size_t k = 0; k < states.size(); ++k)
        if (rule.wanted[n + k] && pushed[states[k]].value) rule.out.add(n + k, pushed[states[k]]);
}

WENGERT_INLINE AnyTensor while_pull_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in,
                                        const AnyTensor* dots)
{
    const std::size_t n = in.size() - p.active_states.size();
    const std::vector<AnyTensor> tangents(dots, dots + n), cotangents(dots + n, dots + in.size());
    const PullOfPull rule(p, in, tangents);
    std::vector<bool> wanted(n);
    for (std::size_t i : pulled_inputs(p)) wanted[i] = true;
    const auto pulled = rule.pull(tangents, wanted, cotangents, Tape::current().site_override);
    std::vector<AnyTensor> parts;
    for (std::size_t i : pulled_inputs(p)) parts.push_back(pulled[i]);
    return packed_from(p, parts);
}

}  // namespace wengert::detail

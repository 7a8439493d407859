// What cond_rules.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../cond_rules.hpp"

namespace wengert::detail {

WENGERT_INLINE std::vector<bool> active_in_either(const LoopParameters& p, const std::vector<bool>& inputs)
{
    std::vector<bool> a = active_outputs(*p.body, inputs), b = active_outputs(*p.other, inputs);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = a[k] || b[k];
    return a;
}

WENGERT_INLINE void cond_vjp(const LoopPull& rule)
{
    const std::vector<AnyTensor>& in = rule.in;
    const std::vector<bool> wanted(rule.wanted.begin() + 1, rule.wanted.end()), none(wanted.size());
    std::vector<bool> given = active_in_either(*rule.p, wanted);
    for (std::size_t k = 0; k < given.size(); ++k) given[k] = given[k] && rule.cotangents[k].value;
    const auto q = branch_of(vjp_graph(*rule.p->body, wanted, given, none),
                             vjp_graph(*rule.p->other, wanted, given, none));
    if (q->results.empty() && !q->communicates) return;
    std::vector<AnyTensor> operands{in[0]};
    for (std::size_t k : chosen(given, 0, given.size())) operands.push_back(rule.cotangents[k]);
    operands.insert(operands.end(), in.begin() + 1, in.end());
    rule.add(*q, apply_loop(q, operands, rule.n.at), chosen(rule.wanted, 1, in.size()));
}

WENGERT_INLINE AnyTensor cond_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in,
                                  const AnyTensor* dots)
{
    std::vector<bool> active = have_tangents(dots + 1, in.size() - 1);
    const std::vector<bool> wanted = active_in_either(p, active);
    std::vector<std::size_t> inputs = all_of(0, active.size() + chosen(active, 0, active.size()).size());
    const auto tangents = [&](const Graph& branch) {
        const Graph g = jvp_graph(branch, active, wanted);
        return rearranged(g, inputs, all_of(branch.outputs().size(), g.outputs().size()));
    };
    const auto q = branch_of(tangents(*p.body), tangents(*p.other));
    q->results.clear();
    for (std::size_t k = 0; k < wanted.size(); ++k)
        if (wanted[k]) q->results.push_back(p.results[k]);
    q->size = p.size;
    q->dtype = p.dtype;
    std::vector<AnyTensor> operands = in;
    for (std::size_t i = 1; i < in.size(); ++i)
        if (dots[i].value) operands.push_back(dots[i]);
    return apply_loop(q, operands, Tape::current().site_override);
}

}  // namespace wengert::detail

// What scan_rules.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../scan_rules.hpp"

namespace wengert::detail {

WENGERT_INLINE void scan_vjp(LoopPull& rule)
{
    const Site& at = rule.n.at;
    AnyTensor y = saved_output(rule.n);
    if (rule.p->steps == 0) {
        for (std::size_t i = 0; i < rule.p->states; ++i)
            if (rule.wanted[i] && rule.cotangents[i].value) rule.out.add(i, rule.cotangents[i]);
        return;
    }
    if (rule.p->kept < rule.p->states) {
        rule.p = with_history(*rule.p);
        y = apply_loop(rule.p, rule.in, at);
    }
    const ScanPull pull(*rule.p, rule.wanted, rule.cotangents);
    std::vector<std::size_t> inputs = pull.states;
    append(inputs, pull.constants);
    append(inputs, pull.xs);
    if (inputs.empty() && !rule.p->communicates) return;
    const bool few = rule.p->snapshots > 0;
    auto q = few ? pull_of_snapshots(pull) : pull.parameters();
    std::vector<AnyTensor> operands = few ? operands_with_snapshots(pull, rule.cotangents, y, rule.in, at)
                                          : pull.operands(rule.cotangents, y, rule.in, at);
    if (!few) drop_unused(*q, operands);
    rule.add(*q, apply_loop(q, operands, at), inputs);
}

WENGERT_INLINE std::shared_ptr<const LoopParameters> scan_of(const LoopParameters& p)
{
    LoopParameters scan;
    scan.body = p.body;
    scan.steps = p.steps;
    scan.backwards = p.backwards;
    scan.states = p.states;
    scan.xs = p.xs;
    scan.results = results_of(*p.body, p.states, p.steps);
    return with_history(*completed(std::make_shared<LoopParameters>(std::move(scan))));
}

WENGERT_INLINE std::vector<AnyTensor> pulled_with_all_states(const LoopParameters& p,
                                                             const std::vector<AnyTensor>& operands,
                                                             const Site& at)
{
    const auto scan = scan_of(p);
    const std::size_t given = p.body->outputs().size() - p.states,
                      cotangents = operands.size() - given - p.active_states.size();
    const std::vector<AnyTensor> in(operands.begin(),
                                    operands.begin() + static_cast<std::ptrdiff_t>(cotangents - p.states));
    std::vector<AnyTensor> g(scan->results.size());
    std::size_t next = cotangents;
    for (std::size_t i : p.active_states) g[i] = operands[next++];
    for (std::size_t k = 0; k < given; ++k) g[p.states + k] = operands[next++];
    std::vector<bool> wanted(in.size());
    for (std::size_t i : pulled_inputs(p)) wanted[i] = true;
    const ScanPull pull(*scan, wanted, g);
    const AnyTensor y = apply_loop(scan, in, at);
    auto q = pull.parameters();
    std::vector<AnyTensor> all = pull.operands(g, y, in, at), out;
    drop_unused(*q, all);
    const AnyTensor packed = apply_loop(q, all, at);
    for (const auto& r : q->results) out.push_back(unpacked(packed, r, at));
    return out;
}

WENGERT_INLINE void scan_pull_vjp(const LoopPull& rule)
{
    const Site& at = rule.n.at;
    const auto run = [&](const std::vector<AnyTensor>& x) { return pulled_with_all_states(*rule.p, x, at); };
    const std::vector<AnyTensor> found =
        pull_by_running(run, rule.in, rule.cotangents, rule.wanted, "scan", at);
    for (std::size_t i = 0; i < rule.in.size(); ++i)
        if (rule.wanted[i] && found[i].value) rule.out.add(i, found[i]);
}

WENGERT_INLINE AnyTensor scan_pull_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in,
                                       const AnyTensor* dots)
{
    const Site at = Tape::current().site_override;
    const auto run = [&](const std::vector<AnyTensor>& x) { return pulled_with_all_states(p, x, at); };
    return packed_from(p, push_by_running(run, in, dots, "scan", at));
}

}  // namespace wengert::detail

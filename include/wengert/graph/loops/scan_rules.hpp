// The reverse rule of a scan, and the rules of scan_pull: those of the scans that keep all states, which compute the same.
#pragma once

#include "../../transforms/section.hpp"
#include "scan_pull.hpp"

namespace wengert::detail {

inline void scan_vjp(const Node& n, const AnyTensor& g, Cotangents& out,
                     std::shared_ptr<const LoopParameters> p)
{
    std::vector<AnyTensor> in = saved_inputs(n);
    in.resize(in.size() - p->ignored);
    p = without_effects(std::move(p));
    AnyTensor y = saved_output(n);
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < in.size(); ++i) wanted.push_back(out.wanted(i));
    const std::vector<AnyTensor> cotangents = cotangents_of_results(n, g, out);
    if (p->steps == 0) {
        for (std::size_t i = 0; i < p->states; ++i)
            if (wanted[i] && cotangents[i].value) out.add(i, cotangents[i]);
        return;
    }
    if (p->kept < p->states) {
        p = with_history(*p);
        y = apply_loop(p, in, n.at);
    }
    const ScanPull pull(*p, wanted, cotangents);
    if (pull.states.empty() && pull.xs.empty() && pull.constants.empty()) return;
    auto q = p->snapshots ? pull_of_snapshots(pull) : pull.parameters();
    std::vector<AnyTensor> operands = p->snapshots ? operands_with_snapshots(pull, cotangents, y, in, n.at)
                                                   : pull.operands(cotangents, y, in, n.at);
    if (!p->snapshots) drop_unused(*q, operands);
    std::vector<std::size_t> inputs = pull.states;
    append(inputs, pull.constants);
    append(inputs, pull.xs);
    add_pulled(*q, apply_loop(q, operands, n.at), inputs, out, n.at);
}

/// The scan whose derivative p is, all states kept.
inline std::shared_ptr<const LoopParameters> scan_of(const LoopParameters& p)
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

/// What a scan_pull computes, result by result, from the same operands.
inline std::vector<AnyTensor> pulled_with_all_states(const LoopParameters& p,
                                                     const std::vector<AnyTensor>& operands, const Site& at)
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

inline void scan_pull_vjp(const Node& n, const AnyTensor& h, Cotangents& out, const LoopParameters& p)
{
    const std::vector<AnyTensor> in = saved_inputs(n);
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < in.size(); ++i)
        wanted.push_back(out.wanted(i) && differentiable(in[i].value->dtype));
    const std::vector<AnyTensor> found =
        pull_by_running([&](const std::vector<AnyTensor>& x) { return pulled_with_all_states(p, x, n.at); },
                        in, cotangents_of_results(n, h, out), wanted, "scan", n.at);
    for (std::size_t i = 0; i < in.size(); ++i)
        if (wanted[i] && found[i].value) out.add(i, found[i]);
}

inline AnyTensor scan_pull_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in,
                               const AnyTensor* dots)
{
    const Site at = Tape::current().site_override;
    const auto run = [&](const std::vector<AnyTensor>& x) { return pulled_with_all_states(p, x, at); };
    return packed_from(p, push_by_running(run, in, dots, "scan", at));
}

}  // namespace wengert::detail

// The derivative of a scan with memory for few of its states, as an operation, and its own derivatives: those of the scans
// that keep all states, which compute the same.
#pragma once

#include "../../transforms/section.hpp"
#include "loop_rules.hpp"

namespace wengert::detail {

/// The scan_pull in place of pull.parameters().
inline std::shared_ptr<LoopParameters> pull_of_snapshots(const ScanPull& pull)
{
    const LoopParameters& p = pull.p;
    auto q = pull.parameters();
    q->kind = Kind::scan_pull;
    q->pull = q->body;
    std::vector<std::size_t> outputs = all_of(0, p.states);
    append(outputs, chosen(pull.given, p.states, pull.given.size()));
    q->body = shared_graph(pruned(rearranged(*p.body, all_of(0, p.body->inputs().size()), outputs)));
    q->backwards = p.backwards;
    q->states = p.states;
    q->xs = p.xs;
    q->snapshots = p.snapshots;
    q->active_states = pull.states;
    q->active_constants = pull.constants;
    q->active_xs = pull.xs;
    return q;
}

inline std::vector<AnyTensor> operands_with_snapshots(const ScanPull& pull, const std::vector<AnyTensor>& g,
                                                      const AnyTensor& y, const std::vector<AnyTensor>& in,
                                                      const Site& at)
{
    const LoopParameters& p = pull.p;
    std::vector<AnyTensor> out = in;
    for (std::size_t k = p.results.size() - p.kept; k < p.results.size(); ++k)
        out.push_back(unpacked(y, p.results[k], at));
    for (std::size_t k : pull.states) out.push_back(or_zeros(g[k], p.results[k].dtype, p.results[k].shape));
    for (std::size_t k : chosen(pull.given, p.states, pull.given.size())) out.push_back(g[k]);
    return out;
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
    for (std::size_t k = 0; k < p.body->outputs().size(); ++k) {
        const GraphNode& n = p.body->node(p.body->outputs()[k]);
        scan.results.push_back({n.dtype, k < p.states ? n.shape : stacked_shape(p.steps, n.shape), 0});
    }
    scan.dtype = packed_dtype(scan.results);
    place_results(scan, 0);
    return with_history(scan);
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
    for (const auto* which : {&p.active_states, &p.active_xs, &p.active_constants})
        for (std::size_t i : *which) wanted[i] = true;
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
    Tape& tape = Tape::current();
    const Site at = tape.site_override;
    LevelScope scope(tape, true);
    std::vector<AnyTensor> x = in, parts;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (!dots[i].value) continue;
        x[i] = lift_any(in[i], scope.level(), "scan", at);
        Node& node = *x[i].node;
        if (!node.tangents) node.tangents = new std::vector<Tangent>;
        node.tangents->push_back({scope.level(), dots[i]});
    }
    for (const AnyTensor& y : pulled_with_all_states(p, x, at)) {
        const AnyTensor* dot = y.node ? y.node->tangent(scope.level()) : nullptr;
        parts.push_back(dot ? *dot : AnyTensor{});
    }
    scope.close();
    return packed_from(p, parts);
}

}  // namespace wengert::detail

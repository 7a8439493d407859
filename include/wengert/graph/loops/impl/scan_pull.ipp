// What scan_pull.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../scan_pull.hpp"

namespace wengert::detail {

WENGERT_INLINE ScanPull::ScanPull(const LoopParameters& parameters, const std::vector<bool>& wanted,
                                  const std::vector<AnyTensor>& cotangents)
    : p(parameters), active(active_in_loop(p, wanted)), given(active_outputs(*p.body, active)),
      states(chosen(active, 0, p.states)), xs(chosen(active, p.states, p.states + p.xs)),
      constants(chosen(active, p.states + p.xs, active.size()))
{
    for (std::size_t k = 0; k < given.size(); ++k)
        given[k] = k < p.states ? active[k]
                                : given[k] && k < cotangents.size() && cotangents[k].value &&
                                      p.results[k].shape[0] == p.steps;  // not that of kept states
}

WENGERT_INLINE Graph ScanPull::body() const
{
    std::vector<bool> summed(active.size());
    for (std::size_t i : constants) summed[i] = true;
    const Graph g = vjp_graph(*p.body, active, given, summed, known());
    const std::size_t n = active.size(), ys = chosen(given, p.states, given.size()).size();
    const std::size_t sums = states.size() + ys, inputs = sums + constants.size();
    std::vector<std::size_t> in = all_of(0, states.size());
    append(in, all_of(sums, inputs));
    append(in, all_of(0, p.states + p.xs), inputs);
    append(in, all_of(n, n + known()), inputs);
    append(in, all_of(states.size(), sums));
    append(in, all_of(p.states + p.xs, n), inputs);
    std::vector<std::size_t> out = all_of(0, states.size());
    append(out, all_of(states.size() + xs.size(), states.size() + xs.size() + constants.size()));
    append(out, all_of(states.size(), states.size() + xs.size()));
    return rearranged(g, in, out);
}

WENGERT_INLINE std::vector<AnyTensor> ScanPull::operands(const std::vector<AnyTensor>& g, const AnyTensor& y,
                                                         const std::vector<AnyTensor>& in,
                                                         const Site& at) const
{
    std::vector<AnyTensor> out;
    for (std::size_t k : states) out.push_back(or_zeros(g[k], p.results[k].dtype, p.results[k].shape));
    for (std::size_t i : constants) out.push_back(filled(in[i].value->dtype, in[i].value->shape, -0.0));
    const std::size_t kept = p.results.size() - p.kept;
    for (std::size_t k = kept; k < kept + p.states; ++k) out.push_back(unpacked(y, p.results[k], at));
    for (std::size_t i = p.states; i < p.states + p.xs; ++i) out.push_back(in[i]);
    for (std::size_t k = kept + p.states; k < p.results.size(); ++k)
        out.push_back(unpacked(y, p.results[k], at));
    for (std::size_t k = p.states; k < given.size(); ++k)
        if (given[k]) out.push_back(g[k]);
    for (std::size_t i = p.states + p.xs; i < in.size(); ++i) out.push_back(in[i]);
    return out;
}

WENGERT_INLINE std::shared_ptr<LoopParameters> ScanPull::parameters() const
{
    auto q = std::make_shared<LoopParameters>();
    q->body = shared_graph(body());
    q->steps = p.steps;
    q->backwards = !p.backwards;
    q->states = states.size() + constants.size();
    q->xs = p.states + p.xs + known() + chosen(given, p.states, given.size()).size();
    q->results = results_of(*q->body, q->states, p.steps);
    return completed(std::move(q));
}

WENGERT_INLINE std::shared_ptr<LoopParameters> pull_of_snapshots(const ScanPull& pull)
{
    const LoopParameters& p = pull.p;
    auto q = pull.parameters();
    q->kind = Kind::scan_pull;
    q->pull = q->body;
    std::vector<std::size_t> outputs = all_of(0, p.states);
    append(outputs, chosen(pull.given, p.states, pull.given.size()));
    q->body = shared_graph(compacted(with_outputs(*p.body, outputs)));
    q->backwards = p.backwards;
    q->states = p.states;
    q->xs = p.xs;
    q->snapshots = p.snapshots;
    q->active_states = pull.states;
    q->active_constants = pull.constants;
    q->active_xs = pull.xs;
    return q;
}

WENGERT_INLINE std::vector<AnyTensor> operands_with_snapshots(const ScanPull& pull,
                                                              const std::vector<AnyTensor>& g,
                                                              const AnyTensor& y,
                                                              const std::vector<AnyTensor>& in,
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

}  // namespace wengert::detail

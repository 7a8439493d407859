// The derivatives of loops and branches: loops and branches again, of any order.
//
// A scan that is swept back keeps its states before each step. Its derivative is a scan from the last step to the first that
// carries the cotangents of the states and the sums of those of the constants; the body is one step of the derivative. With
// memory for few states it is a scan_pull, whose rules are in scan_pull.hpp. A
// while_loop is swept back by an operation of its own, while_pull, which runs it again and keeps the states meanwhile, since
// the shapes in a graph cannot depend on a number of steps that only data know. Forwards, states and tangents run together.
#pragma once

#include "loop_graphs.hpp"

namespace wengert::detail {

using Kind = LoopParameters::Kind;

inline std::vector<AnyTensor> saved_inputs(const Node& n)
{
    std::vector<AnyTensor> in;
    for (std::size_t i = 0; i < n.input_count; ++i) in.push_back(saved_input(n, i));
    return in;
}
template <class T> AnyTensor filled_with(T v, const Shape& shape)
{
    return broadcast_to(Tensor<T>(v), shape, Site{}).any();
}
/// A constant of one number; large ones are no memory of the graph.
inline AnyTensor filled(DType d, const Shape& shape, double v)
{
    return d == DType::float32 ? filled_with(static_cast<float>(v), shape) : filled_with(v, shape);
}

/// Indices of those that are true, shifted.
inline std::vector<std::size_t> chosen(const std::vector<bool>& which, std::size_t first, std::size_t last)
{
    std::vector<std::size_t> out;
    for (std::size_t i = first; i < last; ++i)
        if (which[i]) out.push_back(i);
    return out;
}
inline void append(std::vector<std::size_t>& to, const std::vector<std::size_t>& from, std::size_t shift = 0)
{
    for (std::size_t i : from) to.push_back(i + shift);
}
inline std::vector<std::size_t> all_of(std::size_t first, std::size_t last)
{
    std::vector<std::size_t> out;
    for (std::size_t i = first; i < last; ++i) out.push_back(i);
    return out;
}
/// The position of each true one among the true ones.
inline std::vector<std::size_t> ranks(const std::vector<bool>& which)
{
    std::vector<std::size_t> out(which.size());
    for (std::size_t i = 0, n = 0; i < which.size(); ++i) out[i] = which[i] ? n++ : LoopParameters::npos;
    return out;
}

inline Shape stacked_shape(std::int64_t steps, const Shape& one)
{
    Shape s{steps};
    for (auto e : one) s.push_back(e);
    return s;
}

/// Drops xs and constants that the body of a scan does not read, and their operands.
inline void drop_unused(LoopParameters& p, std::vector<AnyTensor>& in)
{
    const Graph& g = *p.body;
    std::vector<bool> used(g.size());
    for (const GraphNode& n : g.nodes())
        for (ValueId i : n.inputs) used[i] = true;
    for (ValueId v : g.outputs()) used[v] = true;
    std::vector<std::size_t> keep;
    std::vector<AnyTensor> kept;
    std::size_t xs = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (i >= p.states && !used[g.inputs()[i]]) continue;
        keep.push_back(i);
        kept.push_back(in[i]);
        xs += i >= p.states && i < p.states + p.xs;
    }
    p.body = shared_graph(rearranged(g, keep, all_of(0, g.outputs().size())));
    p.xs = xs;
    in = std::move(kept);
}

// A scan, backwards.

/// Cotangents of a loop's results, empty where there are none.
inline std::vector<AnyTensor> cotangents_of_results(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const LoopParameters& p = *static_cast<const Loop*>(n.op)->parameters;
    std::vector<AnyTensor> parts = out.walk().take_parts(n);
    parts.resize(p.results.size());
    if (g.value->dtype == p.dtype && g.value->shape == Shape{p.size})  // of the packed block as a whole
        for (std::size_t k = 0; k < p.results.size(); ++k)
            if (differentiable(p.results[k].dtype) && p.results[k].wanted())
                parts[k] = unpacked(g, p.results[k], n.at);
    for (std::size_t k = 0; k < p.results.size(); ++k)
        if (parts[k].value && p.results[k].dtype == DType::float32 && parts[k].value->dtype == DType::float64)
            parts[k] = cast<float>(Tensor<double>(parts[k]), n.at).any();
    return parts;
}
/// A cotangent or tangent, zeros where it is absent.
inline AnyTensor or_zeros(const AnyTensor& t, DType dtype, const Shape& shape)
{
    return t.value ? t : filled(dtype, shape, 0.0);
}

struct ScanPull {
    const LoopParameters& p;
    std::vector<bool> active, given;
    std::vector<std::size_t> states, xs, constants;  ///< active inputs

    ScanPull(const LoopParameters& parameters, const std::vector<bool>& wanted,
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

    /// One step: cotangents of states, sums; states, slices, cotangents of results; constants.
    Graph body() const
    {
        std::vector<bool> summed(active.size());
        for (std::size_t i : constants) summed[i] = true;
        const Graph g = vjp_graph(*p.body, active, given, summed);
        const std::size_t n = active.size(), ys = chosen(given, p.states, given.size()).size();
        const std::size_t sums = states.size() + ys, inputs = sums + constants.size();
        std::vector<std::size_t> in = all_of(0, states.size());
        append(in, all_of(sums, inputs));
        append(in, all_of(0, p.states + p.xs), inputs);
        append(in, all_of(states.size(), sums));
        append(in, all_of(p.states + p.xs, n), inputs);
        std::vector<std::size_t> out = all_of(0, states.size());
        append(out, all_of(states.size() + xs.size(), states.size() + xs.size() + constants.size()));
        append(out, all_of(states.size(), states.size() + xs.size()));
        return rearranged(g, in, out);
    }
    std::vector<AnyTensor> operands(const std::vector<AnyTensor>& g, const AnyTensor& y,
                                    const std::vector<AnyTensor>& in, const Site& at) const
    {
        std::vector<AnyTensor> out;
        for (std::size_t k : states) out.push_back(or_zeros(g[k], p.results[k].dtype, p.results[k].shape));
        for (std::size_t i : constants) out.push_back(filled(in[i].value->dtype, in[i].value->shape, -0.0));
        for (std::size_t k = p.results.size() - p.kept; k < p.results.size(); ++k)
            out.push_back(unpacked(y, p.results[k], at));
        for (std::size_t i = p.states; i < p.states + p.xs; ++i) out.push_back(in[i]);
        for (std::size_t k = p.states; k < given.size(); ++k)
            if (given[k]) out.push_back(g[k]);
        for (std::size_t i = p.states + p.xs; i < in.size(); ++i) out.push_back(in[i]);
        return out;
    }
    std::shared_ptr<LoopParameters> parameters() const
    {
        auto q = std::make_shared<LoopParameters>();
        q->body = shared_graph(body());
        q->steps = p.steps;
        q->backwards = !p.backwards;
        q->states = states.size() + constants.size();
        q->xs = p.states + p.xs + chosen(given, p.states, given.size()).size();
        for (std::size_t k = 0; k < q->body->outputs().size(); ++k) {
            const GraphNode& n = q->body->node(q->body->outputs()[k]);
            q->results.push_back({n.dtype, k < q->states ? n.shape : stacked_shape(p.steps, n.shape), 0});
        }
        q->dtype = packed_dtype(q->results);
        q->code = std::make_shared<LoopCode>();
        place_results(*q, 0);
        return q;
    }
};

std::shared_ptr<LoopParameters> pull_of_snapshots(const ScanPull& pull);
std::vector<AnyTensor> operands_with_snapshots(const ScanPull& pull, const std::vector<AnyTensor>& g,
                                               const AnyTensor& y, const std::vector<AnyTensor>& in,
                                               const Site& at);

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
    const AnyTensor packed = apply_loop(q, operands, n.at);
    std::size_t k = 0;
    for (const auto* which : {&pull.states, &pull.constants, &pull.xs})
        for (std::size_t i : *which) {
            if (wanted[i]) out.add(i, unpacked(packed, q->results[k], n.at));
            ++k;
        }
}

// Forwards.

/// A loop on values and tangents together: which inputs have tangents, and how values and tangents are ordered.
struct Joint {
    const LoopParameters& p;
    std::vector<bool> active;
    std::vector<std::size_t> order;  ///< (inputs, then active tangents) in the order of the joint loop
    std::size_t states, xs;

    Joint(const LoopParameters& parameters, const std::vector<bool>& inputs)
        : p(parameters), active(active_in_loop(p, inputs)), states(p.states), xs(p.xs)
    {
        const std::size_t n = active.size();
        std::size_t tangents = n;
        const std::size_t ends[] = {0, p.states, p.states + p.xs, n};
        for (std::size_t part = 0; part < 3; ++part) {
            append(order, all_of(ends[part], ends[part + 1]));
            const std::size_t count = chosen(active, ends[part], ends[part + 1]).size();
            append(order, all_of(tangents, tangents + count));
            tangents += count;
            if (part < 2) (part == 0 ? states : xs) += count;
        }
    }
    /// The body; its outputs are states, tangents of active states, tangents of the results in `wanted`.
    Graph body(const std::vector<bool>& wanted) const
    {
        std::vector<bool> tangents = wanted;
        for (std::size_t k = 0; k < p.states; ++k) tangents[k] = active[k];
        const Graph g = jvp_graph(*p.body, active, tangents);
        std::vector<std::size_t> out = all_of(0, p.states);
        append(out, all_of(p.body->outputs().size(), g.outputs().size()));
        return rearranged(g, order, out);
    }
    /// The test of a while_loop, which reads no tangents.
    Graph test(const Graph& body_graph) const
    {
        std::vector<const GraphNode*> nodes;
        for (ValueId v : body_graph.inputs()) nodes.push_back(&body_graph.node(v));
        std::vector<std::size_t> place(active.size());
        for (std::size_t j = 0; j < order.size(); ++j)
            if (order[j] < active.size()) place[order[j]] = j;
        return with_inputs(*p.other, nodes, place);
    }
    std::vector<AnyTensor> operands(const AnyTensor* in, const AnyTensor* tangents) const
    {
        std::vector<AnyTensor> all(in, in + active.size()), out;
        for (std::size_t i : chosen(active, 0, active.size()))
            all.push_back(tangents[i].value ? tangents[i]
                                            : filled(in[i].value->dtype, in[i].value->shape, 0.0));
        for (std::size_t i : order) out.push_back(all[i]);
        return out;
    }
};

inline std::vector<bool> have_tangents(const AnyTensor* tangents, std::size_t n)
{
    std::vector<bool> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(bool(tangents[i].value));
    return out;
}

/// Scans and while_loops: tangents lie in the packed block where the values lie in that of p; the values are left out.
inline AnyTensor joint_jvp(const LoopParameters& p, const AnyTensor* in, const AnyTensor* tangents,
                           std::size_t n)
{
    const Joint joint(p, have_tangents(tangents, n));
    const std::vector<bool> wanted = active_outputs(*p.body, joint.active);
    auto q = std::make_shared<LoopParameters>(p);
    const Graph body = joint.body(wanted);
    if (p.other) q->other = shared_graph(joint.test(body));
    q->body = shared_graph(body);
    q->states = joint.states;
    q->xs = joint.xs;
    q->kept = 0;
    q->code = std::make_shared<LoopCode>();
    q->results.assign(p.results.begin(), p.results.begin() + static_cast<std::ptrdiff_t>(p.states));
    for (auto& r : q->results) r.offset = LoopParameters::Result::nowhere;
    for (std::size_t k = 0; k < p.results.size(); ++k)
        if (k < p.states ? joint.active[k] : wanted[k]) q->results.push_back(p.results[k]);
    return apply_loop(q, joint.operands(in, tangents), Tape::current().site_override);
}

// A while_loop, backwards.

/// The derivative of a while_loop with respect to the inputs wanted.
inline std::shared_ptr<LoopParameters> while_pull(const LoopParameters& p, const std::vector<bool>& wanted)
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
    for (const auto* which : {&q->active_states, &q->active_constants})
        for (std::size_t i : *which) {
            const GraphNode& n = p.body->node(p.body->inputs()[i]);
            q->results.push_back({n.dtype, n.shape, 0});
        }
    q->dtype = packed_dtype(q->results);
    q->code = std::make_shared<LoopCode>();
    place_results(*q, 0);
    return q;
}

inline void while_vjp(const Node& n, const AnyTensor& g, Cotangents& out,
                      std::shared_ptr<const LoopParameters> p)
{
    std::vector<AnyTensor> in = saved_inputs(n);
    in.resize(in.size() - p->ignored);
    p = without_effects(std::move(p));
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < in.size(); ++i) wanted.push_back(out.wanted(i));
    auto q = while_pull(*p, wanted);
    if (q->results.empty()) return;
    const std::vector<AnyTensor> cotangents = cotangents_of_results(n, g, out);
    for (std::size_t i : q->active_states)
        in.push_back(or_zeros(cotangents[i], p->results[i].dtype, p->results[i].shape));
    const AnyTensor packed = apply_loop(q, in, n.at);
    std::size_t k = 0;
    for (const auto* which : {&q->active_states, &q->active_constants})
        for (std::size_t i : *which) {
            if (wanted[i]) out.add(i, unpacked(packed, q->results[k], n.at));
            ++k;
        }
}

/// The derivative of a while_pull, P(s, c, g) = gᵀ ∂F: with the loop J of values and tangents, Ṗ is the part for the values in
/// the pull of J at the cotangent ġ of the values and g of the tangents, because second derivatives commute.
struct PullOfPull {
    const LoopParameters& p;
    const std::vector<AnyTensor>& in;
    LoopParameters base;  ///< the while_loop
    Joint joint;
    std::size_t n;  ///< inputs of the while_loop

    static LoopParameters loop_of(const LoopParameters& p)
    {
        LoopParameters base;
        base.kind = Kind::while_loop;
        base.body = p.body;
        base.other = p.other;
        base.states = p.states;
        base.guard = p.guard;
        return base;
    }
    /// `tangents` of the states and constants, of the kind of the while_pull's results: only where it has some.
    PullOfPull(const LoopParameters& parameters, const std::vector<AnyTensor>& inputs,
               const std::vector<AnyTensor>& tangents)
        : p(parameters), in(inputs), base(loop_of(p)),
          joint(base, have_tangents(tangents.data(), tangents.size())), n(in.size() - p.active_states.size())
    {}
    /// J as a while_loop with the tangents of the states as results.
    std::shared_ptr<LoopParameters> loop() const
    {
        auto q = std::make_shared<LoopParameters>(base);
        std::vector<bool> none(p.body->outputs().size());
        const Graph body = joint.body(none);
        q->other = shared_graph(joint.test(body));
        q->states = joint.states;
        for (std::size_t k = 0; k < q->states; ++k) {
            const GraphNode& node = body.node(body.outputs()[k]);
            q->results.push_back({node.dtype, node.shape, 0});
        }
        q->body = shared_graph(body);
        q->dtype = packed_dtype(q->results);
        q->code = std::make_shared<LoopCode>();
        place_results(*q, 0);
        return q;
    }
    /// The pull of J with respect to values in `wanted`; `dots` are ġ for the active states, absent ones zero. One result for
    /// each input of the while_loop, empty where there is none.
    std::vector<AnyTensor> pull(const std::vector<AnyTensor>& tangents, const std::vector<bool>& wanted,
                                const std::vector<AnyTensor>& dots, const Site& at) const
    {
        const auto j = loop();
        std::vector<bool> of(joint.order.size());
        for (std::size_t k = 0; k < of.size(); ++k) of[k] = joint.order[k] < n && wanted[joint.order[k]];
        const auto q = while_pull(*j, of);
        std::vector<AnyTensor> operands = joint.operands(in.data(), tangents.data());
        const std::vector<bool> mine = is_active();
        const std::vector<std::size_t> rank = ranks(mine), tangent = tangent_states();
        for (std::size_t k : q->active_states) {
            const bool value = joint.order[k] < n;
            const std::size_t state = value ? joint.order[k] : tangent[k];
            AnyTensor g;
            if (mine[state]) g = value ? dots[rank[state]] : in[n + rank[state]];
            const auto& like = p.body->node(p.body->inputs()[state]);
            operands.push_back(g.value ? g : filled(like.dtype, like.shape, 0.0));
        }
        const AnyTensor packed = apply_loop(q, operands, at);
        std::vector<AnyTensor> out(n);
        std::size_t k = 0;
        for (const auto* which : {&q->active_states, &q->active_constants})
            for (std::size_t i : *which) {
                if (joint.order[i] < n) out[joint.order[i]] = unpacked(packed, q->results[k], at);
                ++k;
            }
        return out;
    }
    /// ∂F · tangents: the final tangents of the states, empty where they are zero.
    std::vector<AnyTensor> push(const std::vector<AnyTensor>& tangents, const Site& at) const
    {
        const auto j = loop();
        const AnyTensor packed = apply_loop(j, joint.operands(in.data(), tangents.data()), at);
        const std::vector<std::size_t> tangent = tangent_states();
        std::vector<AnyTensor> out(p.states);
        for (std::size_t k = p.states; k < joint.states; ++k)
            out[tangent[k]] = unpacked(packed, j->results[k], at);
        return out;
    }

private:
    /// For the position of a tangent among the joint states the state that it is of.
    std::vector<std::size_t> tangent_states() const
    {
        std::vector<std::size_t> out(p.states, LoopParameters::npos);
        append(out, chosen(joint.active, 0, p.states));
        return out;
    }
    std::vector<bool> is_active() const
    {
        std::vector<bool> out(p.states);
        for (std::size_t i : p.active_states) out[i] = true;
        return out;
    }
};

/// The cotangents of a while_pull's results, by the inputs of the while_loop that they belong to.
inline std::vector<AnyTensor> by_input(const LoopParameters& p, const std::vector<AnyTensor>& results,
                                       std::size_t n)
{
    std::vector<AnyTensor> out(n);
    std::size_t k = 0;
    for (const auto* which : {&p.active_states, &p.active_constants})
        for (std::size_t i : *which) out[i] = results[k++];
    return out;
}

inline void while_pull_vjp(const Node& node, const AnyTensor& h, Cotangents& out,
                           std::shared_ptr<const LoopParameters> p)
{
    const std::vector<AnyTensor> in = saved_inputs(node);
    const std::size_t n = in.size() - p->active_states.size();
    const std::vector<AnyTensor> tangents = by_input(*p, cotangents_of_results(node, h, out), n);
    const PullOfPull rule(*p, in, tangents);
    std::vector<bool> wanted(n);
    bool values = false, cotangents = false;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (i < n) wanted[i] = out.wanted(i);
        (i < n ? values : cotangents) |= out.wanted(i);
    }
    if (values) {
        const auto pulled =
            rule.pull(tangents, wanted, std::vector<AnyTensor>(p->active_states.size()), node.at);
        for (std::size_t i = 0; i < n; ++i)
            if (wanted[i] && pulled[i].value) out.add(i, pulled[i]);
    }
    if (!cotangents) return;
    const auto pushed = rule.push(tangents, node.at);
    for (std::size_t k = 0; k < p->active_states.size(); ++k)
        if (out.wanted(n + k) && pushed[p->active_states[k]].value)
            out.add(n + k, pushed[p->active_states[k]]);
}

template <class T>
AnyTensor packed_sum(const AnyTensor& total, const AnyTensor& part, const LoopParameters::Result& r,
                     std::int64_t size)
{
    const Tensor<T> term = apply<Pack, T>(Pack{r.offset, r.shape, size}, Site{}, Tensor<T>(part));
    return total.value ? (Tensor<T>(total) + term).any() : term.any();
}
/// A packed block from some of its results, zeros elsewhere.
inline AnyTensor packed_from(const LoopParameters& p, const std::vector<AnyTensor>& parts)
{
    AnyTensor total;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (!parts[k].value || !p.results[k].wanted()) continue;
        AnyTensor part = parts[k];
        if (p.dtype == DType::float64 && part.value->dtype == DType::float32)
            part = cast<double>(Tensor<float>(part), Site{}).any();
        total = p.dtype == DType::float32 ? packed_sum<float>(total, part, p.results[k], p.size)
                                          : packed_sum<double>(total, part, p.results[k], p.size);
    }
    return total.value ? total : AnyTensor{zeros_block(p.dtype, Shape{p.size}), {}};
}

inline AnyTensor while_pull_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in,
                                const AnyTensor* dots)
{
    const std::size_t n = in.size() - p.active_states.size();
    const std::vector<AnyTensor> tangents(dots, dots + n), cotangents(dots + n, dots + in.size());
    const PullOfPull rule(p, in, tangents);
    std::vector<bool> wanted(n);
    for (std::size_t i : p.active_states) wanted[i] = true;
    for (std::size_t i : p.active_constants) wanted[i] = true;
    const auto pulled = rule.pull(tangents, wanted, cotangents, Tape::current().site_override);
    std::vector<AnyTensor> parts;
    for (const auto* which : {&p.active_states, &p.active_constants})
        for (std::size_t i : *which) parts.push_back(pulled[i]);
    return packed_from(p, parts);
}

// Branches.

/// A cond of two graphs that were made from the branches of p.
inline std::shared_ptr<LoopParameters> branch_of(Graph yes, Graph no)
{
    auto q = std::make_shared<LoopParameters>();
    q->kind = Kind::cond;
    for (ValueId v : yes.outputs()) q->results.push_back({yes.node(v).dtype, yes.node(v).shape, 0});
    q->body = shared_graph(std::move(yes));
    q->other = shared_graph(std::move(no));
    q->dtype = packed_dtype(q->results);
    q->code = std::make_shared<LoopCode>();
    place_results(*q, 0);
    return q;
}
inline std::vector<bool> active_in_either(const LoopParameters& p, const std::vector<bool>& inputs)
{
    std::vector<bool> a = active_outputs(*p.body, inputs), b = active_outputs(*p.other, inputs);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = a[k] || b[k];
    return a;
}

inline void cond_vjp(const Node& n, const AnyTensor& g, Cotangents& out,
                     std::shared_ptr<const LoopParameters> p)
{
    std::vector<AnyTensor> in = saved_inputs(n);
    in.resize(in.size() - p->ignored);
    p = without_effects(std::move(p));
    std::vector<bool> wanted;
    for (std::size_t i = 1; i < in.size(); ++i)
        wanted.push_back(out.wanted(i) && differentiable(in[i].value->dtype));
    const std::vector<AnyTensor> cotangents = cotangents_of_results(n, g, out);
    std::vector<bool> given = active_in_either(*p, wanted), none(wanted.size());
    for (std::size_t k = 0; k < given.size(); ++k) given[k] = given[k] && cotangents[k].value;
    const auto q =
        branch_of(vjp_graph(*p->body, wanted, given, none), vjp_graph(*p->other, wanted, given, none));
    if (q->results.empty()) return;
    std::vector<AnyTensor> operands{in[0]};
    for (std::size_t k = 0; k < given.size(); ++k)
        if (given[k]) operands.push_back(cotangents[k]);
    operands.insert(operands.end(), in.begin() + 1, in.end());
    const AnyTensor packed = apply_loop(q, operands, n.at);
    std::size_t k = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i]) out.add(i + 1, unpacked(packed, q->results[k++], n.at));
}

inline AnyTensor cond_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in, const AnyTensor* dots)
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

// What the tape calls.

void scan_pull_vjp(const Node& n, const AnyTensor& h, Cotangents& out, const LoopParameters& p);
AnyTensor scan_pull_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in, const AnyTensor* dots);

inline void loop_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    auto p = static_cast<const Loop*>(n.op)->parameters;
    switch (p->kind) {
    case Kind::scan: return scan_vjp(n, g, out, std::move(p));
    case Kind::while_loop: return while_vjp(n, g, out, std::move(p));
    case Kind::cond: return cond_vjp(n, g, out, std::move(p));
    case Kind::while_pull: return while_pull_vjp(n, g, out, std::move(p));
    default: return scan_pull_vjp(n, g, out, *p);
    }
}

inline AnyTensor loop_jvp(const void* op, const AnyTensor* in, const AnyTensor* tangents, std::size_t n,
                          const AnyTensor&)
{
    auto p = static_cast<const Loop*>(op)->parameters;
    const std::vector<AnyTensor> x(in, in + (n - p->ignored));
    p = without_effects(std::move(p));
    if (p->kind == Kind::cond) return cond_jvp(*p, x, tangents);
    if (p->kind == Kind::while_pull) return while_pull_jvp(*p, x, tangents);
    if (p->kind == Kind::scan_pull) return scan_pull_jvp(*p, x, tangents);
    return joint_jvp(*p, x.data(), tangents, x.size());
}

}  // namespace wengert::detail

#include "scan_pull.hpp"

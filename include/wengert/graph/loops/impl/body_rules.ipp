// What body_rules.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../tape/obliged.hpp"
#include "../body_rules.hpp"

namespace wengert::detail {

WENGERT_INLINE std::vector<bool> active_values(const Graph& g, const std::vector<bool>& inputs)
{
    std::vector<bool> active(g.size());
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (n.kind == Graph::Kind::input)
            active[v] = n.index < inputs.size() && inputs[n.index] && differentiable(n.dtype);
        else if (n.kind == Graph::Kind::operation && differentiable(n.dtype) &&
                 (n.primitive->differentiable || n.primitive->expand))
            active[v] = n.primitive->communicates ||
                        std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId i) { return active[i]; });
    }
    return active;
}

WENGERT_INLINE std::vector<bool> active_outputs(const Graph& g, const std::vector<bool>& inputs)
{
    const std::vector<bool> values = active_values(g, inputs);
    std::vector<bool> out;
    for (ValueId v : g.outputs()) out.push_back(values[v]);
    return out;
}

WENGERT_INLINE std::vector<bool> active_in_loop(const LoopParameters& p, std::vector<bool> inputs)
{
    for (std::size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = inputs[i] && differentiable(p.body->node(p.body->inputs()[i]).dtype);
    for (bool changed = true; changed;) {
        changed = false;
        const std::vector<bool> out = active_outputs(*p.body, inputs);
        for (std::size_t i = 0; i < p.states; ++i)
            if (out[i] && !inputs[i]) inputs[i] = changed = true;
    }
    return inputs;
}

WENGERT_INLINE std::vector<ValueId> communications(const Graph& g)
{
    std::vector<ValueId> found;
    for (ValueId v = 0; v < g.size(); ++v)
        if (const Primitive* p = g.node(v).primitive; p && p->communicates && !p->loop) found.push_back(v);
    return found;
}

WENGERT_INLINE std::shared_ptr<const LoopParameters> with_history(const LoopParameters& p)
{
    auto q = std::make_shared<LoopParameters>(p);
    Graph body = *p.body;
    const std::size_t first = p.results.size();
    std::vector<ValueId> kept(body.inputs().begin(),
                              body.inputs().begin() + static_cast<std::ptrdiff_t>(p.states));
    if (!p.snapshots)
        for (const ValueId v : communications(body)) kept.push_back(v);
    for (const ValueId v : kept) {
        const GraphNode& n = body.node(v);
        q->results.push_back({n.dtype, stacked_shape(p.snapshots ? p.snapshots : p.steps, n.shape), 0});
        body.output(v);
    }
    q->kept = kept.size();
    q->body = shared_graph(std::move(body));
    q->code = make_loop_code();
    place_results(*q, first);
    return q;
}

WENGERT_INLINE std::shared_ptr<const LoopParameters> without_effects(std::shared_ptr<const LoopParameters> p)
{
    if (!p->effects) return p;
    auto q = std::make_shared<LoopParameters>(*p);
    for (auto* g : {&q->body, &q->other, &q->pull})
        if (*g) *g = shared_graph(without_effects(**g));
    q->effects = q->communicates;
    q->ignored = 0;
    q->code = make_loop_code();
    return q;
}

/// Communications stay, in their order: one that came behind a call of the host comes behind the one before that.
inline void put_in_order(GraphNode& n, ValueId before, const std::vector<ValueId>& map)
{
    if (n.inputs.empty() || map[n.inputs.back()] != no_value) return;
    n.inputs.resize(n.inputs.size() - 1);
    if (before != no_value) n.inputs.push_back(before);
}

/// The loop of a node without calls of the host, behind the communication before it.
inline void make_silent(GraphNode& n, const LoopParameters& l, ValueId before)
{
    auto q = without_effects(std::shared_ptr<const LoopParameters>(n.op, &l));
    n.inputs.resize(n.inputs.size() - l.ignored);
    if (q->communicates && before != no_value) {
        auto behind = std::make_shared<LoopParameters>(*q);
        behind->ignored = 1;
        q = std::move(behind);
        n.inputs.push_back(before);
    }
    n.primitive = &primitive_of(*q);
    n.op = std::make_shared<const Loop>(Loop{std::move(q)});
}

WENGERT_INLINE void refuse_host_value(const GraphNode& n)
{
    fail<TapeError>("host_callback",
                    "a value that the host returns inside of a loop or a branch is used in a derivative, "
                    "which does not call the "
                    "host again: call it outside and pass the value",
                    n.at);
}

WENGERT_INLINE Graph without_effects(const Graph& g)
{
    std::vector<ValueId> map;
    Graph h = g.like(map);
    ValueId before = no_value;
    for (ValueId v = 0; v < g.size(); ++v) {
        GraphNode n = g.node(v);
        if (n.kind == Graph::Kind::input) continue;
        if (const LoopParameters* l = loop_parameters(n); l && l->effects)
            make_silent(n, *l, before);
        else if (n.primitive && n.primitive->communicates)
            put_in_order(n, before, map);
        else if (n.primitive && n.primitive->effects)
            continue;
        if (n.primitive && n.primitive->communicates) before = v;
        for (ValueId i : n.inputs)
            if (map[i] == no_value) refuse_host_value(n);
        map[v] = h.copy(n, map);
    }
    for (ValueId v : g.outputs())
        if (map[v] == no_value) refuse_host_value(g.node(v));
    h.finish(g, map);
    return h;
}

WENGERT_INLINE void zero_unread_indices(const GraphNode& n, const Block& b,
                                        const std::vector<AnyTensor>& operands)
{
    const bool is_handed_on = std::any_of(operands.begin(), operands.end(),
                                          [&](const AnyTensor& t) { return t.value.get() == &b; });
    const bool is_own = n.primitive->value || (!n.primitive->loop && !b.is_view() && !is_handed_on);
    if (is_own && !differentiable(b.dtype) && !b.strided && b.count > 0)
        std::memset(b.data, 0, b.count * size_of(b.dtype));
}

/// A communication that has given y before. Behind its operands is the one before it, where there is one.
inline AnyTensor recorded_again(const Graph& g, const GraphNode& n, const std::vector<AnyTensor>& in,
                                const AnyTensor& y)
{
    std::vector<const AnyTensor*> operands;
    for (const AnyTensor& x : in) operands.push_back(&x);
    if (!n.inputs.empty())
        if (const Primitive* before = g.node(n.inputs.back()).primitive; before && before->effects)
            operands.pop_back();
    const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
    return record_obliged(*n.primitive, operands.data(), operands.size(), y.value, n.op.get(), n.op.get(),
                          n.at, false);
}

/// The values that an operation reads as one block, not a result of a loop out of it: a pullback does, in the body of another loop.
inline std::vector<bool> read_whole(const Graph& g)
{
    std::vector<bool> whole(g.size());
    for (const GraphNode& n : g.nodes())
        if (n.kind == Graph::Kind::operation && !packed_part(n))
            for (ValueId i : n.inputs) whole[i] = true;
    return whole;
}

WENGERT_INLINE std::vector<AnyTensor> replay_body(const Graph& with_host,
                                                  const std::vector<AnyTensor>& inputs, bool reverse,
                                                  const std::vector<AnyTensor>& known)
{
    const Graph g = without_effects(with_host);
    std::size_t next = 0;
    std::vector<AnyTensor> values(g.size()), operands, out;
    std::vector<bool> example(g.size(), false);  // made of the inputs
    const std::vector<bool> whole = read_whole(g);
    for (ValueId v = 0; v < g.size(); ++v) {
        const GraphNode& n = g.node(v);
        if (n.kind != Graph::Kind::operation) {
            values[v] = n.kind == Graph::Kind::input ? inputs[n.index] : AnyTensor{n.constant, {}};
            example[v] = n.kind == Graph::Kind::input;
            continue;
        }
        operands.clear();
        for (ValueId i : n.inputs) operands.push_back(values[i]);
        const bool depends =
            std::any_of(operands.begin(), operands.end(), [](const AnyTensor& t) { return bool(t.node); });
        const LoopParameters* l = loop_parameters(n);
        if (l && l->kind == LoopParameters::Kind::scan && reverse && (depends || l->communicates) &&
            l->kept == 0 && differentiable(l->dtype) && !whole[v]) {  // with its states the block is longer
            values[v] = apply_loop(with_history(*l), operands, n.at);
        } else if (!l && n.primitive->communicates && next < known.size()) {
            values[v] = recorded_again(g, n, operands, known[next++]);
        } else if (const auto part = packed_part(n)) {
            const Parameters op =
                packed_at(n, part->offset, static_cast<std::int64_t>(operands[0].value->count));
            values[v] = apply_any(*n.primitive, op.get(), operands.data(), 1, n.at);
        } else {
            values[v] = apply_any(*n.primitive, n.op.get(), operands.data(), operands.size(), n.at);
        }
        example[v] = std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId i) { return example[i]; });
        if (example[v]) zero_unread_indices(n, *values[v].value, operands);
    }
    for (ValueId v : g.outputs()) out.push_back(values[v]);
    return out;
}

WENGERT_INLINE AnyTensor GraphTrace::input(const GraphNode& like)
{
    AnyTensor t{zeros_block(like.dtype, like.shape), {}};
    trace_.input(t.value, like.at);
    return t;
}

WENGERT_INLINE Graph GraphTrace::finish()
{
    trace_.stop();
    for (const Guard& g : trace_.graph().guards())
        fail<TapeError>("scan", "the derivative of a loop's or a branch's body reads a value into plain C++",
                        g.at);
    return compacted(std::move(trace_.graph()));
}

WENGERT_INLINE AnyTensor variable_of(const AnyTensor& x, std::size_t level)
{
    return {x.value, with_real(x.value->dtype, [&]<class T>() {
                return identity_node<T>(x, 0, Tape::bit(level), level, {});
            })};
}

WENGERT_INLINE Graph vjp_graph(const Graph& g, const std::vector<bool>& wanted,
                               const std::vector<bool>& given, const std::vector<bool>& summed,
                               std::size_t known)
{
    GraphTrace made;
    Tape& tape = Tape::current();
    const Restore<std::shared_ptr<SavedHooks>> unpacked(tape.hooks,
                                                        nullptr);  // else blocks of theirs are constants
    const LevelScope scope(tape, false);
    std::vector<AnyTensor> cotangents(g.outputs().size()), sums(g.inputs().size()), x, given_before;
    for (std::size_t k = 0; k < g.outputs().size(); ++k)
        if (given[k]) cotangents[k] = made.input(g.node(g.outputs()[k]));
    for (std::size_t i = 0; i < g.inputs().size(); ++i)
        if (summed[i]) sums[i] = made.input(g.node(g.inputs()[i]));
    for (ValueId v : g.inputs()) x.push_back(made.input(g.node(v)));
    const std::vector<ValueId> all = communications(g);
    for (std::size_t k = 0; k < known; ++k) given_before.push_back(made.input(g.node(all[k])));
    for (std::size_t i = 0; i < x.size(); ++i)
        if (wanted[i]) x[i] = variable_of(x[i], scope.level());
    const std::vector<AnyTensor> y = replay_body(g, x, true, given_before);
    Walk walk(tape, scope.level(), false);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (summed[i]) walk.deliver(*x[i].node, std::move(sums[i]));
    std::vector<std::pair<Node*, AnyTensor>> roots;
    for (std::size_t k = 0; k < y.size(); ++k)
        if (given[k] && walk.reaches(y[k].node.get()))
            roots.emplace_back(y[k].node.get(), std::move(cotangents[k]));
    walk.run(roots.data(), roots.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        if (wanted[i])
            made.output(x[i].node->cotangent.value ? x[i].node->cotangent
                                                   : zeros_like_node(g.node(g.inputs()[i])));
    return made.finish();
}

WENGERT_INLINE Graph jvp_graph(const Graph& g, const std::vector<bool>& active,
                               const std::vector<bool>& wanted)
{
    GraphTrace made;
    const LevelScope scope(Tape::current(), true);
    std::vector<AnyTensor> x;
    for (ValueId v : g.inputs()) x.push_back(made.input(g.node(v)));
    for (std::size_t i = 0; i < x.size(); ++i)
        if (active[i]) {
            const AnyTensor dot = made.input(g.node(g.inputs()[i]));
            x[i] = variable_of(x[i], scope.level());
            x[i].node->add_tangent(scope.level(), dot);
        }
    const std::vector<AnyTensor> y = replay_body(g, x, false);
    for (const AnyTensor& t : y) made.output(t);
    for (std::size_t k = 0; k < y.size(); ++k)
        if (wanted[k]) {
            const AnyTensor* dot = y[k].node ? y[k].node->tangent(scope.level()) : nullptr;
            made.output(dot ? *dot : zeros_like_node(g.node(g.outputs()[k])));
        }
    return made.finish();
}

}  // namespace wengert::detail

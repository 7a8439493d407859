// The bodies of control_trace.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../ops/elementwise/choices.hpp"
#include "../../../ops/reductions.hpp"
#include "../../../ops/view.hpp"
#include "../../ir/traced_inputs.hpp"
#include "../../ir/trace.hpp"
#include "../../loops/body_rules.hpp"
#include "../../../tape/speculation.hpp"
#include "../../loops/trace_difference.hpp"
#include "../control_trace.hpp"

namespace wengert::detail {

/// Guards of a body become a truth value that the body returns: whether it would do the same again. Those that read captured
/// values are the enclosing trace's.
struct BodyGuards {
    BodyGuards(Trace& body, std::size_t first_captured)
    {
        const std::vector<Guard> guards = body.graph().guards();
        for (const Guard& g : guards) add(body, g, first_captured);
    }
    bool possible = true;  ///< all of them can be put like that
    std::optional<Tensor<bool>> holds;
    Site at{};
    std::vector<std::tuple<Ref<Block>, Read, Site>> outside;

private:
    void add(Trace& body, const Guard& g, std::size_t first_captured)
    {
        const GraphNode& n = body.graph().node(g.value);
        const Ref<Block> b = body.blocks()[g.value];
        if (n.kind == Graph::Kind::input && n.index >= first_captured) {
            outside.emplace_back(body.captured()[n.index - first_captured].value, g.what, g.at);
            return;
        }
        possible = possible && b->count == 1 && !differentiable(b->dtype);
        if (!possible) return;
        with_dtype(b->dtype, [&]<class T>() {
            const Tensor<T> now = reshape(Tensor<T>(AnyTensor{b, {}}), Shape{}, g.at);
            const Tensor<bool> same = now == *g.expected->template as<T>();
            holds = holds ? *holds && same : same;
        });
        if (!at.line) at = g.at;
    }
};

/// Does the program hold on to values of a body's trace? The outer trace refuses to read them.
inline bool leaves_values(Trace& outer, Trace& body, const HeldBlocks& held, std::size_t inputs)
{
    const std::vector<ValueId> found = escaped(body, held, inputs);
    if (found.empty()) return false;
    const std::vector<GraphNode>& nodes = body.graph().nodes();
    std::vector<bool> varies(nodes.size());
    for (ValueId v = 0; v < nodes.size(); ++v)
        varies[v] =
            nodes[v].kind == Graph::Kind::input || std::any_of(nodes[v].inputs.begin(), nodes[v].inputs.end(),
                                                               [&](ValueId in) { return varies[in]; });
    for (const ValueId v : found) outer.leave({body.blocks()[v], !varies[v], nodes[v].at});
    return true;
}

/// What bodies within a body have left behind is refused in the outer trace, too.
struct LeavesToOuter {
    ~LeavesToOuter()
    {
        for (const Trace::Left& l : body.left()) outer.leave(l);
    }
    Trace &outer, &body;
};

inline std::optional<TracedBody> traced_body(Trace& outer, const std::vector<AnyTensor>& examples,
                                             BodyUse use, bool again, const BodyFunction& f, const Site& at)
{
    Tape& tape = Tape::current();
    const Restore<std::uint64_t> levels(tape.levels_of_loops, tape.levels_of_loops | tape.active);
    const int lowered_around = outer.lowered_outside();
    const detail::Unrecorded unrecorded;
    const Speculation speculation(!use.real);
    const Restore<int> deeper(body_depth(), body_depth() + 1);
    Trace trace;
    trace.bodies_twice = outer.bodies_twice && !again;
    trace.again = again;
    trace.body_of = use.loop;
    trace.body_at = at;
    trace.lowered_around = lowered_around;
    const LeavesToOuter left{outer, trace};
    HeldBlocks held;
    std::vector<AnyTensor> in;
    for (const AnyTensor& t : examples) in.push_back(traced_input(trace, contiguous(t.value), at));
    const std::optional<std::vector<AnyTensor>> out = f(in, trace, held);
    if (!out) return {};
    held.add(in);
    held.add(*out);
    if (trace.effect) held.add({trace.effect, {}});
    // a rule that was made there and has captured a value, a variable: each step would leave another one
    if (leaves_values(outer, trace, held, in.size())) return {};
    const BodyGuards guards(trace, in.size());
    if (!guards.possible || (guards.holds && !use.may_guard)) return {};
    for (const AnyTensor& t : *out) trace.output(t, at);
    TracedBody made{{},        trace.captured(), guards.holds.has_value(), has_effects(trace.graph()),
                    guards.at, trace.varies()};
    if (guards.holds) trace.output(guards.holds->any(), at);
    trace.stop();
    for (const auto& [block, what, where] : guards.outside) recorder()->read(*block, what, where);
    const Graph& g = trace.graph();
    made.graph = compacted(rearranged(g, all_of(0, g.inputs().size()), all_of(0, g.outputs().size())));
    return made;
}

inline std::optional<TracedBody> trace_once(Recorder& outer, const std::vector<AnyTensor>& examples,
                                            BodyUse use, bool again, const BodyFunction& f, const Site& at)
{
    try {
        return traced_body(static_cast<Trace&>(outer), examples, use, again, f, at);
    } catch (const MemoryError&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) {
        if (use.real) throw;
        outer.by_value();
        return {};
    }
}

/// What differs between two traces of a body: "" where nothing does.
inline std::string body_difference(const TracedBody& then, const TracedBody& now)
{
    if (std::string found = trace_difference(then.graph, now.graph); !found.empty()) return found;
    const auto same = [](const AnyTensor& a, const AnyTensor& b) {
        return a.value.get() == b.value.get() && a.node.get() == b.node.get();
    };
    if (std::equal(then.captured.begin(), then.captured.end(), now.captured.begin(), now.captured.end(),
                   same))
        return {};
    return "the function read other tensors from outside than when it was traced";
}

/// The second trace of a body, without a second trace of the bodies in it. The recorders between it and `outer` do not see it: what a
/// checkpoint has noted of the first trace holds for both. Nor does it use up the limit of branches.
inline std::optional<TracedBody> trace_again(Recorder& outer, const std::vector<AnyTensor>& examples,
                                             BodyUse use, int branches, const BodyFunction& f, const Site& at)
{
    const Restore<Recorder*> only(current_thread().recorder, &outer);
    BranchCount::traced = branches;
    return trace_once(outer, examples, use, true, f, at);
}

WENGERT_INLINE std::optional<TracedBody> trace_body(Recorder& outer, const std::vector<AnyTensor>& examples,
                                                    BodyUse use, const BodyFunction& f, const Site& at)
{
    const bool twice = static_cast<const Trace&>(outer).bodies_twice;
    const int branches = BranchCount::traced;
    std::optional<TracedBody> body = trace_once(outer, examples, use, false, f, at);
    // a callback holds a function, which cannot be compared
    if (!twice || !use.repeats || !body || body->varies || body->effects) return body;
    const std::optional<TracedBody> again = trace_again(outer, examples, use, branches, f, at);
    const std::string difference = again ? body_difference(*body, *again) : "it decided otherwise";
    if (difference.empty()) return again;
    fail<TapeError>("freeze",
                    "the body of a loop changes what it depends on. Traced a second time, " + difference +
                        ". Every step of a loop does what the trace does; make what changes a part of the "
                        "state, or use {.check = false} if this is meant",
                    at);
}

WENGERT_INLINE std::optional<std::vector<AnyTensor>> record_loop(std::shared_ptr<LoopParameters> p,
                                                                 std::vector<AnyTensor> in, const Site& guard,
                                                                 const Site& at)
{
    Recorder& r = *recorder();
    completed(p);
    const Tape& tape = Tape::current();
    bool swept = p->communicates && (levels_of_transforms(tape) & ~tape.forward_levels) != 0;
    for (const AnyTensor& t : in)
        swept = swept || (t.node && tape.depends(*t.node, tape.active & ~tape.forward_levels));
    std::shared_ptr<const LoopParameters> made = p;
    if (p->effects && !p->communicates && r.effect) {
        in.push_back({r.effect, {}});
        p->ignored = 1;
    }
    if (swept && p->kind == Kind::scan && differentiable(p->dtype)) made = with_history(*p);
    // a rule in the body, as a pullback's, may have captured values of a transform that has ended
    const Restore<int> lowered(Tape::current().lowered, tape.lowered + 1);
    const AnyTensor packed = apply_loop(made, in, at);
    if (p->effects) r.effect = packed.value;
    std::vector<AnyTensor> out;
    for (const auto& result : p->results) out.push_back(unpacked(packed, result, at));
    if (p->guard == LoopParameters::npos) return out;
    const AnyTensor& flag = out[p->guard];
    if (!*readable(flag.value)->as<bool>()) return {};
    note_read(*flag.value, Read::truth, guard);
    return out;
}

WENGERT_INLINE CapturedByBoth with_all_captured(const TracedBody& a, const TracedBody& b, std::size_t own)
{
    CapturedByBoth made;
    std::vector<const GraphNode*> inputs;
    std::vector<std::size_t> place[2];
    for (std::size_t i = 0; i < own; ++i) inputs.push_back(&a.graph.node(a.graph.inputs()[i]));
    const auto place_of = [&](const AnyTensor& t, const GraphNode& input) {
        std::size_t k = 0;
        while (k < made.captured.size() && !(made.captured[k].value.get() == t.value.get() &&
                                             made.captured[k].node.get() == t.node.get()))
            ++k;
        if (k == made.captured.size()) {
            made.captured.push_back(t);
            inputs.push_back(&input);
        }
        return own + k;
    };
    for (const TracedBody* body : {&a, &b}) {
        const Graph& g = body->graph;
        const std::size_t before = g.inputs().size() - body->captured.size();
        auto& to = place[body == &b];
        to = all_of(0, before);
        for (std::size_t i = 0; i < body->captured.size(); ++i)
            to.push_back(place_of(body->captured[i], g.node(g.inputs()[before + i])));
    }
    made.graphs[0] = with_inputs(a.graph, inputs, place[0], all_of(0, a.graph.outputs().size()));
    made.graphs[1] = with_inputs(b.graph, inputs, place[1], all_of(0, b.graph.outputs().size()));
    return made;
}

/// Adds the flag as the last state: flag' = flag and this step's guards.
inline Graph with_flag(const Graph& g, std::size_t states)
{
    GraphNode before;
    before.dtype = DType::boolean;
    std::vector<const GraphNode*> inputs;
    std::vector<std::size_t> place;
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
        inputs.push_back(&g.node(g.inputs()[i]));
        place.push_back(i + (i >= states));
    }
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(states), &before);
    Graph h = with_inputs(g, inputs, place, all_of(0, g.outputs().size()));
    std::vector<ValueId> outputs = h.outputs();
    outputs.back() = h.operation(elementwise_primitive<LogicalAnd, xsimd::default_arch, bool, bool, bool>, {},
                                 {h.inputs()[states], outputs.back()}, Shape());
    std::rotate(outputs.begin() + static_cast<std::ptrdiff_t>(states), outputs.end() - 1, outputs.end());
    h.set_outputs(std::move(outputs));
    return h;
}

WENGERT_INLINE std::shared_ptr<LoopParameters> loop_of(LoopParameters::Kind kind, TracedBody& body,
                                                       std::vector<AnyTensor>& in)
{
    auto p = std::make_shared<LoopParameters>();
    p->kind = kind;
    p->effects = body.effects;
    if (body.flag) {
        p->guard = in.size();
        body.graph = with_flag(body.graph, in.size());
        in.push_back(Tensor<bool>(true).any());
    }
    p->states = in.size();
    return p;
}

}  // namespace wengert::detail

// What control_trace.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../base/separate.hpp"
#include "control_trace.hpp"
#include "loops/body_rules.hpp"

namespace wengert::detail {

WENGERT_INLINE Trace* current_trace()
{
    Recorder* r = recorder();
    if (!r) [[likely]]
        return nullptr;
    const Tape& tape = Tape::current();
    return tape.anomaly || tape.save_all ? nullptr : r->trace();
}

WENGERT_INLINE int& BodyTrace::depth()
{
    static thread_local int n = 0;
    return n;
}

WENGERT_INLINE std::vector<AnyTensor> BodyTrace::inputs(const std::vector<AnyTensor>& examples,
                                                        const Site& at)
{
    std::vector<AnyTensor> out;
    for (const AnyTensor& t : examples) {
        const Ref<Block> b = contiguous(t.value);
        out.push_back({make_view(b, b->shape, nullptr, 0), {}});
        trace_.input(out.back().value, at);
    }
    return out;
}

WENGERT_INLINE void BodyTrace::outputs(const std::vector<AnyTensor>& values, const Site& at)
{
    for (const AnyTensor& t : values) trace_.output(t, at);
}

WENGERT_INLINE BodyGuards::BodyGuards(BodyTrace& body, std::size_t first_captured)
    : trace_(body.trace()), first_captured_(first_captured)
{
    const std::vector<Guard> guards = trace_.graph().guards();
    for (const Guard& g : guards) add(g);
}

WENGERT_INLINE void BodyGuards::hand_on(Recorder& outer) const
{
    for (const auto& [block, what, at] : outside_) outer.read(*block, what, at);
}

WENGERT_INLINE void BodyGuards::add(const Guard& g)
{
    const GraphNode& n = trace_.graph().node(g.value);
    const Ref<Block> b = trace_.blocks()[g.value];
    if (n.kind == Graph::Kind::input && n.index >= first_captured_) {
        outside_.emplace_back(trace_.captured()[n.index - first_captured_].value, g.what, g.at);
        return;
    }
    possible_ = possible_ && b->count == 1 && !differentiable(b->dtype);
    if (!possible_) return;
    with_dtype(b->dtype, [&]<class T>() {
        const Tensor<T> now = reshape(Tensor<T>(AnyTensor{b, {}}), Shape{}, g.at);
        const Tensor<bool> same = now == *g.expected->template as<T>();
        holds_ = holds_ ? *holds_ && same : same;
    });
    if (!at_.line) at_ = g.at;
}

WENGERT_INLINE std::optional<std::vector<AnyTensor>> record_loop(std::shared_ptr<LoopParameters> p,
                                                                 std::vector<AnyTensor> in, const Site& guard,
                                                                 const Site& at)
{
    Recorder& r = *recorder();
    completed(p);
    const Tape& tape = Tape::current();
    bool swept = false;
    for (const AnyTensor& t : in)
        swept = swept || (t.node && (t.node->mask & tape.active & ~tape.forward_levels));
    std::shared_ptr<const LoopParameters> made = p;
    if (p->effects && r.effect) {
        in.push_back({r.effect, {}});
        p->ignored = 1;
    }
    if (swept && p->kind == Kind::scan && differentiable(p->dtype)) made = with_history(*p);
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

WENGERT_INLINE std::vector<AnyTensor> example_slices(const std::vector<AnyTensor>& xs)
{
    std::vector<AnyTensor> out;
    for (const AnyTensor& x : xs) {
        const Block& b = *x.value;
        const Shape shape(b.shape.data() + 1, b.shape.size() - 1);
        if (b.count == 0)
            out.push_back({zeros_beside(b, b.dtype, shape), {}});
        else
            out.push_back({Selection::at(b.shape, 0, 0).view(x.value), {}});
    }
    return out;
}

WENGERT_INLINE CapturedByBoth with_all_captured(const Graph& a, const std::vector<AnyTensor>& by_a,
                                                const Graph& b, const std::vector<AnyTensor>& by_b,
                                                std::size_t own)
{
    CapturedByBoth made;
    std::vector<const GraphNode*> inputs;
    std::vector<std::size_t> place[2];
    for (std::size_t i = 0; i < own; ++i) inputs.push_back(&a.node(a.inputs()[i]));
    const auto place_of = [&](const AnyTensor& t, const GraphNode& input) {
        std::size_t k = 0;
        while (k < made.all.size() &&
               !(made.all[k].value.get() == t.value.get() && made.all[k].node.get() == t.node.get()))
            ++k;
        if (k == made.all.size()) {
            made.all.push_back(t);
            inputs.push_back(&input);
        }
        return own + k;
    };
    const auto add = [&](const Graph& g, const std::vector<AnyTensor>& captured, std::size_t which) {
        const std::size_t before = g.inputs().size() - captured.size();
        place[which] = all_of(0, before);
        for (std::size_t i = 0; i < captured.size(); ++i)
            place[which].push_back(place_of(captured[i], g.node(g.inputs()[before + i])));
    };
    add(a, by_a, 0);
    add(b, by_b, 1);
    made.graphs[0] = with_inputs(a, inputs, place[0], all_of(0, a.outputs().size()));
    made.graphs[1] = with_inputs(b, inputs, place[1], all_of(0, b.outputs().size()));
    return made;
}

WENGERT_INLINE Graph with_flag(const Graph& g, std::size_t states, bool flag)
{
    if (!flag) return g;
    GraphNode before;
    before.dtype = DType::boolean;
    std::vector<const GraphNode*> inputs;
    std::vector<std::size_t> place, outputs = all_of(0, g.outputs().size());
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
        inputs.push_back(&g.node(g.inputs()[i]));
        place.push_back(i + (i >= states));
    }
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(states), &before);
    std::rotate(outputs.begin() + static_cast<std::ptrdiff_t>(states), outputs.end() - 1, outputs.end());
    Graph h = with_inputs(g, inputs, place, all_of(0, g.outputs().size()));
    h.output(h.operation(elementwise_primitive<LogicalAnd, xsimd::default_arch, bool, bool, bool>, {},
                         {h.inputs()[states], h.outputs().back()}, Shape()));
    outputs[states] = g.outputs().size();
    return rearranged(h, all_of(0, h.inputs().size()), outputs);
}

}  // namespace wengert::detail

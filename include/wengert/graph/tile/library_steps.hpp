// Operations that are not fused, as steps: the kernels that eager uses, on addresses that are known, or where there is none
// such the primitive itself. Start at emit_library, below.
#pragma once

#include "call_steps.hpp"
#include "product_steps.hpp"

namespace wengert::tiling {

namespace detail {

/// A fold of whole axes, on operands that lie as its kernel reads them.
struct FoldStep {
    const FoldForm* form = nullptr;
    std::size_t outer = 1, n = 1, inner = 1;
    double number = 0;
    const void* in[2] = {};
    void* out = nullptr;

    FoldStep() = default;
    FoldStep(const Graph& g, const GraphNode& node) : form(node.primitive->fold)
    {
        Fold f;
        fold_of(node, f);
        const FoldLines lines(g.node(node.inputs[0]).shape, f);
        outer = static_cast<std::size_t>(lines.outer);
        n = static_cast<std::size_t>(lines.n);
        inner = static_cast<std::size_t>(lines.inner);
        number = f.number;
    }
    void bind(Emitter& e, ValueId v)
    {
        const auto& inputs = e.plan.graph.node(v).inputs;
        for (std::size_t k = 0; k < inputs.size(); ++k) e.bind(&in[k], inputs[k]);
        e.bind(&out, v);
    }
    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const FoldStep*>(self);
        s.form->run(s.in, s.outer, s.n, s.inner, s.number, s.out);
        return true;
    }
};
inline void emit_fold(Emitter& e, ValueId v)
{
    auto& s = *e.step<FoldStep>();
    s = FoldStep(e.plan.graph, e.plan.graph.node(v));
    s.bind(e, v);
}

/// A sum or mean of floats in parts, by several threads: of whole rows, or of blocks of rows that are longer than one.
template <class T> struct DividedSum {
    FoldStep whole;
    bool mean = false;
    Division division;
    T* sums = nullptr;  ///< of blocks

    bool long_rows() const { return whole.inner == 1 && SumStream<T>::blocks_of(whole.n) > 1; }
    std::size_t next_cut(std::size_t at) const
    {
        const std::size_t row = whole.n * whole.inner;
        return long_rows() ? SumStream<T>::next_start(at, row) : (at + row - 1) / row * row;
    }
    void run_part(std::size_t begin, std::size_t end) const
    {
        const T* x = static_cast<const T*>(whole.in[0]) + begin;
        if (!long_rows()) {
            const void* in[] = {x};
            return whole.form->run(in, (end - begin) / (whole.n * whole.inner), whole.n, whole.inner,
                                   whole.number, static_cast<T*>(whole.out) + begin / whole.n);
        }
        SumStream<T> stream;
        stream.start(static_cast<std::byte*>(whole.out), whole.n, false, begin, sums);
        stream.add(x, end - begin);
    }
    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const DividedSum*>(self);
        s.division.run([&](std::size_t begin, std::size_t end, std::size_t) { s.run_part(begin, end); });
        if (s.long_rows())
            SumStream<T>::add_blocks(s.sums, s.whole.outer, s.whole.n, s.mean,
                                     static_cast<std::byte*>(s.whole.out));
        return true;
    }
};
template <class T> void emit_sum(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    DividedSum<T> sum{FoldStep(e.plan.graph, n), n.primitive->fold->means, {}, nullptr};
    sum.division = e.division(sum.whole.outer * sum.whole.n * sum.whole.inner,
                              [&](std::size_t at) { return sum.next_cut(at); });
    if (!sum.division) return emit_fold(e, v);
    if (sum.long_rows())
        sum.sums = e.program.memory.array<T>(sum.whole.outer * SumStream<T>::blocks_of(sum.whole.n));
    auto& s = *e.step<DividedSum<T>>();
    s = sum;
    s.whole.bind(e, v);
}

/// What silences itself, in the memory of its input: where all of g is 0, what is not finite becomes 0.
template <class T> struct Silenced {
    const Block *g = nullptr, *out = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Silenced*>(self);
        if (all_zero(*s.g)) wengert::detail::ZeroWhereOther::mask<T>(const_cast<Block&>(*s.out), *s.out);
        return true;
    }
};

template <class T> void emit_silent(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    bring(e, n.inputs[0], v);
    auto& s = *e.step<Silenced<T>>();
    s.g = e.header(n.inputs[1]).get();
    s.out = e.header(v).get();
}

/// An index program, into the memory that is planned for it.
struct Indexed {
    const IndexStep* step = nullptr;
    static bool run(const void* self, Run&)
    {
        static_cast<const Indexed*>(self)->step->run();
        return true;
    }
};
inline void emit_index(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    if (moves_boxes(e.plan.graph, n)) {
        each_program(e.plan.graph, n, [&](const Index& p, std::span<const ValueId> operands) {
            emit_box(e, v, p, operands);
            return true;
        });
        return;
    }
    std::vector<Ref<Block>> in;
    for (ValueId i : n.inputs) in.push_back(e.header(i));
    const auto step = std::make_shared<const IndexStep>(n, std::move(in), e.header(v));
    e.program.owned().push_back(std::const_pointer_cast<IndexStep>(step));
    e.step<Indexed>()->step = step.get();
}

template <class T> bool emit_real(Emitter& e, ValueId v, Rule r)
{
    switch (r) {
    case Rule::product: emit_product<T>(e, v); return true;
    case Rule::add_product: emit_added_product<T>(e, v); return true;
    case Rule::sum: emit_sum<T>(e, v); return true;
    case Rule::silent: emit_silent<T>(e, v); return true;
    default: return false;
    }
}

}  // namespace detail

inline void emit_library(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Rule r = rule_of(e.plan.graph, e.plan.layouts, v);
    if (differentiable(n.dtype) &&
        (is_single(n.dtype) ? detail::emit_real<float>(e, v, r) : detail::emit_real<double>(e, v, r)))
        return;
    switch (r) {
    case Rule::fold: return detail::emit_fold(e, v);
    case Rule::index: return detail::emit_index(e, v);
    default: return detail::emit_call(e, v, r == Rule::update);
    }
}

}  // namespace wengert::tiling

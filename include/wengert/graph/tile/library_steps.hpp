// Operations that are not fused, as steps: the kernels that eager uses, on addresses that are known, or where there is none
// such the primitive itself. Start at emit_library, below.
#pragma once

#include "call_steps.hpp"
#include "product_steps.hpp"

namespace wengert::tiling {

namespace detail {

template <class T> struct Summed {
    const T* x = nullptr;
    T* y = nullptr;
    std::size_t outer = 1, n = 1, inner = 1;
    bool mean = false;  ///< divided by n, which may be 0
    Division division;  ///< of x
    T* sums = nullptr;  ///< of blocks, where rows are longer than one

    bool long_rows() const { return inner == 1 && SumStream<T>::blocks_of(n) > 1; }
    std::size_t next_cut(std::size_t at) const
    {
        return long_rows() ? SumStream<T>::next_start(at, n)
                           : (at + n * inner - 1) / (n * inner) * (n * inner);
    }
    void run_part(std::size_t begin, std::size_t end) const
    {
        if (!long_rows())
            return kernels::sum(x + begin, (end - begin) / (n * inner), n, inner, y + begin / n);
        SumStream<T> stream;
        stream.start(reinterpret_cast<std::byte*>(y), n, false, begin, sums);
        stream.add(x + begin, end - begin);
    }
    void run_parts() const
    {
        division.run([&](std::size_t begin, std::size_t end, std::size_t) { run_part(begin, end); });
        if (long_rows()) SumStream<T>::add_blocks(sums, outer, n, false, reinterpret_cast<std::byte*>(y));
    }
    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Summed*>(self);
        if (s.division)
            s.run_parts();
        else
            kernels::sum(s.x, s.outer, s.n, s.inner, s.y);
        if (s.mean) {
            const T d = static_cast<T>(s.n);
            for (std::size_t i = 0; i < s.outer * s.inner; ++i) s.y[i] /= d;
        }
        return true;
    }
};

/// A fold of whole axes, on operands that lie as its kernel reads them.
struct FoldStep {
    const FoldForm* form = nullptr;
    std::size_t outer = 1, n = 1, inner = 1, freedom = 0;
    const void* in[2] = {};
    void* out = nullptr;
    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const FoldStep*>(self);
        s.form->run(s.in, s.outer, s.n, s.inner, s.freedom, s.out);
        return true;
    }
};
inline void emit_fold(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    Fold f;
    fold_of(n, f);
    const FoldLines lines(e.plan.graph.node(n.inputs[0]).shape, f);
    auto& s = *e.step<FoldStep>();
    s.form = n.primitive->fold;
    s.outer = static_cast<std::size_t>(lines.outer);
    s.n = static_cast<std::size_t>(lines.n);
    s.inner = static_cast<std::size_t>(lines.inner);
    s.freedom = f.freedom;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) e.bind(&s.in[k], n.inputs[k]);
    e.bind(&s.out, v);
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

template <class T> void emit_sum(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    Fold f;
    fold_of(n, f);
    const FoldLines lines(e.plan.graph.node(n.inputs[0]).shape, f);
    auto& s = *e.step<Summed<T>>();
    s.outer = static_cast<std::size_t>(lines.outer);
    s.n = static_cast<std::size_t>(lines.n);
    s.inner = static_cast<std::size_t>(lines.inner);
    s.mean = f.what == Fold::What::mean;
    e.bind(&s.x, n.inputs[0]);
    e.bind(&s.y, v);
    s.division = e.division(s.outer * s.n * s.inner, [&](std::size_t at) { return s.next_cut(at); });
    if (s.division && s.long_rows())
        s.sums = e.program.memory.array<T>(s.outer * SumStream<T>::blocks_of(s.n));
}

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
    if (n.dtype == DType::float32 ? detail::emit_real<float>(e, v, r)
                                  : n.dtype == DType::float64 && detail::emit_real<double>(e, v, r))
        return;
    switch (r) {
    case Rule::fold: return detail::emit_fold(e, v);
    case Rule::index: return detail::emit_index(e, v);
    default: return detail::emit_call(e, v, r == Rule::update);
    }
}

}  // namespace wengert::tiling

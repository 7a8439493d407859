// Operations that are not fused, as steps: the kernels that eager uses, on addresses that are known, or where there is none
// such the primitive itself. Start at emit_library, below.
#pragma once

#include "call_steps.hpp"
#include "product_steps.hpp"

namespace wengert::tiling {

namespace detail {

/// A fold of whole axes, on operands that lie as its kernel reads them. A team takes lines of it.
struct FoldStep {
    const FoldForm* form = nullptr;
    std::size_t outer = 1, n = 1, inner = 1;
    double number = 0;
    const void* in[2] = {};
    void* out = nullptr;
    std::size_t size = 0, made = 0;  ///< bytes of an operand's element, and of what n of them make
    Division division;

    /// Elements begin to end, which are whole lines.
    void run_part(std::size_t begin, std::size_t end) const
    {
        const void* now[2] = {};
        for (std::size_t k = 0; k < 2; ++k)
            if (in[k]) now[k] = static_cast<const std::byte*>(in[k]) + begin * size;
        form->run(now, (end - begin) / (n * inner), n, inner, number,
                  static_cast<std::byte*>(out) + begin / n * made);
    }
    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const FoldStep*>(self);
        if (!s.division) return s.form->run(s.in, s.outer, s.n, s.inner, s.number, s.out), true;
        s.division.run([&](std::size_t begin, std::size_t end, std::size_t) { s.run_part(begin, end); });
        return true;
    }
};
inline void emit_fold(Emitter& e, ValueId v)
{
    const GraphNode& node = e.plan.graph.node(v);
    const GraphNode& x = e.plan.graph.node(node.inputs[0]);
    Fold f;
    fold_of(node, f);
    const FoldLines lines(x.shape, f);
    const std::size_t line = static_cast<std::size_t>(lines.n * lines.inner), count = element_count(x.shape);
    const Division division =
        e.division(count, [&](std::size_t at) { return (at + line - 1) / line * line; });
    auto& s = *e.step<FoldStep>();
    s.form = node.primitive->fold;
    s.outer = static_cast<std::size_t>(lines.outer);
    s.n = static_cast<std::size_t>(lines.n);
    s.inner = static_cast<std::size_t>(lines.inner);
    s.number = f.number;
    s.size = size_of(x.dtype);
    s.made = size_of(node.dtype) * (f.maps() ? s.n : 1);
    s.division = division;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) e.bind(&s.in[k], node.inputs[k]);
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
        with_real(n.dtype, [&]<class T>() { return detail::emit_real<T>(e, v, r); }))
        return;
    switch (r) {
    case Rule::fold: return detail::emit_fold(e, v);
    case Rule::index: return detail::emit_index(e, v);
    default: return detail::emit_call(e, v, r == Rule::update);
    }
}

}  // namespace wengert::tiling

// What library_steps.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../library_steps.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE void emit_fold(Emitter& e, ValueId v)
{
    const GraphNode& node = e.plan.graph.node(v);
    const GraphNode& x = e.plan.graph.node(node.inputs[0]);
    Fold f;
    fold_of(node, f);
    const FoldLines lines(x.shape, f);
    const auto n = static_cast<std::size_t>(lines.n), inner = static_cast<std::size_t>(lines.inner),
               outer = static_cast<std::size_t>(lines.outer), line = n * inner, size = size_of(x.dtype),
               made = size_of(node.dtype) * (f.maps() ? n : 1);  // bytes of what n elements make
    const Division division =
        e.division(outer * line, [&](std::size_t at) { return (at + line - 1) / line * line; });
    const RowKernel run = node.primitive->fold->run;
    const auto* in = e.addresses<const void>(node.inputs);
    auto* const* out = e.addresses(ValueList{v});
    if (!division) {
        e.step([=, number = f.number](Run&) { run(in, outer, n, inner, number, *out); });
        return;
    }
    e.step([=, number = f.number, arity = node.inputs.size()](Run&) {
        division.run([&](std::size_t begin, std::size_t end, std::size_t) {
            const void* now[Primitive::max_elementwise] = {};
            for (std::size_t k = 0; k < arity; ++k)
                now[k] = static_cast<const std::byte*>(in[k]) + begin * size;
            run(now, (end - begin) / line, n, inner, number, *out + begin / n * made);
        });
    });
}

WENGERT_INLINE void emit_index(Emitter& e, ValueId v)
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
    const auto program = std::make_shared<const IndexStep>(n, std::move(in), e.header(v));
    e.program.owned().push_back(program);
    e.step([p = program.get()](Run&) { p->run(); });
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE void emit_library(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    switch (const Rule r = rule_of(e.plan.graph, e.plan.layouts, v)) {
    case Rule::product:
    case Rule::add_product: return with_real(n.dtype, [&]<class T>() { detail::emit_product<T>(e, v); });
    case Rule::zero_rule: return with_real(n.dtype, [&]<class T>() { detail::emit_zero_rule<T>(e, v); });
    case Rule::fold: return detail::emit_fold(e, v);
    case Rule::index: return detail::emit_index(e, v);
    default: return detail::emit_call(e, v, r == Rule::update);
    }
}

}  // namespace wengert::tiling

// One elementwise operation as a step: where all operands are contiguous it is a call of the kernel, small ones without
// anything around it; scalars are spread over a tile; other layouts go through the executor that eager uses.
#pragma once

#include "emit.hpp"

namespace wengert::tiling {

namespace detail {

/// More than a tile, some operands being one tile that holds the same element everywhere.
struct Tiled {
    TileKernel kernel = nullptr;
    std::size_t n = 0, arity = 0;
    const void* in[kernels::max_operands] = {};
    std::size_t size[kernels::max_operands] =
        {};  ///< of an element, 0 for a tile that is read again and again
    std::byte* out = nullptr;
    std::size_t out_size = 0;

    Division division;

    void run_part(std::size_t begin, std::size_t end) const
    {
        const void* now[kernels::max_operands];
        for (std::size_t k = 0; k < arity; ++k)
            now[k] = static_cast<const std::byte*>(in[k]) + begin * size[k];
        std::byte* to = out + begin * out_size;
        for (std::size_t i = begin; i < end; i += kernels::tile) {
            kernel(std::min(kernels::tile, end - i), now, to);
            to += kernels::tile * out_size;
            for (std::size_t k = 0; k < arity; ++k)
                now[k] = static_cast<const std::byte*>(now[k]) + kernels::tile * size[k];
        }
    }
    static bool run(const void* self, Run&)
    {
        const Tiled& t = *static_cast<const Tiled*>(self);
        if (t.division)
            t.division.run([&](std::size_t begin, std::size_t end, std::size_t) { t.run_part(begin, end); });
        else
            t.run_part(0, t.n);
        return true;
    }
};

/// Any layout.
struct Strided {
    TileKernel kernel = nullptr;
    Shape shape;
    DType dtype{};
    std::size_t arity = 0;
    kernels::Operand operands[kernels::max_operands + 1];  ///< the result first

    static bool run(const void* self, Run&)
    {
        const Strided& s = *static_cast<const Strided*>(self);
        kernels::Operand now[kernels::max_operands];
        for (std::size_t k = 0; k <= s.arity; ++k) now[k] = s.operands[k];
        kernels::execute(s.kernel, s.shape, s.dtype, now, s.arity + 1, kernels::Store::assign);
        return true;
    }
};

enum class Reads : std::uint8_t { all, one, strided };

inline Reads reads_of(const Plan& p, ValueId v, ValueId i)
{
    const GraphNode& n = p.graph.node(i);
    const std::size_t count = element_count(n.shape);
    if (count == element_count(p.graph.node(v).shape) && !p.layouts[i].strided) return Reads::all;
    return count == 1 ? Reads::one : Reads::strided;
}

inline void emit_strided(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    Strided& s = *e.owning_step<Strided>();
    s.kernel = n.primitive->value;
    s.shape = n.shape;
    s.dtype = n.dtype;
    s.arity = n.inputs.size();
    s.operands[0] = {nullptr, size_of(n.dtype), row_major(n.shape)};
    e.bind(&s.operands[0].data, v);
    for (std::size_t k = 0; k < s.arity; ++k) {
        const GraphNode& x = e.plan.graph.node(n.inputs[k]);
        s.operands[k + 1] = {nullptr, size_of(x.dtype),
                             broadcast_strides(x.shape, e.plan.layouts[n.inputs[k]].strides, n.shape)};
        e.bind(&s.operands[k + 1].data, n.inputs[k]);
    }
}

/// The address of operand k, one element, spread over `width` elements.
inline Spot spread(Emitter& e, ValueId i, std::size_t k, std::size_t width)
{
    if (e.is_constant(i)) return {Spot::fixed, 0, const_cast<std::byte*>(e.filled(i, width)), 0};
    std::byte* to = e.scratch(kernels::max_operands * kernels::tile * 8) + k * kernels::tile * 8;
    const Emitter::Operand from{e.spot(i)};
    const Spot there{Spot::fixed, 0, to, 0};
    e.call(spread_kernel(size_of(e.plan.graph.node(i).dtype)), width, 0, &from, 1, there);
    return there;
}

/// Bytes of an element where all of v's operands and its result may be read and written by whole registers, else 0.
inline std::size_t register_size(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    bool safe = differentiable(n.dtype) && e.spot(v).kind == Spot::fixed;
    for (ValueId i : n.inputs)
        safe = safe && e.plan.graph.node(i).dtype == n.dtype && e.spot(i).kind == Spot::fixed;
    return safe ? size_of(n.dtype) : 0;
}

}  // namespace detail

inline void emit_elementwise(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const std::size_t count = element_count(n.shape), arity = n.inputs.size();
    if (count == 0) return;
    detail::Reads reads[kernels::max_operands] = {};
    bool scalars = false;
    for (std::size_t k = 0; k < arity; ++k) {
        reads[k] = detail::reads_of(e.plan, v, n.inputs[k]);
        if (reads[k] == detail::Reads::strided) return detail::emit_strided(e, v);
        scalars = scalars || reads[k] == detail::Reads::one;
    }
    const std::size_t width = std::min(count, kernels::tile);
    Emitter::Operand in[kernels::max_operands];
    for (std::size_t k = 0; k < arity; ++k) {
        const ValueId i = n.inputs[k];
        const bool one = reads[k] == detail::Reads::one;
        in[k] = {one ? detail::spread(e, i, k, width) : e.spot(i), e.is_constant(i)};
    }
    const Division division = e.division(
        count, [](std::size_t at) { return (at + kernels::tile - 1) / kernels::tile * kernels::tile; });
    if (count <= kernels::tile || (!scalars && !division && count <= ~std::uint32_t{0})) {
        const std::size_t size = scalars ? 0 : detail::register_size(e, v);
        return e.call(n.primitive->value, count, size, in, arity, e.spot(v));
    }
    auto& t = *e.step<detail::Tiled>();
    t.kernel = n.primitive->value;
    t.n = count;
    t.arity = arity;
    t.out_size = size_of(n.dtype);
    t.division = division;
    e.bind(&t.out, v);
    for (std::size_t k = 0; k < arity; ++k) {
        t.size[k] = reads[k] == detail::Reads::one ? 0 : size_of(e.plan.graph.node(n.inputs[k]).dtype);
        e.bind(&t.in[k], in[k].at);
    }
}

}  // namespace wengert::tiling

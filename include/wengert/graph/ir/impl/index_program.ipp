// What index_program.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../index_program.hpp"

namespace wengert {

WENGERT_INLINE Index index_of(const Graph& g, const GraphNode& n)
{
    return index_of(n, [&](std::size_t k) -> const Shape& { return g.node(n.inputs[k]).shape; });
}

WENGERT_INLINE Index part_of(const Primitive& p, const void* op, std::size_t k, const Shape& shape,
                             const Site& at)
{
    const Shape* const shapes[] = {&shape};
    Index program(shapes, 1);
    try {
        p.part(op, k, program);
    } catch (const ShapeError& e) {
        fail<ShapeError>(p.name, std::string("its description: ") + e.what(), at);
    }
    program.check(p.name, at);
    return program;
}

WENGERT_INLINE bool is_host_call(const Primitive& p) noexcept
{
    return !p.ours && !p.value && !is_described(p) && !p.fold && !p.product && !p.draw && !p.packed &&
           !p.loop && !p.calls;
}

WENGERT_INLINE std::string host_calls(const Graph& g)
{
    std::string all;
    for (const GraphNode& n : g.nodes()) {
        if (!n.primitive || !is_host_call(*n.primitive) || all.size() > 2000) continue;
        const std::string one = "; " + std::string(n.primitive->name) +
                                (n.at.line ? " at " + to_string(n.at) : "") + " is a host call";
        if (all.find(one) == std::string::npos) all += one;
    }
    return all;
}

WENGERT_INLINE bool alias_of(const Graph& g, const GraphNode& n, const Strides& of, Alias& out)
{
    return n.primitive && n.primitive->index && n.inputs.size() == 1 &&
           g.node(n.inputs[0]).dtype == n.dtype && alias_of(index_of(g, n), of, out);
}

WENGERT_INLINE bool moves_boxes(const Graph& g, const GraphNode& n)
{
    return each_program(g, n, [&](const Index& p, std::span<const ValueId> in) {
        const Index::Read& r = p.reads[0];
        Box box;
        return p.read_count == 1 && r.operand != Index::no_operand &&
               g.node(in[r.operand]).dtype == n.dtype &&
               (r.how == Combine::assign || n.dtype != DType::boolean) &&
               (p.start != Index::Start::fill || (r.how == Combine::assign && p.fill == 0)) &&
               box_of(p, r, row_major(p.shape(r.operand)), box) && box.extents.size() <= Shape::inline_rank;
    });
}

WENGERT_INLINE TileKernel box_kernel(DType d, bool minus)
{
    return with_dtype(d, [&]<class T>() -> TileKernel {
        using A = xsimd::default_arch;
        if constexpr (std::is_same_v<T, bool>)
            return nullptr;
        else
            return minus ? kernels::tile_kernel<Subtract, A, T, T, T> : kernels::tile_kernel<Add, A, T, T, T>;
    });
}

WENGERT_INLINE bool adds_box(const Index& p, Shape& first)
{
    const Index::Read& r = p.reads[0];
    if (p.operand_count != 2 || p.start != Index::Start::operand || p.base != 0 || p.read_count != 1 ||
        r.operand != 1 || r.how != Combine::add || p.scanned != Scan::none || p.given_count > 0 ||
        p.arranged || p.extents.size() != p.result.size() || p.extents.empty() || !(p.shape(0) == p.result))
        return false;
    const Positions& to = p.writes[r.write];
    first = Shape();
    for (std::size_t a = 0; a < to.size(); ++a) {
        const bool stands = p.shape(1).size() == to.size() && p.shape(1)[a] == p.extents[a] &&
                            p.extents[a] > 0 && to[a].plain() && r.at[a].plain() && r.at[a].offset == 0;
        const bool runs = stands && (p.extents[a] == 1 ? to[a].terms <= 1 && r.at[a].terms <= 1
                                                       : to[a].terms == 1 && to[a].step_along(a) == 1 &&
                                                             r.at[a].is_axis() && r.at[a].axis[0] == a);
        if (!runs) return false;
        first.push_back(to[a].offset);
    }
    return true;
}

WENGERT_INLINE bool begins_with(const Graph& g, const GraphNode& n, ValueId i)
{
    if (!n.primitive->index) return false;
    const Index p = index_of(g, n);
    if (p.start != Index::Start::operand || n.inputs[p.base] != i) return false;
    bool only = !p.arranged;
    for (std::size_t k = 0; k < p.given_count; ++k) only = only && n.inputs[p.givens[k].operand] != i;
    for (std::size_t k = 0; k < p.read_count; ++k)
        only = only && (p.reads[k].operand == Index::no_operand || n.inputs[p.reads[k].operand] != i);
    return only;
}

}  // namespace wengert

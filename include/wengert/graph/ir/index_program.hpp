// The index programs of a node: what every executor runs or writes for an operation that has a description.
#pragma once

#include "../../ops/elementwise/arithmetic.hpp"
#include "../../ops/index/alias.hpp"
#include "../../ops/index/run_index.hpp"
#include "graph.hpp"

namespace wengert {

/// Is its description what runs on the host?
inline bool runs_index(const Primitive& p) noexcept { return p.index && !p.overridden; }

/// shape_of(k) is the shape of operand k, which lives as long as the program.
template <class F> Index index_of(const GraphNode& n, const F& shape_of)
{
    Index program(n.inputs.size(), shape_of);
    describe_index(program, n.primitive->name, n.primitive->index, n.op.get(), n.at);
    return program;
}
/// From the shapes in the graph.
inline Index index_of(const Graph& g, const GraphNode& n)
{
    return index_of(n, [&](std::size_t k) -> const Shape& { return g.node(n.inputs[k]).shape; });
}

/// The part of operand k, of that shape, where their number varies.
inline Index part_of(const Primitive& p, const void* op, std::size_t k, const Shape& shape, const Site& at)
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

inline bool is_described(const Primitive& p) noexcept { return p.index || p.part; }

/// Is it a function of somebody's on whole arrays, of which nothing else is known? Every executor calls it, on the host.
inline bool is_host_call(const Primitive& p) noexcept
{
    return !p.ours && !p.value && !is_described(p) && !p.fold && !p.product && !p.draw && !p.packed &&
           !p.loop && !p.calls;
}
/// "; cumulative_sum at a.cpp:3 is a host call", for each of them once, of very many some.
inline std::string host_calls(const Graph& g)
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

/// f(program, its operands) for the one program of a node, or for those of its parts, until one is false.
template <class F> bool each_program(const Graph& g, const GraphNode& n, const F& f)
{
    if (n.primitive->index) return f(index_of(g, n), std::span<const ValueId>(n.inputs));
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
        if (!f(part_of(*n.primitive, n.op.get(), k, g.node(n.inputs[k]).shape, n.at),
               std::span<const ValueId>(n.inputs).subspan(k, 1)))
            return false;
    return true;
}

/// May the result be a view of the only operand, which has these strides?
inline bool alias_of(const Graph& g, const GraphNode& n, const Strides& of, Alias& out)
{
    return n.primitive && n.primitive->index && n.inputs.size() == 1 &&
           g.node(n.inputs[0]).dtype == n.dtype && alias_of(index_of(g, n), of, out);
}

/// Is the operation a few moves of boxes, for which the library has kernels?
inline bool moves_boxes(const Graph& g, const GraphNode& n)
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

/// The kernel that adds or subtracts the numbers of a box.
inline TileKernel box_kernel(DType d, bool minus)
{
    return with_dtype(d, [&]<class T>() -> TileKernel {
        using A = xsimd::default_arch;
        if constexpr (std::is_same_v<T, bool>)
            return nullptr;
        else
            return minus ? kernels::tile_kernel<Subtract, A, T, T, T> : kernels::tile_kernel<Add, A, T, T, T>;
    });
}

/// Operand 1 added to a box of operand 0, as it lies: where that begins. False for all else.
inline bool adds_box(const Index& p, Shape& first)
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

/// An operation with a description, ready to run again and again on the same headers.
struct IndexStep {
    Index program;
    std::string_view name;
    std::vector<Ref<Block>> in;
    Ref<Block> out;
    Site at;
    IndexStep(const GraphNode& n, std::vector<Ref<Block>> operands, Ref<Block> result)
        : program(index_of(n, [&](std::size_t k) -> const Shape& { return operands[k]->shape; })),
          name(n.primitive->name), in(std::move(operands)), out(std::move(result)), at(n.at)
    {}
    void run() const { run_index(program, name, in.data(), *out, at); }
};

}  // namespace wengert

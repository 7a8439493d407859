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
Index index_of(const Graph& g, const GraphNode& n);

/// The part of operand k, of that shape, where their number varies.
Index part_of(const Primitive& p, const void* op, std::size_t k, const Shape& shape, const Site& at);

inline bool is_described(const Primitive& p) noexcept { return p.index || p.part; }

/// Is it a function of the user's on whole arrays, without any description? Every executor calls it, on the host.
bool is_host_call(const Primitive& p) noexcept;
/// "; cumulative_sum at a.cpp:3 is a host call", for each of them once, of very many some.
std::string host_calls(const Graph& g);

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
bool alias_of(const Graph& g, const GraphNode& n, const Strides& of, Alias& out);

/// Is the operation a few moves of boxes, for which the library has kernels?
bool moves_boxes(const Graph& g, const GraphNode& n);

/// Is the result a join of many parts, a good part of which can be single numbers?
inline bool consists_of_numbers(const GraphNode& n)
{
    constexpr std::size_t fewest = 4, most_for_each = 4;
    return n.inputs.size() >= fewest && element_count(n.shape) <= most_for_each * n.inputs.size();
}

/// The kernel that adds or subtracts the numbers of a box.
TileKernel box_kernel(DType d, bool minus);

/// Operand 1 added to a box of operand 0, as it lies: where that begins. False for all else.
bool adds_box(const Index& p, Shape& first);

/// Is the result operand i first, and is nothing else read of that?
bool begins_with(const Graph& g, const GraphNode& n, ValueId i);

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

#ifndef WENGERT_COMPILED
#include "impl/index_program.ipp"
#endif

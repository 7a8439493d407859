// Which operations run on addresses that are worked out when the graph is planned, and what holds for each: may it fail, may
// its result lie where an operand does?
#pragma once

#include <algorithm>
#include <iterator>

#include "../../ops/gemm.hpp"
#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "../ir/index_program.hpp"
#include "../fuse/layout.hpp"

namespace wengert::tiling {

/// How an operation runs that no pass over elements takes up.
enum class Rule : std::uint8_t {
    product,      ///< of two matrices or vectors
    add_product,  ///< the same, added to what is there
    fold,         ///< of whole axes
    index,        ///< what it has a description of (ops/index/index.hpp), whatever it is called
    silent,       ///< Primitive::silences, of (r, g)
    update,       ///< Primitive::update, in place
    compute,      ///< Primitive::compute, all the rest
};

namespace detail {

/// Floats of one type, of axes that lie in line.
inline bool plain_floats(const Graph& g, const GraphNode& n)
{
    bool plain = differentiable(n.dtype) && n.shape.size() <= Shape::inline_rank;
    for (ValueId i : n.inputs)
        plain = plain && g.node(i).dtype == n.dtype && g.node(i).shape.size() <= Shape::inline_rank;
    return plain;
}

/// gemm can read the operand as it lies: its last two axes are rows or columns.
inline bool gemm_reads(const Graph& g, const Layouts& layouts, ValueId v)
{
    const Shape& shape = g.node(v).shape;
    const Strides& s = layouts[v].strides;
    const std::size_t r = shape.size();
    if (r == 0 || r > 2) return false;
    if (!layouts[v].strided) return true;
    if (r == 1) return s[0] > 0;
    return wengert::detail::reads_as_rows(shape[0], shape[1], s[0], s[1]) ||
           wengert::detail::reads_as_rows(shape[1], shape[0], s[1], s[0]);
}

/// Its kernel can read the operands as they lie, and there is something to fold.
inline bool folds_in_place(const Graph& g, const Layouts& layouts, const GraphNode& n, const Fold& f)
{
    for (ValueId i : n.inputs)
        if (layouts[i].strided || g.node(i).shape.size() > Shape::inline_rank) return false;
    const FoldLines lines(g.node(n.inputs[0]).shape, f);
    return lines.adjacent && lines.n > 0 && n.shape.size() <= Shape::inline_rank;
}

inline bool read_as_matrix(const Graph& g, const Layouts& layouts, const GraphNode& n, std::uint8_t operand)
{
    return g.node(n.inputs[operand]).shape.size() == 2 && gemm_reads(g, layouts, n.inputs[operand]);
}

/// A product that gemm carries out where its operands lie, or `compute`.
inline Rule rule_of_product(const Graph& g, const Layouts& layouts, const GraphNode& n)
{
    const MatrixProduct p = product_of(n);
    if (!p.adds)
        return p.factor == MatrixProduct::none && gemm_reads(g, layouts, n.inputs[p.a.operand]) &&
                       gemm_reads(g, layouts, n.inputs[p.b.operand])
                   ? Rule::product
                   : Rule::compute;
    const bool guard = p.silent == MatrixProduct::none || !layouts[n.inputs[p.silent]].strided;
    return n.shape.size() == 2 && guard && read_as_matrix(g, layouts, n, p.a.operand) &&
                   read_as_matrix(g, layouts, n, p.b.operand)
               ? Rule::add_product
               : Rule::compute;
}

inline Rule rule_of_call(const Graph& g, const Layouts& layouts, const GraphNode& n)
{
    const bool plain = plain_floats(g, n);
    const Rule product = plain && n.primitive->product ? rule_of_product(g, layouts, n) : Rule::compute;
    if (product != Rule::compute) return product;
    if (plain && n.primitive->silences && n.inputs.size() == 2 && !layouts[n.inputs[1]].strided)
        return Rule::silent;
    return n.primitive->update ? Rule::update : Rule::compute;
}

}  // namespace detail

inline Rule rule_of(const Graph& g, const Layouts& layouts, ValueId v)
{
    const GraphNode& n = g.node(v);
    if (runs_index(*n.primitive) || (is_described(*n.primitive) && moves_boxes(g, n))) return Rule::index;
    if (Fold f; fold_of(n, f)) return detail::folds_in_place(g, layouts, n, f) ? Rule::fold : Rule::compute;
    return detail::rule_of_call(g, layouts, n);
}

/// An operation whose value comes about where input 0 lies.
inline bool updates_first(Rule r) noexcept
{
    return r == Rule::add_product || r == Rule::silent || r == Rule::update;
}

/// Does it allocate or look at what it is given? Rules with addresses that are known do neither.
inline bool may_throw(const Graph& g, const Layouts& layouts, ValueId v)
{
    if (g.node(v).primitive->value) return false;
    const Rule r = rule_of(g, layouts, v);
    if (r == Rule::index)
        return !each_program(g, g.node(v), [&](const Index& p, std::span<const ValueId> in) {
            bool short_lists = p.extents.size() <= 8 && p.result.size() <= Shape::inline_rank;
            for (ValueId i : in) short_lists = short_lists && g.node(i).shape.size() <= Shape::inline_rank;
            return short_lists && !p.may_fail();
        });
    return r == Rule::update || r == Rule::compute;
}

/// May the result of an index program lie where operand o does? It begins with that, or reads it at its own places only.
inline bool overwrites_indexed(const Graph& g, const Layouts& layouts, const GraphNode& n, ValueId o)
{
    if (g.node(o).dtype != n.dtype || !(g.node(o).shape == n.shape) || n.primitive->part) return false;
    std::size_t at = n.inputs.size();
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        if (layouts[n.inputs[k]].root != layouts[o].root) continue;
        if (at < n.inputs.size()) return false;
        at = k;
    }
    const Index program = index_of(g, n);
    if (program.start == Index::Start::operand)
        return program.base == at && std::none_of(program.reads, program.reads + program.read_count,
                                                  [&](const Index::Read& r) { return r.operand == at; });
    return program.reads_own_place(at);
}

/// May v, the result of an operation that is not fused, lie where its operand o does? Both are whole and of the same size.
inline bool overwrites(const Graph& g, const Layouts& layouts, ValueId v, ValueId o)
{
    const GraphNode& n = g.node(v);
    const Rule r = rule_of(g, layouts, v);
    const auto meets = [&](ValueId i) { return layouts[i].root == layouts[o].root; };
    if (r == Rule::index) return overwrites_indexed(g, layouts, n, o);
    if (!updates_first(r) || n.inputs[0] != o || !(g.node(o).shape == n.shape)) return false;
    for (std::size_t i = 1; i < n.inputs.size(); ++i)
        if (meets(n.inputs[i])) return false;
    return true;
}

}  // namespace wengert::tiling

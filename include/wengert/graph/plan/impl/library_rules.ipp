// What library_rules.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../library_rules.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE bool plain_floats(const Graph& g, const GraphNode& n)
{
    bool plain = differentiable(n.dtype) && n.shape.size() <= Shape::inline_rank;
    for (ValueId i : n.inputs)
        plain = plain && g.node(i).dtype == n.dtype && g.node(i).shape.size() <= Shape::inline_rank;
    return plain;
}

WENGERT_INLINE bool gemm_reads(const Graph& g, const Layouts& layouts, ValueId v)
{
    const Shape& shape = g.node(v).shape;
    const Strides& s = layouts[v].strides;
    const std::size_t r = shape.size();
    if (r == 0) return false;
    if (!layouts[v].strided) return true;
    if (r == 1) return s[0] > 0;
    const std::int64_t rows = shape[r - 2], columns = shape[r - 1], row = s[r - 2], column = s[r - 1];
    return wengert::detail::reads_as_rows(rows, columns, row, column) ||
           wengert::detail::reads_as_rows(columns, rows, column, row);
}

WENGERT_INLINE bool folds_in_place(const Graph& g, const Layouts& layouts, const GraphNode& n, const Fold& f)
{
    for (ValueId i : n.inputs)
        if (layouts[i].strided || g.node(i).shape.size() > Shape::inline_rank) return false;
    const FoldLines lines(g.node(n.inputs[0]).shape, f);
    return lines.adjacent && lines.n > 0 && n.shape.size() <= Shape::inline_rank;
}

WENGERT_INLINE bool read_as_matrix(const Graph& g, const Layouts& layouts, const GraphNode& n,
                                   std::uint8_t operand)
{
    return g.node(n.inputs[operand]).shape.size() == 2 && gemm_reads(g, layouts, n.inputs[operand]);
}

WENGERT_INLINE Rule rule_of_product(const Graph& g, const Layouts& layouts, const GraphNode& n)
{
    const MatrixProduct p = product_of(n);
    if (!p.adds) {
        const ValueId a = n.inputs[p.a.operand], b = n.inputs[p.b.operand];
        const std::size_t rank = std::max({g.node(a).shape.size(), g.node(b).shape.size(), std::size_t{2}});
        const bool batch = p.batch == rank - 2 && (p.batch == 0 || p.is_plain());
        return batch && p.factor == MatrixProduct::none && gemm_reads(g, layouts, a) &&
                       gemm_reads(g, layouts, b)
                   ? Rule::product
                   : Rule::compute;
    }
    const bool guard = p.cotangent == MatrixProduct::none || !layouts[n.inputs[p.cotangent]].strided;
    return n.shape.size() == 2 && guard && read_as_matrix(g, layouts, n, p.a.operand) &&
                   read_as_matrix(g, layouts, n, p.b.operand)
               ? Rule::add_product
               : Rule::compute;
}

WENGERT_INLINE Rule rule_of_call(const Graph& g, const Layouts& layouts, const GraphNode& n)
{
    const bool plain = plain_floats(g, n);
    const Rule product = plain && n.primitive->product ? rule_of_product(g, layouts, n) : Rule::compute;
    if (product != Rule::compute) return product;
    if (plain && n.primitive->zero_rule && n.inputs.size() == 2 && !layouts[n.inputs[1]].strided)
        return Rule::zero_rule;
    return n.primitive->update ? Rule::update : Rule::compute;
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE Rule rule_of(const Graph& g, const Layouts& layouts, ValueId v)
{
    const GraphNode& n = g.node(v);
    if (runs_index(*n.primitive) || (is_described(*n.primitive) && moves_boxes(g, n))) return Rule::index;
    if (Fold f; fold_of(n, f)) return detail::folds_in_place(g, layouts, n, f) ? Rule::fold : Rule::compute;
    return detail::rule_of_call(g, layouts, n);
}

WENGERT_INLINE bool updates_first(Rule r) noexcept
{
    return r == Rule::add_product || r == Rule::zero_rule || r == Rule::update;
}

WENGERT_INLINE bool may_throw(const Graph& g, const Layouts& layouts, ValueId v)
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

WENGERT_INLINE bool overwrites_indexed(const Graph& g, const Layouts& layouts, const GraphNode& n, ValueId o)
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

WENGERT_INLINE bool overwrites(const Graph& g, const Layouts& layouts, ValueId v, ValueId o)
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

// Which operations run on addresses that are worked out when the graph is planned, and what holds for each: may it fail, may
// its result lie where an operand does?
#pragma once

#include <algorithm>
#include <iterator>

#include "../../ops/gemm.hpp"
#include "../../ops/reduction_rules.hpp"
#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "../ir/index_program.hpp"
#include "layout.hpp"

namespace wengert::tiling {

/// How an operation that is not fused runs.
enum class Rule : std::uint8_t {
    elementwise,  ///< one tile kernel
    gemm,         ///< a product of two matrices or vectors
    add_gemm,     ///< the same, added to what is there: a cotangent of matmul
    scaled_gemm,  ///< the same with a factor: gemm
    sum,
    mean,
    copy,   ///< other layout, same elements
    embed,  ///< zeros with the operand in a part
    assign_part,
    add_part,
    subtract_part,
    join,     ///< concatenate, stack
    index,    ///< what it has a description of (ops/index/index.hpp), whatever it is called
    silent,   ///< zero_where_silent
    update,   ///< Primitive::update, in place
    compute,  ///< Primitive::compute, all the rest
};

namespace detail {

inline bool real(DType d) noexcept { return d == DType::float32 || d == DType::float64; }

inline bool same_dtypes(const Graph& g, const GraphNode& n)
{
    for (ValueId i : n.inputs)
        if (g.node(i).dtype != n.dtype) return false;
    return true;
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

inline bool adjacent(const Axes& axes)
{
    return axes.empty() || axes.back() - axes[0] + 1 == static_cast<std::int64_t>(axes.size());
}

inline Rule rule_by_name(const Graph& g, const Layouts& layouts, const GraphNode& n)
{
    const std::string_view name = n.primitive->kind;
    const void* op = n.op.get();
    const auto plain = [&](ValueId v) { return !layouts[v].strided; };
    if (name == "copy" || name == "reshape") return Rule::copy;
    if (name == "embed") return Rule::embed;
    if (name == "assign_view") return Rule::assign_part;
    if (name == "concatenate" || name == "stack") return Rule::join;
    if (!real(n.dtype)) return n.primitive->update ? Rule::update : Rule::compute;
    if (name == "matmul" && gemm_reads(g, layouts, n.inputs[0]) && gemm_reads(g, layouts, n.inputs[1]))
        return Rule::gemm;
    if ((name == "matmul.pull0" || name == "matmul.pull1") && n.shape.size() == 2 && n.inputs.size() == 3 &&
        g.node(n.inputs[1]).shape.size() == 2 && g.node(n.inputs[2]).shape.size() == 2 &&
        plain(n.inputs[1]) && gemm_reads(g, layouts, n.inputs[2]))
        return Rule::add_gemm;
    if (name == "gemm" && gemm_reads(g, layouts, n.inputs[1]) && gemm_reads(g, layouts, n.inputs[2]) &&
        plain(n.inputs[1]) && plain(n.inputs[2]))
        return Rule::scaled_gemm;
    if (name == "sum" && plain(n.inputs[0]) && adjacent(static_cast<const Sum*>(op)->axes)) return Rule::sum;
    if (name == "mean" && plain(n.inputs[0]) && adjacent(static_cast<const Mean*>(op)->along.axes))
        return Rule::mean;
    if (name == "add_view" || name == "view.pull0") return Rule::add_part;
    if (name == "subtract_view") return Rule::subtract_part;
    if (name == "zero_where_silent" && plain(n.inputs[1])) return Rule::silent;
    return n.primitive->update ? Rule::update : Rule::compute;
}

}  // namespace detail

inline Rule rule_of(const Graph& g, const Layouts& layouts, ValueId v)
{
    const GraphNode& n = g.node(v);
    if (n.primitive->value) return Rule::elementwise;
    if (n.primitive->index) return Rule::index;
    if (n.shape.size() > Shape::inline_rank || !detail::same_dtypes(g, n))
        return n.primitive->update ? Rule::update : Rule::compute;
    for (ValueId i : n.inputs)
        if (g.node(i).shape.size() > Shape::inline_rank)
            return n.primitive->update ? Rule::update : Rule::compute;
    return detail::rule_by_name(g, layouts, n);
}

/// An operation whose value comes about where input 0 lies.
inline bool updates_first(Rule r) noexcept
{
    return r == Rule::add_gemm || r == Rule::scaled_gemm || r == Rule::assign_part || r == Rule::add_part ||
           r == Rule::subtract_part || r == Rule::silent || r == Rule::update;
}

/// Does it allocate or look at what it is given? Rules with addresses that are known do neither.
inline bool may_throw(const Graph& g, const Layouts& layouts, ValueId v)
{
    const Rule r = rule_of(g, layouts, v);
    if (r == Rule::index) {
        const Index program = index_of(g, g.node(v));
        bool short_lists = program.extents.size() <= 8 && program.result.size() <= Shape::inline_rank;
        for (ValueId i : g.node(v).inputs)
            short_lists = short_lists && g.node(i).shape.size() <= Shape::inline_rank;
        return program.may_fail() || !short_lists;
    }
    return r == Rule::update || r == Rule::compute ||
           (r == Rule::elementwise && g.node(v).shape.size() > Shape::inline_rank);
}

/// Whatever the elements are, the primitive's own function fails for want of memory only, and calls nothing of the user's:
/// it may run on any thread beside others.
inline bool may_run_beside(const Primitive& p)
{
    static constexpr std::string_view names[] = {
        "amax",         "amin",   "bernoulli", "dropout_mask", "gemm",   "log_softmax", "log_softmax_pull",
        "logsumexp",    "matmul", "mean",      "norm",         "normal", "prod",        "softmax",
        "softmax_pull", "stddev", "sum",       "tril",         "triu",   "uniform",     "var"};
    const std::string_view name = p.kind.substr(0, p.kind.find('.'));
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// May the result of an index program lie where operand o does? It begins with that, or reads it at its own places only.
inline bool overwrites_indexed(const Graph& g, const Layouts& layouts, const GraphNode& n, ValueId o)
{
    if (g.node(o).dtype != n.dtype || !(g.node(o).shape == n.shape)) return false;
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
    if (r == Rule::elementwise) {
        if (!(g.node(o).shape == n.shape) || size_of(g.node(o).dtype) != size_of(n.dtype)) return false;
        for (ValueId i : n.inputs)
            if (meets(i) && i != o) return false;
        return true;
    }
    if (r == Rule::copy) return g.node(o).dtype == n.dtype;
    if (r == Rule::index) return overwrites_indexed(g, layouts, n, o);
    if (!updates_first(r) || n.inputs[0] != o || !(g.node(o).shape == n.shape)) return false;
    for (std::size_t i = 1; i < n.inputs.size(); ++i)
        if (meets(n.inputs[i])) return false;
    return true;
}

}  // namespace wengert::tiling

// Operations on rows: reductions along the last axis, softmax and its kin, as kernels on rows that lie one after the other.
// They are eager's kernels, which look at each row by itself, so the bits are eager's however many rows are done at a time.
#pragma once

#include "../../kernels/executor.hpp"
#include "../ir/fold_of.hpp"

namespace wengert::tiling {

/// A fold of rows of n elements each: (operands, rows, n, 1, what it is told, result).
using RowKernel = decltype(FoldForm::run);

/// The result has one element a row, or as many as the operand; it may then lie where an
/// operand lies.
struct RowOperation {
    RowKernel kernel = nullptr;
    double parameter = 0;
    bool reduces = false;  ///< one element a row
    bool streams = false;  ///< a sum or mean: need not have its rows in memory when it is the end of a pass
};

namespace detail {

/// One element a row, as often as the row is long. `bytes` of an element.
inline void spread_along_rows(const void* const* in, std::size_t rows, std::size_t n, std::size_t,
                              double bytes, void* out)
{
    const auto size = static_cast<std::size_t>(bytes);
    kernels::gather_rows(static_cast<const std::byte*>(in[0]), 1, 0, size, n, rows,
                         static_cast<std::byte*>(out));
}

/// Is `axis` the last one along which there is more than one element, and are there several rows?
inline bool rows_along(std::size_t axis, const Shape& shape)
{
    std::size_t rows = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i < axis) rows *= static_cast<std::size_t>(shape[i]);
        if (i > axis && shape[i] != 1) return false;
    }
    return rows > 1 && shape[axis] > 1;
}

}  // namespace detail

/// Longer rows do not stay in the first-level caches; of shorter ones each would be a call of a kernel, where a pass takes
/// whole tiles.
inline constexpr std::size_t longest_row = 16384;  // bytes
inline constexpr std::int64_t shortest_row = 32;   // elements

/// The operation of a node on the rows of its operand, without a kernel where it is none or rows are too long.
inline RowOperation row_operation(const Graph& g, const GraphNode& n)
{
    Fold f;
    if (!differentiable(n.dtype) || !fold_of(n, f)) return {};
    const Shape& shape = g.node(n.inputs[0]).shape;
    std::size_t axis = f.maps() ? f.axis : ~std::size_t{0};
    if (!f.maps())
        for (auto a : *f.axes)
            if (const auto i = static_cast<std::size_t>(a); shape[i] != 1) {
                if (axis != ~std::size_t{0}) return {};
                axis = i;
            }
    if (axis >= shape.size() || !detail::rows_along(axis, shape)) return {};
    if (shape[axis] < shortest_row || static_cast<std::size_t>(shape[axis]) * size_of(n.dtype) > longest_row)
        return {};
    for (ValueId i : n.inputs)
        if (g.node(i).dtype != n.dtype || !(g.node(i).shape == shape)) return {};
    const FoldForm& form = *n.primitive->fold;
    return {form.run, f.number, !f.maps(), form.sums || form.means};
}

namespace detail {

/// A sum or mean over all axes or over the last ones, of floats: its operand's rows of `length` elements, one after the other.
struct RowSum {
    std::size_t length = 0;
    bool mean = false;
};

inline bool row_sum(const Graph& g, const GraphNode& n, RowSum& r)
{
    Fold f;
    if (!differentiable(n.dtype) || !fold_of(n, f) || g.node(n.inputs[0]).dtype != n.dtype) return false;
    r.mean = n.primitive->fold->means;
    if (!r.mean && !n.primitive->fold->sums) return false;
    const Shape& shape = g.node(n.inputs[0]).shape;
    std::vector<bool> summed(shape.size(), false);
    for (auto a : *f.axes) summed[static_cast<std::size_t>(a)] = true;
    r.length = 1;
    bool inside = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] != 1 && inside && !summed[i]) return false;
        if (summed[i]) r.length *= static_cast<std::size_t>(shape[i]);
        inside = inside || (summed[i] && shape[i] != 1);
    }
    return true;
}

}  // namespace detail

}  // namespace wengert::tiling

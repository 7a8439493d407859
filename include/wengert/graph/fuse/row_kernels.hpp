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

/// The elements of a row where f folds the last axes, whatever axes of extent 1 are between; 0 where it folds others.
inline std::size_t folded_row(const Fold& f, const Shape& shape)
{
    std::size_t n = 1, left = f.maps() ? 1 : f.axes->size();
    bool outside = false;
    for (std::size_t i = shape.size(); i-- > 0;) {
        const bool folded =
            left > 0 && i == (f.maps() ? f.axis : static_cast<std::size_t>((*f.axes)[left - 1]));
        left -= folded;
        if (folded && outside && shape[i] != 1) return 0;
        if (folded) n *= static_cast<std::size_t>(shape[i]);
        outside = outside || (!folded && shape[i] != 1);
    }
    return n;
}

}  // namespace detail

/// Longer rows do not stay in the first-level caches; of shorter ones each would be a call of a kernel, where a pass takes
/// whole tiles.
inline constexpr std::size_t longest_row = 16384;  // bytes
inline constexpr std::size_t shortest_row = 32;    // elements

/// The operation of a node on the rows of its operand, without a kernel where it is none or rows are too long.
inline RowOperation row_operation(const Graph& g, const GraphNode& n)
{
    Fold f;
    if (!differentiable(n.dtype) || !fold_of(n, f)) return {};
    const Shape& shape = g.node(n.inputs[0]).shape;
    const std::size_t row = detail::folded_row(f, shape);
    if (row < shortest_row || row * size_of(n.dtype) > longest_row || element_count(shape) <= row) return {};
    std::size_t last = shape.size();  // of several axes rows are no rows of the elements
    while (shape[--last] == 1) {}
    if (static_cast<std::size_t>(shape[last]) != row) return {};
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
    r.length = folded_row(f, g.node(n.inputs[0]).shape);
    return r.length > 0;
}

}  // namespace detail

}  // namespace wengert::tiling

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
void spread_along_rows(const void* const* in, std::size_t rows, std::size_t n, std::size_t, double bytes,
                       void* out);

/// The elements of a row where f folds the last axes, whatever axes of extent 1 are between; 0 where it folds others.
std::size_t folded_row(const Fold& f, const Shape& shape);

}  // namespace detail

/// Longer rows do not stay in the first-level caches; of shorter ones each would be a call of a kernel, where a pass takes
/// whole tiles.
inline constexpr std::size_t longest_row = 16384;  // bytes
inline constexpr std::size_t shortest_row = 32;    // elements

/// The operation of a node on the rows of its operand, without a kernel where it is none or rows are too long.
RowOperation row_operation(const Graph& g, const GraphNode& n);

namespace detail {

/// A sum or mean over all axes or over the last ones, of floats: its operand's rows of `length` elements, one after the other.
struct RowSum {
    std::size_t length = 0;
    bool mean = false;
};

bool row_sum(const Graph& g, const GraphNode& n, RowSum& r);

}  // namespace detail

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/row_kernels.ipp"
#endif

// Operations on rows: reductions along the last axis, softmax and its kin, as kernels on rows that lie one after the other.
// They are eager's kernels, which look at each row by itself, so the bits are eager's however many rows are done at a time.
#pragma once

#include "../../ops/reduction_rules.hpp"
#include "../../ops/softmax.hpp"
#include "../ir/graph.hpp"

namespace wengert::tiling {

/// `rows` rows of n elements each. The result has one element a row, or as many as the operand; it may then lie where an
/// operand lies.
using RowKernel = void (*)(std::size_t rows, std::size_t n, std::size_t parameter, const void* const* in,
                           void* out);

struct RowOperation {
    RowKernel kernel = nullptr;
    std::size_t parameter = 0;
    bool reduces = false;  ///< one element a row
    bool streams = false;  ///< a sum or mean: need not have its rows in memory when it is the end of a pass
};

namespace detail {

template <class Op> bool is_row_op(const Primitive& p) { return p.kind == Op::name; }
template <class Op> const Op& row_parameters(const GraphNode& n)
{
    return *static_cast<const Op*>(n.op.get());
}

/// What operations do to rows, for one dtype.
template <class T, class A> struct RowKernels {
    template <class Op>
    static void fold(std::size_t rows, std::size_t n, std::size_t, const void* const* in, void* out)
    {
        kernels::detail::fold_rows<Op, T, A>(static_cast<const T*>(in[0]), rows, n, kernels::detail::as_is,
                                             static_cast<T*>(out));
    }
    static void mean(std::size_t rows, std::size_t n, std::size_t, const void* const* in, void* out)
    {
        fold<kernels::detail::Add>(rows, n, 0, in, out);
        for (std::size_t r = 0; r < rows; ++r) static_cast<T*>(out)[r] /= static_cast<T>(n);
    }
    static void var(std::size_t rows, std::size_t n, std::size_t ddof, const void* const* in, void* out)
    {
        const T* x = static_cast<const T*>(in[0]);
        for (std::size_t r = 0; r < rows; ++r)
            static_cast<T*>(out)[r] = kernels::detail::var_row<T, A>(x + r * n, n, ddof);
    }
    static void logsumexp(std::size_t rows, std::size_t n, std::size_t, const void* const* in, void* out)
    {
        const T* x = static_cast<const T*>(in[0]);
        for (std::size_t r = 0; r < rows; ++r)
            static_cast<T*>(out)[r] = kernels::detail::logsumexp_row<T, A>(x + r * n, n);
    }
    template <void (*row)(const T*, std::size_t, T*)>
    static void each(std::size_t rows, std::size_t n, std::size_t, const void* const* in, void* out)
    {
        for (std::size_t at = 0; at < rows * n; at += n)
            row(static_cast<const T*>(in[0]) + at, n, static_cast<T*>(out) + at);
    }
    /// From (ȳ, y).
    template <class Rule>
    static void pull(std::size_t rows, std::size_t n, std::size_t, const void* const* in, void* out)
    {
        const T *g = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
        for (std::size_t at = 0; at < rows * n; at += n)
            kernels::detail::pull_row<Rule, T, A>(y + at, g + at, n, static_cast<T*>(out) + at);
    }

    static RowOperation reduction(const GraphNode& n)
    {
        const Primitive& p = *n.primitive;
        if (is_row_op<Sum>(p)) return {fold<kernels::detail::Add>, 0, true, true};
        if (is_row_op<Mean>(p)) return {mean, 0, true, true};
        if (is_row_op<Extremum<true>>(p)) return {fold<kernels::detail::Max>, 0, true};
        if (is_row_op<Extremum<false>>(p)) return {fold<kernels::detail::Min>, 0, true};
        if (is_row_op<Var>(p)) return {var, row_parameters<Var>(n).ddof, true};
        if (is_row_op<LogSumExp>(p)) return {logsumexp, 0, true};
        return {};
    }
    static RowOperation map(const GraphNode& n)
    {
        const Primitive& p = *n.primitive;
        if (is_row_op<Softmax>(p)) return {each<kernels::detail::softmax_row<T, A>>};
        if (is_row_op<LogSoftmax>(p)) return {each<kernels::detail::log_softmax_row<T, A>>};
        if (is_row_op<SoftmaxPull>(p)) return {pull<kernels::detail::SoftmaxRule>};
        if (is_row_op<LogSoftmaxPull>(p)) return {pull<kernels::detail::LogSoftmaxRule>};
        return {};
    }
};

/// One element a row, as often as the row is long. `size`: bytes of an element.
inline void spread_along_rows(std::size_t rows, std::size_t n, std::size_t size, const void* const* in,
                              void* out)
{
    kernels::gather_rows(static_cast<const std::byte*>(in[0]), 1, 0, size, n, rows,
                         static_cast<std::byte*>(out));
}

/// The axes that a reduction goes over, or the one of a map, null where it is no operation on rows.
inline const Axes* reduced_axes(const GraphNode& n)
{
    const Primitive& p = *n.primitive;
    if (is_row_op<Sum>(p)) return &row_parameters<Sum>(n).axes;
    if (is_row_op<Mean>(p)) return &row_parameters<Mean>(n).along.axes;
    if (is_row_op<Extremum<true>>(p)) return &row_parameters<Extremum<true>>(n).along.axes;
    if (is_row_op<Extremum<false>>(p)) return &row_parameters<Extremum<false>>(n).along.axes;
    if (is_row_op<Var>(p)) return &row_parameters<Var>(n).along.axes;
    if (is_row_op<LogSumExp>(p)) return &row_parameters<LogSumExp>(n).along.axes;
    return nullptr;
}
inline std::size_t mapped_axis(const GraphNode& n)
{
    const Primitive& p = *n.primitive;
    if (is_row_op<Softmax>(p)) return row_parameters<Softmax>(n).axis;
    if (is_row_op<LogSoftmax>(p)) return row_parameters<LogSoftmax>(n).axis;
    if (is_row_op<SoftmaxPull>(p)) return row_parameters<SoftmaxPull>(n).axis;
    return is_row_op<LogSoftmaxPull>(p) ? row_parameters<LogSoftmaxPull>(n).axis : ~std::size_t{0};
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
template <class A = xsimd::default_arch> RowOperation row_operation(const Graph& g, const GraphNode& n)
{
    if (!n.primitive || !n.primitive->compute || n.inputs.empty()) return {};
    if (n.dtype != DType::float32 && n.dtype != DType::float64) return {};
    const Shape& shape = g.node(n.inputs[0]).shape;
    std::size_t axis = detail::mapped_axis(n);
    const bool maps = axis != ~std::size_t{0};
    if (!maps) {
        const Axes* axes = detail::reduced_axes(n);
        if (!axes) return {};
        for (auto a : *axes)
            if (const auto i = static_cast<std::size_t>(a); shape[i] != 1) {
                if (axis != ~std::size_t{0}) return {};
                axis = i;
            }
    }
    if (axis >= shape.size() || !detail::rows_along(axis, shape)) return {};
    if (shape[axis] < shortest_row || static_cast<std::size_t>(shape[axis]) * size_of(n.dtype) > longest_row)
        return {};
    for (ValueId i : n.inputs)
        if (g.node(i).dtype != n.dtype || !(g.node(i).shape == shape)) return {};
    using Single = detail::RowKernels<float, A>;
    using Double = detail::RowKernels<double, A>;
    const bool single = n.dtype == DType::float32;
    if (maps) return single ? Single::map(n) : Double::map(n);
    return single ? Single::reduction(n) : Double::reduction(n);
}

}  // namespace wengert::tiling

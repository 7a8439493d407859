// Linear systems of complex matrices, as real ones of twice the size: row i of A becomes two rows, of the pairs of conj(A) and of
// those with their parts exchanged. That has twice the operations of zgesv, and all rules, batches and errors of real systems.
#pragma once

#include "../complex/products.hpp"
#include "solve.hpp"

namespace wengert::linalg {

namespace detail {

using wengert::detail::as_complex;

/// (… n, n, 2) → (… 2n, 2n), the real matrix that multiplies pairs in columns from the left as A does.
template <class T, class D> Tensor<T, D> on_the_left(const Tensor<std::complex<T>, D>& a, const Site& at)
{
    const Tensor<T, D> first = conj(a, at).parts(), parts = a.parts(),
                       second = stack({imag(a, at), real(a, at)}, -1, at);
    const Tensor<T, D> rows = stack({first, second}, static_cast<std::int64_t>(parts.dimension()) - 2, at);
    Shape shape(parts.shape().data(), parts.dimension() - 3);
    for (int k = 0; k < 2; ++k) shape.push_back(2 * parts.shape()[parts.dimension() - 2]);
    return reshape(rows, shape, at);
}
template <class T, class D>
void demand_complex_square(std::string_view name, const Tensor<std::complex<T>, D>& a, const Site& at)
{
    const Shape s = a.shape(name, at);
    if (s.size() < 2 || s.back() != s[s.size() - 2])
        fail<ShapeError>(name, "shape " + to_string(s) + ": square matrices are expected", at);
}

}  // namespace detail

/// X with A X = B of complex matrices; b of rank 1 is a vector, batches are broadcast. Throws as that of real ones, whose messages
/// count two real rows for a complex one.
template <class T, class D>
Tensor<std::complex<T>, D> solve(const Tensor<std::complex<T>, D>& a,
                                 const std::type_identity_t<Tensor<std::complex<T>, D>>& b,
                                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_complex_square("solve", a, at);
    const Shape of = b.shape("solve", at);
    if (of.empty() || of[of.size() == 1 ? 0 : of.size() - 2] != a.shape().back())
        fail<ShapeError>("solve",
                         "shapes " + to_string(a.shape()) + " and " + to_string(of) + ": " +
                             std::to_string(a.shape().back()) + " rows on the right are expected",
                         at);
    const ComposedAt line(at);
    const Tensor<T, D> matrix = detail::on_the_left(a, at);
    if (of.size() == 1) {
        const Tensor<T, D> x = solve(matrix, reshape(b.parts(), {2 * of[0]}, at), at);
        Shape shape(x.shape().data(), x.dimension() - 1);
        shape.push_back(of[0]);
        return detail::as_complex(reshape(x, wengert::detail::with_parts(shape), at));
    }
    const Tensor<T, D> columns = swapaxes(b.parts(), -1, -2, at);  // … n, 2, k
    Shape shape = of;
    shape[of.size() - 2] *= 2;
    const Tensor<T, D> x = solve(matrix, reshape(columns, shape, at), at);
    Shape parted(x.shape().data(), x.dimension() - 2);
    for (const std::int64_t n : {of[of.size() - 2], std::int64_t{2}, of.back()}) parted.push_back(n);
    return detail::as_complex(swapaxes(reshape(x, parted, at), -1, -2, at));
}
/// A⁻¹ of complex matrices. Throws NumericError where A is singular to working precision.
template <class T, class D>
Tensor<std::complex<T>, D> inv(const Tensor<std::complex<T>, D>& a,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_complex_square("inv", a, at);
    return solve(a, cast<std::complex<T>>(detail::unit_beside(real(a, at), at), at), at);
}

}  // namespace wengert::linalg

// Products of complex matrices as one product of real ones: A as it lies, m × 2k, times the 2k × 2n matrix whose rows 2p and 2p + 1
// are row p of B and of iB. So one GEMM does as many operations as BLAS's zgemm, and its rules are those of matmul.
#pragma once

#include "../ops/matmul.hpp"
#include "shape.hpp"

namespace wengert {

namespace detail {

/// The shape of s with its last two axes made one, and with the last made two.
inline Shape merged(const Shape& s)
{
    Shape out(s.data(), s.size() - 1);
    out.back() *= s.back();
    return out;
}
inline Shape parted(Shape s)
{
    s.back() /= 2;
    return with_parts(s);
}
/// (… k, n, 2) → (… 2k, 2n), the real matrix that multiplies from the right as B does.
template <class T, class D> Tensor<T, D> on_the_right(const Tensor<T, D>& b, const Site& at)
{
    const Tensor<T, D> turned =
        joined("matmul", -part_of("matmul", b, 1, at), part_of("matmul", b, 0, at), at);
    const Tensor<T, D> rows =
        stack({b, turned}, static_cast<std::int64_t>(b.dimension()) - 2, at);  // … k, 2, n, 2
    Shape shape(b.shape().data(), b.dimension() - 3);
    shape.push_back(2 * b.shape()[b.dimension() - 3]);
    shape.push_back(2 * b.shape()[b.dimension() - 2]);
    return reshape(rows, shape, at);
}
inline void demand_inner_extents(const Shape& a, const Shape& b, const Site& at)
{
    const bool ranks = !a.empty() && !b.empty();
    if (!ranks || a.back() != b[b.size() == 1 ? 0 : b.size() - 2])
        fail<ShapeError>(
            "matmul",
            "shapes " + to_string(a) + " and " + to_string(b) +
                (ranks ? ": the inner extents differ" : ": rank 0 has no rows or columns, use a * b"),
            at);
}

}  // namespace detail

/// The matrix product by NumPy's rules. Throws ShapeError as that of real tensors does.
template <class T, class D>
Tensor<std::complex<T>, D> matmul(const Tensor<std::complex<T>, D>& a,
                                  const std::type_identity_t<Tensor<std::complex<T>, D>>& b,
                                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_inner_extents(a.shape("matmul", at), b.shape("matmul", at), at);
    const bool vector = b.dimension() == 1;
    const Tensor<T, D> right = detail::on_the_right(vector ? expand_dims(b.parts(), 1, at) : b.parts(), at);
    const Tensor<T, D> y = matmul(reshape(a.parts(), detail::merged(a.parts().shape()), at), right, at);
    return detail::as_complex(vector ? y : reshape(y, detail::parted(y.shape()), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> matmul(const Tensor<T, D>& a, const Tensor<std::complex<T>, D>& b,
                                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_inner_extents(a.shape("matmul", at), b.shape("matmul", at), at);
    const bool vector = b.dimension() == 1;
    const Tensor<T, D> right = vector ? b.parts() : reshape(b.parts(), detail::merged(b.parts().shape()), at);
    const Tensor<T, D> y = matmul(a, right, at);
    return detail::as_complex(vector ? y : reshape(y, detail::parted(y.shape()), at));
}
template <class T, class D>
Tensor<std::complex<T>, D> matmul(const Tensor<std::complex<T>, D>& a, const Tensor<T, D>& b,
                                  Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return matmul(a, cast<std::complex<T>>(b, at), at);
}
/// Σ aᵢ bᵢ of two vectors, without conjugate, as NumPy's. Throws ShapeError for other ranks.
template <class T, class D>
Tensor<std::complex<T>, D> dot(const Tensor<std::complex<T>, D>& a,
                               const std::type_identity_t<Tensor<std::complex<T>, D>>& b,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (a.shape("dot", at).size() != 1 || !(a.shape() == b.shape("dot", at)))
        fail<ShapeError>("dot",
                         "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()) +
                             ": two vectors of one length are expected",
                         at);
    return matmul(a, b, at);
}
/// aᵢ bⱼ of two vectors; operands of other ranks are flattened.
template <class T, class D>
Tensor<std::complex<T>, D> outer(const Tensor<std::complex<T>, D>& a,
                                 const std::type_identity_t<Tensor<std::complex<T>, D>>& b,
                                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Tensor<std::complex<T>, D> column = expand_dims(flatten(a, at), 1, at);
    return ops::multiply<T, D>({column, at.file, at.line}, {flatten(b, at), at.file, at.line}, at);
}
template <class T, class D>
Tensor<std::complex<T>, D> outer(const Tensor<T, D>& a, const Tensor<std::complex<T>, D>& b,
                                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return expand_dims(flatten(a, at), 1, at) * flatten(b, at);
}
template <class T, class D>
Tensor<std::complex<T>, D> outer(const Tensor<std::complex<T>, D>& a, const Tensor<T, D>& b,
                                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return expand_dims(flatten(a, at), 1, at) * flatten(b, at);
}

}  // namespace wengert

// What all of linear algebra asks of its operands: matrices in the last two axes, batches in those before, packed factorizations.
//
// A factorization is one operation without derivative that packs all its parts into a vector of each matrix. What users see are
// operations on (that vector, A): their values are read from the vector, and their rules are with respect to A. So a matrix is
// factorized once for a value and its derivatives of any order.
#pragma once

#include "../tape/speculation.hpp"
#include "../kernels/cpu/lapack.hpp"
#include "../ops/creation.hpp"
#include "../ops/matmul.hpp"
#include "../ops/reductions.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"

namespace wengert::linalg::detail {

/// The extents of the matrices in the last two axes, and how many there are.
struct Matrices {
    std::size_t rows, columns, count;
    explicit Matrices(const Shape& s)
        : rows(static_cast<std::size_t>(s[s.size() - 2])), columns(static_cast<std::size_t>(s.back())),
          count(element_count(wengert::detail::leading(s)))
    {}
    std::size_t size() const { return rows * columns; }
};

/// The shape of matrices of these extents, as many as the operand has.
inline Shape matrices_like(const Shape& s, std::int64_t rows, std::int64_t columns)
{
    Shape out = s;
    out[s.size() - 2] = rows;
    out.back() = columns;
    return out;
}
/// The shape of one vector for each matrix.
inline Shape vectors_like(const Shape& s, std::size_t length)
{
    Shape out = wengert::detail::leading(s);
    out.push_back(static_cast<std::int64_t>(length));
    return out;
}

/// " of matrix 3": which one of a batch, where there are several.
inline std::string which(std::size_t i, std::size_t count)
{
    return count == 1 ? std::string() : " of matrix " + std::to_string(i);
}

inline std::string digits(double x) { return wengert::detail::digits_of(x, 3); }

/// Throws NumericError with the operand and the user's line; in a rule that is the line of the operation. Where a loop's body is
/// traced on values that nobody reads, zeros often, it returns.
inline void refuse(std::string_view name, const Block& a, const std::string& what, const Site& at)
{
    if (wengert::detail::runs_example()) return;
    fail<NumericError>(name,
                       "of " + std::string(name_of(a.dtype)) + ", shape " + to_string(a.shape) + ": " + what,
                       at.line ? at : Tape::current().site_override);
}

/// Throws ShapeError where there are no last two axes, or they have more elements than LAPACK counts.
template <class T, class D> void demand_matrices(std::string_view name, const Tensor<T, D>& a, const Site& at)
{
    const Shape& s = a.shape(name, at);
    if (s.size() < 2)
        fail<ShapeError>(
            name, "shape " + to_string(s) + ": matrices in the last two of at least two axes are expected",
            at);
    if (std::max(s.back(), s[s.size() - 2]) > INT_MAX)
        fail<ShapeError>(name, "shape " + to_string(s) + ": LAPACK counts to 2147483647", at);
}
template <class T, class D> void demand_square(std::string_view name, const Tensor<T, D>& a, const Site& at)
{
    demand_matrices(name, a, at);
    const Shape& s = a.shape();
    if (s[s.size() - 2] != s.back())
        fail<ShapeError>(name, "shape " + to_string(s) + ": square matrices are expected", at);
}
/// Throws ShapeError where b has not as many rows as op(a), or the batches cannot be broadcast.
template <class T, class D>
void demand_right_side(std::string_view name, const Tensor<T, D>& a, std::int64_t rows, const Tensor<T, D>& b,
                       const Site& at)
{
    const Shape &s = b.shape(name, at), &of = a.shape();
    const std::string both = "shapes " + to_string(of) + " and " + to_string(s) + ": ";
    if (s.empty() || s[s.size() == 1 ? 0 : s.size() - 2] != rows)
        fail<ShapeError>(name, both + std::to_string(rows) + " rows on the right are expected", at);
    if (s.size() == 1) return;
    try {
        static_cast<void>(
            broadcast_shapes(name, wengert::detail::leading(of), wengert::detail::leading(s), {}));
    } catch (const ShapeError&) {
        fail<ShapeError>(name, both + "the batches cannot be broadcast together", at);
    }
}

/// f(b) for matrices b; of a vector as of one column, which the result has not.
template <class T, class D, class F>
Tensor<T, D> with_columns(const Tensor<T, D>& b, const Site& at, const F& f)
{
    if (b.dimension() > 1) return f(b);
    const Tensor<T, D> x = f(reshape(b, {b.shape()[0], 1}, at));
    return reshape(x, Shape(x.shape().data(), x.dimension() - 1), at);
}

/// Aᵀ of each matrix, a view.
template <class T, class D> Tensor<T, D> transposed(const Tensor<T, D>& a, const Site& at = {})
{
    return swapaxes(a, -1, -2, at);
}
/// (A + Aᵀ) / 2; the copy is faster than reading columns.
template <class T> Tensor<T> symmetric(const Tensor<T>& a)
{
    return (a + copy(transposed(a), Site{})) * T(0.5);
}
/// The symmetric matrix with A's lower triangle.
template <class T> Tensor<T> mirrored(const Tensor<T>& a)
{
    return tril(a, 0, Site{}) + copy(transposed(tril(a, -1, Site{})), Site{});
}
/// A B, in a rule at the line of its operation.
template <class T, class D>
Tensor<T, D> times(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at = {})
{
    return matmul(a, b, at);
}
/// Ā of op(A) X = B, given H = op(A)⁻ᵀ X̄: −H Xᵀ, or −X Hᵀ where op transposes.  Giles 2008.
template <class T> Tensor<T> cotangent_of_matrix(bool transposes, const Tensor<T>& h, const Tensor<T>& x)
{
    return -(transposes ? times(x, transposed(h)) : times(h, transposed(x)));
}
/// Ḃ − op(Ȧ) X: the right side whose solution is Ẋ.
template <class T>
Tensor<T> tangent_of_right(bool transposes, const Tensor<T>& da, const Tensor<T>& db, const Tensor<T>& x)
{
    return db - times(transposes ? transposed(da) : da, x);
}
/// A vector for each matrix as its row, and as its column.
template <class T> Tensor<T> as_row(const Tensor<T>& v) { return expand_dims(v, -2, Site{}); }
template <class T> Tensor<T> as_column(const Tensor<T>& v) { return expand_dims(v, -1, Site{}); }
/// A number for each matrix, as a matrix of one element.
template <class T> Tensor<T> as_matrix(const Tensor<T>& v) { return as_column(as_column(v)); }
/// The unit matrix that has as many columns as A, where A lies.
template <class T, class D> Tensor<T, D> unit_beside(const Tensor<T, D>& a, const Site& at = {})
{
    const Ref<Block> one = eye<T>(a.shape().back(), -1, at).any().value;
    return Tensor<T, D>(AnyTensor{placed(one, a.any().value->device()), {}});
}

/// Rows or columns [first, first + count): axis −2 or −1.
template <class T, class D>
Tensor<T, D> part(const Tensor<T, D>& a, std::int64_t axis, std::int64_t first, std::int64_t count,
                  const Site& at = {})
{
    const std::size_t k = normalize_axis("part", axis, a.shape(), at);
    return apply<Split, T>(Split{{Selection::part(a.shape(), k, first, count)}}, at, a);
}

/// The kernel of a factorization: a vector of `length` elements for each matrix x of A, which factor(i, x, y) writes to y.
template <class T, class Factor>
Ref<Block> packed_factors(const Ref<Block>& of, std::size_t length, const Factor& factor)
{
    const Ref<Block> a = contiguous(of);
    const Matrices m(a->shape);
    auto packed = make_block(dtype_of<T>(), vectors_like(a->shape, length));
    for (std::size_t i = 0; i < m.count && length > 0; ++i)
        factor(i, a->template as<T>() + i * m.size(), packed->template as<T>() + i * length);
    return packed;
}

/// A part of packed factorizations as a view: matrices that start `offset` elements after each vector's first one.
inline Ref<Block> unpacked(const Ref<Block>& of, std::size_t offset, std::size_t rows, std::size_t columns,
                           bool transposed = false)
{
    const Ref<Block> packed = contiguous(of);
    Shape shape(packed->shape.data(), packed->shape.size() - 1);
    Strides strides = row_major(packed->shape);
    strides.resize(shape.size());
    const auto r = static_cast<std::int64_t>(rows), c = static_cast<std::int64_t>(columns);
    shape.push_back(transposed ? c : r);
    shape.push_back(transposed ? r : c);
    strides.push_back(transposed ? 1 : c);
    strides.push_back(transposed ? c : 1);
    return make_view(packed, shape, &strides, static_cast<std::int64_t>(offset));
}
/// The same of vectors, in memory of their own: who keeps the eigenvalues does not keep the vectors.
inline Ref<Block> unpacked_vectors(const Ref<Block>& of, std::size_t offset, std::size_t length)
{
    const Ref<Block> packed = contiguous(of);
    Shape shape = packed->shape;
    shape.back() = static_cast<std::int64_t>(length);
    const Strides strides = row_major(packed->shape);
    return copy_of(*make_view(packed, shape, &strides, static_cast<std::int64_t>(offset)));
}

/// f(i, j, k): matrix i of a and j of b meet in matrix k of the result, where the batches are broadcast together.
template <class F> void each_pair(const Shape& a, const Shape& b, const Shape& batch, const F& f)
{
    const Strides sa = broadcast_strides(a, row_major(a), batch),
                  sb = broadcast_strides(b, row_major(b), batch);
    Shape place = Shape::filled(batch.size());
    const std::size_t count = element_count(batch);
    std::int64_t i = 0, j = 0;
    for (std::size_t k = 0; k < count; ++k) {
        f(static_cast<std::size_t>(i), static_cast<std::size_t>(j), k);
        for (std::size_t d = batch.size(); d-- > 0;) {  // an odometer
            i += sa[d];
            j += sb[d];
            if (++place[d] < batch[d]) break;
            i -= sa[d] * batch[d];
            j -= sb[d] * batch[d];
            place[d] = 0;
        }
    }
}

/// The kernel of X = op(A)⁻¹ B: copies of B for each pair of the broadcast batches, which solve(i, count, k columns, X) overwrites by
/// matrices [i, i + count) of A in turn. A has the batch `a`.
template <class T, class Solve>
Ref<Block> solve_batch(const Shape& a, const Ref<Block>& right, const Solve& solve)
{
    const Ref<Block> b = contiguous(right);
    const Shape own = wengert::detail::leading(b->shape), batch = broadcast_shapes("solve", a, own, {});
    const Matrices one(b->shape);
    Shape shape = batch;
    shape.push_back(b->shape[own.size()]);
    shape.push_back(b->shape.back());
    auto x = make_block(dtype_of<T>(), shape);
    T* const to = x->template as<T>();
    if (own == batch) {
        std::copy_n(b->template as<T>(), one.count * one.size(), to);
    } else {
        each_pair(a, own, batch, [&](std::size_t, std::size_t j, std::size_t k) {
            std::copy_n(b->template as<T>() + j * one.size(), one.size(), to + k * one.size());
        });
    }
    if (a == batch) {
        solve(std::size_t{0}, element_count(batch), one.columns, to);
        return x;
    }
    each_pair(a, own, batch, [&](std::size_t i, std::size_t, std::size_t k) {
        solve(i, std::size_t{1}, one.columns, to + k * one.size());
    });
    return x;
}

/// What counts as 0 beside 1 after an elimination of A: max(m, n) ε.
template <class T, class D> double rounding(const Tensor<T, D>& a)
{
    return static_cast<double>(std::max(a.shape().back(), a.shape()[a.dimension() - 2])) *
           static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Throws NumericError where an element is not finite: these algorithms might not end.
inline void demand_finite(std::string_view name, const Block& a, const Site& at)
{
    if (!all_finite(a)) refuse(name, a, "an element is not finite", at);
}

}  // namespace wengert::linalg::detail

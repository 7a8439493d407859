// Products of matrices, batches of matrices and vectors, by NumPy's rules.
#pragma once

#include "../kernels/cpu/gemm.hpp"
#include "sum.hpp"

namespace wengert {

namespace detail {

/// The matrices of an operand as gemm reads them: rows of `ld` elements, transposed or not, one for each place of the
/// leading axes.
struct Matrices {
    const Block* x = nullptr;
    Ref<Block> copy;                    ///< what x is where the operand had to be copied
    std::size_t rows = 0, columns = 0;  ///< of op(X)
    bool transposed = false;            ///< op(X) is stored as its transpose
    std::size_t ld = 1;
    Strides batch;  ///< of the leading axes, in elements
};

/// Can gemm read this layout as rows? An extent of 1 leaves the other stride free.
inline bool reads_as_rows(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column)
{
    return (columns <= 1 || column == 1) && (rows <= 1 || row >= std::max<std::int64_t>(columns, 1));
}

/// The operand's matrices op(X), without a copy unless neither its rows nor its columns are contiguous. `shape` is the
/// operand's, or that of a vector made a matrix.
inline Matrices matrices_of(const Ref<Block>& x, const Shape& shape, bool op)
{
    const std::size_t r = shape.size() - 2;
    const std::int64_t rows = shape[r], columns = shape[r + 1];
    std::int64_t row = columns, column = 1;
    Matrices m;
    m.x = x.get();
    if (x->strided) {
        const std::size_t last = x->shape.size() - 1;
        row = x->view_strides[last == 0 ? 0 : last - 1];
        column = x->view_strides[last];
        if (!reads_as_rows(rows, columns, row, column) && !reads_as_rows(columns, rows, column, row)) {
            m.copy = copy_of(*x);
            m.x = m.copy.get();
            row = columns;
            column = 1;
        }
    }
    const bool by_rows = reads_as_rows(rows, columns, row, column) || !m.x->strided;
    m.rows = static_cast<std::size_t>(op ? columns : rows);
    m.columns = static_cast<std::size_t>(op ? rows : columns);
    m.transposed = op == by_rows;
    const std::int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
    m.ld = static_cast<std::size_t>(std::max<std::int64_t>(lines > 1 ? (by_rows ? row : column) : length, 1));
    if (r > 0) m.batch = Strides(m.x->strides().data(), r);
    return m;
}

/// Integers: gemm of plain loops, C += op(A) op(B).
template <class T>
void multiply_plain(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, const T* a,
                    std::size_t lda, const T* b, std::size_t ldb, T* c)
{
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t p = 0; p < k; ++p)
            for (std::size_t j = 0; j < n; ++j) {
                const T product = wrapping_multiply(ta ? a[p * lda + i] : a[i * lda + p],
                                                    tb ? b[j * ldb + p] : b[p * ldb + j]);
                c[i * n + j] = wrapping_add(c[i * n + j], product);
            }
}

/// C = op(A) op(B) + βC for `count` pairs of matrices that start step_a and step_b elements apart; C is contiguous.
template <class T>
void multiply_pairs(std::size_t count, const Matrices& a, const T* pa, std::ptrdiff_t step_a,
                    const Matrices& b, const T* pb, std::ptrdiff_t step_b, T beta, T* c)
{
    const std::size_t m = a.rows, n = b.columns, k = a.columns;
    if constexpr (std::is_floating_point_v<T>) {
        kernels::gemm_batch<T>(count, a.transposed, b.transposed, m, n, k, pa, a.ld, step_a, pb, b.ld, step_b,
                               beta, c);
    } else {
        for (; count > 0; --count, pa += step_a, pb += step_b, c += m * n) {
            if (beta == T(0)) std::fill_n(c, m * n, T(0));
            multiply_plain<T>(a.transposed, b.transposed, m, n, k, pa, a.ld, pb, b.ld, c);
        }
    }
}

/// The same over a batch of any rank; `step_a` and `step_b` have the elements from one of its places to the next along each axis.
template <class T>
void multiply_batch(const Matrices& a, const T* pa, const Strides& step_a, const Matrices& b, const T* pb,
                    const Strides& step_b, const Shape& batch, T beta, T* c)
{
    const std::size_t last = batch.size() - 1, row = static_cast<std::size_t>(batch[last]);
    Shape place = Shape::filled(batch.size());
    for (std::size_t left = element_count(batch); left > 0; left -= row, c += row * a.rows * b.columns) {
        multiply_pairs(row, a, pa, step_a[last], b, pb, step_b[last], beta, c);
        for (std::size_t d = last; d-- > 0;) {  // an odometer
            pa += step_a[d];
            pb += step_b[d];
            if (++place[d] < batch[d]) break;
            pa -= step_a[d] * batch[d];
            pb -= step_b[d] * batch[d];
            place[d] = 0;
        }
    }
}

/// The batch of an operand: what is in front of its matrices.
inline Shape leading(const Shape& s) { return Shape(s.data(), s.size() > 2 ? s.size() - 2 : 0); }
/// From one place of a batch to the next, in elements of an operand of this shape.
inline Strides batch_steps(const Matrices& m, const Shape& operand, const Shape& batch)
{
    return broadcast_strides(leading(operand), m.batch, batch);
}

}  // namespace detail

/// y = op(a) op(b), op = transpose of the last two axes where ta, tb say so. With A = op(a) and B = op(b):
/// Ā = Ȳ Bᵀ, B̄ = Aᵀ Ȳ, transposed back. Transposes are flags here, so gradients of any order make no views of them.
struct MatMul {
    static constexpr std::string_view name = "matmul";
    static constexpr bool bilinear = true;
    static constexpr unsigned saves = 0b011;
    bool ta, tb;
    Shape a,
        b;  ///< of the operands; rank 1 counts as one row (a), one column (b), which the result does not have

    static constexpr bool infallible = true;
    MatrixProduct product() const
    {
        return {.a = {0, ta, false, false}, .b = {1, tb, true, false}, .batch = batch_axes()};
    }
    /// Of accumulate: (x̄, ȳ, the other factor).
    MatrixProduct product(wrt<0>) const
    {
        return ta ? added({2, tb, true, false}, cotangent(true))
                  : added(cotangent(false), {2, !tb, true, false});
    }
    MatrixProduct product(wrt<1>) const
    {
        return tb ? added(cotangent(true), {2, ta, false, false})
                  : added({2, !ta, false, false}, cotangent(false));
    }

    static Shape as_rows(const Shape& s) { return s.size() == 1 ? Shape{1, s[0]} : s; }
    static Shape as_columns(const Shape& s) { return s.size() == 1 ? Shape{s[0], 1} : s; }

    template <class T> Ref<Block> value(const Ref<Block>& x, const Ref<Block>& y, const Site& at) const
    {
        const Shape row = x->shape.size() == 1 ? as_rows(x->shape) : Shape();
        const Shape column = y->shape.size() == 1 ? as_columns(y->shape) : Shape();
        const Shape &sx = row.empty() ? x->shape : row, &sy = column.empty() ? y->shape : column;
        const detail::Matrices mx = detail::matrices_of(x, sx, ta), my = detail::matrices_of(y, sy, tb);
        if (mx.columns != my.rows)
            fail<ShapeError>(name,
                             "shapes " + to_string(x->shape) + " and " + to_string(y->shape) + ": " +
                                 std::to_string(mx.columns) + " columns do not meet " +
                                 std::to_string(my.rows) + " rows",
                             at);
        Shape batch;
        if (sx.size() > 2 || sy.size() > 2) batch = batch_of(x->shape, y->shape, sx, sy, at);
        Shape shape = batch;
        if (x->shape.size() > 1) shape.push_back(static_cast<std::int64_t>(mx.rows));
        if (y->shape.size() > 1) shape.push_back(static_cast<std::int64_t>(my.columns));
        auto out = make_block(dtype_of<T>(), shape);
        T* c = out->template as<T>();
        if (batch.empty())
            detail::multiply_pairs<T>(1, mx, mx.x->template as<T>(), 0, my, my.x->template as<T>(), 0, T(0),
                                      c);
        else
            detail::multiply_batch<T>(mx, mx.x->template as<T>(), detail::batch_steps(mx, sx, batch), my,
                                      my.x->template as<T>(), detail::batch_steps(my, sy, batch), batch, T(0),
                                      c);
        return out;
    }

    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& y, const Tensor<T>&) const
    {
        const Tensor<T> c = promoted(g), d = as(y, as_columns(b));
        return as(sum_to(ta ? multiplied(d, tb, c, true) : multiplied(c, false, d, !tb), as_rows(a)), a);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&, const Tensor<T>&) const
    {
        const Tensor<T> c = promoted(g), d = as(x, as_rows(a));
        return as(sum_to(tb ? multiplied(c, true, d, ta) : multiplied(d, !ta, c, false), as_columns(b)), b);
    }
    /// The same into a cotangent that is there already: gemm with β = 1.
    template <class T>
    bool accumulate(wrt<0>, Block& into, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& y,
                    const Tensor<T>&) const
    {
        return ta ? add_product<T>(into, y, tb, g, true) : add_product<T>(into, g, false, y, !tb);
    }
    template <class T>
    bool accumulate(wrt<1>, Block& into, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&,
                    const Tensor<T>&) const
    {
        return tb ? add_product<T>(into, g, true, x, ta) : add_product<T>(into, x, !ta, g, false);
    }

private:
    std::uint8_t batch_axes() const
    {
        const std::size_t rank = std::max(a.size(), b.size());
        return static_cast<std::uint8_t>(rank > 2 ? rank - 2 : 0);
    }
    MatrixProduct::Factor cotangent(bool transposed) const
    {
        return {1, transposed, b.size() == 1, a.size() == 1 || b.size() == 1};
    }
    MatrixProduct added(const MatrixProduct::Factor& x, const MatrixProduct::Factor& y) const
    {
        return {.a = x, .b = y, .adds = true, .cotangent = 1, .batch = batch_axes()};
    }
    static Shape batch_of(const Shape& x, const Shape& y, const Shape& sx, const Shape& sy, const Site& at)
    {
        try {
            return broadcast_shapes(name, detail::leading(sx), detail::leading(sy), {});
        } catch (const ShapeError&) {
            fail<ShapeError>(name,
                             "shapes " + to_string(x) + " and " + to_string(y) + ": the batches " +
                                 to_string(detail::leading(sx)) + " and " + to_string(detail::leading(sy)) +
                                 " cannot be broadcast together",
                             at);
        }
    }
    template <class T> static Tensor<T> as(const Tensor<T>& x, const Shape& shape)
    {
        return x.shape() == shape ? x : reshape(x, shape, Site{});
    }
    template <class T> static Tensor<T> multiplied(const Tensor<T>& x, bool tx, const Tensor<T>& y, bool ty)
    {
        return apply<MatMul, T>(MatMul{tx, ty, x.shape(), y.shape()}, Site{}, x, y);
    }
    /// The result's cotangent with the axes that operands of rank 1 took from it.
    template <class T> Tensor<T> promoted(const Tensor<T>& g) const
    {
        if (a.size() > 1 && b.size() > 1) return g;
        Shape s = g.shape();
        if (b.size() == 1) s.push_back(1);
        if (a.size() == 1) {
            s.push_back(s.empty() ? 1 : s.back());
            s[s.size() - 2] = 1;
        }
        return reshape(g, s, Site{});
    }
    template <class T>
    static bool add_product(Block& into, const Tensor<T>& x, bool tx, const Tensor<T>& y, bool ty)
    {
        if (x.dimension() != 2 || y.dimension() != 2 || into.shape.size() != 2) return false;
        const detail::Matrices mx = detail::matrices_of(x.any().value, x.shape(), tx);
        const detail::Matrices my = detail::matrices_of(y.any().value, y.shape(), ty);
        detail::multiply_pairs<T>(1, mx, mx.x->template as<T>(), 0, my, my.x->template as<T>(), 0, T(1),
                                  into.template as<T>());
        return true;
    }
};

/// The matrix product by NumPy's rules: rank 1 is a row on the left and a column on the right, higher ranks are batches
/// that broadcast. Throws ShapeError when the inner extents differ, for rank 0, and for batches that do not fit.
template <class T, class D>
Tensor<T, D> matmul(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (a.shape("matmul", at).size() == 0 || b.shape("matmul", at).size() == 0)
        fail<ShapeError>("matmul",
                         "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()) +
                             ": rank 0 has no rows or columns, use a * b",
                         at);
    if (a.dimension() > 2 && b.dimension() <= 2 && a.shape().back() == b.shape()[0]) {
        // one product of all the rows, and one for b̄, in place of a batch
        const std::int64_t k = a.shape().back();
        Shape shape(a.shape().data(), a.dimension() - 1);
        const std::size_t rows = element_count(shape);
        if (b.dimension() == 2) shape.push_back(b.shape()[1]);
        return reshape(matmul(reshape(a, {rows, k}, at), b, at), shape, at);
    }
    return apply<MatMul, T>(MatMul{false, false, a.shape(), b.shape()}, at, a, b);
}

/// Σ aᵢ bᵢ of two vectors. Throws ShapeError for other ranks: matmul is the product of matrices.
template <class T, class D>
Tensor<T, D> dot(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                 Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (a.shape("dot", at).size() != 1 || b.shape("dot", at).size() != 1 || a.size() != b.size())
        fail<ShapeError>("dot",
                         "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()) +
                             ": two vectors of one length are expected",
                         at);
    return apply<MatMul, T>(MatMul{false, false, a.shape(), b.shape()}, at, a, b);
}

/// aᵢ bⱼ of two vectors; operands of other ranks are flattened.
template <class T, class D>
Tensor<T, D> outer(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                   Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return matmul(reshape(a, {a.size(), 1}, at), reshape(b, {1, b.size()}, at), at);
}

}  // namespace wengert

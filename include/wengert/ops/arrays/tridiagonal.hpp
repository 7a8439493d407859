// Systems of equations whose matrix has three diagonals.
#pragma once

#include <cmath>
#include <vector>

#include "../../tape/speculation.hpp"
#include "../moves.hpp"
#include "../scans.hpp"
#include "../shape.hpp"
#include "../sum.hpp"
#include "../take.hpp"

namespace wengert {

namespace detail {

/// Gaussian elimination with exchanges of neighbouring rows, as LAPACK's gtsv. Rows exchanged reach one diagonal further up.
template <class T> class TridiagonalFactors {
public:
    /// The diagonals of A, or of its transpose; those of `bands` begin at element (0, 1), (1, 0), (2, 0).
    TridiagonalFactors(const T* bands, std::size_t n, bool transposed)
        : n_(n), lower_(n), middle_(bands + n, bands + 2 * n), upper_(n), far_(n)
    {
        for (std::size_t i = 0; i + 1 < n; ++i) {
            const T below = bands[i + 1], above = bands[2 * n + i];
            lower_[i] = transposed ? above : below;
            upper_[i] = transposed ? below : above;
        }
    }
    /// X over B, (n, columns). Returns the row of a pivot that is 0, or n.
    std::size_t solve(T* b, std::size_t columns)
    {
        for (std::size_t i = 0; i + 1 < n_; ++i) {
            T *const row = b + i * columns, *const next = row + columns;
            if (std::abs(middle_[i]) < std::abs(lower_[i])) exchange(i, row, next, columns);
            if (middle_[i] == T(0)) return i;
            const T factor = lower_[i] / middle_[i];
            middle_[i + 1] -= factor * upper_[i];
            upper_[i + 1] -= factor * far_[i];
            for (std::size_t k = 0; k < columns; ++k) next[k] -= factor * row[k];
        }
        if (n_ > 0 && middle_[n_ - 1] == T(0)) return n_ - 1;
        for (std::size_t i = n_; i-- > 0;)
            for (std::size_t k = 0; k < columns; ++k) {
                T x = b[i * columns + k];
                if (i + 1 < n_) x -= upper_[i] * b[(i + 1) * columns + k];
                if (i + 2 < n_) x -= far_[i] * b[(i + 2) * columns + k];
                b[i * columns + k] = x / middle_[i];
            }
        return n_;
    }

private:
    void exchange(std::size_t i, T* row, T* next, std::size_t columns)
    {
        std::swap(middle_[i], lower_[i]);
        std::swap(upper_[i], middle_[i + 1]);
        std::swap(far_[i], upper_[i + 1]);
        std::swap_ranges(row, row + columns, next);
    }
    std::size_t n_;
    std::vector<T> lower_, middle_, upper_, far_;
};

}  // namespace detail

/// X with op(A) X = B, op(A) = A or Aᵀ, where A has the diagonals l, d, u, the rows of operand 0.
/// B̄ = op(A)⁻ᵀ X̄;  l̄, d̄, ū = the diagonals of −B̄ Xᵀ, or of −X B̄ᵀ;  Ẋ = op(A)⁻¹ (Ḃ − op(Ȧ) X)
struct TridiagonalSolve {
    static constexpr std::string_view name = "solve_tridiagonal";
    static constexpr unsigned saves = 0b101;
    bool transposed;

    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& right, const Site& at) const
    {
        const Ref<Block> bands = contiguous(of);
        auto x = copy_of(*right);
        const auto n = static_cast<std::size_t>(right->shape[0]),
                   columns = static_cast<std::size_t>(right->shape[1]);
        detail::TridiagonalFactors<T> factors(bands->template as<T>(), n, transposed);
        const std::size_t done = factors.solve(x->template as<T>(), columns);
        if (done < n && !detail::runs_example())
            fail<NumericError>(name,
                               "singular: pivot " + std::to_string(done) + " of a matrix of " +
                                   std::to_string(n) + " rows is 0, a regular matrix is expected",
                               at);
        return x;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& a, const Tensor<T>&, const Tensor<T>&) const
    {
        return solved(a, g, !transposed);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& a, const Tensor<T>&, const Tensor<T>& x) const
    {
        const Tensor<T> z = solved(a, g, !transposed);
        const Tensor<T>&p = transposed ? x : z, &q = transposed ? z : x;
        const auto diagonal = [&](const Tensor<T>& of) { return sum(-p * of, {1}, false, Site{}); };
        return stack({diagonal(before(q)), diagonal(q), diagonal(behind(q))}, 0, Site{});
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& da, const Tensor<T>& db, const Tensor<T>& a, const Tensor<T>&,
                   const Tensor<T>& x) const
    {
        const auto band = [&](std::int64_t k) {  // as a column
            return reshape(take(da, Indices(k), 0, Site{}), Shape{x.shape()[0], 1}, Site{});
        };
        const Tensor<T> l = band(0), d = band(1), u = band(2);
        const Tensor<T> moved =
            transposed ? d * x + behind(l * x) + before(u * x) : l * before(x) + d * x + u * behind(x);
        return solved(a, db - moved, transposed);
    }
    std::string parameters() const { return transposed ? "transposed" : ""; }

private:
    template <class T> static Tensor<T> solved(const Tensor<T>& a, const Tensor<T>& b, bool op)
    {
        return apply<TridiagonalSolve, T>({op}, Site{}, a, b);
    }
    /// Row i − 1, or i + 1, in the place of row i; 0 at the end.
    template <class T> static Tensor<T> before(const Tensor<T>& x) { return detail::shifted(x, 0, 1, 0); }
    template <class T> static Tensor<T> behind(const Tensor<T>& x) { return detail::shifted(x, 0, -1, 0); }
};

/// X with A X = B, where A is n × n with three diagonals: lower[i] = A[i, i − 1], diagonal[i], upper[i] = A[i, i + 1], each of n
/// elements; lower[0] and upper[n − 1] are not read. b is (n) or (n, k). By elimination with exchanges of rows, in O(n) steps. Throws
/// ShapeError where the shapes do not fit, NumericError where A is singular.
template <Differentiable T, class D>
Tensor<T, D> solve_tridiagonal(const Tensor<T, D>& lower, const std::type_identity_t<Tensor<T, D>>& diagonal,
                               const std::type_identity_t<Tensor<T, D>>& upper,
                               const std::type_identity_t<Tensor<T, D>>& b,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    constexpr std::string_view name = TridiagonalSolve::name;
    const Shape &of = diagonal.shape(name, at), &right = b.shape(name, at);
    if (of.size() != 1 || !(lower.shape(name, at) == of) || !(upper.shape(name, at) == of) ||
        right.size() < 1 || right.size() > 2 || right[0] != of[0])
        fail<ShapeError>(name,
                         "diagonals of shapes " + to_string(lower.shape()) + ", " + to_string(of) + " and " +
                             to_string(upper.shape()) + " with a right side of shape " + to_string(right) +
                             ": vectors of one length n, and (n) or (n, k), are expected",
                         at);
    const ComposedAt line(at);
    const Tensor<T, D> bands = stack({lower, diagonal, upper}, 0, at);
    const Tensor<T, D> x = apply<TridiagonalSolve, T>(
        {false}, at, bands, right.size() == 2 ? b : reshape(b, Shape{right[0], 1}, at));
    return right.size() == 2 ? x : reshape(x, right, at);
}

}  // namespace wengert

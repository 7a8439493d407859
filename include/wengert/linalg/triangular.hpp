// Triangular systems.
#pragma once

#include "matrices.hpp"

namespace wengert::linalg {

/// Which triangle solve_triangular reads, `lower`, whether its transpose is meant, `transposed`, and whether its diagonal is 1, `unit`.
struct TriangleOptions {
    bool lower = true;        ///< the lower one, else the upper one; the other one is not read
    bool transposed = false;  ///< Aᵀ X = B is solved
    bool unit = false;        ///< the diagonal is taken to be 1 and is not read
};

/// X = op(T)⁻¹ B, op(T) = T or Tᵀ of the triangle T of A.  B̄ = op(T)⁻ᵀ X̄;  Ā = the triangle of −B̄ Xᵀ, or of −X B̄ᵀ;
/// Ẋ = op(T)⁻¹ (Ḃ − op(Ṫ) X).  Giles 2008.
struct TriangularSolve {
    static constexpr std::string_view name = "solve_triangular";
    static constexpr unsigned saves = 0b101;
    bool lower, transposed, unit;
    double
        least;  ///< an element of the diagonal counts as 0 up to this multiple of the largest one of its column
    Shape a, b;

    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& right, const Site& at) const
    {
        const Ref<Block> t = contiguous(of);
        const std::size_t n = detail::Matrices(t->shape).rows;
        const Shape batch = wengert::detail::leading(t->shape);
        if (!unit) demand_regular<T>(*t, at);
        return detail::solve_batch<T>(
            batch, right, [&](std::size_t first, std::size_t count, std::size_t k, T* x) {
                const T* const matrices = t->template as<T>() + first * n * n;
                for (std::size_t i = 0; i < count; ++i)
                    kernels::lapack::solve_triangular<T>({lower, transposed, unit}, n, k,
                                                         matrices + i * n * n, n, x + i * n * k);
            });
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& t, const Tensor<T>&, const Tensor<T>&) const
    {
        return sum_to(solved(t, g, !transposed), b);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& t, const Tensor<T>&, const Tensor<T>& x) const
    {
        return sum_to(triangle(detail::cotangent_of_matrix(transposed, solved(t, g, !transposed), x)), a);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dt, const Tensor<T>& db, const Tensor<T>& t, const Tensor<T>&,
                   const Tensor<T>& x) const
    {
        return solved(t, detail::tangent_of_right(transposed, triangle(dt), db, x), transposed);
    }

private:
    template <class T> Tensor<T> solved(const Tensor<T>& t, const Tensor<T>& right, bool op) const
    {
        return apply<TriangularSolve, T>({lower, op, unit, least, t.shape(), right.shape()}, Site{}, t,
                                         right);
    }
    template <class T> Tensor<T> triangle(const Tensor<T>& x) const
    {
        const std::int64_t k = unit ? 1 : 0;
        return lower ? tril(x, -k, Site{}) : triu(x, k, Site{});
    }
    template <class T> void demand_regular(const Block& t, const Site& at) const
    {
        const detail::Matrices m(t.shape);
        for (std::size_t i = 0; i < m.count; ++i)
            for (std::size_t k = 0; k < m.rows; ++k)
                if (const T* const x = t.as<T>() + i * m.size(); is_zero(x, m.rows, k))
                    detail::refuse(name, t,
                                   "singular" + std::string(least > 0 ? " to working precision" : "") +
                                       ": element (" + std::to_string(k) + ", " + std::to_string(k) +
                                       ") of the diagonal" + detail::which(i, m.count) + " is " +
                                       detail::digits(static_cast<double>(x[k * (m.rows + 1)])) +
                                       ", a regular matrix is expected",
                                   at);
    }
    template <class T> bool is_zero(const T* x, std::size_t n, std::size_t k) const
    {
        const T d = std::abs(x[k * (n + 1)]);
        if (least == 0) return d == T(0);
        T most = d;
        for (std::size_t r = lower ? k : 0; r < (lower ? n : k); ++r)
            most = std::max(most, std::abs(x[r * n + k]));
        return d <= static_cast<T>(least) * most;
    }
};

namespace detail {
template <class T, class D>
Tensor<T, D> triangular_solved(const Tensor<T, D>& a, const Tensor<T, D>& b, const TriangleOptions& o,
                               double least, const Site& at)
{
    return with_columns(b, at, [&](const Tensor<T, D>& x) {
        return apply<TriangularSolve, T>({o.lower, o.transposed, o.unit, least, a.shape(), x.shape()}, at, a,
                                         x);
    });
}
}  // namespace detail

/// X with T X = B, or Tᵀ X = B, for the lower or upper triangle T of A. b of rank 1 is a vector; batches are broadcast. Throws
/// ShapeError where the shapes do not fit, NumericError where an element of the diagonal is 0.
template <Differentiable T, class D>
Tensor<T, D> solve_triangular(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
                              const TriangleOptions& options = {},
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("solve_triangular", a, at);
    detail::demand_right_side("solve_triangular", a, a.shape().back(), b, at);
    return detail::triangular_solved(a, b, options, 0, at);
}

}  // namespace wengert::linalg

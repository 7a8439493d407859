// solve(A, b) for matrices of reals: factored once in plain numbers, one operation of the tape whose derivative is another solve
// with the same factors (Giles 2008, section 2.3.1).
#pragma once

#include "cholesky.hpp"
#include "lu.hpp"
#include "qr.hpp"
#include "sparse.hpp"

namespace wengert {

/// How solve() factors a matrix. llt and ldlt read the lower triangle alone; qr gives the least squares of more rows than columns.
enum class Factors { lu, llt, ldlt, qr };

namespace detail {

/// A number's own type without its record.
template <class N> struct plain_number {
    using type = N;
};
template <class T> struct plain_number<Real<T>> {
    using type = T;
};

/// Calls f(decomposition, reason), where the reason says why there is no solution ("" if there is one).
template <class M, class F> auto with_factors(const M& a, Factors how, const F& f)
{
    if (how == Factors::lu) {
        const Eigen::PartialPivLU<M> lu(a);
        const bool regular = (lu.plain().matrixLU().diagonal().array() != 0).all();
        return f(lu, regular ? "" : "the matrix is singular");
    }
    if (how == Factors::llt) {
        const Eigen::LLT<M> llt(a);
        return f(llt, llt.info() == Eigen::Success ? "" : "the matrix is not positive definite");
    }
    if (how == Factors::ldlt) {
        const Eigen::LDLT<M> ldlt(a);
        return f(ldlt, ldlt.keeps_up(ldlt.plain()) ? "" : "the matrix is singular");
    }
    const Eigen::ColPivHouseholderQR<M> qr(a);
    return f(qr, qr.isInjective() ? "" : "the matrix has not full column rank");
}

/// The result's type: a vector for a vector.
template <class N, class B>
using SolutionOf = Eigen::Matrix<N, Eigen::Dynamic, B::ColsAtCompileTime == 1 ? 1 : Eigen::Dynamic>;

inline void check_solve(Eigen::Index rows, Eigen::Index columns, Eigen::Index of_b, bool square,
                        const Site& at)
{
    if (rows != of_b || (square ? rows != columns : rows < columns))
        fail<ShapeError>("solve",
                         "a matrix of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
                             " columns, and a right-hand side of " + std::to_string(of_b) + " rows",
                         at);
}

}  // namespace detail

/// x with A x = b, as one operation: the factors serve its derivative, which is exact in A and b and of any order. Throws ShapeError,
/// and NumericError for a matrix that has no such factors.
template <class A, class B>
    requires(detail::is_real<typename A::Scalar> || detail::is_real<typename B::Scalar>)
auto solve(const Eigen::MatrixBase<A>& a, const Eigen::MatrixBase<B>& b, Factors how = Factors::lu,
           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using T = typename detail::plain_number<typename A::Scalar>::type;
    static_assert(std::is_same_v<T, typename detail::plain_number<typename B::Scalar>::type>,
                  "wengert: solve takes a matrix and a right-hand side of one precision");
    detail::check_solve(a.rows(), a.cols(), b.rows(), how != Factors::qr, at);
    const detail::Dense<Real<T>> left = a.template cast<Real<T>>(), right = b.template cast<Real<T>>();
    return detail::with_factors(left, how, [&](const auto& factors, const char* wrong) {
        if (*wrong) fail<NumericError>("solve", wrong, at);
        return detail::SolutionOf<Real<T>, B>(factors.template solved_at_once<false>(right, at));
    });
}

/// The same of a sparse matrix by SparseLU. Its derivative is that by its nonzeros.
template <class T, int options, class I, class B>
auto solve(const Eigen::SparseMatrix<Real<T>, options, I>& a, const Eigen::MatrixBase<B>& b,
           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::check_solve(a.rows(), a.cols(), b.rows(), true, at);
    const Eigen::SparseLU<Eigen::SparseMatrix<Real<T>, options, I>> lu(a);
    if (lu.info() != Eigen::Success)
        fail<NumericError>("solve", "the sparse matrix is singular: " + lu.lastErrorMessage(), at);
    return detail::SolutionOf<Real<T>, B>(lu.solved_at_once(b.template cast<Real<T>>(), at));
}

}  // namespace wengert

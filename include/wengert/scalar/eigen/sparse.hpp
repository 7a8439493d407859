// Eigen::SparseLU of matrices of reals: a solution is one operation, whose derivative is that by the nonzeros.
#pragma once

#if __has_include(<Eigen/SparseLU>)
#include <Eigen/SparseLU>
#else
#include <eigen3/Eigen/SparseLU>
#endif

#include "decompositions.hpp"

namespace wengert::detail {

/// The same ordering, for a decomposition that is Eigen's own.
template <class Ordering> struct OrdersAsEigenDoes : Ordering {};
template <class Ordering> inline constexpr bool is_eigens = false;
template <class Ordering> inline constexpr bool is_eigens<OrdersAsEigenDoes<Ordering>> = true;

/// The structure of a sparse matrix. With values it is a matrix again.
template <class T> struct SparseForm {
    using Plain = Eigen::SparseMatrix<T>;
    Plain pattern;
    template <class N> Eigen::SparseMatrix<N> of(std::span<const N> values) const
    {
        return Eigen::Map<const Eigen::SparseMatrix<N>>(pattern.rows(), pattern.cols(), pattern.nonZeros(),
                                                        pattern.outerIndexPtr(), pattern.innerIndexPtr(),
                                                        values.data());
    }
    /// visit(k, i, j) for the k-th nonzero.
    template <class Visit> void each(const Visit& visit) const
    {
        std::size_t k = 0;
        for (Eigen::Index j = 0; j < pattern.outerSize(); ++j)
            for (typename Plain::InnerIterator it(pattern, j); it; ++it) visit(k++, it.row(), it.col());
    }
};

/// X = A⁻¹ B, where the operation's inputs are A's nonzeros and then B's elements.
template <class T> struct SparseSolveRules {
    SparseForm<T> form;
    Eigen::Index columns;
    using Lu = Eigen::SparseLU<Eigen::SparseMatrix<T>>;
    std::shared_ptr<Lu> lu;  // solving the transposed system does not change it

    std::size_t count() const { return static_cast<std::size_t>(form.pattern.nonZeros()); }
    Eigen::Index size() const { return form.pattern.rows(); }
    template <class N>
    void reverse(std::span<const N> x, std::span<const N> y, std::span<const N> g, std::span<N> to) const
    {
        const auto X = matrix_of(y, size(), columns);
        Dense<N> Z = matrix_of(g, size(), columns);
        if constexpr (std::is_same_v<N, T>)
            Z = Dense<N>(lu->transpose().solve(Z));
        else
            Z = solved<N>(form.of(x.first(count())).transpose(), Z);
        matrix_of(to.subspan(count()), size(), columns) += Z;
        form.each([&](std::size_t k, Eigen::Index i, Eigen::Index j) {
            for (Eigen::Index c = 0; c < columns; ++c) to[k] -= Z(i, c) * X(j, c);
        });
    }
    template <class N>
    void tangent(std::span<const N> x, std::span<const N> y, std::span<const N> dot, std::span<N> to) const
    {
        const auto X = matrix_of(y, size(), columns);
        Dense<N> right = matrix_of(dot.subspan(count()), size(), columns);
        form.each([&](std::size_t k, Eigen::Index i, Eigen::Index j) {
            for (Eigen::Index c = 0; c < columns; ++c) right(i, c) -= dot[k] * X(j, c);
        });
        if constexpr (std::is_same_v<N, T>)
            matrix_of(to, size(), columns) += Dense<N>(lu->solve(right));
        else
            matrix_of(to, size(), columns) += solved<N>(form.of(x.first(count())), right);
    }

private:
    template <class N> static Dense<N> solved(const Eigen::SparseMatrix<N>& a, const Dense<N>& b)
    {
        return Eigen::SparseLU<Eigen::SparseMatrix<N>>(a).solved_at_once(b);
    }
};

}  // namespace wengert::detail

namespace Eigen {

template <class T, int options, class I, class Ordering>
    requires(!wengert::detail::is_eigens<Ordering>)
class SparseLU<SparseMatrix<wengert::Real<T>, options, I>, Ordering>
    : public SparseSolverBase<SparseLU<SparseMatrix<wengert::Real<T>, options, I>, Ordering>> {
public:
    using MatrixType = SparseMatrix<wengert::Real<T>, options, I>;
    using Scalar = wengert::Real<T>;
    using RealScalar = Scalar;
    using StorageIndex = I;
    enum { ColsAtCompileTime = Dynamic, MaxColsAtCompileTime = Dynamic };
    using Recorded =
        SparseLU<SparseMatrix<Scalar, ColMajor, I>, wengert::detail::OrdersAsEigenDoes<Ordering>>;

    SparseLU() = default;
    explicit SparseLU(const MatrixType& a) { compute(a); }
    void analyzePattern(const MatrixType&) {}
    void factorize(const MatrixType& a) { compute(a); }
    void compute(const MatrixType& a)
    {
        matrix_ = a;
        matrix_.makeCompressed();
        form_.pattern = matrix_.unaryExpr([](const Scalar& e) { return e.plain(); });
        form_.pattern.makeCompressed();
        plain_ = std::make_shared<Plain>();
        plain_->isSymmetric(symmetric_);
        plain_->setPivotThreshold(threshold_);
        plain_->compute(form_.pattern);
        recorded_ = std::make_shared<wengert::detail::LazyDecomposition<Recorded, Scalar>>();
        this->m_isInitialized = true;
    }
    Index rows() const { return matrix_.rows(); }
    Index cols() const { return matrix_.cols(); }
    void isSymmetric(bool symmetric) { symmetric_ = symmetric; }
    void setPivotThreshold(const RealScalar& t) { threshold_ = t.plain(); }
    ComputationInfo info() const { return plain_->info(); }
    std::string lastErrorMessage() const { return plain_->lastErrorMessage(); }
    SparseLU transpose() const { return SparseLU(MatrixType(matrix_.transpose())); }
    Scalar determinant() const { return recorded().determinant(); }
    Scalar absDeterminant() const { return recorded().absDeterminant(); }
    Scalar logAbsDeterminant() const { return recorded().logAbsDeterminant(); }
    Scalar signDeterminant() const { return recorded().signDeterminant(); }
    auto matrixL() const { return recorded().matrixL(); }
    auto matrixU() const { return recorded().matrixU(); }
    const auto& rowsPermutation() const { return plain_->rowsPermutation(); }
    const auto& colsPermutation() const { return plain_->colsPermutation(); }

    template <class B, class X> void _solve_impl(const MatrixBase<B>& b, MatrixBase<X>& x) const
    {
        const auto right = b.template cast<Scalar>().eval();
        const wengert::detail::Dense<Scalar> solution = solved_at_once(right);
        // not moved: evaluators of expressions have the address of x's elements already
        x.derived() = solution;
    }
    template <class B>
    wengert::detail::Dense<Scalar> solved_at_once(const B& b, const wengert::Site& at = {}) const
    {
        if (wengert::detail::in_kernel()) return recorded().solve(b);
        std::vector<Scalar> in(matrix_.valuePtr(), matrix_.valuePtr() + matrix_.nonZeros());
        const wengert::detail::Dense<Scalar> right = b;
        in.insert(in.end(), right.data(), right.data() + right.size());
        wengert::detail::Dense<Scalar> out(cols(), right.cols());
        const auto value = [&](std::span<const T> v, std::span<T> y) {
            wengert::detail::matrix_of(y, out.rows(), out.cols()) =
                wengert::detail::Dense<T>(plain_->solve(wengert::detail::Dense<T>(wengert::detail::matrix_of(
                    v.last(static_cast<std::size_t>(right.size())), right.rows(), right.cols()))));
        };
        wengert::detail::recorded_matrix<T>(
            in, std::span(out.data(), static_cast<std::size_t>(out.size())), value,
            wengert::detail::SparseSolveRules<T>{form_, right.cols(), plain_}, at);
        return out;
    }

private:
    using Plain = SparseLU<SparseMatrix<T>>;
    Recorded& recorded() const
    {
        const Scalar* const values = matrix_.valuePtr();
        return recorded_->get(values, values + matrix_.nonZeros(),
                              [&] { return std::make_unique<Recorded>(matrix_); });
    }

    SparseMatrix<Scalar, ColMajor, I> matrix_;
    wengert::detail::SparseForm<T> form_;
    std::shared_ptr<Plain> plain_;
    bool symmetric_ = false;
    T threshold_ = 1;
    std::shared_ptr<wengert::detail::LazyDecomposition<Recorded, Scalar>> recorded_;
};

}  // namespace Eigen

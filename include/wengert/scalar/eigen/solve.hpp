// solve(A, b) for matrices of reals: factored once in plain numbers, one operation of the tape whose derivative is another solve
// with the same factors (Giles 2008, section 2.3.1).
#pragma once

#include <variant>

#if __has_include(<Eigen/SparseLU>)
#include <Eigen/SparseLU>
#else
#include <eigen3/Eigen/SparseLU>
#endif

#include "products.hpp"

namespace wengert {

/// How solve() factors a matrix. llt and ldlt read the lower triangle alone; qr gives the least squares of more rows than columns.
enum class Factors { lu, llt, ldlt, qr };

template <class A, class B>
    requires(detail::is_real<typename A::Scalar> || detail::is_real<typename B::Scalar>)
auto solve(const Eigen::MatrixBase<A>& a, const Eigen::MatrixBase<B>& b, Factors how = Factors::lu,
           Site at = {__builtin_FILE(), __builtin_LINE()});
template <class T, int options, class I, class B>
auto solve(const Eigen::SparseMatrix<Real<T>, options, I>& a, const Eigen::MatrixBase<B>& b,
           Site at = {__builtin_FILE(), __builtin_LINE()});

namespace detail {

/// A number's own type without its record.
template <class N> struct plain_number {
    using type = N;
};
template <class T> struct plain_number<Real<T>> {
    using type = T;
};

/// The factors of a plain matrix. Throws NumericError where it has none.
template <class T> class DenseFactors {
public:
    DenseFactors(const Dense<T>& a, Factors how, const Site& at) : factors_(made(a, how, at)) {}
    Dense<T> solve(const Dense<T>& b) const
    {
        return std::visit([&](const auto& f) { return Dense<T>(f.solve(b)); }, factors_);
    }
    /// Aᵀ⁻¹ g, and (AᵀA)⁻¹ g for QR = A P.
    Dense<T> adjoint(const Dense<T>& g) const
    {
        if (const auto* lu = std::get_if<LU>(&factors_)) return lu->transpose().solve(g);
        if (const auto* qr = std::get_if<QR>(&factors_)) {
            const auto n = qr->cols();
            const auto R = qr->matrixQR().topLeftCorner(n, n).template triangularView<Eigen::Upper>();
            const Dense<T> half = R.transpose().solve(qr->colsPermutation().transpose() * g);
            return qr->colsPermutation() * Dense<T>(R.solve(half));
        }
        return solve(g);
    }

private:
    using LU = Eigen::PartialPivLU<Dense<T>>;
    using QR = Eigen::ColPivHouseholderQR<Dense<T>>;
    using Any = std::variant<LU, Eigen::LLT<Dense<T>>, Eigen::LDLT<Dense<T>>, QR>;

    static Any made(const Dense<T>& a, Factors how, const Site& at)
    {
        const auto require = [&](bool good, const char* what) {
            if (!good) fail<NumericError>("solve", what, at);
        };
        if (how == Factors::lu) {
            LU f(a);
            require((f.matrixLU().diagonal().array() != T(0)).all(), "the matrix is singular");
            return f;
        }
        if (how == Factors::llt) {
            Eigen::LLT<Dense<T>> f(a);
            require(f.info() == Eigen::Success, "the matrix is not positive definite");
            return f;
        }
        if (how == Factors::ldlt) {
            Eigen::LDLT<Dense<T>> f(a);
            require(f.info() == Eigen::Success && (f.vectorD().array() != T(0)).all(),
                    "the matrix is singular");
            return f;
        }
        QR f(a);
        require(f.rank() == a.cols(), "the matrix has not full column rank");
        return f;
    }
    Any factors_;
};

/// The rules of X = A⁻¹ B, on plain numbers with the factors, on reals by another solve.
template <class T> struct SolveRules {
    Factors how;
    MatrixPart<T> a, b;

    template <class N>
    void reverse(const DenseFactors<T>& f, std::span<const N> x, std::span<const N> y, std::span<const N> g,
                 std::span<N> to) const
    {
        const Eigen::Index n = a.value().cols(), r = b.value().cols();
        const Dense<N> X = matrix_of(y, n, r), Z = adjoint(f, a.of(x), Dense<N>(matrix_of(g, n, r)));
        if (how == Factors::qr) {
            const Dense<N> A = a.of(x), AZ = A * Z;
            b.add(to, AZ);
            if (a.varies())
                a.add(to, Dense<N>((b.of(x) - Dense<N>(A * X)) * Z.transpose() - AZ * X.transpose()));
            return;
        }
        b.add(to, Z);
        if (a.varies()) a.add(to, entries(Dense<N>(Z * X.transpose())));
    }
    template <class N>
    void tangent(const DenseFactors<T>& f, std::span<const N> x, std::span<const N> y, std::span<const N> dot,
                 std::span<N> to) const
    {
        const Eigen::Index n = a.value().cols(), r = b.value().cols();
        const Dense<N> X = matrix_of(y, n, r), A = a.of(x), A_dot = symmetric(a.along(dot));
        const Dense<N> right = b.along(dot) - Dense<N>(A_dot * X);
        if (how == Factors::qr) {
            const Dense<N> all = A_dot.transpose() * (b.of(x) - Dense<N>(A * X)) + A.transpose() * right;
            matrix_of(to, n, r) += adjoint(f, A, all);
        } else if constexpr (std::is_same_v<N, T>) {
            matrix_of(to, n, r) += f.solve(right);
        } else {
            matrix_of(to, n, r) += wengert::solve(A, right, how, Site{});
        }
    }

private:
    template <class N> Dense<N> adjoint(const DenseFactors<T>& f, const Dense<N>& A, const Dense<N>& g) const
    {
        if constexpr (std::is_same_v<N, T>)
            return f.adjoint(g);
        else if (how == Factors::qr)
            return wengert::solve(Dense<N>(A.transpose() * A), g, Factors::llt, Site{});
        else if (how == Factors::lu)
            return wengert::solve(A.transpose(), g, how, Site{});
        else
            return wengert::solve(A, g, how, Site{});
    }
    bool lower() const { return how == Factors::llt || how == Factors::ldlt; }
    /// −G, or what of it the lower triangle is sent where that stands for both.
    template <class N> Dense<N> entries(const Dense<N>& G) const
    {
        if (!lower()) return -G;
        Dense<N> out = Dense<N>::Zero(G.rows(), G.cols());
        for (Eigen::Index j = 0; j < G.cols(); ++j)
            for (Eigen::Index i = j; i < G.rows(); ++i) out(i, j) = i == j ? -G(i, j) : -G(i, j) - G(j, i);
        return out;
    }
    template <class N> Dense<N> symmetric(const Dense<N>& D) const
    {
        if (!lower()) return D;
        Dense<N> out = D;
        for (Eigen::Index j = 0; j < D.cols(); ++j)
            for (Eigen::Index i = 0; i < j; ++i) out(i, j) = D(j, i);
        return out;
    }
};

/// A sparse matrix's structure: of its values a matrix is made again.
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

template <class T>
std::shared_ptr<const Eigen::SparseLU<Eigen::SparseMatrix<T>>> sparse_factors(const Eigen::SparseMatrix<T>& a,
                                                                              const Site& at)
{
    const auto f = std::make_shared<Eigen::SparseLU<Eigen::SparseMatrix<T>>>();
    f->compute(a);
    if (f->info() != Eigen::Success)
        fail<NumericError>("solve", "the sparse matrix is singular: " + f->lastErrorMessage(), at);
    return f;
}

/// X = A⁻¹ B, where the operation's inputs are A's nonzeros and then B's elements.
template <class T> struct SparseSolveRules {
    SparseForm<T> form;
    Eigen::Index columns;
    using Lu = std::shared_ptr<const Eigen::SparseLU<Eigen::SparseMatrix<T>>>;

    std::size_t count() const { return static_cast<std::size_t>(form.pattern.nonZeros()); }
    Eigen::Index size() const { return form.pattern.rows(); }
    template <class N>
    void reverse(const Lu& f, std::span<const N> x, std::span<const N> y, std::span<const N> g,
                 std::span<N> to) const
    {
        const auto X = matrix_of(y, size(), columns);
        Dense<N> Z = matrix_of(g, size(), columns);
        if constexpr (std::is_same_v<N, T>)
            Z = Dense<N>(const_cast<Eigen::SparseLU<Eigen::SparseMatrix<T>>&>(*f).transpose().solve(Z));
        else
            Z = wengert::solve(Eigen::SparseMatrix<N>(form.of(x.first(count())).transpose()), Z, Site{});
        matrix_of(to.subspan(count()), size(), columns) += Z;
        form.each([&](std::size_t k, Eigen::Index i, Eigen::Index j) {
            for (Eigen::Index c = 0; c < columns; ++c) to[k] -= Z(i, c) * X(j, c);
        });
    }
    template <class N>
    void tangent(const Lu& f, std::span<const N> x, std::span<const N> y, std::span<const N> dot,
                 std::span<N> to) const
    {
        const auto X = matrix_of(y, size(), columns);
        Dense<N> right = matrix_of(dot.subspan(count()), size(), columns);
        form.each([&](std::size_t k, Eigen::Index i, Eigen::Index j) {
            for (Eigen::Index c = 0; c < columns; ++c) right(i, c) -= dot[k] * X(j, c);
        });
        if constexpr (std::is_same_v<N, T>)
            matrix_of(to, size(), columns) += Dense<N>(f->solve(right));
        else
            matrix_of(to, size(), columns) += wengert::solve(form.of(x.first(count())), right, Site{});
    }
};

/// The result's type: a vector for a vector.
template <class N, class B>
using SolutionOf = Eigen::Matrix<N, Eigen::Dynamic, B::ColsAtCompileTime == 1 ? 1 : Eigen::Dynamic>;

/// An external() whose rules are an object's.
template <class T, class In, class Out, class Forward, class Rules>
void external_by_rules(const In& in, Out& out, const Forward& forward, const Rules& rules, const Site& at)
{
    external(
        in, out, forward,
        [rules]<class N>(const auto& f, std::span<const N> x, std::span<const N> y, std::span<const N> g,
                         std::span<N> to) { rules.reverse(f, x, y, g, to); },
        [rules]<class N>(const auto& f, std::span<const N> x, std::span<const N> y, std::span<const N> dot,
                         std::span<N> to) { rules.tangent(f, x, y, dot, to); },
        at);
}
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
auto solve(const Eigen::MatrixBase<A>& a, const Eigen::MatrixBase<B>& b, Factors how, Site at)
{
    using T = typename detail::plain_number<typename A::Scalar>::type;
    static_assert(std::is_same_v<T, typename detail::plain_number<typename B::Scalar>::type>,
                  "wengert: solve takes a matrix and a right-hand side of one precision");
    detail::check_solve(a.rows(), a.cols(), b.rows(), how != Factors::qr, at);
    const auto& A0 = a.derived().eval();
    const auto& B0 = b.derived().eval();
    std::vector<Real<T>> in;
    const detail::MatrixPart<T> part_a(a.rows(), a.cols(), A0, in), part_b(b.rows(), b.cols(), B0, in);
    detail::SolutionOf<Real<T>, B> x(a.cols(), b.cols());
    const auto forward = [&](std::span<const T>, std::span<T> y) {
        detail::DenseFactors<T> f(part_a.value(), how, at);
        detail::matrix_of(y, a.cols(), b.cols()) = f.solve(part_b.value());
        return f;
    };
    if (in.empty()) {
        std::vector<T> y(static_cast<std::size_t>(x.size()));
        forward({}, y);
        std::copy(y.begin(), y.end(), x.data());
        return x;
    }
    std::span out(x.data(), static_cast<std::size_t>(x.size()));
    detail::external_by_rules<T>(in, out, forward, detail::SolveRules<T>{how, part_a, part_b}, at);
    return x;
}

/// The same of a sparse matrix by SparseLU. Its derivative is that by its nonzeros.
template <class T, int options, class I, class B>
auto solve(const Eigen::SparseMatrix<Real<T>, options, I>& a, const Eigen::MatrixBase<B>& b, Site at)
{
    detail::check_solve(a.rows(), a.cols(), b.rows(), true, at);
    Eigen::SparseMatrix<Real<T>> columns = a;
    columns.makeCompressed();
    std::vector<Real<T>> in(columns.valuePtr(), columns.valuePtr() + columns.nonZeros());
    const detail::Dense<Real<T>> right = b.template cast<Real<T>>();
    in.insert(in.end(), right.data(), right.data() + right.size());
    detail::SparseForm<T> form;
    const auto value = [](const Real<T>& e) { return e.plain(); };
    form.pattern = columns.unaryExpr(value);
    form.pattern.makeCompressed();
    detail::SolutionOf<Real<T>, B> x(a.cols(), b.cols());
    const auto forward = [&](std::span<const T> v, std::span<T> y) {
        const auto f =
            detail::sparse_factors<T>(form.of(v.first(v.size() - static_cast<std::size_t>(b.size()))), at);
        detail::matrix_of(y, a.cols(), b.cols()) = detail::Dense<T>(f->solve(detail::Dense<T>(
            detail::matrix_of(v.last(static_cast<std::size_t>(b.size())), b.rows(), b.cols()))));
        return f;
    };
    std::span out(x.data(), static_cast<std::size_t>(x.size()));
    detail::external_by_rules<T>(in, out, forward, detail::SparseSolveRules<T>{form, b.cols()}, at);
    return x;
}

}  // namespace wengert

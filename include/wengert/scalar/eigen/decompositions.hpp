// Eigen's decompositions of matrices of reals. They factor plain numbers, and what is solved with the factors is one operation of the tape,
// whose derivative solves with them again (Giles 2008, section 2.3.1; least squares: Golub & Pereyra 1973). What else is asked of a
// decomposition, its factors say, is recorded as Eigen computes it, when it is asked for.
//
// The partial specializations of Eigen's class templates are in lu.hpp, cholesky.hpp, qr.hpp and svd.hpp.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "../../tape/tape.hpp"
#include "products.hpp"

namespace wengert::detail {

/// The same matrix of a type whose decompositions are Eigen's own: an option that says nothing here tells them apart.
template <class M> struct AsEigenDoes;
template <class S, int rows, int columns, int options, int most_rows, int most_columns>
struct AsEigenDoes<Eigen::Matrix<S, rows, columns, options, most_rows, most_columns>> {
    using type = Eigen::Matrix<S, rows, columns, options | Eigen::DontAlign, most_rows, most_columns>;
    using Plain = Eigen::Matrix<typename S::plain_type, rows, columns, options, most_rows, most_columns>;
};
template <class M> using as_eigen_does = typename AsEigenDoes<M>::type;
template <class M> using plain_matrix = typename AsEigenDoes<M>::Plain;
/// Whether a matrix with these options is one of ours.
constexpr bool is_fused(int options) { return (options & Eigen::DontAlign) == 0; }

template <class M> auto values_of(const M& a)
{
    return a.unaryExpr([](const auto& x) { return x.plain(); });
}

/// The rules of X = A⁺ B, and of X = A⁺ᵀ B, in terms of solutions alone. `Solver` is the decomposition over reals.
template <class Solver> struct SolutionRules {
    using T = typename Solver::T;

    Solver factors;
    MatrixPart<T> a, b;
    bool transposed;

    template <class N>
    void reverse(std::span<const N> x, std::span<const N> y, std::span<const N> g, std::span<N> to) const
    {
        on<N>(x, [&](const auto& solver) {
            const Dense<N> X = matrix_of(y, size(), columns()), G = matrix_of(g, size(), columns());
            const Dense<N> W = solved(solver, G, true);
            b.add(to, W);
            if (a.varies()) a.add(to, Solver::template of_matrix<N>(of_entries(solver, x, X, G, W)));
        });
    }
    template <class N>
    void tangent(std::span<const N> x, std::span<const N> y, std::span<const N> dot, std::span<N> to) const
    {
        on<N>(x, [&](const auto& solver) {
            const Dense<N> X = matrix_of(y, size(), columns()), D = directed(Dense<N>(a.along(dot)));
            const Dense<N> right = b.along(dot) - Dense<N>(D * X);
            Dense<N> out = solved(solver, right, false);
            if (!square()) {
                const Dense<N> A = oriented(a.of(x)), r = b.of(x) - Dense<N>(A * X);
                const Dense<N> K = D.transpose() * solved(solver, X, true);
                out += solved(solver, solved(solver, Dense<N>(D.transpose() * r), true), false);
                out += K - solved(solver, Dense<N>(A * K), false);
            }
            matrix_of(to, size(), columns()) += out;
        });
    }

private:
    bool square() const { return a.value().rows() == a.value().cols() && !Solver::of_any_rank; }
    Eigen::Index size() const { return transposed ? a.value().rows() : a.value().cols(); }
    Eigen::Index columns() const { return b.value().cols(); }
    template <class N> Dense<N> oriented(const Dense<N>& m) const
    {
        return transposed ? Dense<N>(m.transpose()) : m;
    }
    template <class N> Dense<N> directed(const Dense<N>& m) const
    {
        return oriented(Solver::template of_entries<N>(m));
    }
    template <class S, class N> Dense<N> solved(const S& solver, const Dense<N>& rhs, bool adjoint) const
    {
        if (adjoint != transposed) return solver.transpose().solve(rhs);
        return solver.solve(rhs);
    }
    /// The plain factors, or those of a matrix of reals.
    template <class N, class F> void on(std::span<const N> x, const F& f) const
    {
        if constexpr (std::is_same_v<N, T>)
            f(factors.plain());
        else
            f(factors.of_reals(a.of(x)));
    }
    /// Ā = −W Xᵀ + (B − A X) (A⁺ W)ᵀ + A⁺ᵀX ((1 − A⁺A) X̄)ᵀ, of which a square matrix has the first term.
    template <class S, class N>
    Dense<N> of_entries(const S& solver, std::span<const N> x, const Dense<N>& X, const Dense<N>& G,
                        const Dense<N>& W) const
    {
        Dense<N> out = -W * X.transpose();
        if (!square()) {
            const Dense<N> A = oriented(a.of(x)), r = b.of(x) - Dense<N>(A * X);
            const Dense<N> P = G - solved(solver, Dense<N>(A * G), false);
            out += r * solved(solver, W, false).transpose();
            out += solved(solver, X, true) * P.transpose();
        }
        return oriented(out);
    }
};

/// An operation on matrices of reals with rules of its own: external(), or where nothing varies the value alone.
template <class T, class Value, class Rules>
void recorded_matrix(const std::vector<Real<T>>& in, std::span<Real<T>> out, const Value& value,
                     const Rules& rules, const Site& at = {})
{
    if (in.empty()) {
        std::vector<T> y(out.size());
        value(std::span<const T>(), std::span<T>(y));
        std::copy(y.begin(), y.end(), out.begin());
        return;
    }
    external(
        in, out, value,
        [rules]<class N>(std::span<const N> x, std::span<const N> y, std::span<const N> g, std::span<N> to) {
            rules.reverse(x, y, g, to);
        },
        [rules]<class N>(std::span<const N> x, std::span<const N> y, std::span<const N> dot,
                         std::span<N> to) { rules.tangent(x, y, dot, to); },
        at);
}

/// A decomposition that is recorded when it is asked for, on the tape of the asking thread. It is recorded again if that recording
/// has ended or if other levels record.
template <class Recorded, class Number> class LazyDecomposition {
public:
    /// make() computes with these numbers.
    template <class Make> Recorded& get(const Number* begin, const Number* end, const Make& make)
    {
        const Tape& tape = Tape::current();
        const std::lock_guard<std::mutex> lock(mutex_);
        auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& h) { return h.tape == &tape; });
        if (held == held_.end()) held = held_.insert(held, Held{&tape, {}, {}, {}, {}});
        if (!held->made || !held->lasts(tape)) {
            held->made = make();
            held->active = tape.active;
            held->recorder = recorder();
            const auto e = std::find_if(begin, end, [](const Number& x) { return x.is_active(); });
            held->witness = e == end ? Number() : *e + Number(0);
        }
        return *held->made;
    }

private:
    struct Held {
        const Tape* tape;
        std::uint64_t active;
        const Recorder* recorder;
        Number witness;  ///< recorded with it
        std::unique_ptr<Recorded> made;

        bool lasts(const Tape& now) const
        {
            if (active != now.active || recorder != wengert::recorder()) return false;
            return !witness.is_active() ||
                   (now.extension && static_cast<ScalarStream&>(*now.extension).records(witness.handle()));
        }
    };
    std::mutex mutex_;
    std::list<Held> held_;
};

/// A decomposition of a matrix M of reals: `Plain` is Eigen's of plain numbers, `Recorded` Eigen's that records its operations. Derived says
///
///     keeps_up(plain)   whether these factors give the solution by a formula: what a matrix without full rank has depends on the class
///     of_entries(A)     the matrix that is meant, of those of which it reads a triangle, and
///     of_matrix(Ā)      what of its cotangent each entry has
template <class Derived, class M, class Plain, class Recorded>
class RealDecomposition : public Eigen::SolverBase<Derived> {
public:
    using MatrixType = M;
    using Scalar = typename M::Scalar;
    using T = typename Scalar::plain_type;
    using RealScalar = Scalar;
    using StorageIndex = int;
    using Index = Eigen::Index;
    using PlainObject = M;
    using PlainSolver = Plain;
    static constexpr bool of_any_rank = false;

    Index rows() const { return matrix_ ? matrix_->rows() : 0; }
    Index cols() const { return matrix_ ? matrix_->cols() : 0; }
    template <class Input> Derived& compute(const Eigen::EigenBase<Input>& a)
    {
        matrix_ = std::make_shared<const M>(a.derived());
        plain_ =
            std::make_shared<const Plain>(this->derived().template made<Plain>(values_of(*matrix_).eval()));
        recorded_ = std::make_shared<LazyDecomposition<Recorded, Scalar>>();
        return this->derived();
    }
    /// A decomposition like this one of another matrix.
    Derived of_reals(const Dense<Scalar>& a) const
    {
        Derived d = this->derived();
        d.compute(a);
        return d;
    }
    template <class N> static const Dense<N>& of_entries(const Dense<N>& a) { return a; }
    template <class N> static const Dense<N>& of_matrix(const Dense<N>& g) { return g; }
    static bool keeps_up(const Plain&) { return true; }

    /// The factors in plain numbers.
    const Plain& plain() const { return *plain_; }
    /// What Eigen decides by the numbers: ask(decomposition) of the plain one; in a kernel of that of the reals, whose comparisons count there.
    template <class Ask> auto decided(const Ask& ask) const -> decltype(ask(std::declval<const Plain&>()))
    {
        if (in_kernel()) return ask(recorded());
        return ask(*plain_);
    }
    /// Eigen's decomposition of the reals.
    const Recorded& recorded() const
    {
        return recorded_->get(matrix_->data(), matrix_->data() + matrix_->size(), [&] {
            return std::make_unique<Recorded>(
                this->derived().template made<Recorded>(as_eigen_does<M>(*matrix_)));
        });
    }

    // For Eigen.
    template <bool transposed, class B> void _check_solve_assertion(const B& b) const
    {
        const Index wanted = transposed ? cols() : rows();
        if (!plain_ || wanted != b.rows())
            fail<ShapeError>("solve",
                             "a matrix of " + std::to_string(rows()) + " rows and " + std::to_string(cols()) +
                                 " columns, and a right-hand side of " + std::to_string(b.rows()) + " rows",
                             Site{});
    }
    template <class B, class X> void _solve_impl(const B& b, X& x) const { solve_into<false>(b, x); }
    template <bool conjugate, class B, class X> void _solve_impl_transposed(const B& b, X& x) const
    {
        solve_into<true>(b, x);
    }
    /// One operation, however small it is; in a kernel, whose cells know operations on numbers alone, as Eigen does it.
    template <bool transposed, class B> Dense<Scalar> solved_at_once(const B& b, const Site& at = {}) const
    {
        if (in_kernel()) return as_eigen_solves<transposed>(b);
        const Dense<Scalar>& right = b;  // a copy of what is no such matrix
        return recorded_solution(right, transposed, at);
    }

protected:
    std::shared_ptr<const M> matrix_;  // an operation's rules share it
    std::shared_ptr<const Plain> plain_;

    template <class D, class A> D made(const A& a) const { return D(a); }
    /// The plain factors with another setting.
    template <class Change> void change(const Change& to)
    {
        auto p = std::make_shared<Plain>(*plain_);
        to(*p);
        plain_ = std::move(p);
        recorded_ = std::make_shared<LazyDecomposition<Recorded, Scalar>>();
    }

private:
    Dense<Scalar> recorded_solution(const Dense<Scalar>& b, bool transposed, const Site& at) const
    {
        std::vector<Scalar> in;
        const MatrixPart<T> a(rows(), cols(), *matrix_, in), right(b.rows(), b.cols(), b, in);
        Dense<Scalar> out(transposed ? rows() : cols(), b.cols());
        const auto value = [&](std::span<const T>, std::span<T> y) {
            auto Y = matrix_of(y, out.rows(), out.cols());
            if (transposed)
                Y = Dense<T>(plain_->transpose().solve(right.value()));
            else
                Y = Dense<T>(plain_->solve(right.value()));
        };
        recorded_matrix<T>(in, std::span(out.data(), static_cast<std::size_t>(out.size())), value,
                           SolutionRules<Derived>{this->derived(), a, right, transposed}, at);
        return out;
    }

    /// Few numbers are recorded one by one, for less.
    static constexpr Index few = 36;
    template <bool transposed, class B> Dense<Scalar> as_eigen_solves(const B& b) const
    {
        if constexpr (transposed)
            return recorded().transpose().solve(b);
        else
            return recorded().solve(b);
    }
    template <bool transposed, class B, class X> void solve_into(const B& b, X& x) const
    {
        const auto right = b.template cast<Scalar>().eval();
        const bool many = matrix_->size() > few && Derived::keeps_up(*plain_);
        const Dense<Scalar> solution =
            many ? solved_at_once<transposed>(right) : as_eigen_solves<transposed>(right);
        x = solution;  // not moved: evaluators of expressions have the address of x's elements already
    }

    std::shared_ptr<LazyDecomposition<Recorded, Scalar>> recorded_;
};

}  // namespace wengert::detail

/// The solution of a system of reals with a plain right-hand side is of reals.
template <class Solver, class B>
    requires(wengert::detail::is_real<typename Solver::Scalar> && std::is_arithmetic_v<typename B::Scalar>)
struct Eigen::internal::solve_traits<Solver, B, Eigen::Dense> {
    using PlainObject = typename Eigen::internal::make_proper_matrix_type<
        typename Solver::Scalar, Solver::ColsAtCompileTime, B::ColsAtCompileTime, B::PlainObject::Options,
        Solver::MaxColsAtCompileTime, B::MaxColsAtCompileTime>::type;
};

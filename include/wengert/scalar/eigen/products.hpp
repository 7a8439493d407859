// Products of Eigen's matrices of reals: one operation of the tape each, on plain numbers inside.
#pragma once

#include "../transforms/external.hpp"
#include "numbers.hpp"

namespace wengert::detail {

template <class N> using Dense = Eigen::Matrix<N, Eigen::Dynamic, Eigen::Dynamic>;

/// An operand: its elements are among the operation's inputs where one of them is recorded, else it is a constant. A checkpoint
/// compares what both of its runs do, and in the first one nothing is recorded.
template <class T> class MatrixPart {
public:
    using Index = Eigen::Index;
    /// element(i, j) is a number or a Real.
    template <class Element>
    MatrixPart(Index rows, Index columns, const Element& element, std::vector<Real<T>>& inputs)
        : begin_(inputs.size()), value_(rows, columns)
    {
        varies_ = is_real<std::remove_cvref_t<decltype(element(rows, columns))>> && recorder();
        for (Index j = 0; j < columns; ++j)
            for (Index i = 0; i < rows; ++i) {
                const Real<T> e(element(i, j));
                varies_ = varies_ || e.is_active();
                value_(i, j) = e.plain();
                inputs.push_back(e);
            }
        if (!varies_) inputs.resize(begin_);
    }
    bool varies() const { return varies_; }
    const Dense<T>& value() const { return value_; }
    /// Among the numbers x of a rule.
    template <class N> Dense<N> of(std::span<const N> x) const
    {
        if (varies_) return Eigen::Map<const Dense<N>>(x.data() + begin_, value_.rows(), value_.cols());
        return value_.template cast<N>();
    }
    /// Its tangent.
    template <class N> Dense<N> along(std::span<const N> dot) const
    {
        if (varies_) return of(dot);
        return Dense<N>::Zero(value_.rows(), value_.cols());
    }
    template <class N, class G> void add(std::span<N> to, const G& g) const
    {
        if (varies_) Eigen::Map<Dense<N>>(to.data() + begin_, value_.rows(), value_.cols()) += g;
    }

private:
    std::size_t begin_;
    bool varies_ = false;
    Dense<T> value_;
};

template <class N> auto matrix_of(std::span<const N> x, Eigen::Index rows, Eigen::Index columns)
{
    return Eigen::Map<const Dense<N>>(x.data(), rows, columns);
}
template <class N> auto matrix_of(std::span<N> x, Eigen::Index rows, Eigen::Index columns)
{
    return Eigen::Map<Dense<N>>(x.data(), rows, columns);
}

/// C = A B, with Ā = C̄ Bᵀ and B̄ = Aᵀ C̄.
template <class T>
std::vector<Real<T>> recorded_product(const MatrixPart<T>& a, const MatrixPart<T>& b,
                                      const std::vector<Real<T>>& in)
{
    const Eigen::Index m = a.value().rows(), n = b.value().cols();
    std::vector<Real<T>> out(static_cast<std::size_t>(m * n));
    const auto value = [&a, &b, m, n](std::span<const T>, std::span<T> y) {
        matrix_of(y, m, n).noalias() = a.value() * b.value();
    };
    if (!a.varies() && !b.varies()) {
        std::vector<T> y(out.size());
        value({}, y);
        out.assign(y.begin(), y.end());
        return out;
    }
    const auto reverse = [a, b, m, n]<class N>(std::span<const N> x, std::span<const N>, std::span<const N> g,
                                               std::span<N> to) {
        const auto C = matrix_of(g, m, n);
        if (a.varies()) a.add(to, Dense<N>(C * b.of(x).transpose()));
        if (b.varies()) b.add(to, Dense<N>(a.of(x).transpose() * C));
    };
    const auto tangent = [a, b, m, n]<class N>(std::span<const N> x, std::span<const N>,
                                               std::span<const N> dot, std::span<N> to) {
        auto C = matrix_of(to, m, n);
        if (a.varies()) C += Dense<N>(a.of(dot) * b.of(x));
        if (b.varies()) C += Dense<N>(a.of(x) * b.of(dot));
    };
    external(in, out, value, reverse, tangent, Site{});
    return out;
}

/// C += α A B, as Eigen's kernels do; c(i, j) is a reference.
template <class T, class Lhs, class Rhs, class Result>
void add_product(Eigen::Index m, Eigen::Index k, Eigen::Index n, const Lhs& lhs, const Rhs& rhs,
                 const Real<T>& alpha, const Result& c)
{
    if (in_kernel()) {  // whose cells know operations on numbers alone
        for (Eigen::Index j = 0; j < n; ++j)
            for (Eigen::Index i = 0; i < m; ++i)
                for (Eigen::Index l = 0; l < k; ++l)
                    c(i, j) += alpha * Real<T>(lhs(i, l)) * Real<T>(rhs(l, j));
        return;
    }
    std::vector<Real<T>> in;
    const MatrixPart<T> a(m, k, lhs, in), b(k, n, rhs, in);
    const auto product = recorded_product(a, b, in);
    std::size_t next = 0;
    const bool alone = !alpha.is_active() && alpha.plain() == T(1);
    for (Eigen::Index j = 0; j < n; ++j)
        for (Eigen::Index i = 0; i < m; ++i) {
            Real<T>& to = c(i, j);
            const Real<T> p = alone ? product[next++] : alpha * product[next++];
            to = !to.is_active() && to.plain() == T(0) ? p : to + p;
        }
}

/// Elements of a matrix in memory, of either order.
template <class N> struct Strided {
    N* first;
    Eigen::Index down, along;
    N& operator()(Eigen::Index i, Eigen::Index j) const { return first[i * down + j * along]; }
};
template <class N> Strided<N> strided(N* first, int order, Eigen::Index leading)
{
    return {first, order == Eigen::RowMajor ? leading : 1, order == Eigen::RowMajor ? 1 : leading};
}

/// Eigen's kernel of the product of two matrices, for scalars of which one at least is a Real.
template <class T, class L, int left_order, class R, int right_order> struct RecordedGemm {
    using Traits = Eigen::internal::gebp_traits<L, R>;
    template <class Index, class Blocking>
    static void run(Index rows, Index cols, Index depth, const L* lhs, Index left_stride, const R* rhs,
                    Index right_stride, Real<T>* to, Index step, Index stride, Real<T> alpha, Blocking&,
                    Eigen::internal::GemmParallelInfo<Index>* = nullptr)
    {
        add_product<T>(rows, depth, cols, strided(lhs, left_order, left_stride),
                       strided(rhs, right_order, right_stride), alpha, Strided<Real<T>>{to, step, stride});
    }
};
/// And that of a matrix and a vector.
template <class T> struct RecordedGemv {
    using Index = Eigen::Index;
    template <class Lhs, class Rhs, class Alpha>
    static void run(Index rows, Index cols, const Lhs& lhs, const Rhs& rhs, Real<T>* to, Index step,
                    const Alpha& alpha)
    {
        add_product<T>(rows, cols, 1, lhs, rhs, Real<T>(alpha), Strided<Real<T>>{to, step, 0});
    }
};

/// Solves A X = B for triangular A and overwrites B with X: one unknown at a time, which is then eliminated from the other equations
/// (Golub & Van Loan 2013, algorithm 3.1.3). There is one division a row, as in Eigen. It has no blocks: an operation on reals takes
/// far longer than to fetch its operands.
template <class T>
void solve_triangle(Eigen::Index n, Eigen::Index columns, bool lower, bool unit, const Strided<const T>& a,
                    const Strided<T>& x)
{
    for (Eigen::Index done = 0; done < n; ++done) {
        const Eigen::Index i = lower ? done : n - 1 - done, first = lower ? i + 1 : 0, end = lower ? n : i;
        const T inverse = unit ? T(1) : T(1) / a(i, i);
        for (Eigen::Index j = 0; j < columns; ++j) {
            if (!unit) x(i, j) *= inverse;
            for (Eigen::Index r = first; r < end; ++r) x(r, j) -= a(r, i) * x(i, j);
        }
    }
}

/// Eigen's kernel for many right-hand sides. `flipped` solves X A = B, as Aᵀ Xᵀ = Bᵀ.
template <class T, bool flipped, int mode, int order> struct RecordedTriangle {
    template <class Index, class Blocking>
    static void run(Index n, Index columns, const Real<T>* a, Index leading, Real<T>* x, Index step,
                    Index stride, Blocking&)
    {
        constexpr int by = flipped == (order == Eigen::RowMajor) ? Eigen::ColMajor : Eigen::RowMajor;
        constexpr bool lower = ((mode & Eigen::Lower) != 0) != flipped;
        solve_triangle(n, columns, lower, (mode & Eigen::UnitDiag) != 0, strided(a, by, leading),
                       Strided<Real<T>>{x, flipped ? stride : step, flipped ? step : stride});
    }
};

}  // namespace wengert::detail

namespace Eigen::internal {

template <class T, class I, int mode, bool C, int order, int step>
struct triangular_solve_matrix<wengert::Real<T>, I, OnTheLeft, mode, C, order, ColMajor, step>
    : wengert::detail::RecordedTriangle<T, false, mode, order> {};
template <class T, class I, int mode, bool C, int order, int step>
struct triangular_solve_matrix<wengert::Real<T>, I, OnTheRight, mode, C, order, ColMajor, step>
    : wengert::detail::RecordedTriangle<T, true, mode, order> {};

template <class I, class T, int LO, bool LC, int RO, bool RC, int step>
struct general_matrix_matrix_product<I, wengert::Real<T>, LO, LC, wengert::Real<T>, RO, RC, ColMajor, step>
    : wengert::detail::RecordedGemm<T, wengert::Real<T>, LO, wengert::Real<T>, RO> {};
template <class I, class T, int LO, bool LC, int RO, bool RC, int step>
struct general_matrix_matrix_product<I, T, LO, LC, wengert::Real<T>, RO, RC, ColMajor, step>
    : wengert::detail::RecordedGemm<T, T, LO, wengert::Real<T>, RO> {};
template <class I, class T, int LO, bool LC, int RO, bool RC, int step>
struct general_matrix_matrix_product<I, wengert::Real<T>, LO, LC, T, RO, RC, ColMajor, step>
    : wengert::detail::RecordedGemm<T, wengert::Real<T>, LO, T, RO> {};

template <class I, class T, class L, bool LC, class R, bool RC, int V>
struct general_matrix_vector_product<I, wengert::Real<T>, L, ColMajor, LC, wengert::Real<T>, R, RC, V>
    : wengert::detail::RecordedGemv<T> {};
template <class I, class T, class L, bool LC, class R, bool RC, int V>
struct general_matrix_vector_product<I, wengert::Real<T>, L, RowMajor, LC, wengert::Real<T>, R, RC, V>
    : wengert::detail::RecordedGemv<T> {};
template <class I, class T, class L, bool LC, class R, bool RC, int V>
struct general_matrix_vector_product<I, T, L, ColMajor, LC, wengert::Real<T>, R, RC, V>
    : wengert::detail::RecordedGemv<T> {};
template <class I, class T, class L, bool LC, class R, bool RC, int V>
struct general_matrix_vector_product<I, T, L, RowMajor, LC, wengert::Real<T>, R, RC, V>
    : wengert::detail::RecordedGemv<T> {};
template <class I, class T, class L, bool LC, class R, bool RC, int V>
struct general_matrix_vector_product<I, wengert::Real<T>, L, ColMajor, LC, T, R, RC, V>
    : wengert::detail::RecordedGemv<T> {};
template <class I, class T, class L, bool LC, class R, bool RC, int V>
struct general_matrix_vector_product<I, wengert::Real<T>, L, RowMajor, LC, T, R, RC, V>
    : wengert::detail::RecordedGemv<T> {};

}  // namespace Eigen::internal

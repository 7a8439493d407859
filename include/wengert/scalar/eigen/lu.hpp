// A.lu(), partialPivLu(), fullPivLu(), inverse() and determinant() of matrices of reals.
#pragma once

#include "ranks.hpp"

namespace wengert::detail {

/// det A, with the derivative det A · A⁻ᵀ.
template <class Solver> struct DeterminantRules {
    using T = typename Solver::T;
    Solver factors;
    MatrixPart<T> a;

    template <class N> Dense<N> inverse(std::span<const N> x) const
    {
        const Dense<N> one = Dense<N>::Identity(a.value().rows(), a.value().rows());
        if constexpr (std::is_same_v<N, T>)
            return factors.plain().solve(one);
        else
            return factors.of_reals(a.of(x)).solve(one);
    }
    template <class N>
    void reverse(std::span<const N> x, std::span<const N> y, std::span<const N> g, std::span<N> to) const
    {
        a.add(to, Dense<N>(inverse(x).transpose() * N(g[0] * y[0])));
    }
    template <class N>
    void tangent(std::span<const N> x, std::span<const N> y, std::span<const N> dot, std::span<N> to) const
    {
        to[0] += y[0] * inverse(x).cwiseProduct(Dense<N>(a.along(dot).transpose())).sum();
    }
};

/// What both decompositions have beside solutions; Base is RealDecomposition or RankedDecomposition.
template <template <class...> class Base, class Derived, class M, class Plain, class Recorded>
class RealLu : public Base<Derived, M, Plain, Recorded> {
public:
    using Scalar = typename M::Scalar;
    using T = typename Scalar::plain_type;

    const auto& matrixLU() const { return this->recorded().matrixLU(); }
    auto permutationP() const
    {
        return this->decided([](const auto& d) { return d.permutationP(); });
    }
    auto permutationQ() const
    {
        return this->decided([](const auto& d) { return d.permutationQ(); });
    }
    auto kernel() const { return this->recorded().kernel(); }
    auto image(const M& original) const { return this->recorded().image(original); }
    Scalar rcond() const { return this->recorded().rcond(); }
    Eigen::Inverse<Derived> inverse() const { return Eigen::Inverse<Derived>(this->derived()); }
    M reconstructedMatrix() const { return this->recorded().reconstructedMatrix(); }
    Scalar determinant() const
    {
        const T value = this->plain_->determinant();
        if (in_kernel() || value == T(0)) return this->recorded().determinant();
        std::vector<Scalar> in;
        const MatrixPart<T> a(this->rows(), this->cols(), *this->matrix_, in);
        Scalar out;
        recorded_matrix<T>(
            in, std::span(&out, 1), [&](std::span<const T>, std::span<T> y) { y[0] = value; },
            DeterminantRules<Derived>{this->derived(), a});
        return out;
    }
};

template <class... X> using PartialLu = RealLu<RealDecomposition, X...>;
template <class... X> using FullLu = RealLu<RankedDecomposition, X...>;

}  // namespace wengert::detail

namespace Eigen {

template <class T, int R, int C, int O, int MR, int MC>
    requires(wengert::detail::is_fused(O))
class PartialPivLU<Matrix<wengert::Real<T>, R, C, O, MR, MC>>
    : public wengert::detail::PartialLu<PartialPivLU<Matrix<wengert::Real<T>, R, C, O, MR, MC>>,
                                        Matrix<wengert::Real<T>, R, C, O, MR, MC>,
                                        PartialPivLU<Matrix<T, R, C, O, MR, MC>>,
                                        PartialPivLU<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>>> {
public:
    PartialPivLU() = default;
    explicit PartialPivLU(Index) {}
    template <class Input> explicit PartialPivLU(const EigenBase<Input>& a) { this->compute(a); }
};

template <class T, int R, int C, int O, int MR, int MC>
    requires(wengert::detail::is_fused(O))
class FullPivLU<Matrix<wengert::Real<T>, R, C, O, MR, MC>>
    : public wengert::detail::FullLu<FullPivLU<Matrix<wengert::Real<T>, R, C, O, MR, MC>>,
                                     Matrix<wengert::Real<T>, R, C, O, MR, MC>,
                                     FullPivLU<Matrix<T, R, C, O, MR, MC>>,
                                     FullPivLU<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>>> {
public:
    /// Eigen's solution of more equations than unknowns is that of the rows which have the pivots.
    static bool keeps_up(const FullPivLU<Matrix<T, R, C, O, MR, MC>>& p)
    {
        return p.rows() == p.cols() && p.rank() == p.cols();
    }
    FullPivLU() = default;
    FullPivLU(Index, Index) {}
    template <class Input> explicit FullPivLU(const EigenBase<Input>& a) { this->compute(a); }
};

}  // namespace Eigen

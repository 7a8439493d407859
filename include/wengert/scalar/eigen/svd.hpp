// JacobiSVD and BDCSVD of matrices of reals.
#pragma once

#include "ranks.hpp"

namespace wengert::detail {

/// Singular values, with σ̇ᵢ = uᵢᵀ Ȧ vᵢ. A vector of a multiple one is one choice of many, and so is the derivative.
template <class Solver> struct SingularRules {
    using T = typename Solver::T;
    Solver factors;
    MatrixPart<T> a;

    template <class N, class F> void with_vectors(std::span<const N> x, const F& f) const
    {
        constexpr unsigned thin = Eigen::ComputeThinU | Eigen::ComputeThinV;
        const auto vectors = [&](const auto& svd) { f(Dense<N>(svd.matrixU()), Dense<N>(svd.matrixV())); };
        if constexpr (std::is_same_v<N, T>)
            vectors(Eigen::JacobiSVD<Dense<T>>(a.value(), thin));
        else
            vectors(Eigen::JacobiSVD<as_eigen_does<Dense<N>>>(a.of(x), thin));
    }
    template <class N>
    void reverse(std::span<const N> x, std::span<const N>, std::span<const N> g, std::span<N> to) const
    {
        with_vectors<N>(x, [&](const Dense<N>& U, const Dense<N>& V) {
            const auto s = Eigen::Map<const Eigen::Matrix<N, Eigen::Dynamic, 1>>(g.data(), U.cols());
            a.add(to, Dense<N>(Dense<N>(U * s.asDiagonal()) * V.transpose()));
        });
    }
    template <class N>
    void tangent(std::span<const N> x, std::span<const N>, std::span<const N> dot, std::span<N> to) const
    {
        with_vectors<N>(x, [&](const Dense<N>& U, const Dense<N>& V) {
            const Dense<N> moved = U.transpose() * Dense<N>(a.along(dot) * V);
            for (Eigen::Index i = 0; i < U.cols(); ++i) to[static_cast<std::size_t>(i)] += moved(i, i);
        });
    }
};

template <class Derived, class M, class Plain, class Recorded>
class RealSvd : public RankedDecomposition<Derived, M, Plain, Recorded> {
public:
    using Scalar = typename M::Scalar;
    using T = typename Scalar::plain_type;
    using Base = RankedDecomposition<Derived, M, Plain, Recorded>;
    using SingularValuesType = typename Recorded::SingularValuesType;
    static constexpr bool of_any_rank = true;
    static bool keeps_up(const Plain&) { return true; }

    using Base::compute;
    template <class Input> Derived& compute(const Eigen::EigenBase<Input>& a, unsigned options)
    {
        options_ = options;
        return Base::compute(a);
    }
    SingularValuesType singularValues() const
    {
        const auto& values = this->plain_->singularValues();
        if (in_kernel()) return this->recorded().singularValues();
        std::vector<Scalar> in;
        const MatrixPart<T> a(this->rows(), this->cols(), *this->matrix_, in);
        SingularValuesType out(values.size());
        recorded_matrix<T>(
            in, std::span(out.data(), static_cast<std::size_t>(out.size())),
            [&](std::span<const T>, std::span<T> y) { std::copy_n(values.data(), y.size(), y.data()); },
            SingularRules<Derived>{this->derived(), a});
        return out;
    }
    const auto& matrixU() const { return this->recorded().matrixU(); }
    const auto& matrixV() const { return this->recorded().matrixV(); }
    Eigen::Index nonzeroSingularValues() const
    {
        return this->decided([](const auto& d) { return d.nonzeroSingularValues(); });
    }
    bool computeU() const { return this->plain_->computeU(); }
    bool computeV() const { return this->plain_->computeV(); }
    Eigen::ComputationInfo info() const
    {
        return this->decided([](const auto& d) { return d.info(); });
    }

protected:
    friend class RealDecomposition<Derived, M, Plain, Recorded>;
    template <class D, class A> D made(const A& a) const
    {
        D d(a, options_);
        if (this->threshold_) d.setThreshold(typename D::RealScalar(*this->threshold_));
        return d;
    }

    unsigned options_ = 0;
};

}  // namespace wengert::detail

namespace Eigen {

template <class T, int R, int C, int O, int MR, int MC, int P>
    requires(wengert::detail::is_fused(O))
struct internal::traits<JacobiSVD<Matrix<wengert::Real<T>, R, C, O, MR, MC>, P>>
    : traits<Matrix<wengert::Real<T>, R, C, O, MR, MC>> {
    using MatrixType = Matrix<wengert::Real<T>, R, C, O, MR, MC>;
    using XprKind = MatrixXpr;
    using StorageKind = SolverStorage;
    using StorageIndex = int;
    enum { Flags = 0 };
};
template <class T, int R, int C, int O, int MR, int MC, int P>
    requires(wengert::detail::is_fused(O))
class JacobiSVD<Matrix<wengert::Real<T>, R, C, O, MR, MC>, P>
    : public wengert::detail::RealSvd<JacobiSVD<Matrix<wengert::Real<T>, R, C, O, MR, MC>, P>,
                                      Matrix<wengert::Real<T>, R, C, O, MR, MC>,
                                      JacobiSVD<Matrix<T, R, C, O, MR, MC>, P>,
                                      JacobiSVD<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>, P>> {
public:
    JacobiSVD() = default;
    JacobiSVD(Index, Index, unsigned options = 0) { this->options_ = options; }
    template <class Input> explicit JacobiSVD(const EigenBase<Input>& a, unsigned options = 0)
    {
        this->compute(a, options);
    }
};

/// Its own operations set small numbers to 0 and find singular values by iteration, so they have no derivative: what needs recorded
/// ones is JacobiSVD's.
template <class T, int R, int C, int O, int MR, int MC>
    requires(wengert::detail::is_fused(O))
struct internal::traits<BDCSVD<Matrix<wengert::Real<T>, R, C, O, MR, MC>>>
    : traits<JacobiSVD<Matrix<wengert::Real<T>, R, C, O, MR, MC>>> {};
template <class T, int R, int C, int O, int MR, int MC>
    requires(wengert::detail::is_fused(O))
class BDCSVD<Matrix<wengert::Real<T>, R, C, O, MR, MC>>
    : public wengert::detail::RealSvd<BDCSVD<Matrix<wengert::Real<T>, R, C, O, MR, MC>>,
                                      Matrix<wengert::Real<T>, R, C, O, MR, MC>,
                                      BDCSVD<Matrix<T, R, C, O, MR, MC>>,
                                      JacobiSVD<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>>> {
public:
    BDCSVD() = default;
    BDCSVD(Index, Index, unsigned options = 0) { this->options_ = options; }
    template <class Input> explicit BDCSVD(const EigenBase<Input>& a, unsigned options = 0)
    {
        this->compute(a, options);
    }
};

}  // namespace Eigen

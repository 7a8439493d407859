// The QR decompositions of matrices of reals. Least squares of full column rank are one operation; the basic solution that Eigen's QR gives
// without that is recorded as it is computed. CompleteOrthogonalDecomposition gives the shortest solution at any rank.
#pragma once

#include "ranks.hpp"

namespace wengert::detail {

/// What all of them have beside solutions.
template <class Base, class M> class QrFactors : public Base {
public:
    using Scalar = typename M::Scalar;

    auto householderQ() const { return this->recorded().householderQ(); }
    auto matrixQ() const { return this->recorded().matrixQ(); }
    const auto& matrixQR() const { return this->recorded().matrixQR(); }
    const auto& matrixR() const { return this->recorded().matrixR(); }
    const auto& hCoeffs() const { return this->recorded().hCoeffs(); }
    Scalar absDeterminant() const { return this->recorded().absDeterminant(); }
    Scalar logAbsDeterminant() const { return this->recorded().logAbsDeterminant(); }
    auto colsPermutation() const
    {
        return this->decided([](const auto& d) { return d.colsPermutation(); });
    }
    Eigen::ComputationInfo info() const
    {
        return this->decided([](const auto& d) { return d.info(); });
    }
};
template <class Derived, class M, class... X>
class RealQr : public QrFactors<RealDecomposition<Derived, M, X...>, M> {
public:
    template <class Plain> static bool keeps_up(const Plain& p) { return p.rows() >= p.cols(); }
};
template <class Derived, class M, class... X>
class PivotedQr : public QrFactors<RankedDecomposition<Derived, M, X...>, M> {
public:
    Eigen::Inverse<Derived> inverse() const { return Eigen::Inverse<Derived>(this->derived()); }
};
template <class Derived, class M, class... X>
class RealCod : public QrFactors<RankedDecomposition<Derived, M, X...>, M> {
public:
    static constexpr bool of_any_rank = true;
    template <class Plain> static bool keeps_up(const Plain&) { return true; }

    Eigen::Inverse<Derived> pseudoInverse() const { return Eigen::Inverse<Derived>(this->derived()); }
    const auto& matrixQTZ() const { return this->recorded().matrixQTZ(); }
    const auto& matrixT() const { return this->recorded().matrixT(); }
    auto matrixZ() const { return this->recorded().matrixZ(); }
};

}  // namespace wengert::detail

namespace Eigen {

template <class T, int R, int C, int O, int MR, int MC>
    requires(wengert::detail::is_fused(O))
class HouseholderQR<Matrix<wengert::Real<T>, R, C, O, MR, MC>>
    : public wengert::detail::RealQr<HouseholderQR<Matrix<wengert::Real<T>, R, C, O, MR, MC>>,
                                     Matrix<wengert::Real<T>, R, C, O, MR, MC>,
                                     HouseholderQR<Matrix<T, R, C, O, MR, MC>>,
                                     HouseholderQR<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>>> {
public:
    HouseholderQR() = default;
    HouseholderQR(Index, Index) {}
    template <class Input> explicit HouseholderQR(const EigenBase<Input>& a) { this->compute(a); }
};

template <class T, int R, int C, int O, int MR, int MC>
    requires(wengert::detail::is_fused(O))
class ColPivHouseholderQR<Matrix<wengert::Real<T>, R, C, O, MR, MC>>
    : public wengert::detail::PivotedQr<
          ColPivHouseholderQR<Matrix<wengert::Real<T>, R, C, O, MR, MC>>,
          Matrix<wengert::Real<T>, R, C, O, MR, MC>, ColPivHouseholderQR<Matrix<T, R, C, O, MR, MC>>,
          ColPivHouseholderQR<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>>> {
public:
    ColPivHouseholderQR() = default;
    ColPivHouseholderQR(Index, Index) {}
    template <class Input> explicit ColPivHouseholderQR(const EigenBase<Input>& a) { this->compute(a); }
};

template <class T, int R, int C, int O, int MR, int MC>
    requires(wengert::detail::is_fused(O))
class CompleteOrthogonalDecomposition<Matrix<wengert::Real<T>, R, C, O, MR, MC>>
    : public wengert::detail::RealCod<
          CompleteOrthogonalDecomposition<Matrix<wengert::Real<T>, R, C, O, MR, MC>>,
          Matrix<wengert::Real<T>, R, C, O, MR, MC>,
          CompleteOrthogonalDecomposition<Matrix<T, R, C, O, MR, MC>>,
          CompleteOrthogonalDecomposition<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>>> {
public:
    CompleteOrthogonalDecomposition() = default;
    CompleteOrthogonalDecomposition(Index, Index) {}
    template <class Input> explicit CompleteOrthogonalDecomposition(const EigenBase<Input>& a)
    {
        this->compute(a);
    }
};

}  // namespace Eigen

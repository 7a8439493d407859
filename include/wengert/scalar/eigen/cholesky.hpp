// A.llt() and A.ldlt() of matrices of reals. They read one triangle, and the derivative is that by it.
#pragma once

#include "decompositions.hpp"

namespace wengert::detail {

template <class Derived, class M, class Plain, class Recorded, int triangle>
class RealCholesky : public RealDecomposition<Derived, M, Plain, Recorded> {
public:
    using Scalar = typename M::Scalar;

    Eigen::ComputationInfo info() const
    {
        return this->decided([](const auto& d) { return d.info(); });
    }
    auto matrixL() const { return this->recorded().matrixL(); }
    auto matrixU() const { return this->recorded().matrixU(); }
    Scalar rcond() const { return this->recorded().rcond(); }
    M reconstructedMatrix() const { return this->recorded().reconstructedMatrix(); }
    template <class X> void solveInPlace(const Eigen::MatrixBase<X>& x) const
    {
        x.const_cast_derived() = this->solve(x).eval();
    }
    template <class V> Derived& rankUpdate(const V& v, const Scalar& sigma = 1)
    {
        return this->compute(M(of_entries(Dense<Scalar>(*this->matrix_)) + sigma * v * v.transpose()));
    }

    template <class N> static Dense<N> of_entries(const Dense<N>& a)
    {
        return a.template selfadjointView<triangle>();
    }
    template <class N> static Dense<N> of_matrix(const Dense<N>& g)
    {
        Dense<N> out = (g + g.transpose()).template triangularView<triangle>();
        out.diagonal() = g.diagonal();
        return out;
    }
    static bool keeps_up(const Plain& p)
    {
        if constexpr (requires { p.vectorD(); })
            return p.info() == Eigen::Success && (p.vectorD().array() != 0).all();
        else
            return p.info() == Eigen::Success;
    }
};
template <class Derived, class M, class Plain, class Recorded, int triangle>
class RealLlt : public RealCholesky<Derived, M, Plain, Recorded, triangle> {
public:
    const auto& matrixLLT() const { return this->recorded().matrixLLT(); }
};
template <class Derived, class M, class Plain, class Recorded, int triangle>
class RealLdlt : public RealCholesky<Derived, M, Plain, Recorded, triangle> {
public:
    const auto& matrixLDLT() const { return this->recorded().matrixLDLT(); }
    auto transpositionsP() const
    {
        return this->decided([](const auto& d) { return d.transpositionsP(); });
    }
    auto vectorD() const { return this->recorded().vectorD(); }
    bool isPositive() const
    {
        return this->decided([](const auto& d) { return d.isPositive(); });
    }
    bool isNegative() const
    {
        return this->decided([](const auto& d) { return d.isNegative(); });
    }
};

}  // namespace wengert::detail

namespace Eigen {

template <class T, int R, int C, int O, int MR, int MC, int UpLo>
    requires(wengert::detail::is_fused(O))
class LLT<Matrix<wengert::Real<T>, R, C, O, MR, MC>, UpLo>
    : public wengert::detail::RealLlt<
          LLT<Matrix<wengert::Real<T>, R, C, O, MR, MC>, UpLo>, Matrix<wengert::Real<T>, R, C, O, MR, MC>,
          LLT<Matrix<T, R, C, O, MR, MC>, UpLo>,
          LLT<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>, UpLo>, UpLo> {
public:
    LLT() = default;
    explicit LLT(Index) {}
    template <class Input> explicit LLT(const EigenBase<Input>& a) { this->compute(a); }
};

template <class T, int R, int C, int O, int MR, int MC, int UpLo>
    requires(wengert::detail::is_fused(O))
class LDLT<Matrix<wengert::Real<T>, R, C, O, MR, MC>, UpLo>
    : public wengert::detail::RealLdlt<
          LDLT<Matrix<wengert::Real<T>, R, C, O, MR, MC>, UpLo>, Matrix<wengert::Real<T>, R, C, O, MR, MC>,
          LDLT<Matrix<T, R, C, O, MR, MC>, UpLo>,
          LDLT<Matrix<wengert::Real<T>, R, C, O | DontAlign, MR, MC>, UpLo>, UpLo> {
public:
    LDLT() = default;
    explicit LDLT(Index) {}
    template <class Input> explicit LDLT(const EigenBase<Input>& a) { this->compute(a); }
};

}  // namespace Eigen

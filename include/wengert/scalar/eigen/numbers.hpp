// Reals as scalars of Eigen's matrices, arrays and maps, and matrices as containers in whose elements gradients are taken.
#pragma once

// Eigen's threads would run products on tapes of their own.
#ifdef _OPENMP
#ifdef EIGEN_CORE_H
#ifndef EIGEN_DONT_PARALLELIZE
#error "wengert: with OpenMP include <wengert/eigen.hpp> before Eigen, or define EIGEN_DONT_PARALLELIZE"
#endif
#elif !defined(EIGEN_DONT_PARALLELIZE)
#define EIGEN_DONT_PARALLELIZE
#endif
#endif

#if __has_include(<Eigen/Dense>)
#include <Eigen/Dense>
#include <Eigen/SparseCore>
#elif __has_include(<eigen3/Eigen/Dense>)
#include <eigen3/Eigen/Dense>
#include <eigen3/Eigen/SparseCore>
#else
#error "wengert: <wengert/eigen.hpp> needs Eigen 3.4 (Debian: libeigen3-dev)"
#endif

#include "../real/functions.hpp"
#include "../real/limits.hpp"

namespace Eigen {

template <wengert::detail::ActiveNumber X> struct NumTraits<X> {
    using Plain = wengert::detail::limits_of<X>;
    using Real = X;
    using NonInteger = X;
    using Nested = X;
    using Literal = X;
    enum {
        IsInteger = 0,
        IsSigned = 1,
        IsComplex = 0,
        RequireInitialization = 1,  // memory that is not zeroed holds no number
        ReadCost = 1,
        AddCost = 6,
        MulCost = 6
    };
    static X epsilon() { return Plain::epsilon(); }
    static X dummy_precision() { return sizeof(typename X::plain_type) == sizeof(float) ? 1e-5 : 1e-12; }
    static X highest() { return Plain::max(); }
    static X lowest() { return Plain::lowest(); }
    static X infinity() { return Plain::infinity(); }
    static X quiet_NaN() { return Plain::quiet_NaN(); }
    static constexpr int digits() { return Plain::digits; }
    static constexpr int digits10() { return Plain::digits10; }
    static constexpr int max_digits10() { return Plain::max_digits10; }
    static constexpr int min_exponent() { return Plain::min_exponent; }
    static constexpr int max_exponent() { return Plain::max_exponent; }
};

// Plain matrices beside those of reals.
template <class T, class Op> struct ScalarBinaryOpTraits<wengert::Real<T>, T, Op> {
    using ReturnType = wengert::Real<T>;
};
template <class T, class Op> struct ScalarBinaryOpTraits<T, wengert::Real<T>, Op> {
    using ReturnType = wengert::Real<T>;
};

}  // namespace Eigen

namespace wengert::tree {

template <class M> struct DenseElements {
    static auto all(auto& x) { return std::span(x.data(), static_cast<std::size_t>(x.size())); }
    static bool alike(const M& a, const M& b) { return a.rows() == b.rows() && a.cols() == b.cols(); }
};
template <class S, int... options>
struct ElementsOf<Eigen::Matrix<S, options...>> : DenseElements<Eigen::Matrix<S, options...>> {};
template <class S, int... options>
struct ElementsOf<Eigen::Array<S, options...>> : DenseElements<Eigen::Array<S, options...>> {};

/// The nonzeros of a compressed matrix.
template <class S, int options, class I> struct ElementsOf<Eigen::SparseMatrix<S, options, I>> {
    using M = Eigen::SparseMatrix<S, options, I>;
    static auto all(auto& x)
    {
        if (!x.isCompressed())
            throw ShapeError("[tree] an Eigen::SparseMatrix that is not compressed: call makeCompressed()");
        return std::span(x.valuePtr(), static_cast<std::size_t>(x.nonZeros()));
    }
    static bool alike(const M& a, const M& b)
    {
        return a.rows() == b.rows() && a.cols() == b.cols() && a.nonZeros() == b.nonZeros();
    }
};

}  // namespace wengert::tree

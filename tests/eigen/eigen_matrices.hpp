// Matrices of reals for the tests over Eigen.
#pragma once

#include "catch.hpp"

#include <wengert/eigen.hpp>

#include <functional>
#include <string>

namespace wg = wengert;
using R = wg::Real<double>;
using Reals = std::vector<R>;
using M = Eigen::Matrix<R, Eigen::Dynamic, Eigen::Dynamic>;
using V = Eigen::Matrix<R, Eigen::Dynamic, 1>;
using Plain = Eigen::MatrixXd;
using Sparse = Eigen::SparseMatrix<R>;

inline namespace eigen_matrices {

/// Well conditioned, and far from symmetric.
inline M matrix(int n, double seed)
{
    M a(n, n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a(i, j) = std::sin(seed + 1.3 * i + 2.1 * j * i) + (i == j ? 3.0 : 0.0);
    return a;
}
inline V vector(int n)
{
    V b(n);
    for (int i = 0; i < n; ++i) b(i) = 0.5 + 0.3 * i;
    return b;
}
/// What solve() reads of a matrix that is positive definite.
inline M definite(const M& a)
{
    M s = a * 0.2;
    for (int i = 0; i < s.rows(); ++i) s(i, i) += 3.0;
    return s;
}
inline std::uint32_t recorded() { return wg::ScalarStream::of(wg::Tape::current()).size() - 1; }

struct System {
    M a;
    V b;
    Eigen::Array<R, 2, 1> scale;
    int id = 0;
};
inline const System in{matrix(4, 0.3), vector(4), {0.7, 1.9}, 3},
    large{matrix(9, 0.3), vector(9), {0.7, 1.9}, 3};
using OfSystem = std::function<R(const System&)>;  // one instantiation of the checks

template <class F, class X> void check(const std::string& name, const F& f, const X& x, int order = 2)
{
    const auto report = wg::check_grads(f, x, {.order = order});
    INFO(name << ": " << report.message);
    CHECK(report.ok);
}

}  // namespace eigen_matrices

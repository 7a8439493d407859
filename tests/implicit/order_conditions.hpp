/// The conditions of order up to 5 of a Runge–Kutta or a Rosenbrock method, each for a tree: Σ bᵢ φᵢ = 1 / γ. Hairer & Wanner 1996,
/// table IV.7.1; Hairer, Nørsett & Wanner 1993, table II.2.2, where β is α.
#pragma once

#include <cstddef>
#include <vector>

namespace order_conditions {

using Column = std::vector<double>;
using Matrix = std::vector<Column>;

inline double sum(const Column& b, const Column& x)
{
    double s = 0;
    for (std::size_t i = 0; i < b.size(); ++i) s += b[i] * x[i];
    return s;
}
inline Column times(const Matrix& m, const Column& x)
{
    Column y;
    for (const Column& row : m) y.push_back(sum(row, x));
    return y;
}
inline Column product(Column x, const Column& y)
{
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= y[i];
    return x;
}

struct Tree {
    int order;
    Column weights;
    double wanted;
};

/// Of k stages: α their coefficients, β those with what multiplies the Jacobian.
inline std::vector<Tree> trees(const Matrix& alpha, const Matrix& beta)
{
    const Column one(alpha.size(), 1.0), a = times(alpha, one), b = times(beta, one), aa = product(a, a),
                                         ab = times(alpha, b), bb = times(beta, b);
    return {{1, one, 1.0},
            {2, b, 1.0 / 2},
            {3, aa, 1.0 / 3},
            {3, bb, 1.0 / 6},
            {4, product(aa, a), 1.0 / 4},
            {4, product(a, ab), 1.0 / 8},
            {4, times(beta, aa), 1.0 / 12},
            {4, times(beta, bb), 1.0 / 24},
            {5, product(aa, aa), 1.0 / 5},
            {5, product(aa, ab), 1.0 / 10},
            {5, product(ab, ab), 1.0 / 20},
            {5, product(a, times(alpha, aa)), 1.0 / 15},
            {5, product(a, times(alpha, bb)), 1.0 / 30},
            {5, times(beta, product(aa, a)), 1.0 / 20},
            {5, times(beta, product(a, ab)), 1.0 / 40},
            {5, times(beta, times(beta, aa)), 1.0 / 60},
            {5, times(beta, times(beta, bb)), 1.0 / 120}};
}

}  // namespace order_conditions

// Linear systems A x = b by products with A alone: conjugate gradients (Hestenes & Stiefel 1952), GMRES (Saad & Schultz 1986), BiCGSTAB
// (van der Vorst 1992). Loops are nodes of a trace.
#pragma once

#include <limits>

#include "../graph/control/functions.hpp"
#include "../linalg/svd.hpp"
#include "../ops/elementwise/choices.hpp"
#include "../ops/elementwise/pairs.hpp"
#include "options.hpp"

namespace wengert::detail {

template <class T, class D> Tensor<T, D> zero_beside(const Tensor<T, D>& x) { return sum(zeros_like(x)); }
/// The inner product.
template <class T, class D> Tensor<T, D> inner(const Tensor<T, D>& x, const Tensor<T, D>& y)
{
    return sum(x * y);
}
/// a / b, 0 where b is 0.
template <class T, class D> Tensor<T, D> quotient(const Tensor<T, D>& a, const Tensor<T, D>& b)
{
    const auto none = b == zeros_like(b);
    return where(none, zeros_like(b), a / where(none, ones_like(b), b));
}
/// The greatest |x|.
template <class T, class D> Tensor<T, D> greatest(const Tensor<T, D>& x) { return amax(abs(x)); }

template <class T> T tolerance_or(double given, double power)
{
    return given > 0
               ? static_cast<T>(given)
               : static_cast<T>(std::pow(static_cast<double>(std::numeric_limits<T>::epsilon()), power));
}
inline double most_or(std::int64_t given, double otherwise)
{
    return given > 0 ? static_cast<double>(given) : otherwise;
}

/// A run of a linear solver: x, r = b − A x, the solver's own vectors and numbers, the iterations done.
template <class T, class D> struct KrylovState {
    Tensor<T, D> x, r, p, v, rho, alpha, omega, count;
};

/// One step of conjugate gradients.
template <class T, class D>
KrylovState<T, D> cg_step(const VectorFunction<Tensor<T, D>>& a, KrylovState<T, D> s)
{
    const Tensor<T, D> ap = a(s.p), alpha = quotient(s.rho, inner(s.p, ap));
    s.x = s.x + alpha * s.p;
    s.r = s.r - alpha * ap;
    const Tensor<T, D> rho = inner(s.r, s.r);
    s.p = s.r + quotient(rho, s.rho) * s.p;
    s.rho = rho;
    s.count = s.count + T(1);
    return s;
}
/// One step of BiCGSTAB, with the first residual as the shadow.
template <class T, class D>
KrylovState<T, D> bicgstab_step(const VectorFunction<Tensor<T, D>>& a, const Tensor<T, D>& shadow,
                                KrylovState<T, D> s)
{
    const Tensor<T, D> rho = inner(shadow, s.r);
    const Tensor<T, D> beta = quotient(rho, s.rho) * quotient(s.alpha, s.omega);
    s.p = s.r + beta * (s.p - s.omega * s.v);
    s.v = a(s.p);
    s.alpha = quotient(rho, inner(shadow, s.v));
    const Tensor<T, D> half = s.r - s.alpha * s.v, t = a(half);
    s.omega = quotient(inner(t, half), inner(t, t));
    s.x = s.x + s.alpha * s.p + s.omega * half;
    s.r = half - s.omega * t;
    s.rho = rho;
    s.count = s.count + T(1);
    return s;
}
/// One cycle of GMRES over m vectors: Arnoldi's basis by Gram and Schmidt, twice, and the least residual in it.
template <class T, class D>
KrylovState<T, D> gmres_cycle(const VectorFunction<Tensor<T, D>>& a, std::int64_t m, KrylovState<T, D> s)
{
    const Tensor<T, D> beta = sqrt(inner(s.r, s.r)), numbers = arange<T, D>(m + 1), columns = arange<T, D>(m);
    const auto row = [](const Tensor<T, D>& all, const Tensor<T, D>& k) {
        return expand_dims(cast<T>(all == k), 1);
    };
    const auto step = [&](const std::tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& before) {
        const auto& [basis, h, j] = before;
        Tensor<T, D> w = a(sum(row(numbers, j) * basis, Axes{0}));
        const Tensor<T, D> h1 = matmul(basis, w);
        w = w - matmul(h1, basis);
        const Tensor<T, D> h2 = matmul(basis, w);
        w = w - matmul(h2, basis);
        const Tensor<T, D> size = sqrt(inner(w, w)), next = j + T(1);
        const Tensor<T, D> tiny = T(16) * std::numeric_limits<T>::epsilon() * sqrt(inner(h1, h1));
        const Tensor<T, D> kept = where(size > tiny, size, zeros_like(size));
        const Tensor<T, D> column = h1 + h2 + kept * cast<T>(numbers == next);
        return std::pair(std::tuple(basis + row(numbers, next) * (quotient(kept, size * size) * w),
                                    h + expand_dims(column, 1) * cast<T>(columns == j), next),
                         std::tuple());
    };
    const Tensor<T, D> start = row(numbers, zero_beside(s.r)) * quotient(s.r, beta + zeros_like(s.r));
    const auto [basis, h, end] =
        scan(step, std::tuple(start, zeros<T, D>({m + 1, m}), zero_beside(s.r)), m).first;
    const Tensor<T, D> weights = matmul(linalg::pinv(h), beta * cast<T>(numbers == zero_beside(s.r)));
    s.x = s.x + matmul(weights, linalg::detail::part(basis, -2, 0, m, Site{}));
    s.count = s.count + T(static_cast<double>(m));
    return s;
}

/// What to divide x by so that sums of its squares do not overflow, nor vanish: 1 for most.
template <class T, class D> Tensor<T, D> scale_of_squares(const Tensor<T, D>& x)
{
    using Limits = std::numeric_limits<T>;
    const T great = std::ldexp(T(1), Limits::max_exponent / 4),
            little = std::ldexp(T(1), Limits::min_exponent / 4);
    const Tensor<T, D> most = greatest(x), one = ones_like(most);
    const auto is_extreme = logical_and(logical_or(most > great, most < little), most > zeros_like(most));
    return where(logical_and(is_extreme, is_finite(most)), most, one);
}

/// x with A x = b, as a constant. Throws NumericError where it does not converge.
template <class T, class D>
Tensor<T, D> krylov(ImplicitName method, const std::type_identity_t<VectorFunction<Tensor<T, D>>>& a,
                    const Tensor<T, D>& given, const SolverOptions& options, const Site& at)
{
    if (given.size() == 0) return given;
    const detail::Unrecorded constants;
    const Tensor<T, D> scale = scale_of_squares(given), b = given / scale;
    const double n = static_cast<double>(b.size());
    const double most = most_or(options.iterations, 10 * n + 100);
    const T tolerance = tolerance_or<T>(options.tolerance, 0.85);
    const Tensor<T, D> zero = zero_beside(b), one = zero + T(1), limit = tolerance * sqrt(inner(b, b));
    const auto m = std::min<std::int64_t>(options.restart, static_cast<std::int64_t>(b.size()));
    const auto left = [&](const KrylovState<T, D>& s) { return sqrt(inner(s.r, s.r)); };
    const auto test = [&](const KrylovState<T, D>& s) {
        return logical_and(left(s) > limit, s.count < T(most));
    };
    const auto body = [&](const KrylovState<T, D>& s) {
        if (method == ImplicitName::cg) return cg_step<T, D>(a, s);
        if (method == ImplicitName::bicgstab) return bicgstab_step<T, D>(a, b, s);
        KrylovState<T, D> next = gmres_cycle<T, D>(a, m, s);
        next.r = b - a(next.x);
        return next;
    };
    const bool gmres = method == ImplicitName::gmres;
    const KrylovState<T, D> start{zeros_like(b),
                                  b,
                                  gmres || method == ImplicitName::cg ? b : zeros_like(b),
                                  zeros_like(b),
                                  method == ImplicitName::cg ? inner(b, b) : one,
                                  one,
                                  one,
                                  zero};
    const KrylovState<T, D> s = while_loop(test, body, start, at);
    // An operator that is not linear, an affine one say, makes a residual that is none of A x = b. That of GMRES is computed anew.
    const Tensor<T, D> rest = gmres ? s.r : b - a(s.x), residual = sqrt(inner(rest, rest));
    const T most_off = std::sqrt(std::sqrt(std::numeric_limits<T>::epsilon()));
    const auto is_true = residual <= maximum(limit, most_off * sqrt(inner(b, b)));
    const auto is_small = logical_and(logical_and(left(s) <= limit, is_true), is_finite(limit));
    return settled(method, options.report, scale * s.x, is_small, s.count, zero, s.count, zero,
                   scale * residual, at);
}

}  // namespace wengert::detail

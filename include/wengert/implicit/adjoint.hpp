// The continuous adjoint of an ordinary differential equation: λ̇ = −(∂f/∂y)ᵀ λ, μ̇ = −(∂f/∂p)ᵀ λ, backwards in time and beside
// ẏ = f(y, t, p). Chen et al. 2018, appendix B; Pontryagin et al. 1962.
#pragma once

#include "../linalg/matrices.hpp"
#include "../transforms/custom.hpp"
#include "../transforms/grad.hpp"
#include "ode_step.hpp"

namespace wengert::detail {

/// The cotangents of (y0, times, p) from those of y at the times, `rows`. `integral(f, y, times)` gives y at the times.
template <class V>
std::tuple<V, V, V> ode_adjoint(
    const std::type_identity_t<std::function<V(const V&, const V&, const V&)>>& f,
    const std::type_identity_t<std::function<V(const SlopeFunction<V>&, const V&, const V&)>>& integral,
    const V& g, const V& rows, const V& times, const V& p, const Site& at)
{
    const auto n = static_cast<std::int64_t>(rows.shape()[1]),
               all = 2 * n + static_cast<std::int64_t>(p.size());
    const auto part = [&](const V& x, std::int64_t first, std::int64_t count) {
        return linalg::detail::part(x, -1, first, count, at);
    };
    const auto row = [&](const V& x, std::int64_t k) {
        return reshape(linalg::detail::part(x, 0, k, 1, at), {n}, at);
    };
    const auto back = [&](const V& s, const V& t) {
        const auto at_t = [&](const V& y, const V& q) { return f(y, t, q); };
        const auto [y, pullback] = vjp_at(at_t, at, part(s, 0, n), p);
        const auto [of_y, of_p] = pullback(-part(s, n, n), at);
        return concatenate(std::vector<V>{y, of_y, of_p}, 0);
    };
    V lambda = zeros_like(row(g, 0)), mu = zeros_like(p);
    std::vector<V> of_times;
    for (std::int64_t k = times.shape()[0] - 1; k > 0; --k) {
        const V slope = f(row(rows, k), reshape(part(times, k, 1), Shape(), at), p);
        of_times.push_back(sum(row(g, k) * slope));
        lambda = lambda + row(g, k);
        const V start = concatenate(std::vector<V>{row(rows, k), lambda, mu}, 0);
        const V end =
            linalg::detail::part(integral(back, start, flip(part(times, k - 1, 2), 0)), 0, 1, 1, at);
        const V s = reshape(end, {all}, at);
        lambda = part(s, n, n);
        mu = part(s, 2 * n, all - 2 * n);
    }
    of_times.push_back(-sum(lambda * f(row(rows, 0), reshape(part(times, 0, 1), Shape(), at), p)));
    return {lambda + row(g, 0), flip(stack(of_times, 0), 0), mu};
}

}  // namespace wengert::detail

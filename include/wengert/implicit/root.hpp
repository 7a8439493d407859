// root and fixed_point.
#pragma once

#include "solution.hpp"

namespace wengert {

namespace detail {

template <class T, class D> struct NewtonState {
    Tensor<T, D> y, f, fraction, change, count, rejected;
};

/// y with F(y) = 0 by Newton's method, as a constant. A step is made half as long as long as it does not reduce max |F|.
template <class T, class D>
Tensor<T, D> newton(ImplicitName of, const std::type_identity_t<VectorFunction<Tensor<T, D>>>& f,
                    const Tensor<T, D>& start, const SolverOptions& options, const Site& at)
{
    if (start.size() == 0) return start;
    const detail::Unrecorded constants;
    const T tolerance = tolerance_or<T>(options.tolerance, 2.0 / 3),
            most = T(most_or(options.iterations, 100));
    using State = NewtonState<T, D>;
    const auto test = [&](const State& s) {
        const auto unsolved = logical_and(s.change > tolerance, greatest(s.f) != zeros_like(s.change));
        const auto has_steps = s.count<most, has_length = s.fraction> T(1e-6);
        return logical_and(unsolved, logical_and(has_steps, has_length));
    };
    const auto body = [&](const State& s) {
        const Tensor<T, D> d = inverse_at(f, s.y, ImplicitName::gmres, options, at)(s.f);
        const Tensor<T, D> y = s.y - s.fraction * d, r = f(y);
        const Tensor<bool, D> better = greatest(r) < greatest(s.f);
        return State{where(better, y, s.y),
                     where(better, r, s.f),
                     where(better, minimum(T(2) * s.fraction, ones_like(s.fraction)), T(0.5) * s.fraction),
                     greatest(d) / (T(1) + greatest(s.y)),
                     s.count + T(1),
                     s.rejected + where(better, zeros_like(s.count), ones_like(s.count))};
    };
    const Tensor<T, D> y0 = stop_gradient(start), zero = zero_beside(y0);
    const State s = while_loop(test, body, State{y0, f(y0), zero + T(1), zero + T(1), zero, zero}, at);
    const Tensor<T, D> residual = greatest(s.f);
    const auto good = logical_or(s.change <= tolerance, residual == zeros_like(residual));
    const Tensor<T, D> jacobians = makes_matrix(y0, options) ? s.count : zero;
    return settled(of, options.report, s.y, good, s.count, s.rejected, s.count + T(1), jacobians, residual,
                   at);
}

template <class T, class D> struct IterationState {
    Tensor<T, D> z, change, count;
};

/// z with g(z) = z by z ← g(z), as a constant.
template <class T, class D>
Tensor<T, D> iterate(const std::type_identity_t<VectorFunction<Tensor<T, D>>>& g, const Tensor<T, D>& start,
                     const SolverOptions& options, const Site& at)
{
    if (start.size() == 0) return start;
    const detail::Unrecorded constants;
    const T tolerance = tolerance_or<T>(options.tolerance, 0.95),
            most = T(most_or(options.iterations, 10000));
    using State = IterationState<T, D>;
    const auto test = [&](const State& s) { return logical_and(s.change > tolerance, s.count < most); };
    const auto body = [&](const State& s) {
        const Tensor<T, D> z = g(s.z);
        return State{z, greatest(z - s.z) / (T(1) + greatest(z)), s.count + T(1)};
    };
    const Tensor<T, D> z0 = stop_gradient(start), zero = zero_beside(z0);
    const State s = while_loop(test, body, State{z0, zero + T(1), zero}, at);
    return settled(ImplicitName::fixed_point, options.report, s.z, s.change <= tolerance, s.count, zero,
                   s.count, zero, s.change, at);
}

}  // namespace detail

/// The type of `root`.
class Root : public detail::SolverForms<Root, SolverOptions> {
public:
    template <class F, class Y, class... P>
    Y run(const Site& at, const SolverOptions& options, const F& f, const Y& y0, const P&... p) const
    {
        using detail::ImplicitName;
        const ComposedAt line(at, "root");
        options.demand("root", at);
        using V = detail::Flat<Y>;
        const detail::VectorFunction<V> flat = detail::FlatFunction<F, Y, P...>(f, y0, "root", at, p...);
        const V found =
            detail::newton(ImplicitName::root, flat, detail::flatten_tree(y0, "root", at), options, at);
        return detail::unflatten_tree(
            y0, detail::follow(ImplicitName::root, ImplicitName::gmres, flat, found, options, at), at);
    }
};
/// root(f, y0, p…, options): the y near y0 with f(y, p…) = 0, by Newton's method with steps that are made shorter where they have to
/// be. y and the parameters are any trees of tensors, and f returns a tree like y. ẏ = −(∂f/∂y)⁻¹ ∂f/∂p ṗ, to any order and in both modes; y0 has
/// no derivative. Throws NumericError where it does not converge or ∂f/∂y is singular.
inline constexpr Root root{};

/// The type of `fixed_point`.
class FixedPoint : public detail::SolverForms<FixedPoint, SolverOptions> {
public:
    template <class F, class Z, class... P>
    Z run(const Site& at, const SolverOptions& options, const F& f, const Z& z0, const P&... p) const
    {
        using detail::ImplicitName;
        const ComposedAt line(at, "fixed_point");
        options.demand("fixed_point", at);
        using V = detail::Flat<Z>;
        const detail::VectorFunction<V> flat =
            detail::FlatFunction<F, Z, P...>(f, z0, "fixed_point", at, p...);
        const V found = detail::iterate(flat, detail::flatten_tree(z0, "fixed_point", at), options, at);
        const auto residual = [flat](const V& z) { return z - flat(z); };
        return detail::unflatten_tree(
            z0, detail::follow(ImplicitName::fixed_point, ImplicitName::gmres, residual, found, options, at),
            at);
    }
};
/// fixed_point(f, z0, p…, options): the z with f(z, p…) = z that z ← f(z, p…) leads to from z0. ż = (I − ∂f/∂z)⁻¹ ∂f/∂p ṗ, to any order
/// and in both modes; z0 has no derivative. Throws NumericError where it does not converge.
inline constexpr FixedPoint fixed_point{};

}  // namespace wengert

// minimize.
#pragma once

#include "solution.hpp"

namespace wengert {

namespace detail {

/// A run of BFGS: the point, its value and gradient, the inverse Hessian so far, the next step's length. `bend` is sᵀy of the last
/// step s, which changed the gradient by y: its sign is that of f's curvature there.
template <class T, class D> struct BfgsState {
    Tensor<T, D> x, f, g, h, bend, length, count, rejected;
};

/// The inverse Hessian after a step s that changed the gradient by y. Nocedal & Wright 2006, equation 6.17. A step without positive
/// curvature changes nothing.
template <class T, class D>
Tensor<T, D> bfgs_update(const Tensor<T, D>& h, const Tensor<T, D>& s, const Tensor<T, D>& y)
{
    const auto column = [](const Tensor<T, D>& v) { return expand_dims(v, 1); };
    const Tensor<T, D> sy = sum(s * y), hy = matmul(h, y), scale = quotient(ones_like(sy), sy);
    const Tensor<T, D> cross = column(hy) * s, both = cross + transpose(cross);
    const Tensor<T, D> next = h - scale * both + (scale + scale * scale * sum(y * hy)) * (column(s) * s);
    return where(sy > zeros_like(sy), next, h);
}

/// The x at which f is least, by BFGS with steps made half as long until Armijo's rule holds but for rounding; a constant. Near a
/// minimum the value of f is but rounding, as that of log(cosh x), and the slope is not: then a smaller slope is enough (Hager & Zhang
/// 2005, section 2).
template <class T, class D>
Tensor<T, D> bfgs(const std::type_identity_t<VectorFunction<Tensor<T, D>>>& f, const Tensor<T, D>& start,
                  const SolverOptions& options, const Site& at)
{
    if (start.size() == 0) return start;
    const detail::Unrecorded constants;
    const T tolerance = tolerance_or<T>(options.tolerance, 2.0 / 3);
    const T most = T(most_or(options.iterations, 1000)), rounding = T(16) * std::numeric_limits<T>::epsilon();
    using State = BfgsState<T, D>;
    const auto value_and_slope = value_and_grad(f, at);
    const auto test = [&](const State& s) {
        const auto steep = greatest(s.g) > tolerance * (T(1) + abs(s.f));
        const auto has_steps = s.count<most, has_length = s.length> T(1e-12);
        return logical_and(steep, logical_and(has_steps, has_length));
    };
    const auto body = [&](const State& s) {
        const Tensor<T, D> d = -matmul(s.h, s.g), x = s.x + s.length * d;
        const auto [f1, g1] = value_and_slope.at_line(at, x);
        const Tensor<T, D> aim = s.f + T(1e-4) * s.length * sum(d * s.g) + rounding * abs(s.f);
        const Tensor<bool, D> level = f1 <= s.f + rounding * (T(1) + abs(s.f));
        const Tensor<bool, D> good = logical_or(f1 <= aim, logical_and(level, greatest(g1) < greatest(s.g)));
        const Tensor<T, D> one = ones_like(s.length), none = zeros_like(one), step = x - s.x, y = g1 - s.g;
        return State{where(good, x, s.x),
                     where(good, f1, s.f),
                     where(good, g1, s.g),
                     where(good, bfgs_update(s.h, step, y), s.h),
                     where(good, sum(step * y), s.bend),
                     where(good, one, T(0.5) * s.length),
                     s.count + T(1),
                     s.rejected + where(good, none, one)};
    };
    const Tensor<T, D> x0 = stop_gradient(start), zero = zero_beside(x0);
    const auto [f0, g0] = value_and_slope.at_line(at, x0);
    const Tensor<T, D> first = minimum(zero + T(1), T(1) / maximum(greatest(g0), zero + T(1e-30)));
    const Tensor<T, D> unit = linalg::detail::unit_beside(reshape(x0, {1, -1}));
    const Tensor<T, D> one = zero + T(1);
    const State s = while_loop(test, body, State{x0, f0, g0, first * unit, one, one, zero, zero}, at);
    const Tensor<T, D> slope = greatest(s.g);
    // A function without a minimum falls for ever: its value outgrows its slope. It curves down, and is as steep as at the start.
    const Tensor<bool, D> ends = logical_or(s.bend > zero, slope < greatest(g0));
    const Tensor<bool, D> is_number = abs(s.f) <= std::numeric_limits<T>::max();
    const Tensor<bool, D> is_least =
        logical_and(slope <= tolerance * (T(1) + abs(s.f)), logical_and(ends, is_number));
    return settled(ImplicitName::minimize, options.report, s.x, is_least, s.count, s.rejected, s.count + T(1),
                   zero, slope, at);
}

/// What the function to be minimized has returned.
template <class V> V one_number(V y, const Site& at)
{
    const Shape shape = y.shape("minimize", at);
    if (y.size() != 1)
        fail<ShapeError>("minimize",
                         "the function returned shape " + to_string(shape) + " where one number is needed",
                         at);
    return y;
}

}  // namespace detail

/// The type of `minimize`.
class Minimize : public detail::SolverForms<Minimize, SolverOptions> {
public:
    template <class F, class X, class... P>
    X run(const Site& at, const SolverOptions& options, const F& f, const X& x0, const P&... p) const
    {
        using detail::ImplicitName;
        using V = detail::Flat<X>;
        const ComposedAt line(at, "minimize");
        options.demand("minimize", at);
        const std::tuple<P...> parameters(p...);
        const detail::VectorFunction<V> value = [f, x0, parameters, at](const V& v) {
            const X x = detail::unflatten_tree(x0, v, at);
            const auto call = [&](const auto&... q) {
                const detail::OwnLines own;
                return V(f(x, q...));
            };
            return detail::one_number(std::apply(call, parameters), at);
        };
        const V found = detail::bfgs(value, detail::flatten_tree(x0, "minimize", at), options, at);
        const auto slope = [gradient = grad(value, at), at](const V& v) { return gradient.at_line(at, v); };
        return detail::unflatten_tree(
            x0, detail::follow(ImplicitName::minimize, ImplicitName::gmres, slope, found, options, at), at);
    }
};
/// minimize(f, x0, p…, options): the x near x0 at which f(x, p…), one number, is least, by BFGS. x and the parameters are any trees of
/// tensors. ẋ = −(∂²f/∂x²)⁻¹ ∂²f/∂x∂p ṗ, to any order and in both modes; x0 has no derivative. Throws ShapeError where f
/// returns more than one number, NumericError where it does not converge or a derivative is asked for where the Hessian is singular.
inline constexpr Minimize minimize{};

}  // namespace wengert

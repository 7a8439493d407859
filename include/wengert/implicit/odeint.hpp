// odeint: ordinary differential equations with adaptive steps.
#pragma once

#include "../graph/control/functions.hpp"
#include "adjoint.hpp"
#include "krylov.hpp"
#include "rosenbrock.hpp"

namespace wengert {

/// How odeint makes a step.
enum class OdeMethod : std::uint8_t {
    runge_kutta,  ///< that of Dormand and Prince, of order 5(4)
    rosenbrock  ///< Rodas5P, of order 5(4), for stiff equations: ∂f/∂y is a matrix, factorized in each step that is tried
};

/// Of odeint and odeint_adjoint.
struct OdeOptions {
    OdeMethod method = OdeMethod::runge_kutta;
    double rtol = 1e-6, atol = 1e-9;  ///< a step's error is at most atol + rtol |y|, as a root mean square
    double first_step = 0;            ///< the length of the first step that is tried; 0: it is estimated
    std::int64_t steps = 100000;      ///< at most so many, those rejected among them
    std::shared_ptr<SolverReport> report = nullptr;
    using is_options_of_a_solver = void;

    /// Throws OptionError for what is out of its range.
    void demand(std::string_view solver, const Site& at) const
    {
        const auto check = [&](std::string_view name, double x, bool good, std::string_view expected) {
            detail::demand_option(good && std::isfinite(x), solver, name, x, expected, at);
        };
        check("rtol", rtol, rtol >= 0, "0 or more");
        check("atol", atol, atol >= 0, "0 or more");
        check("atol", atol, atol > 0 || rtol > 0, "more than 0, as .rtol is 0,");
        check("first_step", first_step, first_step >= 0, "0 or more");
        check("steps", static_cast<double>(steps), steps >= 1, "at least 1");
    }
};

namespace detail {

template <class V> struct OdeState {
    V t, y, f, h;  ///< h: the length of the next step that is tried
    StepPolynomial<V> last;
    V accepted, rejected;
};

/// √(mean (x / (atol + rtol |y|))²)
template <class V> V ode_norm(const V& x, const V& y, const OdeOptions& options)
{
    using T = typename V::value_type;
    return sqrt(mean(square(x / (T(options.atol) + T(options.rtol) * abs(y)))));
}

/// The length of a first step. Hairer, Nørsett & Wanner 1993, II.4.
template <class V>
V first_step(const SlopeFunction<V>& f, const V& t, const V& y, const V& slope, const V& way,
             const OdeOptions& options)
{
    using T = typename V::value_type;
    if (options.first_step > 0) return zeros_like(t) + T(options.first_step);
    const V one = ones_like(t), size = ode_norm(y, y, options), speed = ode_norm(slope, y, options);
    const V guess =
        where(minimum(size, speed) < T(1e-5) * one, T(1e-6) * one, T(0.01) * quotient(size, speed));
    const V bend = ode_norm(f(y + way * guess * slope, t + way * guess) - slope, y, options) / guess;
    const V most = maximum(speed, bend);
    const V other = where(most <= T(1e-15) * one, maximum(T(1e-6) * one, T(1e-3) * guess),
                          pow(T(0.01) * one / maximum(most, T(1e-15) * one), T(0.2)));
    return minimum(T(100) * guess, other);
}

/// A tried step towards `end`: the next state where the error is small enough, else the same one with a shorter step. Lengths of steps
/// are constants of the derivative, which is so that of the discrete method (Chen et al. 2018 have the other one).
template <class V>
OdeState<V> try_step(const SlopeFunction<V>& f, const OdeState<V>& s, const V& end, const V& way,
                     const OdeOptions& options, const Site& at)
{
    using T = typename V::value_type;
    const V left = stop_gradient(abs(end - s.t)), length = stop_gradient(minimum(s.h, left));
    const OdeStep<V> step = options.method == OdeMethod::rosenbrock
                                ? rodas5p(f, s.t, s.y, s.f, way * length, at)
                                : dormand_prince(f, s.t, s.y, s.f, way * length);
    const V error =
        ode_norm(stop_gradient(step.error), stop_gradient(maximum(abs(s.y), abs(step.y))), options);
    const V one = ones_like(error);
    const V factor = where(
        is_finite(error),
        minimum(T(5) * one, maximum(T(0.2) * one, T(0.9) * pow(maximum(error, T(1e-10) * one), T(-0.2)))),
        T(0.2) * one);
    const Tensor<bool, typename V::device_type> good = error <= one;
    const auto choose = [&](const V& a, const V& b) { return where(good, a, b); };
    const V t = where(s.h < left, s.t + way * length, end);
    StepPolynomial<V> last{choose(step.polynomial.t, s.last.t), choose(step.polynomial.h, s.last.h), {}};
    for (std::size_t i = 0; i < last.r.size(); ++i) last.r[i] = choose(step.polynomial.r[i], s.last.r[i]);
    return {choose(t, s.t),
            choose(step.y, s.y),
            choose(step.f, s.f),
            stop_gradient(length * factor),
            last,
            s.accepted + choose(one, zeros_like(one)),
            s.rejected + choose(zeros_like(one), one)};
}

/// y at the times, as rows.
template <class V>
V integrate(const std::type_identity_t<SlopeFunction<V>>& f, const V& y0, const V& times,
            const OdeOptions& options, const Site& at)
{
    using T = typename V::value_type;
    const std::int64_t count = times.shape()[0];
    if (y0.size() == 0) return broadcast_to(y0, {count, 0}, at);
    const auto time = [&](std::int64_t k) {
        return reshape(linalg::detail::part(times, -1, k, 1, at), Shape(), at);
    };
    const V t0 = time(0), end = time(count - 1);
    const V way = stop_gradient(where(end < t0, -ones_like(t0), ones_like(t0)));
    const V zero = zeros_like(t0), slope = f(y0, t0);
    const V h = stop_gradient(first_step(f, t0, y0, slope, way, options));
    const V still = zeros_like(y0);
    const OdeState<V> start{t0,   y0,  slope, h, {t0, ones_like(t0), {y0, slope, still, still, still}},
                            zero, zero};
    const auto short_of = [&](const OdeState<V>& s, const V& goal) {
        const V tiny = T(4) * std::numeric_limits<T>::epsilon() * abs(s.t);
        return logical_and(
            way * (goal - s.t) > zero,
            logical_and(s.h > tiny, s.accepted + s.rejected < T(static_cast<double>(options.steps))));
    };
    const auto to_time = [&](const OdeState<V>& s, const V& goal) {
        const OdeState<V> there = while_loop(
            [&](const OdeState<V>& now) { return short_of(now, stop_gradient(goal)); },
            [&](const OdeState<V>& now) { return try_step(f, now, end, way, options, at); }, s, at);
        return std::pair(there, there.last.at(goal));
    };
    const auto [last, rows] = scan(to_time, start, linalg::detail::part(times, -1, 1, count - 1, at), at);
    const V there = cast<T>(way * (end - last.t) <= zero);
    const V distances = count > 1 ? amin(way * diff(times)) : zero;
    const V tried = last.accepted + last.rejected;
    const bool stiff = options.method == OdeMethod::rosenbrock;
    const V state =
        stack(std::vector{where(distances < zero, -ones_like(zero), there), last.accepted, last.rejected,
                          T(stiff ? 8 : 6) * tried + T(2), stiff ? tried : zero, last.t},
              0);
    const V all = concatenate(std::vector<V>{expand_dims(y0, 0), rows}, 0);
    return apply<Converged, T>({ImplicitName::odeint, options.report}, at, all, stop_gradient(state));
}

}  // namespace detail

/// The type of `odeint` and `odeint_adjoint`.
template <bool by_equation> class Odeint : public detail::SolverForms<Odeint<by_equation>, OdeOptions> {
public:
    template <class F, class Y, class D, class... P>
    Y run(const Site& at, const OdeOptions& options, const F& f, const Y& y0,
          const Tensor<typename detail::Flat<Y>::value_type, D>& times, const P&... p) const
    {
        using V = detail::Flat<Y>;
        constexpr std::string_view name = by_equation ? "odeint_adjoint" : "odeint";
        const ComposedAt line(at, name);
        options.demand(name, at);
        if (times.shape("odeint", at).size() != 1 || times.size() == 0)
            fail<ShapeError>("odeint",
                             "the times are of shape " + to_string(times.shape()) +
                                 ": a vector of at least one is expected",
                             at);
        const V start = detail::flatten_tree(y0, "odeint", at);
        if constexpr (by_equation) {
            const V rows = by_adjoint(at, options, f, y0, start, times, std::tuple<P...>(p...));
            return detail::unflatten_tree(y0, rows, at);
        } else {
            const V rows = detail::integrate(flat(f, y0, at, p...), start, times, options, at);
            return detail::unflatten_tree(y0, rows, at);
        }
    }

private:
    /// f as a function of a vector and the time. What it is given must live as long.
    template <class F, class Y, class... P>
    static auto flat(const F& f, const Y& y0, const Site& at, const P&... p)
    {
        using V = detail::Flat<Y>;
        return [&f, &y0, &at, p = std::tie(p...)](const V& v, const V& t) {
            const auto at_t = [&](const Y& y) {
                return std::apply([&](const auto&... q) { return Y(f(y, t, q...)); }, p);
            };
            return detail::FlatFunction<decltype(at_t), Y>(at_t, y0, "odeint", at)(v);
        };
    }
    /// One function with a rule of its own, from (y0, times, parameters) to y at the times.
    template <class F, class Y, class V, class... P>
    static V by_adjoint(const Site& at, const OdeOptions& options, const F& f, const Y& y0, const V& start,
                        const V& times, const std::tuple<P...>& p)
    {
        V parameters = linalg::detail::part(start, -1, 0, 0, at);
        if constexpr (sizeof...(P) > 0) parameters = detail::flatten_tree(p, "odeint", at);
        const Y shape = tree::map([](const auto& x) { return stop_gradient(x); }, y0);
        const std::tuple<P...> like = tree::map([](const auto& x) { return stop_gradient(x); }, p);
        const auto slope = [=](const V& v, const V& t, const V& q) {
            std::tuple<P...> own = like;
            if constexpr (sizeof...(P) > 0) own = detail::unflatten_tree(like, q, at);
            return std::apply([&](const auto&... x) { return flat(f, shape, at, x...)(v, t); }, own);
        };
        const auto value = [=](const V& y, const V& t, const V& q) {
            const auto with_q = [&](const V& v, const V& now) { return slope(v, now, q); };
            return detail::integrate(with_q, y, t, options, at);
        };
        const auto rule = [=](const V& g, const V& rows, const V&, const V& t, const V& q) {
            const auto integral = [&](const detail::SlopeFunction<V>& back, const V& y, const V& ends) {
                return detail::integrate(back, y, ends, options, at);
            };
            return detail::ode_adjoint(slope, integral, g, rows, t, q, at);
        };
        return custom_vjp(value, rule, at)(start, times, parameters, at);
    }
};
/// odeint(f, y0, times, p…, options): the solution of ẏ = f(y, t, p…) from y0 at the first time, at all times, which are in order, up
/// or down. y is any tree of tensors, of which each gets one more axis in front. By Dormand and Prince's method 5(4) with adaptive
/// steps. Its derivatives are those of the steps taken, of any order and in both modes. Throws NumericError where the steps become
/// too many or too short.
inline constexpr Odeint<false> odeint{};
/// odeint_adjoint(f, y0, times, p…, options): odeint with a derivative by an equation of its own, backwards in time, that keeps y at
/// the times alone (the continuous adjoint; Chen et al. 2018). Reverse mode alone, else NoForwardMode. Parameters have y's dtype. A
/// variable that f captures throws a TapeError.
inline constexpr Odeint<true> odeint_adjoint{};

}  // namespace wengert

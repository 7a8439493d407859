// One step of Rodas5P, a Rosenbrock method of order 5(4) for stiff equations: no equation has to be solved but linear ones, all with
// the matrix W = I / (γ h) − ∂f/∂y. It is L-stable and stiffly accurate, and keeps its order where a stiff solution follows a smooth
// one. Steinebach 2023, Construction of Rosenbrock–Wanner method Rodas5P; the form of the stages is that of Hairer & Wanner 1996, IV.7:
//
//     W uᵢ = f(y + Σ aᵢⱼ uⱼ, t + τᵢ h) + Σ cᵢⱼ uⱼ / h + dᵢ h ∂f/∂t
#pragma once

#include "ode_step.hpp"
#include "solution.hpp"

namespace wengert::detail {

/// Those of stage i: a and c of the stages before, τ, d. Each of the last three stages takes all of the ones before it, and adds its u.
/// The rows of `between` are of the polynomial of order 4.
struct Rodas5P {
    static constexpr std::size_t stages = 8;
    static constexpr double gamma = 0.21193756319429014;
    static constexpr double a[8][7] = {
        {},
        {3.0},
        {2.849394379747939, 0.45842242204463923},
        {-6.954028509809101, 2.489845061869568, -10.358996098473584},
        {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
        {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
         0.030198172008377946},
        {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
         0.030198172008377946, 1.0},
        {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
         0.030198172008377946, 1.0, 1.0}};
    static constexpr double c[8][7] = {
        {},
        {-14.155112264123755},
        {-17.97296035885952, -2.859693295451294},
        {147.12150275711716, -1.41221402718213, 71.68940251302358},
        {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
        {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471},
        {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
         -28.087943162872662},
        {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
         -54.66780262877968, -9.48861652309627}};
    static constexpr double time[8] = {
        0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0};
    static constexpr double d[8] = {
        gamma, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069, 0.0, 0.0,
        0.0};
    static constexpr double between[3][8] = {
        {25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
         1.1241088310450404, 0.4272876194431874, -0.17202221070155493},
        {-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
         15.98066361424651, -6.789040303419874, -6.710236069923372},
        {11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
         -59.78993625266729, -0.15582684282751913, 4.883087185713722}};
};

/// ∂f/∂y ẏ + ∂f/∂t ṫ.
template <class V>
V slope_along(const SlopeFunction<V>& f, const V& y, const V& t, const V& dy, const V& dt, const Site& at)
{
    return forward(f, std::tuple(y, t), std::tuple(dy, dt), "odeint", at).second;
}

/// ∂f/∂y by forward mode, of which a trace makes one loop.
template <class V> V jacobian_of_slope(const SlopeFunction<V>& f, const V& y, const V& t, const Site& at)
{
    const VectorFunction<V> at_t = [&](const V& x) { return f(x, t); };
    if (!is_traced()) return jacobian_by_columns<typename V::value_type>(at_t, y, y.shape(), at);
    const auto column = [&](const V& unit) { return forward(at_t, y, unit, "odeint", at).second; };
    return transpose(vmap(column, {}, at)(linalg::detail::unit_beside(reshape(y, {1, -1}, at), at)), at);
}

/// (b, d) ↦ u with W u = b + d h ∂f/∂t, W of (y, t) being factorized once. W that is nearly singular is no error: the step's error says
/// whether u is good. A trace records W with all that it depends on. Eager code has W as a constant, and follows u as the solution of
/// its equation: that needs a derivative of f along u in place of one along all axes.
template <class V> class StageEquation {
    using T = typename V::value_type;

public:
    StageEquation(const SlopeFunction<V>& f, const V& y, const V& t, const V& h, const Site& at)
        : f_(f), y_(y), t_(t), h_(h), scale_(ones_like(h) / (T(Rodas5P::gamma) * h)), at_(at)
    {
        std::optional<NoGrad> constant;
        if (!is_traced()) constant.emplace();
        const V j = jacobian_of_slope(f, y, t, at);
        w_ = scale_ * linalg::detail::unit_beside(j, at) - j;
        factors_ = linalg::detail::lu_factor(w_, at, false);
        of_t_ = slope_along(f, y, t, zeros_like(y), ones_like(t), at);
    }
    V operator()(const V& b, double d) const
    {
        const V dt = T(d) * h_;
        if (is_traced()) return solved(b + dt * of_t_);
        const V found = [&] {
            const detail::Unrecorded constant;
            return solved(b + dt * of_t_);
        }();
        const auto residual = [&](const V& u) {
            return scale_ * u - slope_along(f_, y_, t_, u, dt, at_) - b;
        };
        const auto inverse = [&] { return [&](const V& r) { return solved(r); }; };
        return follow_by<T, typename V::device_type>(inverse, 0, ImplicitName::odeint, residual, found, at_);
    }

private:
    V solved(const V& b) const
    {
        const V x = linalg::LuSolve::solved(factors_, w_, expand_dims(b, 1, at_), false, at_);
        return reshape(x, {static_cast<std::int64_t>(b.size())}, at_);
    }

    const SlopeFunction<V>& f_;
    V y_, t_, h_, scale_, w_, factors_, of_t_;
    Site at_;
};

/// A step of length h, a constant, from y at t, where f(y, t) is `slope`. With k = `between` u it is between its ends
/// (1 − θ) y + θ (y₁ + (1 − θ) (k₀ + θ (k₁ + θ k₂))).
template <class V>
OdeStep<V> rodas5p(const SlopeFunction<V>& f, const V& t, const V& y, const V& slope, const V& h,
                   const Site& at)
{
    using T = typename V::value_type;
    const StageEquation<V> solve(f, y, t, h, at);
    std::vector<V> u{solve(slope, Rodas5P::d[0])};
    V next;
    for (std::size_t i = 1; i < Rodas5P::stages; ++i) {
        next = y + weighted(Rodas5P::a[i], u);
        const V b = f(next, t + T(Rodas5P::time[i]) * h) + weighted(Rodas5P::c[i], u) / h;
        u.push_back(solve(b, Rodas5P::d[i]));
    }
    next = next + u.back();
    const V k2 = weighted(Rodas5P::between[2], u);
    return {
        next,
        f(next, t + h),
        u.back(),
        {t, h, {y, next - y, weighted(Rodas5P::between[0], u), weighted(Rodas5P::between[1], u) + k2, -k2}}};
}

}  // namespace wengert::detail

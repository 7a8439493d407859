/// The functions of implicit.hpp as a list: what each test walks through gradients, executors, loops.
#pragma once

#include <wengert/implicit.hpp>
#include <wengert/wengert.hpp>

#include "catch.hpp"
#include "same_bits.hpp"

#include <functional>

namespace implicit_cases {

namespace wg = wengert;
using wg::Tensor;

template <class T> using Function = std::function<Tensor<T>(const Tensor<T>&)>;

/// A function of three numbers around 1, by one of the solvers.
template <class T> struct Case {
    std::string name;
    Function<T> f;
};

template <class T> Tensor<T> point() { return {T(0.8), T(1.1), T(1.3)}; }

/// With these options; `dense` = 0 makes every linear system one without a matrix.
template <class T> std::vector<Case<T>> all(const wg::SolverOptions& options = {})
{
    using X = Tensor<T>;
    const auto cubic = [](const X& y, const X& q) { return y * y * y + y * sum(q) - q; };
    const auto cosine = [](const X& z, const X& q) { return T(0.3) * cos(z) * q + T(0.1) * sum(z); };
    const auto bowl = [](const X& x, const X& q) {
        return sum(exp(x) - q * x) + T(0.5) * square(sum(x) - q(0));
    };
    const auto lattice = [](const X& z, const X& k) {
        return (T(2) + k) * z - T(0.5) * (roll(z, 1, 0) + roll(z, -1, 0));
    };
    const auto drift = [](const X& z, const X& k) { return (T(2) + k) * z + T(0.7) * roll(z, 1, 0); };
    const auto swing = [](const X& z, const X& t, const X& q) {
        return stack(std::vector<X>{z(1), -q(0) * sin(z(0)) - T(0.1) * q(1) * z(1) + q(2) * cos(t)}, 0);
    };
    const X start = wg::ones<T>({3}), right = {T(1), T(0.5), T(-2)};
    const wg::OdeOptions tight = {.rtol = sizeof(T) == 4 ? 1e-4 : 1e-9,
                                  .atol = sizeof(T) == 4 ? 1e-5 : 1e-10};
    wg::OdeOptions stiff = tight;
    stiff.method = wg::OdeMethod::rosenbrock;
    const auto ring = [](const X& z, const X& t, const X& q) {
        return stack(std::vector<X>{T(100) * (q(0) * z(1) * z(1) - z(0)), sin(t) * q(1) - q(2) * z(1) * z(0)},
                     0);
    };
    return {
        {"root", [=](const X& p) { return wg::root(cubic, start, p, options); }},
        {"fixed_point", [=](const X& p) { return wg::fixed_point(cosine, start, p, options); }},
        {"minimize", [=](const X& p) { return wg::minimize(bowl, start, p, options); }},
        {"cg", [=](const X& p) { return wg::cg(lattice, right, p, options); }},
        {"cg of b", [=](const X& p) { return wg::cg(lattice, p, right * right, options); }},
        {"gmres", [=](const X& p) { return wg::gmres(drift, right * p, p, options); }},
        {"bicgstab", [=](const X& p) { return wg::bicgstab(drift, right * p, p, options); }},
        {"odeint",
         [=](const X& p) {
             return wg::odeint(swing, X{T(1), T(0)}, X{T(0), T(0.3), T(0.5)}, p, tight);
         }},
        {"odeint of y0, times and what f captures",
         [=](const X& p) {
             const auto f = [&](const X& z, const X& t) { return -z * p + sin(t); };
             return wg::odeint(f, square(p), cumsum(T(0.3) * p), tight);
         }},
        {"odeint by rosenbrock",
         [=](const X& p) {
             return wg::odeint(ring, X{T(1), T(0.8)}, X{T(0), T(0.1), T(0.4)}, p, stiff);
         }},
        {"odeint by rosenbrock of y0, times and what f captures",
         [=](const X& p) {
             const auto f = [&](const X& z, const X& t) { return -z * p + sin(t); };
             return wg::odeint(f, square(p), cumsum(T(0.3) * p), stiff);
         }},
        {"root of what f captures",
         [=](const X& p) { return wg::root([p](const X& y) { return exp(y) + y - p; }, start, options); }},
    };
}

}  // namespace implicit_cases

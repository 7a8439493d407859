// Solvers with tensors of a CUDA device: the host's numbers, derivatives as well, with a matrix and without one.
#include "cuda/everywhere.hpp"

#include <wengert/implicit.hpp>
#include <wengert/wengert.hpp>

#include <functional>

namespace {

using D = Tensor<double>;

template <class X> struct SolverCase {
    const char* name;
    std::function<X(const X&)> f;
};

template <class X> std::vector<SolverCase<X>> solvers(std::int64_t dense)
{
    const wg::SolverOptions o{.dense = dense};
    const auto cubic = [](auto y, auto q) { return y * y * y + q * y - 1.0; };
    const auto linear = [](auto y, auto q) { return y * (1.0 + q); };
    return {{"root", [=](const X& q) { return wg::root(cubic, 0.5 * q, q, o); }},
            {"fixed_point",
             [=](const X& q) {
                 return wg::fixed_point([](auto y, auto p) { return 0.3 * cos(y) * p; }, q, q, o);
             }},
            {"minimize",
             [=](const X& q) {
                 return wg::minimize([](auto y, auto p) { return sum(log(cosh(y - p))); }, 0.5 * q, q, o);
             }},
            {"cg", [=](const X& q) { return wg::cg(linear, q, q, o); }},
            {"gmres", [=](const X& q) { return wg::gmres(linear, q, q, o); }},
            {"bicgstab", [=](const X& q) { return wg::bicgstab(linear, q, q, o); }},
            {"odeint", [](const X& q) {
                 return wg::odeint([](auto y, auto t) { return -y * t; }, q, X{0.0, 0.5});
             }}};
}

}  // namespace

TEST_CASE("solvers on a device find what they find on the host, and have its derivatives")
{
    if (wg::cuda::device_count() == 0) return;
    const D at = {0.8, 1.1, 1.3}, way = {1.0, -0.5, 0.25};
    const There at_there = wg::to<wg::cuda>(at), way_there = wg::to<wg::cuda>(way);
    for (const std::int64_t dense : {256, 0}) {
        const auto here = solvers<D>(dense);
        const auto there = solvers<There>(dense);
        for (std::size_t k = 0; k < here.size(); ++k) {
            INFO(here[k].name << ", dense " << dense);
            const auto loss = [](const auto& f) { return [&f](const auto& q) { return sum(sin(f(q))); }; };
            const auto same = [](const There& got, const D& want) {
                CHECK(is_there(got));
                CHECK(wg::allclose(wg::to<wg::cpu>(got), want, 1e-10));
            };
            same(there[k].f(at_there), here[k].f(at));
            same(wg::grad(loss(there[k].f))(at_there), wg::grad(loss(here[k].f))(at));
            same(wg::hvp(loss(there[k].f))(at_there, way_there), wg::hvp(loss(here[k].f))(at, way));
        }
    }
}

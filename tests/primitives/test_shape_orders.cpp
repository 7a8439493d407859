// Shape and indexing operations to second order, in both modes, each made nonlinear by a square so that order 2 says
// something; and audited node by node.
#include "catch.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/math.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/transforms/audit.hpp>

namespace wg = wengert;
using wg::Tensor;
using wg::placeholders::_;

namespace {

const Tensor<double> x = {{0.3, -1.2, 2.0, 0.7}, {1.1, 0.4, -0.6, -0.9}, {0.2, 1.6, -1.3, 0.5}};

template <class F> void check(F f)
{
    const auto g = [&](const Tensor<double>& t) { return square(f(t * t)); };
    const auto report = wg::check_grads(g, x, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto audited = wg::audit(g, x);
    INFO(audited.message);
    CHECK(audited.ok);
}

}  // namespace

TEST_CASE("shape operations differentiate to second order")
{
    check([](const Tensor<double>& t) { return reshape(t, {2, 6}); });
    check([](const Tensor<double>& t) { return wg::flatten(t); });
    check([](const Tensor<double>& t) { return transpose(t); });
    check([](const Tensor<double>& t) { return swapaxes(expand_dims(t, 1), 0, 2); });
    check([](const Tensor<double>& t) { return squeeze(expand_dims(t, 0)); });
    check([](const Tensor<double>& t) { return broadcast_to(t, {2, 3, 4}); });
    check([](const Tensor<double>& t) { return wg::concatenate({t, t * 2.0}, 1); });
    check([](const Tensor<double>& t) { return wg::stack({t, t * t}, 1); });
    check([](const Tensor<double>& t) { return split(t, 2, 1)[1]; });
    check([](const Tensor<double>& t) { return pad(t, {{1, 0}, {2, 1}}, 3.0); });
    check([](const Tensor<double>& t) { return tril(t, 1) + triu(t, 1); });
    check([](const Tensor<double>& t) { return diagonal(t); });
}

TEST_CASE("indexing differentiates to second order")
{
    const Tensor<std::int64_t> rows = {2, 0, 2};
    check([](const Tensor<double>& t) { return t(1, 2); });
    check([](const Tensor<double>& t) { return view(t, wg::range(_, _, -2), wg::range(1, 4, 2)); });
    check([](const Tensor<double>& t) { return view(t, wg::ellipsis(), wg::newaxis(), -1); });
    check([&](const Tensor<double>& t) { return take(t, rows, 0); });
    check([&](const Tensor<double>& t) { return scatter_add(t, rows, t * 3.0, 0); });
    check([](const Tensor<double>& t) {
        Tensor<double> u = t;
        view(u, 1) = 2.0 * view(t, 0);
        view(u, wg::all(), wg::range(0, 2)) += t(0, 0);
        view(u, wg::range(1, _)) -= view(t, wg::range(_, -1));
        view(u, 2, 3) *= t(1, 1);
        return u;
    });
}

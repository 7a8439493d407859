// A checkpoint whose second run does something else than the first: with other parameters, on another branch, with another answer
// of the host.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/arrays.hpp>
#include <wengert/graph/control/host.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

const D x = {0.5, -0.3, 0.8, 0.1};

/// A function of a number that each run finds one larger.
template <class F> auto counted(F f)
{
    return [f, n = std::make_shared<int>(0)](const D& t) { return f(t, ++*n); };
}
template <class F> void refuses(F f)
{
    const auto g = wg::grad([&](const D& t) { return sum(wg::checkpoint(counted(f))(t)); });
    CHECK_THROWS_AS(g(x), wg::TapeError);
    CHECK_THROWS_WITH(g(x), Catch::Contains("does not do what the first run did") &&
                                Catch::Contains("test_checkpoint_notices.cpp"));
}

}  // namespace

TEST_CASE("another parameter of an operation is noticed")
{
    const D w = {1, 2, 3, 4};
    refuses([w](const D& t, int n) { return roll(t, n) * w; });
    refuses([w](const D& t, int n) { return w * t(n); });
    refuses([w](const D& t, int n) { return wg::view(t, wg::range(n - 1, n + 1)) * 2.0; });
    refuses([](const D& t, int n) { return cumsum(t, 0, n % 2 == 0); });
}

TEST_CASE("another branch is noticed")
{
    refuses([](const D& t, int n) { return n == 1 ? t * t : t * t * t; });
    refuses([](const D& t, int n) { return n == 1 ? exp(t) : exp(t) * t; });
    refuses([](const D& t, int n) { return n == 1 ? sum(t) : sum(t * t); });
    int k = 1;
    D w = x.detach();
    w.requires_grad();
    const D loss = sum(wg::checkpoint([&](const D& t) { return k == 1 ? t * t : t * t * t; })(w));
    k = 2;
    CHECK_THROWS_AS(wg::backward(loss), wg::TapeError);
}

TEST_CASE("another answer of the host is noticed")
{
    refuses([](const D& t, int n) {
        return t * wg::host_callback<double>(
                       {4}, [n](const D& v) { return v * static_cast<double>(n); }, t);
    });
}

TEST_CASE("another shape, and what only a long result shows")
{
    refuses([](const D& t, int n) { return wg::view(t, wg::range(n)); });
    const auto far = [](const D& t, int n) {
        const D all = wg::linspace<double>(0.0, 1.0, 20000) * t(0);
        return n == 1 ? all : all + 1e-3 * wg::sin(all);
    };
    refuses(far);
}

TEST_CASE("runs that do the same are not refused, whatever their results are")
{
    const double infinity = std::numeric_limits<double>::infinity();
    const auto gradient = [](const auto& f, const D& at) {
        const D plain = wg::grad([&](const D& t) { return sum(f(t)); })(at);
        const D kept = wg::grad([&](const D& t) { return sum(wg::checkpoint(f)(t)); })(at);
        CHECK(same_bits(*plain.any().value, *kept.any().value));
    };
    gradient([](const D& t) { return t / 0.0; }, x);
    gradient([](const D& t) { return log(t); }, D{0.0, -1.0, infinity});
    gradient([](const D& t) { return t * 1e308 * 10.0; }, x);
    gradient([](const D& t) { return (t * 1e16 + 1.0) - t * 1e16; }, x);
    gradient([](const D& t) { return wg::transpose(wg::reshape(t, {2, 2})); }, x);
    gradient([](const D& t) { return wg::view(t, wg::range(0)); }, x);
    gradient([](const D& t) { return wg::broadcast_to(t, {5000, 4}); }, x);
}

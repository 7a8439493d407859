// A checkpoint whose second run does something else than the first: with other parameters, on another branch, with another answer
// of the host.
#include "catch.hpp"
#include "same_bits.hpp"

#include <limits>
#include <memory>

#include <wengert/arrays.hpp>
#include <wengert/control.hpp>
#include <wengert/graph/control/host.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

/// On another device the shapes of results are compared, and their elements are not.
struct OnHost {
    const wg::OnDevice host{0};
    const D x = {0.5, -0.3, 0.8, 0.1};
};

/// A function of a number that each run finds one larger.
template <class F> auto counted(F f)
{
    return [f, n = std::make_shared<int>(0)](const D& t) { return f(t, ++*n); };
}
template <class F> void refuses(const D& x, F f)
{
    const auto g = wg::grad([&](const D& t) { return sum(wg::checkpoint(counted(f))(t)); });
    CHECK_THROWS_AS(g(x), wg::TapeError);
    CHECK_THROWS_WITH(g(x), Catch::Contains("does not do what the first run did") &&
                                Catch::Contains("test_checkpoint_notices.cpp"));
}

}  // namespace

TEST_CASE_METHOD(OnHost, "another parameter of an operation is noticed")
{
    const D w = {1, 2, 3, 4};
    refuses(x, [w](const D& t, int n) { return roll(t, n) * w; });
    refuses(x, [w](const D& t, int n) { return w * t(n); });
    refuses(x, [w](const D& t, int n) { return wg::view(t, wg::range(n - 1, n + 1)) * 2.0; });
    refuses(x, [](const D& t, int n) { return cumsum(t, 0, n % 2 == 0); });
}

TEST_CASE_METHOD(OnHost, "another branch is noticed")
{
    refuses(x, [](const D& t, int n) { return n == 1 ? t * t : t * t * t; });
    refuses(x, [](const D& t, int n) { return n == 1 ? exp(t) : exp(t) * t; });
    refuses(x, [](const D& t, int n) { return n == 1 ? sum(t) : sum(t * t); });
    int k = 1;
    D w = x.detach();
    w.requires_grad();
    const D loss = sum(wg::checkpoint([&](const D& t) { return k == 1 ? t * t : t * t * t; })(w));
    k = 2;
    CHECK_THROWS_AS(wg::backward(loss), wg::TapeError);
}

TEST_CASE_METHOD(OnHost, "another answer of the host is noticed")
{
    refuses(x, [](const D& t, int n) {
        return t * wg::host_callback<double>(
                       {4}, [n](const D& v) { return v * static_cast<double>(n); }, t);
    });
}

TEST_CASE_METHOD(OnHost, "another shape, and what only a long result shows")
{
    refuses(x, [](const D& t, int n) { return wg::view(t, wg::range(n)); });
    const auto far = [](const D& t, int n) {
        const D all = wg::linspace<double>(0.0, 1.0, 20000) * t(0);
        return n == 1 ? all : all + 1e-3 * wg::sin(all);
    };
    refuses(x, far);
    const auto gradient = wg::grad([](const D& t) {
        const auto parts = wg::checkpoint(
            counted([](const D& u, int n) { return std::vector<D>(static_cast<std::size_t>(n), u * 2.0); }));
        return sum(parts(t)[0]);
    });
    CHECK_THROWS_WITH(gradient(x), Catch::Contains("it gives 2 tensors, the first run gave 1"));
}

TEST_CASE_METHOD(OnHost, "runs that do the same are not refused, whatever their results are")
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

TEST_CASE_METHOD(
    OnHost,
    "second runs one after another: a captured value that is newer by then, and sweeps that are recorded")
{
    const auto chain = [](const D& t) {
        D s = t;
        const auto c = std::make_shared<D>(t * 2.0);
        for (int i = 0; i < 20; ++i) {
            s = wg::checkpoint([c](const D& u) { return sin(u) * *c; })(s);
            *c = *c * 1.0;  // the same numbers, recorded behind the checkpoint that is run again with it
        }
        return sum(s);
    };
    const auto plain = [](const D& t) {
        D s = t;
        for (int i = 0; i < 20; ++i) s = sin(s) * (t * 2.0);
        return sum(s);
    };
    CHECK(wg::allclose(wg::grad(chain)(x), wg::grad(plain)(x), 1e-13));
    CHECK(wg::allclose(wg::hessian(chain)(x), wg::hessian(plain)(x), 1e-11));  // a recorded sweep
    const auto nested = [](const D& t) {
        D s = t;
        for (int i = 0; i < 8; ++i)
            s = wg::checkpoint([i](const D& u) {
                const D inner = wg::checkpoint([](const D& v) { return sin(v) + 0.1; })(u);
                return i % 2 ? inner * u : wg::checkpoint([](const D& v) { return v * v; })(inner);
            })(s);
        return sum(s * t);
    };
    const auto as_it_is = [](const D& t) {
        D s = t;
        for (int i = 0; i < 8; ++i) {
            const D inner = sin(s) + 0.1;
            s = i % 2 ? inner * s : inner * inner;
        }
        return sum(s * t);
    };
    CHECK(wg::allclose(wg::grad(nested)(x), wg::grad(as_it_is)(x), 1e-14));
    CHECK(wg::allclose(wg::hessian(nested)(x), wg::hessian(as_it_is)(x), 1e-13));
    CHECK(wg::allclose(wg::hvp(nested)(x, x), wg::hvp(as_it_is)(x, x), 1e-13));
    D w = x.detach();
    w.requires_grad();
    const D mixed = wg::grad([&](const D& t) { return nested(t * w); })(x);
    CHECK(wg::allclose(mixed, wg::grad([&](const D& t) { return as_it_is(t * x); })(x), 1e-13));
}

TEST_CASE_METHOD(OnHost, "an error in a second run of a recorded sweep leaves nothing behind")
{
    int calls = 0, most = 1000;
    const auto counted_step = [&](const D& u) {
        if (++calls > most) throw std::runtime_error("too many");
        return sin(u) + 0.1;
    };
    const auto chain = [&](const D& t) {
        D s = t;
        for (int i = 0; i < 6; ++i) s = wg::checkpoint(counted_step)(s);
        return sum(s);
    };
    const auto recorded = [&](const D& t) { return sum(square(wg::grad(chain)(t))); };
    const D slope = wg::grad(recorded)(x);
    const int needed = std::exchange(calls, 0);
    for (most = 1; most < needed; ++most, calls = 0)
        CHECK_THROWS_AS(wg::grad(recorded)(x), std::runtime_error);
    CHECK(same_bits(*wg::grad(recorded)(x).any().value, *slope.any().value));
}

TEST_CASE_METHOD(OnHost, "loops notice a step whose second run does something else")
{
    /// Of the k-th run of all, `f(state, k)`.
    const auto counting = [](auto f) {
        return [f, n = std::make_shared<int>(0)](const D& s) { return f(s, ++*n); };
    };
    const auto another = [](const D& s, int n) { return n <= 6 ? sin(s) : sin(s) * s; };
    const auto shifted = [](const D& s, int n) { return roll(s, n) + 0.1; };
    const auto same = [](const D& s, int) { return sin(s) + 0.1; };
    const auto refuses_loop = [&](auto f, std::uint64_t snapshots) {
        const auto looped = [&](const D& t) {
            return sum(square(wg::checkpoint_loop(counting(f), t, {.steps = 6, .snapshots = snapshots})));
        };
        CHECK_THROWS_WITH(wg::grad(looped)(x), Catch::Contains("does not do what the first run did") &&
                                                   Catch::Contains("test_checkpoint_notices.cpp"));
    };
    for (const std::uint64_t snapshots : {1, 2, 3}) {
        refuses_loop(another, snapshots);
        refuses_loop(shifted, snapshots);
        const auto looped = [&](const D& t) {
            return sum(wg::checkpoint_loop(counting(same), t, {.steps = 6, .snapshots = snapshots}));
        };
        CHECK_NOTHROW(wg::grad(looped)(x));
    }
    const auto by_scan = [&](const auto& f) {
        return wg::grad([&](const D& t) {
            const auto step = counting(f);
            const auto with_output = [step](const D& s) {  // it runs again after this function has returned
                const D y = step(s);
                return std::pair(y, sum(y));
            };
            return sum(wg::scan(with_output, t, std::int64_t(6), {.snapshots = 2}).second);
        });
    };
    CHECK_THROWS_WITH(by_scan(another)(x), Catch::Contains("does not do what the first run did"));
    CHECK_NOTHROW(by_scan(same)(x));
}

TEST_CASE_METHOD(OnHost, "shifts of long arrays are noticed, and huge numbers are no difference")
{
    const D noise = wg::normal<double>(wg::Key(1), {1003});
    const wg::Tensor<float> shorter = wg::cast<float>(noise);
    for (const std::int64_t by : {1, 7, 8, 9, 15, 16, 17, 63, 64, 128, 500}) {
        INFO(by);
        const auto shifted = counted([by](const D& t, int n) { return roll(t, n == 1 ? 0 : by); });
        CHECK_THROWS_AS(wg::grad([&](const D& t) { return sum(square(wg::checkpoint(shifted)(t))); })(noise),
                        wg::TapeError);
    }
    const auto other = [](const wg::Tensor<float>& t, int n) { return n == 1 ? roll(t, 8) : roll(t, 24); };
    const auto counted_other = [other, n = std::make_shared<int>(0)](const wg::Tensor<float>& t) {
        return other(t, ++*n);
    };
    CHECK_THROWS_AS(wg::grad([&](const wg::Tensor<float>& t) {
                        return sum(square(wg::checkpoint(counted_other)(t)));
                    })(shorter),
                    wg::TapeError);
    const D huge = {1e308, -1e308, 1.7e308, std::numeric_limits<double>::infinity()};
    const auto same = [](const D& t) { return t * 1.0; };
    CHECK_NOTHROW(wg::grad([&](const D& t) { return sum(wg::checkpoint(same)(t)); })(huge));
}

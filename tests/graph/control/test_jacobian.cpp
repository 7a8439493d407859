// Frozen jacobians and hessians: the values of eager code, the function is run as often, and vmap for all columns at once.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/control.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

D numbers(std::int64_t n) { return sin(wg::arange<double>(static_cast<double>(n)) * 0.7 + 0.3); }

/// The values of eager code on every executor, to some rounding errors; returns how many nodes the graph has.
template <class F> std::size_t check(const F& f, const D& x)
{
    std::size_t nodes = 0;
    const D wanted = f(x);
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native}) {
        auto frozen = wg::freeze(f, {.backend = backend});
        for (int i = 0; i < 3; ++i) CHECK(wg::allclose(frozen(x), wanted, 1e-13));
        CHECK(frozen.stats().eager_calls == 0);
        nodes = frozen.graph(x).size();
    }
    return nodes;
}

}  // namespace

TEST_CASE("jacobian: frozen, and as a loop of all columns or rows", "[control]")
{
    const D w = wg::normal<double>(wg::Key(1), {12, 7}), x = numbers(7), y = numbers(12);
    const auto tall = [=](const D& t) { return tanh(matmul(w, t)) * t(0); };
    const auto wide = [=](const D& t) { return exp(sin(matmul(t, w))); };
    const auto by_columns = [=](const D& t) {
        return transpose(
            wg::vmap([=](const D& u) { return wg::jvp(tall, t, u).second; })(wg::eye<double>(7)));
    };
    const auto by_rows = [=](const D& t) {
        return wg::vmap([=](const D& u) { return wg::vjp(wide, t).second(u); })(wg::eye<double>(7));
    };
    CHECK(wg::allclose(by_columns(x), wg::jacobian(tall)(x), 0.0));
    CHECK(wg::allclose(by_rows(y), wg::jacobian(wide)(y), 0.0));
    CHECK(check(by_columns, x) < check(wg::jacobian(tall), x));
    CHECK(check(by_rows, y) < check(wg::jacobian(wide), y));
    check(wg::hessian([=](const D& t) { return sum(square(wide(t))) + t(3) * t(4); }), y);
    check(wg::jacobian([](const D& t) { return t * 2.0; }), wg::zeros<double>({0}));
    check(wg::jacobian([](const D& t) { return view(t, wg::range(0, 0)); }), x);
}

TEST_CASE("jacobian: control flow, branches on data and random numbers in the function", "[control]")
{
    const D x = numbers(6);
    check(wg::jacobian([](const D& t) {
              const auto step = [](const D& s) { return std::pair(tanh(s) + 0.1 * s(0), std::tuple<>()); };
              return wg::scan(step, t, 5).first;
          }),
          x);
    check(wg::jacobian([](const D& t) {
              return wg::cond(
                  sum(t) > 0.0, [&] { return t * t; }, [&] { return -t; });
          }),
          x);
    check(wg::jacobian([](const D& t) { return t * wg::normal<double>(wg::Key(3), {6}) * sum(t); }), x);
    check(wg::jacobian([](const D& t) {
              return wg::checkpoint([](const D& u) { return exp(-u * u) * u(2); })(t * 2.0);
          }),
          x);
    const auto branch = [](const D& t) { return sum(t).item() > 0 ? t * t : -t; };
    auto branches = wg::freeze(wg::jacobian(branch));
    for (const D& t : {x, -x, x * 2.0}) CHECK(wg::allclose(branches(t), wg::jacobian(branch)(t), 0.0));
}

TEST_CASE("jacobian: inside and outside of other transforms", "[control]")
{
    const D x = numbers(6), w = numbers(6) + 2.0;
    const auto f = [](const D& t) { return sin(t) * sum(t) + roll(t, 1, 0) * t; };
    const auto penalty = [=](const D& t) { return sum(square(wg::jacobian(f)(t))); };
    check(wg::grad(penalty), x);
    check([=](const D& t) { return wg::jvp(penalty, t, cos(t)).second; }, x);
    check(wg::jacobian(wg::grad(penalty)), x);
    check(wg::vmap(wg::jacobian(f)), wg::normal<double>(wg::Key(5), {3, 6}));
    check(
        wg::jacobian([=](const D& t) { return wg::grad([&](const D& u) { return sum(f(u * t)); })(t * t); }),
        x);
    check(wg::grad([=](const D& v) {  // captured, and a variable of the outer transform
              return sum(sin(wg::jacobian([&](const D& t) { return f(t * v); })(x)) * w);
          }),
          w);
}

TEST_CASE("jacobian: the function runs as often as in eager code", "[control]")
{
    const D x = numbers(6);
    const auto seen = [](const D& t) {  // a tensor that the function replaces
        D last = t;
        const auto f = [&](const D& u) {
            last = last * 2.0;
            return u * u;
        };
        static_cast<void>(wg::jacobian(f)(t));
        return last;
    };
    check(seen, x);
    const auto drawn = [](const wg::Key& key, const D& t) {  // a key that it advances
        wg::Key now = key;
        const auto f = [&](const D& u) {
            const auto [a, b] = wg::split(now);
            now = b;
            return u * wg::normal<double>(a, {6});
        };
        const D j = wg::jacobian(f)(t);
        return sum(j) + sum(wg::normal<double>(now, {6}));
    };
    auto frozen = wg::freeze(drawn);
    for (const std::uint64_t k : {1U, 2U, 3U})
        CHECK(std::abs(frozen(wg::Key(k), x).item() - drawn(wg::Key(k), x).item()) < 1e-12);
    const auto counted = [](const D& t) {
        return wg::jacobian([n = 0](const D& u) mutable { return u * static_cast<double>(++n); })(t);
    };
    check(counted, x);
    int calls = 0;
    const auto told = wg::jacobian([&](const D& t) {
        wg::host_callback([&](const D&) { ++calls; }, t);
        return t * t;
    });
    static_cast<void>(told(x));
    const int eager = std::exchange(calls, 0);
    auto callbacks = wg::freeze(told);
    static_cast<void>(callbacks(x));
    calls = 0;
    static_cast<void>(callbacks(x));
    CHECK(calls == eager);
}

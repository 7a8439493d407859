// Checkpoints inside of frozen functions: what is recomputed stays recomputed, so the plan keeps the checkpoint's peak.
#include "catch.hpp"

#include <wengert/wengert.hpp>
#include <wengert/graph/ir/trace.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

constexpr std::int64_t n = 4096;
constexpr int depth = 64, block = 8;

/// The chain in blocks, each of which is a checkpoint or is not.
auto chain(bool kept)
{
    return [kept](const D& x, const D& w) {
        D y = x;
        for (int i = 0; i < depth; i += block) {
            const auto part = [](const D& y, const D& w) {
                D z = y;
                for (int k = 0; k < block; ++k) z = sin(z * w) + 0.1 * z;
                return z;
            };
            y = kept ? wg::checkpoint(part)(y, w) : part(y, w);
        }
        return sum(y * y);
    };
}

}  // namespace

TEST_CASE("a frozen checkpoint keeps its peak, and its bits")
{
    const D x = wg::normal<double>(wg::Key(1), {n}), w = wg::uniform<double>(wg::Key(2), {n}) + 0.5;
    auto plain = wg::freeze(wg::value_and_grad<0, 1>(chain(false)));
    auto kept = wg::freeze(wg::value_and_grad<0, 1>(chain(true)));
    const auto eager = wg::value_and_grad<0, 1>(chain(true))(x, w);
    for (int call = 0; call < 3; ++call) {
        const auto a = plain(x, w), b = kept(x, w);
        CHECK(a.first.item() == eager.first.item());
        CHECK(b.first.item() == eager.first.item());
        CHECK(allclose(std::get<0>(b.second), std::get<0>(eager.second), 0.0));
        CHECK(allclose(std::get<1>(b.second), std::get<1>(eager.second), 0.0));
    }
    CHECK(plain.stats().replays > 0);
    CHECK(kept.stats().replays > 0);
    // depth / block inputs and the values of one block at a time, beside a few cotangents: less than half of all depths
    const auto array = static_cast<std::size_t>(n) * sizeof(double);
    CHECK(plain.stats().arena_bytes > depth * array);
    CHECK(kept.stats().arena_bytes < (depth / block + 3 * block + 8) * array);
}

TEST_CASE("nested checkpoints in a frozen function")
{
    const auto inner = [](const D& x) { return sin(x * x); };
    const auto outer = [inner](const D& x) { return exp(-wg::checkpoint(inner)(x)) * x; };
    const auto f = [outer](const D& x) { return sum(wg::checkpoint(outer)(x)); };
    auto frozen = wg::freeze(wg::grad(f));
    const D x = wg::linspace<double>(-1.0, 1.0, 33);
    const D expected = wg::grad(f)(x);
    CHECK(allclose(frozen(x), expected, 0.0));
    CHECK(allclose(frozen(x), expected, 0.0));
    CHECK(frozen.stats().replays == 1);
}

TEST_CASE("what is computed again is kept apart however often that has been done")
{
    wg::Trace trace;
    std::size_t merged = 0;
    for (int k = 0; k < 70000; ++k) {
        const wg::detail::RecomputedSegment again;
        merged += wg::recorder()->segment == 0;
    }
    CHECK(merged == 0);
    CHECK(wg::recorder()->segment == 0);
}

TEST_CASE("a loop in a checkpoint whose body has a gradient of its own, at second order")
{
    const auto total = [](const D& t) { return sum(sin(t) + t * 0.25); };
    const auto loop = [&](const D& start, const D& b) {
        const auto step = [&](const D&) {
            const D y = tanh(wg::grad([&](const D& z) { return total(z * b); })(b));
            return std::pair(y, sum(y) * 0.5);
        };
        const auto [state, each] = wg::scan(step, start, std::int64_t(2));
        return state + sum(each);
    };
    const auto loss = [&](const D& x) {
        return total(wg::checkpoint([&loop, x](const D& y) { return loop(y, x); })(x));
    };
    const auto second = wg::grad([&](const D& x) { return total(wg::grad(loss)(x)); });
    for (const D& x : {D(0.3), D{0.3}, D{0.3, -0.5}})
        CHECK(allclose(wg::freeze(second)(x), second(x), 1e-14));
}

TEST_CASE("what a checkpoint captures is of no later level: results that are handed through, forward levels, "
          "three orders")
{
    const auto total = [](const D& t) { return sum(sin(t) + t * 0.25); };
    const auto with_inner = [&](const D& x) {
        return [&total, x](const D& y) {
            const auto inner = [&](const D& z) { return std::pair(total(z * y), x); };  // x is handed through
            const auto body = [&](const D& s) {
                const auto [value, captured] = inner(s);
                const D slope = wg::grad([&](const D& z) { return total(z * x); })(s);
                return std::pair(tanh(slope * captured), value);
            };
            const auto [state, each] = wg::scan(body, y, std::int64_t(2));
            return state + sum(each) + wg::jvp([&](const D& z) { return z * x; }, y, x).second;
        };
    };
    const auto loss = [&](const D& x) { return total(wg::checkpoint(with_inner(x))(x)); };
    const auto plain = [&](const D& x) { return total(with_inner(x)(x)); };
    const auto second = [&](const auto& f) {
        return wg::grad([&total, &f](const D& x) { return total(wg::grad(f)(x)); });
    };
    for (const D& x : {D{0.3, -0.5}, D(0.3)}) {
        const D expected = second(plain)(x);
        CHECK(allclose(second(loss)(x), expected, 1e-13));
        auto of_second = wg::freeze(second(loss));
        for (int call = 0; call < 2; ++call) CHECK(allclose(of_second(x), expected, 1e-13));
        const D tangent = wg::jvp(wg::grad(plain), x, x).second;
        CHECK(allclose(wg::jvp(wg::grad(loss), x, x).second, tangent, 1e-13));
        auto frozen = wg::freeze(loss);
        for (int call = 0; call < 2; ++call)
            CHECK(allclose(wg::jvp(wg::grad(frozen), x, x).second, tangent, 1e-13));
        const auto twice = second(loss);
        const auto thrice = second(plain);
        const D third = wg::grad([&](const D& v) { return sum(thrice(v)); })(x);
        CHECK(allclose(wg::grad([&](const D& v) { return sum(twice(v)); })(x), third, 1e-12));
        auto of_third = wg::freeze(wg::grad([&](const D& v) { return sum(twice(v)); }));
        for (int call = 0; call < 2; ++call) CHECK(allclose(of_third(x), third, 1e-12));
    }
}

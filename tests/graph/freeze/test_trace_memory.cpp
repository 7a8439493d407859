// The memory of a trace: elements of values that nobody can read again are given back while it goes on.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/grad.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

constexpr std::size_t MB = std::size_t{1} << 20;

/// The most bytes that f() needs beside what lives before.
template <class F> std::size_t most_bytes(F f)
{
    memory::reset_peak();
    const auto before = memory::stats().current_bytes;
    f();
    return static_cast<std::size_t>(memory::stats().peak_bytes - before);
}

/// A step whose results and cotangents have 1 MB each.
D step(const D& x) { return sin(x) * 0.5 + x; }

}  // namespace

TEST_CASE("a trace of many large values holds few of them")
{
    const D x = linspace<double>(0.0, 1.0, MB / 8);
    const auto f = [](const D& x) {
        D y = x;
        for (int i = 0; i < 400; ++i) y = step(y);
        return y;
    };
    auto frozen = freeze(f);
    D y;
    CHECK(most_bytes([&] { y = frozen(x); }) < 300 * MB);  // 1,200 values
    CHECK(same_bits(y, f(x)));
    CHECK(same_bits(frozen(x), f(x)));
}

TEST_CASE("parts of one tensor, each with a cotangent of its size")
{
    const std::int64_t n = 6000;  // their cotangents: 6,000 times 48 kB
    const D x = linspace<double>(0.0, 1.0, static_cast<std::size_t>(n));
    const auto f = [=](const D& x) {
        D s = x(0) * x(0);
        for (std::int64_t i = 1; i < n; ++i) s = s + x(i) * x(i - 1);
        return s;
    };
    auto frozen = freeze(grad(f));
    D g;
    CHECK(most_bytes([&] { g = frozen(x); }) < 160 * MB);
    CHECK(same_bits(g, grad(f)(x)));
}

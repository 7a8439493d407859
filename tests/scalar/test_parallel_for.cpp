// parallel_for over reals: the same bits for any number of threads, and what it meets.
#include "catch.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <cmath>
#include <filesystem>

namespace wg = wengert;
using R = wg::Real<double>;
using Reals = std::vector<R>;

namespace {

const auto path = [](std::size_t i, const Reals& p) {
    R s = p[0] + 0.01 * static_cast<double>(i), v = p[1];
    for (int k = 0; k < 10; ++k) {
        v += 0.1 * p[2] * (1.0 - v) * sin(s + static_cast<double>(i));
        if (v < 0.0) v = 0.0;
        s *= 1.0 + 0.1 * sqrt(v + 0.01);
    }
    return std::array<R, 2>{s, v};
};
R total(const Reals& p, wg::ParallelOptions options)
{
    R sum = 0.0;
    for (const auto& [s, v] : wg::parallel_for(101, path, p, options)) sum += s * v;
    return sum;
}
R serial(const Reals& p)
{
    R sum = 0.0;
    for (std::size_t i = 0; i < 101; ++i) {
        const auto [s, v] = path(i, p);
        sum += s * v;
    }
    return sum;
}

}  // namespace

TEST_CASE("A parallel loop over reals has the same bits for any number of threads")
{
    const Reals p{0.4, 0.6, 0.8};
    const auto [value, g] = wg::value_and_grad([](const Reals& x) { return total(x, {.threads = 1}); })(p);
    const auto want = wg::grad(serial)(p);
    CHECK(value.value() == serial(p).value());
    for (std::size_t threads : {2, 3, 7}) {
        const auto f = [&](const Reals& x) { return total(x, {.threads = threads}); };
        const auto [v, h] = wg::value_and_grad(f)(p);
        CHECK(v.value() == value.value());
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(h[i].value() == g[i].value());
            CHECK(h[i].value() == Approx(want[i].value()));
        }
    }
    CHECK(wg::Tape::current().size() == 0);
}

TEST_CASE("A parallel loop in forward mode, to second order, and in checkpoints")
{
    const Reals p{0.4, 0.6, 0.8};
    const auto f = [](const Reals& x) { return total(x, {.chunks = 5, .threads = 2}); };
    const auto report = wg::check_grads(f, p, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto g = wg::grad(f)(p), c = wg::grad(wg::checkpoint(f))(p);
    const auto h = wg::hvp(f)(p, p), k = wg::hvp(serial)(p, p);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(c[i].value() == g[i].value());
        CHECK(h[i].value() == Approx(k[i].value()));
    }
    CHECK(wg::parallel_for(0, path, p).empty());
    CHECK(wg::parallel_for(
              3, [](std::size_t i, R x) { return x * static_cast<double>(i); }, R(2.0))[2]
              .value() == 4);
}

TEST_CASE("What happens in a parallel loop's body")
{
    R outside = 2.0;
    outside.requires_grad();
    const auto captures = [&](std::size_t, R x) { return x * outside; };
    for (std::size_t threads : {1, 3})  // a gradient would lack it
        CHECK_THROWS_AS(wg::parallel_for(8, captures, R(1.0), {.threads = threads}), wg::TapeError);
    outside.requires_grad(false);
    const auto throws = [](std::size_t i, R x) -> R {
        if (i >= 3) throw std::runtime_error(std::to_string(i));
        return x;
    };
    try {
        static_cast<void>(wg::parallel_for(8, throws, R(1.0), {.threads = 3}));
        FAIL("nothing thrown");
    } catch (const std::runtime_error& e) {
        CHECK(std::string(e.what()) == "3");
    }
    const auto late = [](std::size_t i, R x) -> R {
        if (x.is_active() && i == 5) throw std::runtime_error("in the sweep");
        return x * x;
    };
    const auto f = [&](R x) { return wg::parallel_for(8, late, x, {.threads = 3})[0]; };
    CHECK_THROWS_AS(wg::grad(f)(R(1.0)), std::runtime_error);
    CHECK(wg::Tape::current().size() == 0);
    const auto inner = [](std::size_t i, R x) {  // with a gradient of its own, and tensors
        const auto own = wg::grad([&](R y) { return y * y * x; })(R(static_cast<double>(i)));
        return wg::real(sum(square(wg::stack(Reals{own, x}))));
    };
    const auto nested = [&](R x) { return wg::parallel_for(4, inner, x, {.threads = 2})[3]; };
    CHECK(wg::grad(nested)(R(2.0)).value() == Approx(2 * 36 * 2 + 2 * 2));
}

TEST_CASE("Threads of parallel_for have the modes of the tape that calls, and share its limit of memory")
{
    const auto total = [](const auto& f, R x, std::size_t threads) {
        R sum = 0.0;
        for (const R& y : wg::parallel_for(64, f, x, {.threads = threads})) sum += y;
        return sum;
    };
    const auto long_one = [](std::size_t, const R& v) {
        R s = v;
        for (int k = 0; k < 3000; ++k) s = s * 0.999 + 0.001 * v;
        return s;
    };
    const auto root = [](std::size_t i, const R& v) { return sqrt(v - static_cast<double>(i)); };
    for (const std::size_t threads : {1, 3}) {
        const auto of_long = [&](R x) { return total(long_one, x, threads); };
        const double want = wg::grad(of_long)(R(0.5)).value();
        {
            const wg::ScalarMemory limit(100'000);  // for a part of two, some 432 kB
            CHECK_THROWS_AS(wg::grad(of_long)(R(0.5)), wg::MemoryError);
        }
        {
            const wg::ScalarMemory limit(100'000, std::filesystem::temp_directory_path());
            CHECK(wg::grad(of_long)(R(0.5)).value() == want);
        }
        {
            const wg::ScalarMemory limit(3 * 600'000);
            CHECK(wg::grad(of_long)(R(0.5)).value() == want);
        }
        const auto of_root = [&](R x) { return total(root, x, threads); };
        CHECK(std::isnan(wg::grad(of_root)(R(2.5)).value()));
        const wg::AnomalyMode on;
        CHECK_THROWS_AS(wg::grad(of_root)(R(2.5)), wg::NumericError);
    }
}

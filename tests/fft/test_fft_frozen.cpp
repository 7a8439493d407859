// Fourier transforms in graphs, loops, checkpoints, maps of rows and threads, to the second order; and what is refused.
#include <wengert/fft.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

#include "catch.hpp"
#include "same_bits.hpp"

#include <functional>
#include <limits>
#include <thread>

namespace wg = wengert;
namespace ft = wengert::fft;
using wg::Shape;
using wg::Tensor;
using C = std::complex<double>;
using D = Tensor<double>;
using Z = Tensor<C>;

namespace {

/// Functions of reals through each kind of transform.
const std::vector<std::pair<std::string, std::function<D(const D&)>>> losses = {
    {"rfft", [](const D& x) { return sum(square(abs(ft::rfft(x)))); }},
    {"irfft",
     [](const D& x) { return sum(sin(ft::irfft(ft::rfft(x) * exp(ft::rfft(x) * 0.1), x.shape().back()))); }},
    {"fft", [](const D& x) { return sum(real(ft::fft(x) * ft::ifft(x * x))); }},
    {"fft2", [](const D& x) { return sum(abs(ft::ifft2(ft::fft2(x) * C(0.3, 1.0)))); }},
    {"rfft2", [](const D& x) {
         return sum(sin(ft::irfft2(ft::rfft2(x) * 0.5, {2, 6})));
     }}};

D numbers(std::uint64_t seed) { return wg::uniform<double>(wg::Key(seed), {2, 5}, 0.5, 1.5); }

}  // namespace

TEST_CASE("fft: derivatives of the first and the second order")
{
    for (const auto& [name, f] : losses) {
        const auto report = wg::check_grads(f, numbers(1), {.order = 2});
        INFO(name << ": " << report.message);
        CHECK(report.ok);
    }
}

TEST_CASE("fft: frozen gradients have the numbers of eager ones on every executor")
{
    const auto check = [](const wg::Backend& backend, const auto& f) {
        wg::FreezeOptions options;
        options.backend = backend;
        auto frozen = wg::freeze(wg::grad(f), options);
        for (std::uint64_t seed = 1; seed < 4; ++seed)
            CHECK(allclose(frozen(numbers(seed)), wg::grad(f)(numbers(seed)), 1e-13));
        CHECK(frozen.stats().traces == 1);
    };
    for (const auto& [name, f] : losses) {
        INFO(name);
        check(wg::tile, f);
        check(wg::interpret, f);
    }
    check(wg::native, [](const D& x) {
        D y(0.0);
        for (const auto& [name, f] : losses) y = y + f(x);
        return y;
    });
}

TEST_CASE("fft: in loops, checkpoints and rows")
{
    const auto step = [](const D& x) { return ft::irfft(ft::rfft(x) * C(0.5, 0.2), 5) + 0.1 * x; };
    const auto loop = [&](const D& x) {
        return sum(
            square(wg::scan([&](const D& s) { return std::pair(step(s), std::tuple<>()); }, x, 3).first));
    };
    const auto plain = [&](const D& x) { return sum(square(step(step(step(x))))); };
    const auto kept = [&](const D& x) {
        return sum(square(wg::checkpoint(step)(wg::checkpoint(step)(step(x)))));
    };
    const D wanted = wg::grad(plain)(numbers(1));
    CHECK(allclose(wg::grad(loop)(numbers(1)), wanted, 1e-14));
    CHECK(allclose(wg::grad(kept)(numbers(1)), wanted, 1e-14));
    auto frozen = wg::freeze(wg::grad(loop));
    for (std::uint64_t seed = 1; seed < 4; ++seed)
        CHECK(allclose(frozen(numbers(seed)), wg::grad(plain)(numbers(seed)), 1e-13));
    const auto rows = wg::vmap([](const D& x) { return ft::rfft(x); });
    CHECK(allclose(rows(numbers(2)), ft::rfft(numbers(2)), 1e-15));
}

TEST_CASE("fft: several threads transform and plan")
{
    std::vector<std::thread> threads;
    std::vector<int> good(4);
    for (std::size_t k = 0; k < good.size(); ++k)
        threads.emplace_back([k, &good] {
            for (std::int64_t n = 2; n < 90; ++n) {  // more plans than are kept
                const D x = wg::normal<double>(wg::Key(k), {n});
                if (!allclose(ft::irfft(ft::rfft(x), n), x, 1e-12)) return;
            }
            good[k] = 1;
        });
    for (auto& t : threads) t.join();
    CHECK(good == std::vector<int>(4, 1));
}

TEST_CASE("fft: errors name the transform, the shape and the line")
{
    const D x = numbers(1);
    const auto z = ft::rfft(x);
    CHECK_THROWS_WITH(ft::rfft(x, 0), contains("[rfft] shape (2, 5), 0 points: at least one is expected"));
    CHECK_THROWS_WITH(ft::fft(z, 4, 2), contains("[fft]") && contains("test_fft_frozen.cpp"));
    CHECK_THROWS_AS(ft::fft(Z(1.0)), wg::ShapeError);
    CHECK_THROWS_AS(ft::rfft(wg::zeros<double>({0})), wg::ShapeError);
    CHECK_THROWS_AS(ft::irfft(view(z, wg::all(), wg::range(0, 1))), wg::ShapeError);
    CHECK_THROWS_WITH(ft::fftn(z, {}, {0, -2}), contains("[fftn] axis -2 is given twice"));
    CHECK_THROWS_WITH(ft::fft2(z, {3}), contains("[fft2] extents (3) for axes (-2, -1)"));
    CHECK_THROWS_AS(ft::fftfreq(0), wg::ShapeError);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK_THROWS_WITH(ft::fftfreq(most), contains("[fftfreq]") && contains("test_fft_frozen.cpp"));
    CHECK_THROWS_WITH(ft::rfftfreq(most), contains("[rfftfreq]"));
    CHECK(ft::fft(wg::zeros<C>({0, 4})).shape() == Shape{0, 4});
}

// Kernels of truth values, of conversions and of choices at every length around the blocks that they run in, beside plain loops.
#include "catch.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/grad.hpp>

namespace wg = wengert;

namespace {

const std::vector<std::size_t> lengths = {1, 7, 63, 64, 65, 127, 128, 129, 200, 1000};

template <class T> T number(std::size_t i)
{
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double all[] = {0.5, -2, 0, 3, -0.0, infinity, 7, -infinity, std::nan(""), 1, -5};
    return static_cast<T>(all[i * 7 % 11]);
}
template <class T> wg::Tensor<T> numbers(std::size_t n, std::size_t from)
{
    std::vector<T> x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(number<T>(i + from));
    return wg::Tensor<T>({static_cast<std::int64_t>(n)}, x);
}
/// y against what `expected` says of element i.
template <class T, class F> void check(const wg::Tensor<T>& y, const F& expected)
{
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const T e = expected(i);
        wrong += y.data()[i] != e && !(e != e && y.data()[i] != y.data()[i]);
    }
    CHECK(wrong == 0);
}

template <class T> void check_all(std::size_t n)
{
    CAPTURE(n);
    const wg::Tensor<T> x = numbers<T>(n, 0), y = numbers<T>(n, 3);
    const auto a = [](std::size_t i) { return number<T>(i); };
    const auto b = [](std::size_t i) { return number<T>(i + 3); };
    const wg::Tensor<bool> less = x < y, known = x == x;
    check(less, [&](std::size_t i) { return a(i) < b(i); });
    check(!less, [&](std::size_t i) { return !(a(i) < b(i)); });
    check(less && known, [&](std::size_t i) { return a(i) < b(i) && a(i) == a(i); });
    check(less || known, [&](std::size_t i) { return a(i) < b(i) || a(i) == a(i); });
    check(wg::is_finite(x), [&](std::size_t i) { return std::isfinite(a(i)); });
    check(wg::where(less, x, y), [&](std::size_t i) { return a(i) < b(i) ? a(i) : b(i); });
    check(wg::cast<T>(less), [&](std::size_t i) { return a(i) < b(i) ? T(1) : T(0); });
    check(wg::cast<std::int64_t>(less), [&](std::size_t i) { return std::int64_t{a(i) < b(i)}; });
    check(wg::cast<bool>(x), [&](std::size_t i) { return a(i) != 0; });
    check(wg::cast<double>(x), [&](std::size_t i) { return static_cast<double>(a(i)); });
    check(wg::cast<float>(x), [&](std::size_t i) { return static_cast<float>(a(i)); });
    const wg::Tensor<T> whole = wg::where(wg::is_finite(x), floor(x), T(3));
    check(wg::cast<std::int32_t>(whole), [&](std::size_t i) {
        return std::isfinite(a(i)) ? static_cast<std::int32_t>(std::floor(a(i))) : 3;
    });
}

}  // namespace

TEST_CASE("operations of truth values and of several types, at every length")
{
    for (const std::size_t n : lengths) check_all<float>(n), check_all<double>(n);
}

TEST_CASE("the derivative of a choice, at every length")
{
    for (const std::size_t n : lengths) {
        CAPTURE(n);
        const wg::Tensor<double> x = numbers<double>(n, 0), y = numbers<double>(n, 3),
                                 w = numbers<double>(n, 5);
        const auto chosen = [&](const wg::Tensor<double>& t) { return sum(w * wg::where(x < y, t, y)); };
        check(wg::grad(chosen)(x), [&](std::size_t i) {
            return number<double>(i) < number<double>(i + 3) ? number<double>(i + 5) : 0.0;
        });
    }
}

TEST_CASE("a result may lie where an operand lies")
{
    wg::Tensor<bool> m = wg::Tensor<double>(wg::arange<double>(300)) < 150.0;
    m = !std::move(m);
    m = std::move(m) && wg::Tensor<double>(wg::arange<double>(300)) < 200.0;
    check(m, [](std::size_t i) { return i >= 150 && i < 200; });
}

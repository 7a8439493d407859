// Arithmetic on short arrays in loops, which runs without a call for each operation: the bits of the plain loop, at every
// length around that of a register.
#include "catch.hpp"

#include "graph/control/control_check.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace {

template <class T> Tensor<T> numbers(std::int64_t n, double seed)
{
    auto b = make_block(dtype_of<T>(), Shape{n});
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(std::sin(seed + 1.7 * static_cast<double>(i)));
    return Tensor<T>(AnyTensor{b, {}});
}

/// All of arithmetic, on arrays and on single elements with arrays, states that swap.
template <class T> auto step_of(const Tensor<T>& c)
{
    return [c](const std::tuple<Tensor<T>, Tensor<T>, Tensor<T>>& state, const Tensor<T>& u) {
        const auto& [x, y, s] = state;
        const Tensor<T> a = x * c - y / (T(2) + c * c), b = -(y + s * x) * u;
        const Tensor<T> r = s - T(0.25) * sum(a * b);
        return std::pair(std::tuple(b, a, r), std::tuple(a - u, r * b, s));
    };
}
template <class T>
auto arithmetic(const Tensor<T>& x, const Tensor<T>& y, const Tensor<T>& c, const Tensor<T>& us)
{
    const auto [end, rows] = scan(step_of(c), std::tuple(x, y, Tensor<T>(T(0.5))), us);
    return std::tuple(std::get<0>(end), std::get<1>(end), std::get<2>(end), std::get<0>(rows),
                      std::get<1>(rows), std::get<2>(rows));
}

template <class T> void check_lengths()
{
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 70}) {
        INFO(n);
        const Tensor<T> us = numbers<T>(4, 0.3);
        check_traced([](const auto&... in) { return arithmetic<T>(in...); }, numbers<T>(n, 1),
                     numbers<T>(n, 2), numbers<T>(n, 3), us);
        const auto loss = [](const Tensor<T>& x, const Tensor<T>& y, const Tensor<T>& c, const Tensor<T>& u) {
            return std::apply([](const auto&... t) { return (sum(t * t) + ...); }, arithmetic<T>(x, y, c, u));
        };
        check_close([&](const Tensor<T>& x, const Tensor<T>& y, const Tensor<T>& c,
                        const Tensor<T>& u) { return grad<0, 1, 2, 3>(loss)(x, y, c, u); },
                    numbers<T>(n, 1), numbers<T>(n, 2), numbers<T>(n, 3), us);
    }
}

}  // namespace

TEST_CASE("short arrays in a loop, double") { check_lengths<double>(); }
TEST_CASE("short arrays in a loop, float") { check_lengths<float>(); }

TEST_CASE("a cotangent of 0 stays 0 where the derivative is not finite")
{
    using D = Tensor<double>;
    const double inf = std::numeric_limits<double>::infinity();
    const auto gradient = [](const D& x, const D& factor, const D& weight) {
        const auto loss = [&](const D& a) {
            const auto step = [&](const D& s) { return std::pair(s * factor, std::tuple()); };
            return sum(weight * scan(step, a, 3).first);
        };
        return grad(loss)(x);
    };
    for (const std::int64_t n : {1, 3, 11}) {
        INFO(n);
        const D x = numbers<double>(n, 1), factor = full<double>({n}, inf), weight = zeros<double>({n});
        check_traced(gradient, x, factor, weight);
        CHECK(sum(abs(gradient(x, factor, weight))).item() == 0);
    }
}

TEST_CASE("a negation changes the sign of a NaN, too")
{
    using D = Tensor<double>;
    for (const std::int64_t n : {2, 700}) {
        auto f = freeze([](const D& x) { return std::tuple(-x, -(x + 0.5)); });
        for (int run = 0; run < 3; ++run) {
            const auto [a, b] = f(full<double>({n}, std::numeric_limits<double>::quiet_NaN()));
            CHECK(std::signbit(a(n - 1).item()));
            CHECK(std::signbit(b(n - 1).item()));
        }
    }
}

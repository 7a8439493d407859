// States of loops keep their places: next ones that are other states, views of them, values of two states and of results at once,
// values that are made while the present state is still read, of all sizes from none to more than a register holds.
#include "catch.hpp"

#include "graph/control/control_check.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/ops/view.hpp>

namespace {

using D = Tensor<double>;
constexpr std::int64_t sizes[] = {0, 1, 2, 7, 8, 16, 17, 40, 300};

D numbers(std::int64_t n, double seed)
{
    D x = zeros<double>({n});
    for (std::int64_t i = 0; i < n; ++i) view(x, i) = D(std::sin(seed + 1.7 * static_cast<double>(i)));
    return x.detach();
}
template <class Step> void check_scan(const Step& step)
{
    for (const std::int64_t n : sizes) {
        INFO(n);
        const auto f = [&](const D& a, const D& b, const D& c) {
            const auto body = [&](const std::tuple<D, D, D>& s) { return step(s, c); };
            const auto [end, ys] = scan(body, std::tuple(a, b, a * b), 5);
            return std::tuple(std::get<0>(end), std::get<1>(end), std::get<2>(end), ys);
        };
        check_traced(f, numbers(n, 1), numbers(n, 2), numbers(n, 3));
    }
}

}  // namespace

TEST_CASE("states that change places, with what is made of them")
{
    check_scan([](const auto& s, const D& c) {
        const auto& [x, y, z] = s;
        return std::pair(std::tuple(y, z * 0.5, x), x + c);
    });
    check_scan([](const auto& s, const D& c) {
        const auto& [x, y, z] = s;
        return std::pair(std::tuple(y, x, z + x * c), y);
    });
}

TEST_CASE("one value that is the next of two states and a result")
{
    check_scan([](const auto& s, const D& c) {
        const auto& [x, y, z] = s;
        const D next = sin(x) * y - c;
        return std::pair(std::tuple(next, next, z - next), next);
    });
}

TEST_CASE("a next state that is made while the present one is still read")
{
    check_scan([](const auto& s, const D& c) {
        const auto& [x, y, z] = s;
        const D a = tanh(y + c), b = tanh(x - a);
        const D d = sum(a) + b * x;
        return std::pair(std::tuple(a, b, d * z), sum(x * y) + d);
    });
    check_scan([](const auto& s, const D& c) {
        const auto& [x, y, z] = s;
        return std::pair(std::tuple(x + cumsum(x, 0), flip(y) - x, z * c), x);
    });
}

TEST_CASE("next states that are views, of states and of others, and constants")
{
    check_scan([](const auto& s, const D& c) {
        const auto& [x, y, z] = s;
        return std::pair(std::tuple(flip(y), flip(x * c), c), flip(z));
    });
    const auto turned = [](const D& a, const D& b) {
        const auto body = [](const std::tuple<D, D>& s) {
            const auto& [x, y] = s;
            return std::pair(std::tuple(transpose(y), transpose(matmul(x, y))), transpose(x));
        };
        const auto [end, ys] = scan(body, std::tuple(a, b), 5);
        return std::tuple(std::get<0>(end), std::get<1>(end), ys);
    };
    for (const std::int64_t n : {1, 3, 12}) {
        INFO(n);
        check_traced(turned, reshape(numbers(n * n, 1), {n, n}), reshape(numbers(n * n, 2), {n, n}));
    }
}

TEST_CASE("what is the same in all steps, and whole numbers and truth values as states")
{
    const auto f = [](const D& a, const D& c) {
        const auto body = [&](const std::tuple<D, Tensor<std::int64_t>, Tensor<bool>>& s, const D& u) {
            const auto& [x, k, even] = s;
            const D weights = exp(c) / sum(exp(c)), y = where(even, x * weights, x + u * sum(weights));
            return std::pair(std::tuple(y, k + std::int64_t{1}, !even), std::tuple(k, even, weights));
        };
        const auto [end, ys] =
            scan(body, std::tuple(a, Tensor<std::int64_t>(std::int64_t{3}), Tensor<bool>(true)),
                 reshape(concatenate(std::vector<D>{a, c}, 0), {2, static_cast<std::int64_t>(a.size())}));
        return std::tuple(std::get<0>(end), std::get<1>(end), std::get<2>(end), std::get<0>(ys),
                          std::get<1>(ys), std::get<2>(ys));
    };
    for (const std::int64_t n : {1, 5, 8, 33, 300}) {
        INFO(n);
        check_traced(f, numbers(n, 1), numbers(n, 2));
    }
}

TEST_CASE("a while_loop and branches read states and constants where they lie")
{
    const auto f = [](const D& a, const D& b) {
        const auto test = [&](const std::tuple<D, D>& s) { return sum(std::get<1>(s)) < 4.0; };
        const auto body = [&](const std::tuple<D, D>& s) {
            const auto& [x, k] = s;
            const D y = cond(
                sum(x) < 0.5, [](const D& u, const D& v) { return u + v * v; },
                [](const D& u, const D& v) { return sum(v) > 1e9 ? v : u; }, x, b);
            return std::tuple(y - 0.25 * x, k + 1.0);
        };
        const auto [x, k] = while_loop(test, body, std::tuple(a, D(0.0)));
        return std::tuple(x, k);
    };
    for (const std::int64_t n : {1, 5, 8, 33, 300}) {
        INFO(n);
        check_traced(f, numbers(n, 1), numbers(n, 2));
    }
}

TEST_CASE("a loop of no steps throws nothing of what all steps would share")
{
    const D values = {1.0, 2.0, 3.0};
    auto f = freeze([&](const D& x, const Tensor<std::int64_t>& places) {
        return while_loop([](const D& s) { return sum(s) < 10.0; },
                          [&](const D& s) { return s + take(values, places, 0); }, x);
    });
    const Tensor<std::int64_t> good = {0, 2}, bad = {0, 7};
    const D low = {1.0, 1.0}, high = {20.0, 1.0};
    for (int call = 0; call < 3; ++call) CHECK(allclose(f(low, good), D{3.0, 7.0}, 1e-15));
    for (int call = 0; call < 2; ++call) CHECK(allclose(f(high, bad), high, 1e-15));
    CHECK(f.stats().traces == 1);  // a graph that throws is traced again
    CHECK(f.explain().find("threw") == std::string::npos);
    CHECK_THROWS_AS(f(low, bad), IndexError);
}

// Loops whose bodies work on large arrays: their steps are compiled like graphs.
#include "catch.hpp"

#include <wengert/wengert.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

/// Heat in a rod, with a source in every step; the last state and the mean of each.
D heat(const D& k, const D& start, const D& sources)
{
    const auto [end, means] = scan(
        [&](const D& u, const D& s) {
            D next = u + s * exp(-square(u));
            view(next, range(1, -1)) += k * (view(u, range(2, placeholders::_)) -
                                             2.0 * view(u, range(1, -1)) + view(u, range(0, -2)));
            return std::pair(next, std::tuple(mean(next), u));
        },
        start, sources);
    return sum(square(end)) + sum(std::get<0>(means)) + mean(std::get<1>(means));
}

bool close(const D& a, const D& b) { return allclose(a, b, 1e-11); }

}  // namespace

TEST_CASE("a scan over large arrays")
{
    const std::int64_t n = 5000;
    const D start = uniform<double>(Key(1), {n}), sources = uniform<double>(Key(2), {6, n}), k(0.2);
    const auto f = freeze(heat);
    const auto g = freeze(value_and_grad<0, 1, 2>(heat));
    const auto [w, h] = value_and_grad<0, 1, 2>(heat)(k, start, sources);
    for (int i = 0; i < 3; ++i) {
        CHECK(f(k, start, sources).item() == w.item());
        const auto [v, d] = g(k, start, sources);
        CHECK(v.item() == w.item());
        CHECK(close(std::get<0>(d), std::get<0>(h)));
        CHECK(close(std::get<1>(d), std::get<1>(h)));
        CHECK(close(std::get<2>(d), std::get<2>(h)));
    }
}

TEST_CASE("states that stay, swap or come from elsewhere")
{
    const std::int64_t n = 4096;
    const D a = uniform<double>(Key(1), {n}), xs = uniform<double>(Key(2), {4, n});
    const auto f = [](const D& x, const D& slices) {
        return scan(
            [&](const std::tuple<D, D, D, D>& s, const D& slice) {
                const auto& [p, q, kept, last] = s;
                return std::pair(std::tuple(q, 0.5 * p + sin(q) * slice, kept, slice),
                                 std::tuple(last, sin(p) * cos(q)));
            },
            std::tuple(x, 2.0 * x, 3.0 * x, x * x), slices);
    };
    const auto [s, ys] = freeze(f)(a, xs);
    const auto frozen = freeze(f);
    static_cast<void>(frozen(a, xs));
    const auto [t, zs] = frozen(a, xs);
    const auto [u, vs] = f(a, xs);
    CHECK(close(std::get<0>(t), std::get<0>(u)));
    CHECK(close(std::get<1>(t), std::get<1>(u)));
    CHECK(close(std::get<2>(t), std::get<2>(u)));
    CHECK(close(std::get<3>(t), std::get<3>(u)));
    CHECK(close(std::get<0>(zs), std::get<0>(vs)));
    CHECK(close(std::get<1>(zs), std::get<1>(vs)));
}

TEST_CASE("while_loop and cond over large arrays")
{
    const D x = uniform<double>(Key(1), {9000});
    const auto f = [](const D& a, const D& w) {
        const D y = while_loop([](const D& u) { return mean(u) < 3.0; },
                               [&](const D& u) { return u * w + 0.1 * sin(u) * u; }, a);
        return cond(
            mean(y) > 3.5, [&](const D& u) { return sum(sin(u) * exp(-u) * w); },
            [&](const D& u) { return sum(cos(u) * u * u); }, y);
    };
    const auto frozen = freeze(value_and_grad<0, 1>(f));
    for (const double w : {1.4, 1.5, 1.6, 9.0}) {
        const auto [v, g] = frozen(x, D(w));
        const auto [u, h] = value_and_grad<0, 1>(f)(x, D(w));
        CHECK(v.item() == u.item());
        CHECK(close(std::get<0>(g), std::get<0>(h)));
        CHECK(close(std::get<1>(g), std::get<1>(h)));
    }
    CHECK(frozen.stats().traces == 1);
}

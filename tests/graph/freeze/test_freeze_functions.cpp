// Functions within frozen functions: host callbacks and rules that are made anew in each call, and bodies that fail on values
// with which the program would not have run them.
#include "graph/freeze/frozen_beside.hpp"

namespace {

using D = Tensor<double>;

/// c³ x, by three steps of a loop that calls the host.
auto cubed(double c)
{
    return [c](const D& x) {
        const auto step = [c](const D& s) {
            return std::pair(wg::host_callback<double>(
                                 {}, [c](const D& v) { return v * c; }, s),
                             std::tuple());
        };
        return wg::scan(step, x, 3).first;
    };
}

}  // namespace

TEST_CASE("loops that are equal but for what they call of the host are not one")
{
    auto p = wg::freeze(cubed(2.0)), q = wg::freeze(cubed(3.0));
    const auto both = [](const D& x) { return cubed(2.0)(x) - cubed(3.0)(x); };
    auto r = wg::freeze(both);
    for (int k = 1; k < 6; ++k) {
        const D x(k);
        CHECK(p(x).item() == 8.0 * k);
        CHECK(q(x).item() == 27.0 * k);
        CHECK(r(x).item() == -19.0 * k);
    }
    CHECK(r.stats().replays == 4);
}

TEST_CASE("what a loop hands to the host is the host's to keep")
{
    std::vector<D> seen;
    auto frozen = wg::freeze([&](const D& x) {
        const auto step = [&](const D& s) {
            wg::host_callback([&](const D& v) { seen.push_back(v); }, s);
            return std::pair(s * 2.0 + 2.0, std::tuple());
        };
        return wg::scan(step, x, 3).first;
    });
    for (int k = 0; k < 3; ++k) {
        seen.clear();
        CHECK(frozen(D(0.0)).item() == 14.0);
        REQUIRE(seen.size() == 3);
        CHECK(seen[0].item() == 0.0);
        CHECK(seen[1].item() == 2.0);
        CHECK(seen[2].item() == 6.0);
    }
}

TEST_CASE("a rule made in each call is the same if it has no state")
{
    const auto f = [](const D& x) {
        const auto plain = wg::custom_vjp([](const D& t) { return t * t; },
                                          [](const D& g, const D&, const D& t) { return 5.0 * g * t; });
        const auto looking = wg::custom_vjp([](const D& t) { return t * t.data()[0]; },
                                            [](const D& g, const D&, const D& t) { return 7.0 * g * t; });
        return sum(plain(x) + looking(x));
    };
    auto frozen = wg::freeze(f);
    auto gradient = wg::freeze(wg::grad(f));
    for (int k = 1; k < 6; ++k) {
        const D x{1.0 * k, -2.0};
        CHECK(same_bits(frozen(x), f(x)));
        CHECK(wg::allclose(gradient(x), 12.0 * x, 1e-14));
    }
    CHECK(frozen.stats().checks > 1);
}

TEST_CASE("bodies that would not have run may fail")
{
    const D table{1.0, 2.0, 3.0};
    const auto looked_up = [&](const D& x) {
        const auto go_on = [](const std::pair<D, Tensor<std::int64_t>>& s) { return s.first > 1.0; };
        const auto step = [&](const std::pair<D, Tensor<std::int64_t>>& s) {
            return std::pair(s.first - take(table, s.second, 0), s.second + std::int64_t{1});
        };
        const Tensor<std::int64_t> first = wg::cast<std::int64_t>(5.0 - x);
        return wg::while_loop(go_on, step, std::pair(x, first)).first;
    };
    auto frozen = wg::freeze(looked_up);
    for (double v : {0.5, 4.0, 0.0, 5.0, 0.25}) CHECK(frozen(D(v)).item() == looked_up(D(v)).item());
    const auto branches = [](const D& x) {
        const auto domain = [](const D& t) {
            if (static_cast<bool>(t < 0.0)) throw std::domain_error("negative");
            return sqrt(t);
        };
        return wg::cond(
            x > 0.0, domain, [](const D& t) { return -t; }, x);
    };
    auto guarded = wg::freeze(branches);
    for (double v : {-4.0, 4.0, -1.0, 9.0}) CHECK(guarded(D(v)).item() == branches(D(v)).item());
    const auto largest = [](const D& x) {
        const auto some = [](const D& t) { return t.size() > 0 ? any(t > 0.5) : Tensor<bool>(false); };
        return wg::while_loop(
            some, [](const D& t) { return t - amax(t); }, x);
    };
    auto shaped = wg::freeze(largest);
    for (int k = 0; k < 3; ++k) {
        CHECK(shaped(wg::zeros<double>({0})).size() == 0);  // there is no largest of no elements
        CHECK(same_bits(shaped(D{0.25, 1.0}), largest(D{0.25, 1.0})));
    }
}

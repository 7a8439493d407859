// Folds and index programs in loops of native code, beside what they can meet: hooks on saved values, threads, other devices.
#include "graph/freeze/frozen_beside.hpp"

#include <thread>

#include "apart.hpp"
#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>

namespace {

using D = Tensor<double>;

/// Folds over rows, columns and all, scans, moves and gathers by data in each step.
D walked(const D& s, const D& xs)
{
    const auto step = [](const D& h, const D& x) {
        const D next = 0.5 * roll(h, 1, 0) / (1.0 + norm(h, {1}, true)) + cumsum(x, 1) * mean(h, {0});
        const D taken = take_along_axis(next, argmax(h, 1, true), 1);
        return std::pair(next + pad(diff(x), {{0, 0}, {1, 0}}) * softmax(h, 1), sum(taken) + logsumexp(next));
    };
    const auto [last, sums] = wg::scan(step, s, xs);
    return sum(square(last)) + sum(sums * sums);
}
const auto gradient = [](const D& s, const D& xs) {
    return wg::grad([&](const D& t) { return walked(t, xs); })(s);
};
D start(std::uint64_t k) { return wg::normal<double>(wg::Key(k), {4, 5}); }
D steps(std::uint64_t k) { return wg::normal<double>(wg::Key(k), {6, 4, 5}); }

wg::FreezeOptions natively()
{
    wg::FreezeOptions o = unchecked();
    o.backend = wg::native;
    return o;
}

}  // namespace

TEST_CASE("native loops that fold, their gradient taken under hooks on saved values", "[native]")
{
    const D s = start(1), xs = steps(2), want = gradient(s, xs);
    auto frozen = wg::freeze(gradient, natively());
    auto value = wg::freeze(walked, natively());
    const auto outside = [&](const D& a) {
        return wg::grad([&](const D& t) { return value(t, xs) * 1.0; })(a);
    };
    frozen(s, xs), value(s, xs);
    {
        const wg::SavedTensorHooks hooks(wg::save_on_disk("/tmp"));
        CHECK(same_bits(gradient(s, xs), want));
        CHECK(same_bits(frozen(s, xs), want));
        CHECK(allclose(outside(s), want, 1e-13));
        auto within = wg::freeze(gradient, natively());  // traced while the hooks are there
        within(s, xs);
        CHECK(same_bits(within(s, xs), want));
    }
    CHECK(same_bits(frozen(s, xs), want));
    INFO(frozen.explain());
    CHECK(frozen.stats().uncompiled_loops == 0);
}

TEST_CASE("native loops that fold, on several threads at once", "[native]")
{
    std::vector<D> want;
    for (std::uint64_t k = 0; k < 4; ++k) want.push_back(gradient(start(k), steps(k + 9)));
    auto warm = wg::freeze(gradient, natively());
    warm(start(0), steps(9));
    std::vector<int> good(want.size());
    std::vector<std::thread> threads;
    for (std::uint64_t k = 0; k < want.size(); ++k)
        threads.emplace_back([&, k] {
            auto frozen = wg::freeze(gradient, natively());
            for (int i = 0; i < 8; ++i) good[k] += same_bits(frozen(start(k), steps(k + 9)), want[k]);
        });
    for (auto& t : threads) t.join();
    CHECK(good == std::vector<int>(want.size(), 8));
}

TEST_CASE("native loops that fold, on another device, with hooks to a disk", "[native]")
{
    const wg::OnDevice host(0);
    const D s = start(1), xs = steps(2), want = gradient(s, xs);
    auto frozen = wg::freeze(gradient, natively());
    CHECK(same_bits(frozen(s, xs), want));
    const wg::OnDevice there(wg::apart::device());
    const auto away = [](const D& x) {
        return D(x.shape(), std::vector<double>(x.data(), x.data() + x.size()));
    };
    const D t = away(s), ys = away(xs);
    CHECK(t.any().value->device() == wg::apart::device());
    for (int i = 0; i < 3; ++i) {
        const wg::SavedTensorHooks hooks(wg::save_on_disk("/tmp"));
        const D got = frozen(t, ys), eager = gradient(t, ys);
        CHECK(got.any().value->device() == wg::apart::device());
        CHECK(same_bits(got, want));
        CHECK(same_bits(eager, want));
    }
    CHECK(same_bits(frozen(s, xs), want));
}

TEST_CASE("a key among the states of a loop, and a rule that captures, on another device")
{
    const wg::OnDevice host(0);
    const auto noisy = [](const wg::Key& key, const D& x) {
        const auto step = [](const std::tuple<wg::Key, D>& s) {
            const auto [now, next] = split(std::get<0>(s));
            const D y = std::get<1>(s) * 0.5 + wg::normal<double>(now, {3});
            return std::pair(std::tuple(next, y), sum(y));
        };
        return sum(wg::scan(step, std::tuple(key, x), 3).second);
    };
    const D x = {1.0, 2.0, 3.0};
    const double want = noisy(wg::Key(3), x).item();
    const wg::OnDevice there(wg::apart::device());
    const D y = {1.0, 2.0, 3.0}, k = {3.0, 4.0, 5.0};
    CHECK(noisy(wg::Key(3), y).item() == want);
    auto frozen = wg::freeze(noisy);
    for (int i = 0; i < 3; ++i) CHECK(frozen(wg::Key(3), y).item() == want);
    const auto ruled = wg::freeze([k](const D& a) {
        const auto f = wg::custom_vjp([k](const D& v) { return v * k; },
                                      [k](const D& g, const D&, const D&) { return g * k; });
        return wg::grad([&](const D& v) { return sum(f(v) * v); })(a);
    });
    for (int i = 0; i < 3; ++i) CHECK(allclose(ruled(y), 2.0 * y * k, 1e-14));
    CHECK(allclose(wg::grad([](const D& v) { return logsumexp(v); })(x), softmax(x),
                   1e-14));  // x is on the host
}

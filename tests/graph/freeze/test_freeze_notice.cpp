// What a frozen function notices about a call: types, empty and escaped tensors, another way through it, errors of callbacks.
#include "graph/freeze/frozen_beside.hpp"

#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using D = Tensor<double>;
using S = Tensor<float>;

}  // namespace

TEST_CASE("arguments of other types have graphs of their own")
{
    auto half = wg::freeze([](const D& x, auto n) { return x + double((1 + n) / 2); }, unchecked());
    for (int k = 0; k < 3; ++k) {
        CHECK(half(D(1.0), 0).item() == 1.0);
        CHECK(half(D(1.0), 0.0).item() == 1.5);
    }
    const auto f = [](const auto& v) {
        using Element = typename std::decay_t<decltype(v)>::value_type;
        if constexpr (std::is_same_v<Element, D>)
            return std::pair(D(1.0), std::string("a text that is too long to lie in the string"));
        else
            return std::pair(std::vector<int>{1, 2}, S(2.0f));
    };
    auto frozen = wg::freeze(f, unchecked());
    for (int k = 0; k < 3; ++k) {
        CHECK(frozen(std::vector<D>{}).second.size() == 44);
        CHECK(frozen(std::vector<S>{}).first == std::vector<int>{1, 2});
    }
    CHECK(frozen.stats().traces == 2);
}

TEST_CASE("what has been moved from")
{
    D w(1.0);
    auto step = wg::freeze([&](const D& x) {
        w = w + x;
        return x * 1.0;
    });
    step.live(w);
    D v = std::move(w);
    CHECK_THROWS_AS(step(D(1.0)), wg::TapeError);
    w = v;
    CHECK(step(D(1.0)).item() == 1.0);
    CHECK(w.item() == 2.0);

    auto first = wg::freeze([](const D& x) { return x * 2.0; });
    auto second = std::move(first);
    CHECK(second(D(2.0)).item() == 4.0);
    CHECK(first(D(3.0)).item() == 6.0);
    CHECK(second.stats().traces == 1);
}

TEST_CASE("a plain flag that decides what is assigned or returned")
{
    D w(0.0);
    bool on = false;
    auto assigning = wg::freeze([&](const D& x) {
        if (on) w = x;
        return x * 2.0;
    });
    assigning.live(w);
    assigning(D(1.0));
    on = true;
    CHECK_THROWS_AS(assigning(D(2.0)), wg::TapeError);
    CHECK(w.item() == 0.0);

    bool swapped = false;
    auto returning = wg::freeze([&](const D& x) {
        const D a = x * 2.0, b = x + x;
        return swapped ? std::pair(b, a) : std::pair(a, b);
    });
    returning(D(1.0));
    swapped = true;
    CHECK_THROWS_AS(returning(D(1.0)), wg::TapeError);
}

TEST_CASE("a tensor that escaped from a transform is refused, as by the function")
{
    D leak;
    wg::grad([&](const D& x) {
        leak = x * 1.0;
        return sum(x);
    })(D{1.0, 2.0});
    auto frozen = wg::freeze([](const D& x) { return x * 2.0; });
    for (int k = 0; k < 3; ++k) CHECK_THROWS_AS(frozen(leak), wg::TapeError);
    const auto inside = [&](const D& z) { return sum(frozen(leak) * z); };
    CHECK_THROWS_AS(wg::grad(inside)(D{1.0, 1.0}), wg::TapeError);
    CHECK(frozen(leak.detach())(1).item() == 4.0);

    auto keeping = wg::freeze([&](const D& x) {  // it only writes over the live tensor
        leak = x * 3.0;
        return x * 2.0;
    });
    keeping.live(leak);
    for (int k = 0; k < 4; ++k) {
        const D slope = wg::grad([&](const D& x) {
            const D y = keeping(x);
            return sum(y * leak);
        })(D{1.0, 2.0});
        CHECK(same_bits(slope, D{12.0, 24.0}));
    }
}

TEST_CASE("what a callback throws in a replay reaches the caller, once")
{
    int calls = 0;
    D w(0.0);
    auto frozen = wg::freeze([&](const D& x) {
        w = w + x;
        const auto host = [&](const D&) {
            if (++calls == 4) throw wg::Error("stop");
        };
        wg::host_callback(host, x);
        return x * x;
    });
    frozen.live(w);
    for (int k = 1; k <= 6; ++k) {
        if (k == 4) CHECK_THROWS_WITH(frozen(D(1.0)), "stop");
        if (k != 4) CHECK(frozen(D(1.0)).item() == 1.0);
        CHECK(calls == k);
        CHECK(w.item() == (k < 4 ? k : k - 1));
    }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("a callback may look at live tensors, which are then as before the call")
{
    D w(1.0);
    std::vector<double> seen;
    auto frozen = wg::freeze([&](const D& x) {
        wg::host_callback([&](const D&) { seen.push_back(w.item()); }, x);
        w = w + x;
        return w * 1.0;
    });
    frozen.live(w);
    for (int k = 0; k < 5; ++k) CHECK(frozen(D(1.0)).item() == k + 2.0);
    CHECK(seen == std::vector<double>{1.0, 2.0, 3.0, 4.0, 5.0});
    CHECK(frozen.stats().replays == 4);
}

TEST_CASE("looking at a graph leaves live tensors as they are")
{
    D w{1.0, 2.0};
    auto frozen = wg::freeze([&](const D& x) {
        w = w * 2.0 + x;
        return sum(w);
    });
    frozen.live(w);
    CHECK(frozen.graph(D(1.0)).outputs().size() == 2);
    CHECK(same_bits(w, D{1.0, 2.0}));
    CHECK(frozen.recorded(D{1.0, 1.0}).outputs().size() == 2);
    CHECK(same_bits(w, D{1.0, 2.0}));
    CHECK(frozen(D(1.0)).item() == 8.0);
    CHECK(same_bits(w, D{3.0, 5.0}));
}

TEST_CASE("threads that call a function which reads a live tensor")
{
    D w = wg::ones<double>({64});
    auto frozen = wg::freeze([&](const D& x) { return sum(x * w(0)) + sum(w); });
    frozen.live(w);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; ++i) {
                const int n = 1 + (i * 7 + t) % 40;
                try {
                    wrong += frozen(wg::ones<double>({n})).item() != n + 64.0;
                } catch (const wg::Error&) {
                    ++wrong;
                }
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);

    D total(0.0);  // one that is updated, and called by itself
    int depth = 0;
    std::function<D(const D&)> again;
    auto adding = wg::freeze([&](const D& x) {
        total = total + x;
        return ++depth % 2 ? again(x) : x * 1.0;
    });
    adding.live(total);
    again = [&](const D& x) { return adding(x); };
    CHECK(adding(D(1.0)).item() == 1.0);
    CHECK(total.item() == 2.0);
}

TEST_CASE("a guard that fails stops a graph before it has called the host")
{
    int calls = 0;
    auto frozen = wg::freeze([&](const D& x) {
        wg::host_callback([&](const D&) { ++calls; }, x);
        const D y = wg::host_callback<double>(
            {}, [&](const D& v) { return v + double(++calls); }, x * 2.0);
        return static_cast<bool>(sum(tanh(x) * x) > 1.0) ? y * 2.0 : y - x;
    });
    for (int k = 0; k < 8; ++k) {
        frozen(D(k % 2 ? 3.0 : 0.1));
        CHECK(calls == 2 * (k + 1));
    }
    CHECK(frozen.stats().traces == 2);
    CHECK(frozen.stats().guard_failures > 4);
}

TEST_CASE("a frozen function swept first while saved values go to disk")
{
    const auto f = [](const D& x) {
        const auto step = [](const D& s) { return std::pair(sin(s) * s, std::tuple<>()); };
        return sum(wg::scan(step, x, 3).first * x);
    };
    auto frozen = wg::freeze(f);
    D x = wg::linspace<double>(0.1, 2.0, 300);
    const D y = wg::linspace<double>(0.5, 1.0, 300), expected = wg::grad(f)(y), at_x = wg::grad(f)(x);
    x.requires_grad(true);
    const D value = frozen(x);
    {
        const wg::SavedTensorHooks hooks(wg::save_on_disk("."));
        wg::backward(value);
    }
    CHECK(sum(abs(x.grad() - at_x)).item() < 1e-9 * sum(abs(at_x)).item());
    CHECK(sum(abs(wg::grad(frozen)(y) - expected)).item() < 1e-9 * sum(abs(expected)).item());
}

TEST_CASE("derivatives with AllowNaN and without have graphs of their own")
{
    const D large{{HUGE_VAL}};
    const auto f = [large](const D& x) { return sum(where(x > 0.0, matmul(x, large), x * 2.0)); };
    const auto inside = wg::freeze(wg::grad(f));
    const auto frozen = wg::freeze(f);
    const D zero{{0.0}};
    for (int k = 0; k < 3; ++k) {
        if (const wg::AllowNaN allow; true) {
            CHECK(std::isnan(inside(zero)(0, 0).item()));
            CHECK(std::isnan(wg::grad(frozen)(zero)(0, 0).item()));
        }
        CHECK(inside(zero)(0, 0).item() == 2.0);
        CHECK(wg::grad(frozen)(zero)(0, 0).item() == 2.0);
    }
}

// One call after the other: what a call keeps for the next one must neither leak into it nor keep anything alive.
#include "graph/freeze/frozen_beside.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

namespace {

std::atomic<std::size_t> allocations{0};

}  // namespace

void* operator new(std::size_t bytes)
{
    ++allocations;
    if (void* p = std::malloc(bytes)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using D = Tensor<double>;

template <class T> bool held_by_nobody_else(const Tensor<T>& t) { return wg::is_unique(t.any().value.get()); }

}  // namespace

TEST_CASE("a replay takes its results from the pool and nothing from the heap")
{
    auto frozen = wg::freeze(
        [](const D& x, const std::array<D, 2>& y) { return std::pair(x * y[0], x - y[1]); }, unchecked());
    const D x{1.0, 2.0};
    const std::array<D, 2> y{D{3.0, 4.0}, D{5.0, 6.0}};
    for (int k = 0; k < 3; ++k) static_cast<void>(frozen(x, y));
    const std::size_t before = allocations;
    for (int k = 0; k < 100; ++k) static_cast<void>(frozen(x, y));
    CHECK(allocations - before == 0);
    CHECK(frozen.stats().traces == 1);
    CHECK(frozen.stats().replays == 102);
}

TEST_CASE("arguments and results are let go with the call")
{
    auto frozen = wg::freeze([](const D& x) { return x * 2.0; });
    const D x{1.0, 2.0};
    for (int k = 0; k < 9; ++k) {
        const D y = frozen(x);
        CHECK(held_by_nobody_else(y));
        CHECK(held_by_nobody_else(x));
    }
    auto thrower = wg::freeze([](const D& a) {
        if (sum(a) > 100.0) throw std::runtime_error("too much");
        return a + 1.0;
    });
    static_cast<void>(thrower(x));
    D large{100.0, 1.0};
    CHECK_THROWS_AS(thrower(large), std::runtime_error);
    CHECK(held_by_nobody_else(large));
    CHECK(same_bits(thrower(x), x + 1.0));
    CHECK(held_by_nobody_else(x));
}

TEST_CASE("arguments that are alike at first and differ at the end, in every order")
{
    auto frozen = wg::freeze(
        [](const std::vector<D>& x, double factor) {
            D s = x[0];
            for (std::size_t i = 1; i < x.size(); ++i) s = s * sum(x[i]);
            return s * factor;
        },
        unchecked());
    const D a{1.0, 2.0}, b{3.0, 4.0, 5.0}, c{6.0, 7.0};
    const std::vector<std::vector<D>> lists{{a}, {a, c}, {a, b}, {a, c, b}, {a, c, c}};
    const std::vector<double> factors{2.0, -0.0, 0.0};
    const auto expected = [&](std::size_t list, double factor) {
        D s = lists[list][0];
        for (std::size_t i = 1; i < lists[list].size(); ++i) s = s * sum(lists[list][i]);
        return s * factor;
    };
    for (std::size_t round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < lists.size(); ++i)
            for (std::size_t j = 0; j < lists.size(); ++j)
                for (const double f : factors) {
                    CHECK(same_bits(frozen(lists[i], f), expected(i, f)));
                    CHECK(same_bits(frozen(lists[j], f), expected(j, f)));
                }
    CHECK(frozen.stats().traces == 15);
    CHECK(frozen.stats().evictions == 0);
}

TEST_CASE("the entry used last is evicted, and used again")
{
    wg::FreezeOptions o = unchecked();
    o.shapes = 1;
    auto frozen = wg::freeze([](const D& x) { return x + x; }, o);
    for (std::size_t k = 0; k < 12; ++k) {
        const D x(wg::Shape{1 + k % 3}, std::vector<double>(1 + k % 3, 1.5));
        CHECK(same_bits(frozen(x), x + x));
        CHECK(same_bits(frozen(x), x + x));
        CHECK(frozen.graph(x).outputs().size() == 1);
    }
    CHECK(frozen.stats().evictions == 11);
}

TEST_CASE("a call within a call of the same function leaves the outer one's arguments alone")
{
    std::function<D(const D&, int)> again;
    auto frozen = wg::freeze(
        [&](const D& x, int depth) { return depth == 0 ? x * 3.0 : again(x + 1.0, depth - 1) * x; });
    again = [&](const D& x, int depth) { return frozen(x, depth); };
    const std::function<D(const D&, int)> plain = [&](const D& x, int depth) {
        return depth == 0 ? x * 3.0 : plain(x + 1.0, depth - 1) * x;
    };
    const D x{0.5, -1.0};
    for (int k = 0; k < 10; ++k)
        for (int depth = 0; depth < 4; ++depth) CHECK(same_bits(frozen(x, depth), plain(x, depth)));
}

TEST_CASE("recorded and plain calls in turn")
{
    auto frozen = wg::freeze([](const D& x, const D& y) { return sum(x * y); }, unchecked());
    const D y{2.0, -3.0};
    for (int k = 0; k < 6; ++k) {
        D x{1.0 + k, 4.0}, z{0.5, 0.25};
        x.requires_grad(true);
        wg::backward(frozen(x, y));
        CHECK(same_bits(x.grad(), y));
        CHECK(frozen(z, y).item() == 0.5 * 2.0 - 0.25 * 3.0);
        D w{1.0, 1.0};
        w.requires_grad(true);
        wg::backward(frozen(z, w));  // only the second argument is a variable
        CHECK(same_bits(w.grad(), z));
        CHECK(held_by_nobody_else(z));
    }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("many threads at once: each has its own arguments' result")
{
    auto frozen = wg::freeze([](const D& x, const D& y) { return x * y + x; }, unchecked());
    const auto work = [&](int seed, std::atomic<int>& wrong) {
        for (int k = 0; k < 400; ++k) {
            const std::size_t n = 1 + static_cast<std::size_t>((seed + k) % 3);
            const D x(wg::Shape{n}, std::vector<double>(n, seed + 0.5 * k)),
                y(wg::Shape{n}, std::vector<double>(n, 0.25 * (1 + k % 4)));
            const double expected = (seed + 0.5 * k) * 0.25 * (1 + k % 4) + (seed + 0.5 * k);
            const D z = frozen(x, y);
            if (z.size() != n || z.data()[n - 1] != expected) ++wrong;
        }
    };
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&, t] { work(t, wrong); });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    const auto& s = frozen.stats();
    CHECK(s.traces + s.replays + s.eager_calls == 1600);
}

namespace {

auto& at_the_end()
{
    static auto f = wg::freeze(wg::value_and_grad([](const D& x) { return sum(sin(x) * x); }));
    return f;
}
double last_value = 0;

/// Made before anything that a call keeps for its thread, so it ends after that.
struct CallsAtItsEnd {
    bool armed = false;
    ~CallsAtItsEnd()
    {
        if (armed) last_value = at_the_end()(wg::ones<double>({7})).first.item();
    }
};
thread_local CallsAtItsEnd ends_late;

}  // namespace

TEST_CASE("a frozen function is traced, checked and called while a thread ends")
{
    for (int k = 0; k < 3; ++k) {
        last_value = 0;
        std::thread([] {
            ends_late.armed = true;
            for (int call = 0; call < 3; ++call) at_the_end()(D{1.0, 2.0});
        }).join();
        CHECK(last_value == Approx(7 * std::sin(1.0)));
    }
}

TEST_CASE("stats and explain, while other threads call")
{
    for (int repeat = 0; repeat < 20; ++repeat) {
        auto f = wg::freeze([](const D& x) {
            if (sum(x) > 10.0) return sum(x * x);
            return sum(sin(x) * x);
        });
        std::atomic<bool> done{false};
        std::size_t looked = 0;
        std::thread monitor([&] {
            do looked += f.stats().failures.size() + f.explain().size();
            while (!done);
        });
        std::thread caller([&] {
            for (int k = 0; k < 60; ++k) static_cast<void>(f(D{1.0, 2.0} + double(k % 5)));
        });
        caller.join();
        done = true;
        monitor.join();
        CHECK(looked > 0);
        const wg::FreezeStats s = f.stats();
        CHECK(s.traces + s.replays + s.eager_calls == 60);
    }
    // from inside of a call of its own, too
    std::size_t traces = 99;
    std::function<wg::FreezeStats()> ask;
    auto g = wg::freeze([&](const D& x) {
        wg::host_callback([&](const D&) { traces = ask().traces; }, x);
        return x * 2.0;
    });
    ask = [&] { return g.stats(); };
    g(D{1.0});
    CHECK(traces == 0);
    g(D{1.0});
    CHECK(traces == 1);
}

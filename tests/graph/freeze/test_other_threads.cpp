// What a function computes on other threads is no part of its graph. A trace notices, and refuses; whatever else other threads do goes on.
#include "catch.hpp"
#include "same_bits.hpp"

#include <atomic>
#include <functional>
#include <thread>

#include <wengert/freeze.hpp>
#include <wengert/graph/control/host.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

const D x = {1.0, 2.0};

template <class F> void elsewhere(const F& f)
{
    std::thread worker(f);
    worker.join();
}
/// The square of s, by another thread.
D squared(const D& s)
{
    D y;
    elsewhere([&] { y = s * s; });
    return y;
}
bool alike(const D& a, const D& b) { return same_bits(*a.any().value, *b.any().value); }

/// Refused frozen, each time, in the name of the line on the other thread; eagerly it runs, and leaves nothing behind.
void refuses(const std::function<D(const D&)>& f)
{
    const D eager = f(x);
    auto frozen = wg::freeze(f);
    for (int call = 0; call < 2; ++call)
        CHECK_THROWS_WITH(frozen(x), Catch::Contains("another thread computes with a value") &&
                                         Catch::Contains("in test_other_threads.cpp:"));
    CHECK(alike(f(x), eager));
    auto right = wg::freeze([](const D& t) { return t * t; });
    CHECK(alike(right(x), x * x));
}

}  // namespace

TEST_CASE("an operation on another thread is refused in a function that is recorded")
{
    refuses([](const D& z) { return squared(z); });
    refuses([](const D& z) { return squared(2.0 * z) + z; });
    refuses([](const D& z) { return z * sum(squared(z.detach())); });
    refuses([](const D& z) {
        const D part = wg::view(z, 0);
        return z * squared(part);
    });
    refuses([](const D& z) {
        D y = z;
        elsewhere([&] { y += 1.0; });
        return y;
    });
}

TEST_CASE("so is a number that another thread reads")
{
    refuses([](const D& z) {
        double total = 0;
        elsewhere([&] { total = sum(z).item(); });
        return z * total;
    });
    refuses([](const D& z) {
        double first = 0;
        elsewhere([&] { first = z(0).item(); });
        return z * first;
    });
    refuses([](const D& z) {
        bool large = false;
        elsewhere([&] { large = static_cast<bool>(sum(z) > 2.0); });
        return large ? z * 2.0 : z;
    });
    refuses([](const D& z) {
        double first = 0;
        elsewhere([&] { first = z.data()[0] + z.array()(1); });
        return z * first;
    });
}

TEST_CASE("so it is in the bodies of loops and branches, in transforms, and in other frozen functions")
{
    refuses([](const D& z) {
        return wg::scan([](const D& s) { return std::pair(squared(s), std::tuple()); }, z, std::int64_t(3))
            .first;
    });
    refuses([](const D& z) {
        return wg::while_loop([](const D& s) { return sum(s) < 10.0; },
                              [](const D& s) { return squared(s) + 1.0; }, z);
    });
    refuses([](const D& z) {
        return wg::cond(
            sum(z) > 0.0, [](const D& t) { return squared(t); }, [](const D& t) { return t; }, z);
    });
    refuses([](const D& z) { return wg::vmap([](const D& row) { return squared(row); })(z); });
    refuses([](const D& z) { return wg::checkpoint([](const D& t) { return squared(t) * t; })(z); });
    refuses([](const D& z) {
        return wg::grad([](const D& t) {
            const D q = squared(t.detach());
            return sum(q * t);
        })(z);
    });
    auto twice = wg::freeze([](const D& t) { return t * 2.0; });
    twice(x);
    const auto calls = [&](const D& z) {
        D y;
        elsewhere([&] { y = twice(z); });
        return y;
    };
    CHECK_THROWS_AS(wg::freeze(calls)(x), wg::TapeError);
}

TEST_CASE("a worker that records something of its own is noticed, too")
{
    refuses([](const D& z) {
        double first = 0;
        elsewhere([&] { first = wg::freeze([&](const D& q) { return q * z.data()[0]; })(D(1.0)).item(); });
        return z * first;
    });
}

TEST_CASE("so are random keys that a worker draws by, or splits")
{
    using wg::Key;
    const auto drawn = [](const Key& k) {
        D y;
        elsewhere([&] { y = wg::normal<double>(k, {}); });
        return y;
    };
    const auto split_there = [](const Key& k) {
        Key child(0);
        elsewhere([&] { child = split(k).first; });
        return wg::normal<double>(child, {});
    };
    const auto check = [](const auto& f) {
        const auto rows = [&](const D& t, const Key& k) {
            return wg::vmap([&](const D& row, const Key& own) { return row + f(own); })(t, split(k, 2));
        };
        const auto frozen = wg::freeze(rows);
        const auto again = wg::freeze([&](const D& t, const Key& k) { return t + f(k); });
        CHECK_THROWS_WITH(frozen(x, Key(1)), Catch::Contains("another thread draws by a key"));
        CHECK_THROWS_WITH(again(x, Key(1)), Catch::Contains("another thread draws by a key"));
    };
    check(drawn);
    check(split_there);
    // the host may: its key is of no trace
    auto hosted = wg::freeze([&](const D& t) {
        return t + wg::host_callback<double>(
                       wg::Shape(), [&](const D&) { return drawn(Key(3)); }, t);
    });
    CHECK(alike(hosted(x), x + wg::normal<double>(Key(3), {})));
}

TEST_CASE("host_callback may compute on threads")
{
    const auto f = [](const D& z) {
        return wg::host_callback<double>(
                   z.shape(), [](const D& t) { return squared(t); }, z) +
               z;
    };
    auto frozen = wg::freeze(f);
    for (int call = 0; call < 3; ++call) CHECK(alike(frozen(x + double(call)), f(x + double(call))));
}

TEST_CASE("so may a function with a rule of the user's")
{
    const auto own = wg::custom_vjp([](const D& t) { return squared(t.detach()); },
                                    [](const D& g, const D&, const D& t) { return g * t * 2.0; });
    const auto f = [&](const D& z) { return wg::grad([&](const D& t) { return sum(own(t)); })(z); };
    auto frozen = wg::freeze(f);
    for (int call = 0; call < 3; ++call) CHECK(alike(frozen(x + double(call)), f(x + double(call))));
}

TEST_CASE("what other threads do with other tensors, meanwhile and later, goes on")
{
    const D weights = {3.0, 4.0};
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done) static_cast<void>(sum(weights * x + weights).item());
    });
    D kept;
    auto frozen = wg::freeze([&](const D& z) {
        kept = z * weights;
        return sum(kept * x);
    });
    const double wanted = sum(x * weights * x).item();
    CHECK(frozen(x).item() == wanted);
    done = true;
    other.join();
    double total = 0;
    elsewhere([&] { total = sum(kept * kept).item(); });  // after the trace it is a tensor as any other
    CHECK(total == sum(kept * kept).item());
    elsewhere([&] { total = frozen(x).item(); });
    CHECK(total == wanted);
}

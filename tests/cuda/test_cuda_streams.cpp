// Several streams of a device: what one has made another waits for, memory outlives whoever works with it, whichever runs first. On the
// fake driver streams run interleaved at random, and a wait can be left out; on a GPU the same programs run as they are.
#include <thread>

#include "cuda/everywhere.hpp"
#include "cuda/fake_control.hpp"

namespace {

/// The numbers that f gives, in several orders of streams, which are to be the same as with one stream alone.
template <class F> void same_in_all_orders(const F& f, int orders = 6)
{
    const std::vector<double> expected = f(false);
    for (int seed = 1; seed <= orders; ++seed) {
        CAPTURE(seed);
        fake::shuffle(seed);
        CHECK(f(true) == expected);
    }
    fake::shuffle(0);
}
/// Two streams, or what looks like it.
struct Two {
    explicit Two(bool both) : both_(both)
    {
        if (both) a.emplace(), b.emplace();
    }
    template <class F> auto in_a(const F& f) const { return in(a, f); }
    template <class F> auto in_b(const F& f) const { return in(b, f); }
    std::optional<wg::cuda::Stream> a, b;

private:
    template <class F> auto in(const std::optional<wg::cuda::Stream>& s, const F& f) const
    {
        if (!both_) return f();
        const auto there = wg::cuda::on(*s);
        return f();
    }
    bool both_;
};

/// Made in one, changed in another, read in a third; memory goes back and is handed out in between.
std::vector<double> back_and_forth(bool both)
{
    const Two s(both);
    There x = wg::to<wg::cuda>(wg::arange<double>(300.0));
    const auto places = wg::to<wg::cuda>(wg::arange<std::int64_t>(50));
    std::vector<double> seen;
    for (int k = 0; k < 3; ++k) {
        const There y = s.in_a([&] { return tanh(x * 0.01) + sum(x); });
        const There z = s.in_b([&] { return matmul(reshape(y, {3, 100}), reshape(x, {100, 3})); });
        x = s.in_a([&] { return x + reshape(sum(z), {1}) * 1e-6; });
        s.in_b([&] { x *= 0.5; });
        const std::vector<double> some = bits(s.in_b([&] { return take(x, places, 0) + y(k); }));
        seen.insert(seen.end(), some.begin(), some.end());
    }
    const std::vector<double> rest = bits(x);
    seen.insert(seen.end(), rest.begin(), rest.end());
    return seen;
}

/// Replays, and the calls of the driver that they become.
std::vector<double> frozen_calls(bool both)
{
    const Two s(both);
    const There constant = wg::to<wg::cuda>(wg::normal<double>(wg::Key(5), {30, 30}));
    auto f = wg::freeze([&](const There& x) {
        const There y = tanh(x) * 2.0 + constant;
        return std::pair(sum(y, {0}) + 1.0, matmul(y, x));
    });
    There x = wg::to<wg::cuda>(wg::normal<double>(wg::Key(6), {30, 30}));
    std::vector<double> seen;
    for (int k = 0; k < 5; ++k) {
        const auto [a, b] = s.in_a([&] { return f(x); });
        const auto [c, d] = s.in_b([&] { return f(b * 1e-3); });
        x = s.in_a([&] { return x + reshape(a, {1, 30}) * 1e-3 + d * 1e-3; });
        const std::vector<double> some = bits(s.in_b([&] { return c + sum(b); }));
        seen.insert(seen.end(), some.begin(), some.end());
    }
    return seen;
}

/// How many waits of f there are, and of how many it was seen in some order of streams that they were left out.
template <class F> std::pair<int, int> waits_and_needed(const F& f)
{
    wg::cuda::trim();
    const std::vector<double> expected = f(false);
    fake::shuffle(1);
    const long before = fake::calls("cuStreamWaitEvent");
    CHECK(f(true) == expected);
    const auto waits = static_cast<int>(fake::calls("cuStreamWaitEvent") - before);
    int needed = 0;
    for (int k = 1; k <= waits; ++k) {
        bool seen = false;
        for (int seed = 1; seed <= 12 && !seen; ++seed) {
            fake::shuffle(seed);
            try {
                const fake::Failing missing("a wait", k, 1, 1);
                seen = f(true) != expected;
            } catch (const wg::TapeError&) {  // tracing compares
                seen = true;
            }
            wg::cuda::synchronize();  // what has been believed to be done is done now
        }
        needed += seen;
    }
    fake::shuffle(0);
    CHECK(f(true) == expected);
    return {waits, needed};
}

}  // namespace

TEST_CASE("what one stream has made another waits for", "[gpu][libraries]")
{
    same_in_all_orders(back_and_forth, 12);
    same_in_all_orders([](bool both) {  // nobody reads it before it is changed elsewhere
        const Two s(both);
        const There x = wg::ones<double, wg::cuda>({400});
        There y = s.in_a([&] { return exp(x) * 2.0; });
        const There before = s.in_b([&] { return y + 1.0; });
        s.in_a([&] { y *= 3.0; });
        std::vector<double> all = bits(before);
        const std::vector<double> after = bits(y);
        all.insert(all.end(), after.begin(), after.end());
        return all;
    });
}

TEST_CASE("a wait that is left out is seen", "[gpu][once][libraries]")
{
    if (!fake::order) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    for (const auto& f : {back_and_forth, frozen_calls}) {
        const auto [waits, needed] = waits_and_needed(f);
        CAPTURE(waits, needed);
        CHECK(waits > 5);
        CHECK(3 * needed > waits);
    }
}

TEST_CASE("memory that one stream gives back another gets when all are done with it", "[gpu]")
{
    same_in_all_orders([](bool both) {
        const Two s(both);
        const There x = wg::to<wg::cuda>(wg::arange<double>(500.0));
        There sums = wg::zeros<double, wg::cuda>({1});
        for (int k = 0; k < 4; ++k) {
            There y = s.in_a([&] { return x * static_cast<double>(k + 1); });
            There z = s.in_b([&] { return y + 1.0; });
            y = There();  // stream b still reads it
            const There w = s.in_a([&] { return x - 3.0; });
            z = s.in_b([&] { return z * 2.0; });
            sums = s.in_b([&] { return sums + sum(z) + sum(w); });
        }
        return bits(sums);
    });
    {
        const wg::cuda::Stream s;
        const auto there = wg::cuda::on(s);
        const There x = wg::ones<double, wg::cuda>({70000});
        const There y = x + 1.0;
    }
    wg::cuda::trim();
    CHECK(wg::cuda::memory().pooled == 0);
    const There again = wg::ones<double, wg::cuda>({70000});
    CHECK(again(69999).item() == 1.0);
}

TEST_CASE("backward passes, checkpoints and hooks in other streams than the values", "[gpu][libraries]")
{
    same_in_all_orders([](bool both) {
        const Two s(both);
        There w = wg::to<wg::cuda>(wg::normal<double>(wg::Key(3), {40, 40}));
        const There x = wg::to<wg::cuda>(wg::normal<double>(wg::Key(4), {40, 40}));
        w.requires_grad(true);
        const auto layer = [&](const There& a) { return tanh(matmul(a, w) * 0.1); };
        const There y = s.in_a([&] { return wg::checkpoint(layer)(layer(x)); });
        const There loss = s.in_b([&] { return mean(square(y)); });
        s.in_a([&] { wg::backward(loss); });
        const There step = s.in_b([&] { return w - 0.1 * w.grad(); });
        return bits(step);
    });
}

TEST_CASE("frozen functions in one stream after another", "[gpu][libraries]")
{
    same_in_all_orders(frozen_calls);
}

TEST_CASE("threads with a stream each, whose tensors meet", "[gpu][libraries]")
{
    const There x = wg::to<wg::cuda>(wg::arange<double>(2000.0));
    const std::vector<double> expected = bits(tanh(x * 1e-3) * 4.0);
    std::vector<There> made(4);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < made.size(); ++k)
        threads.emplace_back([&, k] {
            const wg::cuda::Stream s;
            const auto there = wg::cuda::on(s);
            for (int n = 0; n < 10; ++n) made[k] = tanh(x * 1e-3) * static_cast<double>(k + 1);
        });
    for (std::thread& t : threads) t.join();
    CHECK(bits(made[0] + made[2]) == expected);
    CHECK(bits(made[3]) == expected);
}

TEST_CASE("threads with a stream each multiply, draw and sweep", "[gpu][libraries]")
{
    const There w = wg::to<wg::cuda>(wg::normal<double>(wg::Key(3), {20, 20}));
    const auto work = [&](std::uint64_t k) {
        const There x = wg::normal<double, wg::cuda>(wg::Key(k), {20, 20});
        const auto loss = [&](const There& u) { return mean(square(tanh(matmul(x, u) * 0.1))); };
        return bits(w - 0.1 * wg::grad(loss)(w));
    };
    std::vector<std::vector<double>> expected, found(4);
    for (std::uint64_t k = 0; k < found.size(); ++k) expected.push_back(work(k));
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < found.size(); ++k)
        threads.emplace_back([&, k] {
            for (int again = 0; again < 3; ++again) {
                const wg::cuda::Stream s;
                const auto there = wg::cuda::on(s);
                found[k] = work(k);
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(found == expected);
}

TEST_CASE("a frozen function from several threads, each in a stream of its own", "[gpu][libraries]")
{
    auto f = wg::freeze([](const There& x) { return sum(tanh(x) * 2.0, {1}) + 1.0; });
    const There x = wg::to<wg::cuda>(wg::normal<double>(wg::Key(8), {20, 30}));
    const std::vector<double> expected = bits(f(x));
    std::vector<std::vector<double>> found(3);
    std::vector<std::thread> threads;
    for (std::vector<double>& mine : found)
        threads.emplace_back([&] {
            const wg::cuda::Stream s;
            const auto there = wg::cuda::on(s);
            There y;
            for (int k = 0; k < 6; ++k) y = f(x);
            mine = bits(y);
        });
    for (std::thread& t : threads) t.join();
    for (const std::vector<double>& one : found) CHECK(one == expected);
}

TEST_CASE("an exception ends the scope of a stream, and what was under way there stays in order", "[gpu]")
{
    same_in_all_orders([](bool both) {
        const Two s(both);
        const There x = wg::to<wg::cuda>(wg::arange<double>(500.0));
        There y;
        const auto fails = [&] {
            s.in_a([&] {
                y = x * 3.0;
                const There lost = y + 1.0;
                if (lost.size() == 500) throw std::runtime_error("no");
                return 0;
            });
        };
        CHECK_THROWS_AS(fails(), std::runtime_error);
        const There z = x - 1.0;  // where `lost` was
        std::vector<double> all = bits(s.in_b([&] { return y * z; }));
        const std::vector<double> more = bits(y);
        all.insert(all.end(), more.begin(), more.end());
        return all;
    });
}

TEST_CASE("the user's streams and events", "[gpu]")
{
    using Make = int(void**, unsigned);
    Make* const make = fake::control<Make>("cuStreamCreate");
    if (!make) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    void* raw = nullptr;
    wg::cuda::synchronize();  // the device is this thread's
    REQUIRE(make(&raw, 1) == 0);
    const There x = wg::to<wg::cuda>(wg::arange<double>(1000.0));
    for (void* stream : {raw, static_cast<void*>(nullptr)})
        for (int seed = 1; seed <= 4; ++seed) {
            fake::shuffle(seed);
            There y;
            {
                const wg::cuda::Stream theirs(stream);
                CHECK(theirs.raw() == stream);
                const auto there = wg::cuda::on(theirs);
                y = x * 2.0;
            }
            const wg::cuda::Stream ours, other;  // the user's is of no concern any more
            const auto there = wg::cuda::on(ours);
            const There z = y + 1.0;
            const wg::cuda::Event done = ours.record();
            other.wait(done);
            other.wait(done.raw());
            other.wait(ours);
            done.synchronize();
            ours.synchronize();
            other.synchronize();
            CHECK(z(999).item() == 1999.0);
        }
    fake::shuffle(0);
    wg::cuda::synchronize();
}

TEST_CASE("a stream at the address of one that has ended waits as a new one does", "[gpu]")
{
    const auto make = fake::control<int(void**, unsigned)>("cuStreamCreate");
    const auto end = fake::control<int(void*)>("cuStreamDestroy_v2");
    if (!end) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    for (const bool has_ids : {true, false})
        for (int seed = 1; seed <= 6; ++seed) {
            fake::shuffle(seed);
            if (!has_ids) fake::fail("cuStreamGetId", 1, 1000000, 999);
            const There x = wg::to<wg::cuda>(wg::arange<double>(1000.0)), w = tanh(x) * 0.0 + x;
            const auto in_new_stream = [&](const auto& f) {
                void* raw = nullptr;
                REQUIRE(make(&raw, 1) == 0);
                const There y = [&] {
                    const auto there = wg::cuda::on(wg::cuda::Stream(raw));
                    return f();
                }();
                REQUIRE(end(raw) == 0);
                return std::pair(raw, y);
            };
            const auto [first, y] = in_new_stream([&] { return w * 2.0; });
            const long waits = fake::calls("cuStreamWaitEvent");
            const auto [second, z] = in_new_stream([&] { return w * 3.0; });
            if (fake::heal) CHECK(second == first);  // a GPU's driver may take another place
            CHECK(fake::calls("cuStreamWaitEvent") > waits);
            const auto both = in_new_stream([&] { return y + z; }).second;
            CHECK(both(999).item() == 4995.0);
            fake::fail("cuStreamGetId", 0, 0, 0);
        }
    fake::shuffle(0);
}

TEST_CASE("errors in a stream name the last line, and with a wait after each the very one",
          "[gpu][libraries]")
{
    if (!fake::heal) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const There x = wg::ones<double, wg::cuda>({100});
    CHECK(bits(tanh(x) * 2.0).size() == 100);
    const auto attempt = [&] {
        const wg::cuda::Stream s;
        const auto there = wg::cuda::on(s);
        wg::cuda::synchronize();
        const fake::Failing failing("a kernel", 1, 1, 700);
        const There y = tanh(x);
        const There z = y * 2.0;
        s.synchronize();
    };
    const int line = __LINE__ - 4;
    CHECK_THROWS_WITH(attempt(), contains("CUDA_ERROR_ILLEGAL_ADDRESS") &&
                                     contains("it may be of any work that was asked for before, the last of "
                                              "this thread was [multiply] at test_cuda_streams.cpp:" +
                                              std::to_string(line + 1)) &&
                                     contains("of no use to this process any more, the host is"));
    CHECK((wg::ones<double>({3}) * 2.0)(1).item() == 2.0);
    fake::heal();
    wg::cuda::wait_for_each(true);
    CHECK_THROWS_WITH(attempt(), contains("[tanh] CUDA: cuStreamSynchronize failed") &&
                                     !contains("asked for before") &&
                                     contains("(test_cuda_streams.cpp:" + std::to_string(line)));
    wg::cuda::wait_for_each(false);
    fake::heal();
    CHECK(bits(tanh(x) * 0.0)[7] == 0.0);
}

TEST_CASE("an error found on the device shows where its stream is waited for", "[gpu][libraries]")
{
    const There x = wg::to<wg::cuda>(wg::arange<double>(100.0));
    const auto wrong = wg::to<wg::cuda>(Tensor<std::int64_t>{1, 500});
    const wg::cuda::Stream a, b;
    const There y = [&] {
        const auto there = wg::cuda::on(a);
        return take(x, wrong, 0);
    }();
    {
        const auto there = wg::cuda::on(b);
        CHECK_THROWS_AS(bits(y + 1.0), wg::IndexError);
    }
    a.synchronize();
}

TEST_CASE("each call may fail with several streams, and the next attempt succeeds", "[gpu][once]")
{
    if (!fake::fail) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const std::vector<double> expected = back_and_forth(true);
    for (const char* function : {"cuStreamWaitEvent", "cuEventRecord", "cuEventCreate", "cuStreamCreate",
                                 "cuMemAllocAsync", "cuLaunchKernel"})
        for (int after = 1; after <= 7; ++after) {
            CAPTURE(function, after);
            wg::cuda::trim();
            try {
                const fake::Failing failing(function, after, 1, 999);
                const std::vector<double> found = back_and_forth(true);
                CHECK(found == expected);
            } catch (const wg::DeviceError& e) {
                CHECK_THAT(std::string(e.what()), contains("CUDA: cu") && contains("CUDA_ERROR_UNKNOWN"));
            }
            CHECK(back_and_forth(true) == expected);
        }
}

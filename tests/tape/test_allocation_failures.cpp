// The strong guarantee under fire: every allocation of a small model fails once, the library's own and operator new's.
#include "catch.hpp"

#include <cstdlib>
#include <new>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace {
/// Counts down while a test has armed it; other tests of this program never notice.
thread_local std::int64_t countdown = 0;

void* allocate(std::size_t bytes)
{
    if (countdown > 0 && --countdown == 0) throw std::bad_alloc();
    if (void* p = std::malloc(bytes ? bytes : 1)) return p;
    throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept
{
    return std::malloc(bytes ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept
{
    return std::malloc(bytes ? bytes : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace wg = wengert;
using wg::Tensor;

namespace {

Tensor<double> model(const Tensor<double>& w, const Tensor<double>& x)
{
    Tensor<double> h = tanh(matmul(x, w) + 0.5);
    view(h, 0) = 2.0 * view(std::as_const(h), 1);
    view(h, wg::all(), wg::range(0, 2)) += x(0, 1);
    const Tensor<double> both = wg::concatenate({h, transpose(w)}, 1);
    return sum(both * both, {0}, true) + wg::amax(h) + logsumexp(h);
}

/// Runs `work` with its k-th allocation failing, for every k, until it passes; `check` looks after each failure.
template <class Work, class Check> int fail_each(Work work, Check check)
{
    int failures = 0;
    for (const bool pool : {true, false})
        for (std::int64_t k = 1;; ++k) {
            bool failed = false;
            (pool ? wg::memory::injection.fail_at : countdown) = k;
            try {
                work();
            } catch (const std::bad_alloc&) {
                failed = true;
            } catch (const wg::MemoryError&) {
                failed = true;
            }
            wg::memory::injection = {};
            countdown = 0;
            if (!failed) break;
            ++failures;
            check();
        }
    return failures;
}

}  // namespace

TEST_CASE("whichever allocation fails, tensors, tape and gradients are as before")
{
    Tensor<double> w = {{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}}, x = {{1.0, 2.0}, {-1.0, 0.5}, {0.3, 0.7}};
    w.requires_grad();
    wg::backward(sum(w));
    const auto size = wg::Tape::current().size();
    const double before = model(w, x.detach()).data()[0];
    const auto unchanged = [&] {
        REQUIRE(wg::Tape::current().size() == size);
        REQUIRE(wg::Tape::current().depth() == 1);
        REQUIRE(w.grad().data()[4] == 1.0);
        REQUIRE(w.data()[4] == 0.5);
        REQUIRE(x.data()[1] == 2.0);
    };

    SECTION("recording")
    {
        CHECK(fail_each([&] { model(w, x); }, unchanged) > 50);
        CHECK(model(w, x).data()[0] == before);
    }
    SECTION("backward, until it has gone through")
    {
        int done = 0;
        const int failures = fail_each(
            [&] {
                wg::backward(sum(model(w, x)));
                w.zero_grad();
                wg::backward(sum(w));  // what unchanged() looks for
                ++done;
            },
            [&] {
                REQUIRE(wg::Tape::current().size() == size);
                const double g = w.grad().data()[4];
                REQUIRE((g == 1.0 || g == 0.0));  // 0: a failure after zero_grad()
                if (g == 0.0) wg::backward(sum(w));
            });
        CHECK(failures > 50);
        CHECK(done == 2);
        unchanged();
    }
    SECTION("gradients of gradients")
    {
        const auto f = [&](const Tensor<double>& t) { return sum(model(t, x)); };
        const Tensor<double> at = w.detach(), v = wg::ones_like(at);
        CHECK(fail_each([&] { wg::hvp(f)(at, v); }, unchanged) > 100);
    }
    SECTION("a write")
    {
        Tensor<double> y = x;
        CHECK(fail_each(
                  [&] {
                      y = x;
                      y += w(0, 0);
                      view(y, 0) *= 2.0;
                      y = x;
                  },
                  [&] { y = x; }) > 3);
        unchanged();
    }
}

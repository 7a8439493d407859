#include "catch.hpp"

#include <wengert/scalar.hpp>
#include <wengert/implicit.hpp>
#include <wengert/wengert.hpp>

#include <functional>
#include <string>
#include <thread>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

/// What `loss` records of w is swept after w has been written.
D gradient_behind(const std::function<void(D&)>& write,
                  const std::function<void(const D&, bool)>& record_then_sweep)
{
    D w = {1.0, 2.0};
    w.requires_grad();
    record_then_sweep(w, false);
    {
        wg::NoGrad none;
        write(w);
    }
    record_then_sweep(w, true);
    return w.grad();
}

void check_ways(const std::function<D(const D&)>& loss)
{
    const std::vector<std::function<void(D&)>> writes = {
        [](D& w) {
            w -= D{0.1, 0.1};
        },
        [](D& w) { w *= 3.0; },
        [](D& w) { view(w, 0) = D(5.0); },
        [](D& w) { view(w, 1) *= D(7.0); },
        [](D& w) {
            auto elements = wg::write(w);
            elements(0) = 7;
        },
    };
    D y, x = {1.0, 2.0};
    const D want = wg::grad(loss)(x);
    for (const auto& write : writes)
        CHECK(allclose(gradient_behind(write,
                                       [&](const D& w, bool sweep) {
                                           if (sweep)
                                               wg::backward(y);
                                           else
                                               y = loss(w);
                                       }),
                       want));
}

}  // namespace

TEST_CASE("a variable that is written under NoGrad gets the gradient of what was recorded before")
{
    check_ways([](const D& w) { return sum(w * w * w); });
    check_ways([](const D& w) { return sum(w * D{2.0, 3.0}); });
    check_ways([](const D& w) { return sum(view(w, wg::range(0, 1)) * w); });
    check_ways(wg::checkpoint([](const D& w) { return sum(w * w); }));
    check_ways([](const D& w) {
        return sum(
            wg::scan([&](const D& s) { return std::pair(s * w, std::tuple()); }, D{1.0, 1.0}, 3).first);
    });
    check_ways([](const D& w) {
        return wg::cond(
            sum(w) > 0.0, [&] { return sum(w * w); }, [&] { return sum(w); });
    });
    check_ways([](const D& w) {
        return sum(wg::vmap([&](const D& t) { return sum(w * t); })(D{{1.0, 2.0}, {3.0, 4.0}}));
    });
    check_ways([](const D& w) {
        return sum(wg::grad([&](const D& t) { return sum(w * w * t); })(D{1.0, 1.0}));
    });
    check_ways([](const D& w) {
        wg::Real<double> r = 0;
        for (const auto& e : wg::elements(w)) r += e * e;
        return D(wg::tensor(r));
    });
    check_ways([](const D& w) { return sum(wg::kernel([](auto a) { return a * a; })(w)); });
    auto frozen = wg::freeze([](const D& w) { return sum(sin(w) * w); });
    for (int call = 0; call < 3; ++call) check_ways([&](const D& w) { return frozen(w); });
}

TEST_CASE("gradients before and behind a write under NoGrad add up; a tensor that shares the variable keeps "
          "its own")
{
    D w = {1.0, 2.0};
    w.requires_grad();
    const D before = sum(w * w);
    {
        wg::NoGrad none;
        w -= D{0.5, 0.5};
    }
    const D behind = sum(w * w);
    wg::backward(before + behind);
    CHECK(allclose(w.grad(), D{3.0, 7.0}));

    // who shares it keeps the old value, and nobody can tell whose gradient that of y is
    {
        const D y = sum(w * w), shares = w;
        const int line = __LINE__ + 3;
        {
            wg::NoGrad none;
            w -= D{0.5, 0.5};
        }
        try {
            wg::backward(y);
            FAIL("no error");
        } catch (const wg::TapeError& e) {
            CHECK(std::string(e.what()).find("test_written_variables.cpp:" + std::to_string(line)) !=
                  std::string::npos);
        }
        CHECK(allclose(w.grad(), D{3.0, 7.0}));
    }
    const D best = w;  // nothing has been recorded of it
    {
        wg::NoGrad none;
        w -= D{0.25, 0.25};
    }
    w.zero_grad();
    wg::backward(sum(w * w) + sum(best * best));
    CHECK(allclose(w.grad(), 2.0 * w.detach()));
}

TEST_CASE("a copy that another thread has dropped shares nothing; a frozen function writes a live variable")
{
    D w = {1.0, 2.0};
    w.requires_grad();
    const D y = sum(w * w * w);
    std::thread([w] {}).join();
    {
        wg::NoGrad none;
        w -= 0.5;
    }
    wg::backward(y);
    CHECK(allclose(w.grad(), D{3.0, 12.0}));

    auto step = wg::freeze([&](const D& g) {
        w -= 0.1 * g;
        return sum(g);
    });
    step.live(w);
    for (int call = 0; call < 9; ++call) {
        w.zero_grad();
        const D loss = sum(w * w), want = 2.0 * w.detach();
        {
            wg::NoGrad none;
            step(D{0.1, 0.1});
        }
        wg::backward(loss);
        CHECK(allclose(w.grad(), want));
    }
}

TEST_CASE("a copy of a variable that a function run by the library writes is a value of that run")
{
    const auto slope = [](const auto& f) {
        D x = {0.3};
        x.requires_grad();
        const D y = f(x);
        wg::backward(sum(y));
        return x.grad().item();
    };
    const std::vector<std::function<D(const D&)>> bodies = {[](const D& x) {
                                                                D y = x;
                                                                y += sin(y);
                                                                return y;
                                                            },
                                                            [](const D& x) {
                                                                D y = x;
                                                                y *= y;
                                                                return y;
                                                            },
                                                            [](const D& x) {
                                                                D y = x;
                                                                view(y, 0) -= exp(x(0));
                                                                return y;
                                                            },
                                                            [](const D& x) {
                                                                D y = x;
                                                                y *= 2.0;
                                                                y += sin(x);
                                                                return y;
                                                            }};
    for (const auto& body : bodies) {
        const double right = slope(body);
        CHECK(right == wg::grad([&](const D& x) { return sum(body(x)); })(D{0.3}).item());
        CHECK(slope(wg::checkpoint(body)) == right);
        CHECK(slope(wg::preaccumulate(body)) == right);
        CHECK(slope(wg::freeze(wg::checkpoint(body))) == right);
        CHECK(slope([&](const D& x) {
                  return wg::checkpoint([&body, x](const D& one) { return body(x) * one; })(D{1.0});
              }) == right);
        CHECK(slope([&](const D& x) {
                  return wg::checkpoint_loop(body, x, wg::LoopOptions<D>{.steps = 1, .snapshots = 1});
              }) == right);
    }
    const auto quiet = [](const D& a) {
        D c = a;
        {
            const wg::NoGrad none;
            c *= 2.0;
        }
        return c * a;
    };
    CHECK(slope(quiet) == 0.6);
    CHECK(slope(wg::checkpoint(quiet)) == 0.6);
    const auto flow = [](const D& v, const D&, const D& q) {
        D y = q;
        y *= v;
        return y;
    };
    const double e = slope([&](const D& x) { return wg::odeint_adjoint(flow, D{1.0}, D{0.0, 1.0}, x); });
    CHECK(e == Approx(std::exp(0.3)).epsilon(1e-6));
}

// What a frozen function does beside its result, under derivatives too: live tensors that it updates, rules that read
// values, errors. Each test has the function itself beside it.
#include "graph/freeze/frozen_beside.hpp"

#include <vector>

namespace {

using D = Tensor<double>;

}  // namespace

TEST_CASE("the derivative of a frozen function whose rule reads a value")
{
    const auto rule = wg::custom_vjp(
        [](const D& x) { return x * x; },
        [](const D& g, const D&, const D& x) { return x.item() > 2.0 ? g * 10.0 * x : g * 2.0 * x; });
    const auto frozen = wg::freeze([rule](const D& x) { return rule(x * 1.0) + 0.0; });
    const std::vector<double> x{1.0, 3.0, 1.5, 4.0, 2.5}, slope{2.0, 30.0, 3.0, 40.0, 25.0};
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(wg::grad(frozen)(D(x[k])).item() == slope[k]);

    const auto forward = wg::custom_jvp(
        [](const D& y) { return y * y; },
        [](const D& dot, const D&, const D& y) { return y.item() > 2.0 ? dot * 10.0 * y : dot * 2.0 * y; });
    const auto other = wg::freeze([forward](const D& y) { return forward(y * 1.0) + 0.0; });
    for (std::size_t k = 0; k < x.size(); ++k)
        CHECK(wg::jvp(other, D(x[k]), D(1.0)).second.item() == slope[k]);
    CHECK(other.stats().inlined == 0);
}

TEST_CASE("a pullback made while saved values go to disk")
{
    const auto f = [](const D& x) { return sum(sin(x) * x * exp(x)); };
    auto frozen = wg::freeze(f, unchecked());
    for (int k = 0; k < 4; ++k) {
        D v = wg::linspace<double>(0.1, 1.0 + k, 300);
        const D expected = wg::grad(f)(v);
        v.requires_grad(true);
        const D y = frozen(v);
        if (k == 0) {
            const wg::SavedTensorHooks hooks(wg::save_on_disk("."));
            backward(y);
        } else {
            backward(y);
        }
        CHECK(sum(abs(v.grad() - expected)).item() < 1e-9 * sum(abs(expected)).item());
    }
}

TEST_CASE("live tensors that a frozen function updates have their derivative")
{
    const auto run = [](bool freeze) {
        std::vector<double> found;
        D s(0.0);
        const auto f = [&](const D& x) {
            s = s + x * x;
            return x * 2.0;
        };
        auto frozen = wg::freeze(f);
        frozen.live(s);
        for (int k = 0; k < 5; ++k) {
            const auto loss = [&](const D& x) {
                s = D(1.0);
                const D y = freeze ? frozen(x) : f(x);
                return s * s + y;
            };
            found.push_back(wg::grad(loss)(D(3.0 + k)).item());
            found.push_back(s.item());
            s = D(0.5);
            if (freeze) frozen(D(2.0));
            if (!freeze) f(D(2.0));
            found.push_back(s.item());
        }
        return found;
    };
    CHECK(run(true) == run(false));
}

TEST_CASE("a live tensor that is a variable when the function is called")
{
    const auto run = [](bool freeze) {
        std::vector<double> found;
        D s(0.0);
        const auto f = [&](const D& x) {
            s = s * 2.0 + x;
            return sum(s * s) * 1.0;
        };
        auto frozen = wg::freeze(f);
        frozen.live(s);
        for (int k = 0; k < 5; ++k) {
            const auto loss = [&](const D& x) {
                s = x * x;
                const D y = freeze ? frozen(x) : f(x);
                return y + s;
            };
            found.push_back(wg::grad(loss)(D(3.0 + k)).item());
            found.push_back(s.item());
        }
        return found;
    };
    CHECK(run(true) == run(false));
}

TEST_CASE("a captured variable under a derivative: live tensors are updated once")
{
    const auto run = [](bool freeze) {
        std::vector<double> found;
        D s(0.0), w(2.0);
        const auto f = [&](const D& x) {
            s = s * 2.0 + w * x;
            return x * w;
        };
        auto frozen = wg::freeze(f);
        frozen.live(s);
        for (int k = 0; k < 4; ++k) {
            const auto loss = [&](const D& v) {
                w = v;
                s = D(1.0);
                const D y = freeze ? frozen(v) : f(v);
                return y + s;
            };
            found.push_back(wg::grad(loss)(D(3.0 + k)).item());
            found.push_back(s.item());
            const auto other = [&](const D& v) {  // only what it leaves in s depends on w
                w = v;
                s = D(0.0);
                freeze ? frozen(D(3.0)) : f(D(3.0));
                return s + 0.0 * v;
            };
            found.push_back(wg::grad(other)(D(5.0 + k)).item());
        }
        return found;
    };
    CHECK(run(true) == run(false));
}

TEST_CASE("the derivative does not call the host again")
{
    const auto run = [](bool freeze) {
        std::vector<double> found;
        int calls = 0, loops = 0;
        D seen(0.0);
        const auto f = [&](const D& x) {
            const D c = wg::host_callback<double>(
                {}, [&](const D&) { return D(double(++calls)); }, x);
            seen = seen + c * x;
            wg::host_callback([&](const D&) { ++calls; }, c);
            return x * c;
        };
        auto frozen = wg::freeze(f);
        frozen.live(seen);
        for (int k = 0; k < 5; ++k) {
            found.push_back(wg::grad([&](const D& x) { return freeze ? frozen(x) : f(x); })(D(3.0)).item());
            seen = seen.detach();
            found.push_back((freeze ? frozen(D(2.0)) : f(D(2.0))).item());
            found.push_back(seen.item());
            found.push_back(calls);
        }
        const auto g = [&](const D& x) {
            const auto step = [&](const D& s) {
                wg::host_callback([&](const D&) { ++loops; }, s);
                return std::pair(s * s, std::tuple<>());
            };
            return wg::scan(step, x, 2).first;
        };
        auto looped = wg::freeze(g);
        found.push_back((freeze ? looped(D(1.5)) : g(D(1.5))).item());
        for (int k = 0; k < 4; ++k) {
            found.push_back(wg::grad([&](const D& x) { return freeze ? looped(x) : g(x); })(D(1.5)).item());
            found.push_back(loops);
        }
        if (freeze) CHECK(frozen.stats().replays == 9);
        return found;
    };
    CHECK(run(true) == run(false));
}

TEST_CASE("a call that throws leaves live tensors as they were")
{
    D w(1.0);
    wg::FreezeOptions little;
    little.memory_limit = 8;
    const auto slope = wg::grad([](const D& x) { return sum(matmul(exp(x), tanh(matmul(x, x)))); });
    auto large = wg::freeze(
        [&](const D& x) {
            w = w + 1.0;
            return slope(x);
        },
        little);
    large.live(w);
    for (int k = 0; k < 2; ++k) {
        CHECK_THROWS_AS(large(wg::ones<double>({64, 64})), wg::MemoryError);
        CHECK(w.item() == 1.0);
    }

    int calls = 0;
    auto counting = wg::freeze([&](const D& x) {
        w = w + 1.0;
        return x * static_cast<double>(++calls);
    });
    counting.live(w);
    counting(D(1.0));
    CHECK_THROWS_AS(counting(D(1.0)), wg::TapeError);
    CHECK(w.item() == 2.0);

    auto adding = wg::freeze([&](const D& x) {
        w = w + 1.0;
        return x * 2.0;
    });
    adding.live(w);
    D v{1.0, 2.0};
    v.requires_grad(true);
    for (int k = 0; k < 4; ++k) adding(v * 1.0);
    CHECK(w.item() == 6.0);
    const auto before = wg::Tape::current().mark();
    const D gone = v * 3.0;
    wg::Tape::current().rewind(before);
    CHECK_THROWS_AS(adding(gone), wg::TapeError);
    CHECK(w.item() == 6.0);
    D u = v;
    {
        const auto writer = wg::write(u);
        CHECK_THROWS_AS(adding(u), wg::TapeError);
    }
    CHECK(w.item() == 6.0);
    adding(v);
    CHECK(w.item() == 7.0);
}

TEST_CASE("a tensor outside holds a value of the function: under a derivative it runs eagerly from the first "
          "call on")
{
    D last(0.0), w(1.0);
    auto frozen = wg::freeze([&](const D& x) {
        last = x * 3.0;
        w = w * x;
        return w * 2.0;
    });
    frozen.live(w);
    for (int k = 0; k < 3; ++k) {
        w = D(1.0);
        CHECK(wg::grad([&](const D& x) { return frozen(x); })(D(3.0)).item() == 2.0);
        CHECK(last.detach().item() == 9.0);
        CHECK(w.detach().item() == 3.0);
    }
}

// Random programs of Reals that go by way of tensors, inner gradients and checkpoints: reverse mode beside forward mode, beside
// backward, and in chunks of the stream of any length.
#include "catch.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <random>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;

namespace {

struct Program {
    unsigned seed;
    int steps, depth = 0;

    R operator()(const std::vector<R>& v) const
    {
        std::mt19937 r(seed);
        std::vector<R> pool(v);
        const auto pick = [&]() -> R& { return pool[r() % pool.size()]; };
        for (int s = 0; s < steps; ++s) {
            step(static_cast<unsigned>(r()), r, pool, pick);
            if (pool.size() > 12) pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(r() % pool.size()));
        }
        R sum = 0.0;
        for (const R& x : pool) sum += 0.1 * x * x;
        return sum;
    }

private:
    template <class Pick>
    void step(unsigned op, std::mt19937& r, std::vector<R>& pool, const Pick& pick) const
    {
        const R a = pick(), b = pick(), c = pick();
        switch (op % 10) {
        case 0: return pool.push_back(0.5 * (a * b) + 0.1 * a);
        case 1: return pool.push_back(sin(a) + a * 0.3);
        case 2: return pool.push_back(a / (2.0 + b * b));
        case 3:
        case 4: return pool.push_back(wg::real(wg::tensor(a)));
        case 5:
            for (const R& e : wg::elements(tanh(wg::stack(std::vector<R>{a, b, c})))) pool.push_back(e);
            return;
        case 6:
            return pool.push_back(wg::real(sum(square(wg::stack(std::vector<R>{a, R(0.7), b, c})) * 0.1)));
        case 7: {
            if (depth == 2) return;
            const Program inner{static_cast<unsigned>(r()), 5, depth + 1};
            return pool.push_back(wg::grad([&](const R& x) {
                                      return inner(std::vector<R>{x, a, b * x});
                                  })(c) *
                                  0.05);
        }
        case 8: {
            if (depth == 2) return;
            const Program inner{static_cast<unsigned>(r()), 6, 2};
            const auto f = [=](const R& x, const R& y) { return inner(std::vector<R>{x, y, x * y}); };
            return pool.push_back(wg::checkpoint(f)(a, b) * 0.2);
        }
        default: pick() = tanh(a * 0.5 + b * 0.25);
        }
    }
};

bool near(double a, double b) { return std::abs(a - b) <= 1e-10 * (1 + std::abs(b)); }

void check(const Program& f)
{
    CAPTURE(f.seed, f.steps);
    const std::vector<R> v{0.3 + 0.01 * (f.seed % 7), -0.4, 0.8};
    const std::vector<R> g = wg::grad(f)(v);
    for (std::size_t k = 0; k < v.size(); ++k) {
        std::vector<R> e(v.size(), R(0.0));
        e[k] = 1.0;
        CHECK(near(g[k].value(), wg::jvp(f, v, e).second.value()));
    }
    std::vector<R> w(v);
    for (R& x : w) x.requires_grad();
    wg::backward(f(w));
    for (std::size_t k = 0; k < v.size(); ++k) CHECK(near(w[k].grad(), g[k].value()));
    for (R& x : w) x.requires_grad(false);
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    for (const std::size_t chunk : {16U, 40U}) {
        const wg::ScalarBudget before = stream.set_budget({.chunk = chunk});
        const std::vector<R> parts = wg::grad(f)(v);
        stream.set_budget(before);
        for (std::size_t k = 0; k < v.size(); ++k) CHECK(parts[k].value() == g[k].value());
    }
}

}  // namespace

TEST_CASE("Random programs of Reals have one derivative by every road")
{
    for (unsigned seed = 0; seed < 1000; ++seed) check({seed, 4 + static_cast<int>(seed % 12)});
}

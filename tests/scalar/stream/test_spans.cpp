// Spans of scalar code: where one ends and the next goes on with its numbers.
#include "scalar/stream/scalar_tape.hpp"

#include <wengert/transforms/check_grads.hpp>

namespace wg = wengert;
using namespace scalar_tape;

namespace {

/// x by way of a tensor: what comes next is in a new span.
R through_tensor(const R& x) { return wg::real(wg::tensor(x)); }

struct TwoVariables {
    R w = 2.0, v = 3.0;
    TwoVariables() { w.requires_grad(), v.requires_grad(); }
    ~TwoVariables()
    {
        w.requires_grad(false), v.requires_grad(false);
        CHECK(recorded() == 0);
    }
    /// Theirs, which are 0 then.
    std::pair<double, double> gradients()
    {
        const std::pair<double, double> g(w.grad(), v.grad());
        w.zero_grad(), v.zero_grad();
        return g;
    }
};

}  // namespace

TEST_CASE("A span that is longer than the caches has the bits of short ones")
{
    const auto f = [](const std::vector<R>& v) {
        std::vector<R> x(v.size() * 500);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = v[i % v.size()] + 0.001 * static_cast<double>(i);
        for (int step = 0; step < 15; ++step)
            for (std::size_t i = 0; i < x.size(); ++i) {
                const R &a = x[(i * 7919) % x.size()], &b = x[x.size() - 1 - i];
                x[i] = (i % 5 == 0   ? sqrt(a) - x[i]
                        : i % 5 == 1 ? a / b
                        : i % 5 == 2 ? 2.0 - b
                                     : -a * b) *
                           0.1 +
                       1.0 + (i % 50 == 0 ? exp(-b) : R(0.0));
            }
        R sum = 0.0;
        for (const R& e : x) sum += e;
        return sum;
    };
    const std::vector<R> v{0.3, 0.97, 0.2, 0.5, 0.8, 0.1, 0.9, 0.4, 0.6, 0.7};
    std::uint32_t operations = 0;
    const auto counted = [&](const std::vector<R>& w) {
        const R y = f(w);
        operations = recorded();
        return y;
    };
    const auto whole = wg::grad(counted)(v);
    REQUIRE(operations > 1 << 18);
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    const wg::ScalarBudget before = stream.set_budget({.chunk = 5000});
    const auto parts = wg::grad(f)(v);
    stream.set_budget(before);
    for (std::size_t k = 0; k < v.size(); ++k) CHECK(whole[k].value() == parts[k].value());
}

TEST_CASE("Numbers of older spans are operands of whatever is recorded next")
{
    // a ring of cells: in each step a number goes by way of a tensor, which begins a span
    const auto ring = [](bool by_tensors) {
        return [by_tensors](const std::vector<R>& v) {
            std::vector<R> u(40), next(40);
            for (std::size_t i = 0; i < u.size(); ++i) u[i] = v[i % v.size()] + 0.01 * static_cast<double>(i);
            R product = 1.0;
            for (int step = 0; step < 12; ++step) {
                const R below = by_tensors ? wg::real(wg::tensor(u.back())) : u.back();
                for (std::size_t i = 0; i < u.size(); ++i) {
                    const R& left = i > 0 ? u[i - 1] : below;
                    next[i] = u[i] + 0.2 * (left - u[i] * v[0]) - 0.01 / u[i];
                }
                product *= 1.0 + 0.1 * sin(u[static_cast<std::size_t>(step)]);
                std::swap(u, next);
            }
            R sum = product;
            for (const R& x : u) sum += x * x;
            return sum;
        };
    };
    const std::vector<R> v{0.7, 0.9, 1.3};
    const auto near = [](const std::vector<R>& a, const std::vector<R>& b) {
        for (std::size_t k = 0; k < a.size(); ++k)
            if (std::abs(a[k].value() - b[k].value()) > 1e-12 * (1 + std::abs(b[k].value()))) return false;
        return true;
    };
    const auto gradient = [&](const std::vector<R>& x) { return wg::grad(ring(true))(x); };
    const std::vector<R> first = gradient(v);
    CHECK(near(first, wg::grad(ring(false))(v)));
    CHECK(wg::check_grads(ring(true), v));
    const auto norm = [](const auto& f) {
        return [f](const std::vector<R>& x) {
            R sum = 0.0;
            for (const R& g : wg::grad(f)(x)) sum += g * g;
            return sum;
        };
    };
    CHECK(near(wg::grad(norm(ring(true)))(v), wg::grad(norm(ring(false)))(v)));
    wg::ScalarStream& stream = wg::ScalarStream::of(wg::Tape::current());
    for (const std::size_t chunk : {50U, 333U, 2000U}) {  // from where older numbers come in by links
        const wg::ScalarBudget before = stream.set_budget({.chunk = chunk});
        const std::vector<R> parts = gradient(v);
        stream.set_budget(before);
        for (std::size_t k = 0; k < v.size(); ++k) CHECK(parts[k].value() == first[k].value());
    }
}

TEST_CASE("Numbers of older spans: levels, variables, and numbers that have ended")
{
    // x is of an outer level, y of both: what is known of one level is not taken for the other
    const auto f = [&](const R& x) {
        const R a = x * x, b = through_tensor(a), c = a * b + a;
        const R inner = wg::grad([&](const R& y) {
            const R d = y * a, e = through_tensor(d);
            return e * d * a + e * a + c * e;  // y² a³ + y a² + c y a
        })(c);
        return inner * a + through_tensor(inner) * c;
    };
    CHECK(wg::check_grads(f, R(0.8)));
    const double x = 0.8, a = x * x, c = a * a + a, inner = 2 * c * a * a * a + a * a + c * a;
    CHECK(std::abs(f(R(x)).value() - (inner * a + inner * c)) < 1e-12);

    R w = 2.0;
    w.requires_grad();
    R kept;
    const wg::Tape::Position position = wg::Tape::current().mark();
    {
        const R old = w * w, newer = through_tensor(old);
        kept = old;
        const R y = newer * old + old * w;  // old is known to the newest span
        CHECK(y.is_active());
    }
    wg::Tape::current().rewind(position);
    const R newer = through_tensor(w * 3.0);
    CHECK((newer * w).is_active());
    refused(kept, "rewound");
    R z = w * w;
    const R late = through_tensor(z), last = late * z + z;
    wg::backward(last, {.retain = true});
    CHECK(w.grad() == 4 * 8.0 + 4.0);
    wg::backward(last);
    refused(z, "backward");
    w.requires_grad(false);
}

TEST_CASE_METHOD(TwoVariables, "Spans that go on: a tensor of numbers of three spans")
{
    const R a = w * v, b = through_tensor(a) * w, c = through_tensor(b) * a;
    wg::backward(sum(wg::stack(std::vector<R>{a, c, b, a}) * D{1, 10, 100, 1000}));
    // a = wv, b = w²v, c = w³v²
    CHECK(gradients() == std::pair(1001 * 3.0 + 10 * 3 * 4 * 9.0 + 100 * 2 * 2 * 3.0,
                                   1001 * 2.0 + 10 * 8 * 2 * 3.0 + 100 * 4.0));
}

TEST_CASE_METHOD(TwoVariables,
                 "Spans that go on: a sweep uses up what its result depends on, and nothing else")
{
    D p = {2.0}, q = {5.0};
    p.requires_grad(), q.requires_grad();
    const R a = wg::real(p * 1.0) * 2.0, b = wg::real(q * 1.0) * 3.0, c = wg::real(p + q) * 4.0;
    wg::backward(b);
    wg::backward(c + a);
    CHECK((p.grad()(0).item() == 6.0 && q.grad()(0).item() == 7.0));
    refused(b, "backward");
}

TEST_CASE_METHOD(TwoVariables,
                 "Spans that go on: what a sweep has used up is refused, although a later span goes on")
{
    D p = {5.0};
    p.requires_grad();
    const R a = w * v, b = wg::real(p * 1.0), c = b * 3.0;
    wg::backward(a);
    gradients();
    refused(a, "backward");
    const R more = c * 2.0 + b;
    refused(a, "backward");
    wg::backward(more);
    CHECK((p.grad()(0).item() == 7.0 && gradients() == std::pair(0.0, 0.0)));
    const R d = w * v, e = wg::real(p * 1.0) + d;
    wg::backward(d);
    CHECK_THROWS_AS(wg::backward(e), wg::TapeError);
    const R first = w * v, second = wg::real(p * 1.0) * first, third = wg::real(p * 2.0) * first;
    wg::backward(second);
    CHECK_THROWS_AS(wg::backward(third), wg::TapeError);
    gradients();
}

TEST_CASE_METHOD(TwoVariables, "Spans that go on: a level has ended, and a span of a lower one goes on")
{
    const R low = w * v;
    R escaped;
    const R inner = wg::grad([&](const R& x) {
        const R y = x * low, z = through_tensor(y) * x;
        escaped = z;
        return z * z;
    })(R(1.5));
    const R after = through_tensor(inner) * low;
    refused(escaped, "escaped");
    const R other = wg::grad([&](const R& x) {
        const R y = through_tensor(x * low) * x;
        refused(escaped, "escaped");
        return y * after;
    })(R(0.5));
    wg::backward(other + after);  // inner = 4 x³ low², after = inner low, other = 2 x low after
    const double p = 6.0, k = 4 * 1.5 * 1.5 * 1.5;
    const double slope = 4 * k * p * p * p + 3 * k * p * p;
    CHECK(std::abs(w.grad() - 3 * slope) < 1e-9 * slope);
    CHECK(std::abs(v.grad() - 2 * slope) < 1e-9 * slope);
}

TEST_CASE_METHOD(TwoVariables,
                 "Spans that go on: a level has ended, and the next one comes by way of tensors")
{
    D p = {1.5};
    p.requires_grad();
    R escaped, kept;
    const R inner = wg::grad([&](const R& x) {
        escaped = through_tensor(x * w) * x;
        const R result = escaped * escaped;
        kept = through_tensor(w * v);
        return result;
    })(R(2.0));
    const auto slope = wg::grad([&](const D& t) {
        const R y = wg::real(t * p);
        refused(escaped, "escaped");
        return wg::tensor(y * y);
    })(D{3.0});
    CHECK(slope(0).item() == 2 * 3.0 * 1.5 * 1.5);
    wg::backward(inner + kept + wg::real(slope));
}

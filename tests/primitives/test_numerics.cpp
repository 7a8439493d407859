// Rounding: long sums, large shifts, tails of distributions, equal elements. Against long double or closed forms.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/jvp.hpp>

using namespace wengert;

namespace {

using Float = Tensor<float>;
using Double = Tensor<double>;

/// Relative to `want`.
double error(double got, double want) { return std::abs(got / want - 1); }

}  // namespace

TEST_CASE("numerics: products with one row and one column are summed as sums are")
{
    const std::int64_t n = 1 << 22;
    const auto x = uniform<float>(Key(5), {n});
    const auto wide = cast<double>(x);
    const double want = sum(wide * wide).item();
    CHECK(error(dot(x, x).item(), want) < 1e-6);
    const auto column = reshape(x, {n, 1}), row = reshape(x, {1, n});
    CHECK(error(matmul(row, column).item(), want) < 1e-6);
    const auto twice = stack(std::vector<Float>{x, x}, 1);  // (n, 2): elements lie two apart
    CHECK(error(dot(view(twice, wengert::all(), 0), view(twice, wengert::all(), 1)).item(), want) < 1e-6);
    const auto both = matmul(row, twice);
    CHECK(error(both(0, 0).item(), want) < 1e-6);
    CHECK(both(0, 0).item() == both(0, 1).item());
    const auto four = broadcast_to(row, {4, n});
    CHECK(error(matmul(copy(four), x)(3).item(), want) < 1e-6);
}

TEST_CASE("numerics: dot adds to what is there, alone and in blocks")
{
    for (const std::size_t k : {1U, 2U, 33U, 2049U, 5000U}) {
        std::vector<double> a(2 * k), b(k);
        for (std::size_t i = 0; i < k; ++i)
            a[2 * i] = static_cast<double>(i % 7) - 3, b[i] = static_cast<double>(i % 5);
        double want = 0, y = 10, z = 10;
        for (std::size_t i = 0; i < k; ++i) want += a[2 * i] * b[i];
        kernels::gemm<double>(true, false, 1, 1, k, 2.0, a.data(), 2, b.data(), 1, 3.0, &y, 1);
        CHECK(y == 2 * want + 30);
        kernels::gemm<double>(true, false, 1, 1, k, 1.0, a.data(), 2, b.data(), 1, 0.0, &z, 1);
        CHECK(z == want);
    }
}

TEST_CASE("numerics: a norm that is scaled is summed as others")
{
    const std::int64_t n = 1 << 22;
    const auto x = uniform<float>(Key(6), {n});
    const auto wide = cast<double>(x);
    const double want = std::sqrt(sum(wide * wide).item());
    CHECK(error(norm(x * 1e30F).item() / 1e30, want) < 1e-6);
    CHECK(error(norm(reshape(x * 1e30F, {n, 1}), {0})(0).item() / 1e30, want) < 1e-6);
    CHECK(error(norm(stack(std::vector<Float>{x, x * 1e30F}, 1), {0})(1).item() / 1e30, want) < 1e-6);
    CHECK(norm(Double(Shape{0}, std::vector<double>())).item() == 0);
}

TEST_CASE("numerics: the gradient of logsumexp does not depend on a shift")
{
    for (const float c : {0.0F, 1e3F, 1e6F, 1e7F, -1e7F, 1e30F}) {
        const auto f = [](const Float& x) { return sum(logsumexp(x, {0})); };
        const auto g = grad(f)(Float{{c, c}, {c, c}});
        CHECK(g(0, 0).item() == 0.5F);
        const auto [y, dot] = jvp(f, Float{c, c}, Float{1.0F, 3.0F});
        CHECK(dot.item() == 2);
    }
    const auto all_of = [](const Double& x) { return logsumexp(x); };
    const auto h = hessian(all_of)(Double{1e6, 1e6});
    CHECK(h(0, 0).item() == Approx(0.25));
    CHECK(h(0, 1).item() == Approx(-0.25));
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(grad(all_of)(Double{-inf, -inf})(0).item() == 0);
    CHECK(grad(all_of)(Double{-inf, 1.0})(1).item() == 1);
}

TEST_CASE("numerics: cross_entropy is -log_softmax at the label, however large the logits")
{
    for (const float c : {0.0F, 1e2F, 1e4F, 1e6F}) {
        const Float l = {{c, c - 5}};
        CHECK(cross_entropy(l, Indices{0}).item() == -log_softmax(l)(0, 0).item());
        CHECK(error(cross_entropy(l, Indices{0}).item(), std::log1p(std::exp(-5.0))) < 1e-6);
    }
}

TEST_CASE("numerics: equal elements have the variance 0 and a flat stddev, whatever their mean rounds to")
{
    const auto flat = [](const Double& x) { return stddev(x); };
    const auto columns = [](const Double& x) { return sum(stddev(x, {0})); };
    for (const std::int64_t n : {3, 10, 49}) {
        const auto x = full<double>({n}, 0.1);
        CHECK(var(x).item() == 0);
        CHECK(sum(abs(grad(flat)(x))).item() == 0);
        CHECK(sum(abs(hessian(flat)(x))).item() == 0);
        CHECK(sum(abs(grad(columns)(full<double>({n, 3}, 0.1)))).item() == 0);
        CHECK(sum(abs(grad(columns)(full<double>({n, 1}, 0.1)))).item() == 0);
    }
    CHECK(var(Float{1e7F, 1e7F + 1, 1e7F + 4, 1e7F + 5}).item() == 4.25F);  // their mean is no float
}

TEST_CASE("numerics: the Hessian of pow is symmetric where the exponent is 0")
{
    const auto f = [](const Double& t) { return pow(t(0), t(1)); };
    const auto h = hessian(f)(Double{2.0, 0.0});
    const double ln2 = std::log(2.0);
    CHECK(h(0, 0).item() == 0);
    CHECK(h(0, 1).item() == Approx(0.5));
    CHECK(h(1, 0).item() == Approx(0.5));
    CHECK(h(1, 1).item() == Approx(ln2 * ln2));
    for (const double a : {0.0, 1e-320, -2.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK(grad(f)(Double{a, 0.0})(0).item() == 0);
}

TEMPLATE_TEST_CASE("numerics: gelu's derivative in the lower tail", "", float, double)
{
    const bool single = std::is_same_v<TestType, float>;
    for (const double c : {-1.0, -3.0, -5.0, single ? -5.5 : -8.0}) {
        const long double x = c, pi = std::numbers::pi_v<long double>;
        const long double want =
            0.5L * std::erfc(-x / std::sqrt(2.0L)) + x * std::exp(-0.5L * x * x) / std::sqrt(2 * pi);
        const auto f = [](const Tensor<TestType>& t) { return gelu(t); };
        const auto got = grad(f)(Tensor<TestType>(static_cast<TestType>(c))).item();
        CHECK(error(got, static_cast<double>(want)) < (single ? 2e-5 : 1e-13));
        const auto slope = [&](const Tensor<TestType>& t) { return grad(f)(t); };
        const auto second = grad(slope);
        const long double curve = (2 - x * x) * std::exp(-0.5L * x * x) / std::sqrt(2 * pi);
        CHECK(error(second(Tensor<TestType>(static_cast<TestType>(c))).item(), static_cast<double>(curve)) <
              (single ? 2e-5 : 1e-13));
    }
}

TEMPLATE_TEST_CASE("numerics: the normal distribution in its lower tail, as long as it is a normal number",
                   "", float, double)
{
    const bool single = std::is_same_v<TestType, float>;
    const double last = single ? -12.9 : -37.5;
    const auto x = linspace<TestType>(static_cast<TestType>(last), TestType(1), 2001);
    const auto y = normal_cdf(x), z = gelu(x);
    double worst = 0;
    for (std::int64_t i = 0; i < 2001; ++i) {
        const long double at = x(i).item(), want = 0.5L * std::erfc(-at / std::sqrt(2.0L));
        worst = std::max(worst, error(y(i).item(), static_cast<double>(want)));
        if (at != 0) worst = std::max(worst, error(z(i).item(), static_cast<double>(at * want)));
    }
    CHECK(worst < 14 * static_cast<double>(std::numeric_limits<TestType>::epsilon()));
}

TEST_CASE("numerics: derivatives that become small keep their digits")
{
    const auto slope_of = [](auto f) { return grad([f](const Double& x) { return sum(f(x)); }); };
    const auto slope = slope_of([](const Double& x) { return expm1(x); });
    const auto curve = slope_of(slope_of([](const Double& x) { return softplus(x); }));
    const auto lower = slope_of(slope_of([](const Double& x) { return log_sigmoid(x); }));
    for (const double x : {1.0, 20.0, 40.0, 100.0}) {
        CHECK(error(slope(Double(-x)).item(), std::exp(-x)) < 1e-15);
        const double e = std::exp(-x), want = e / ((1 + e) * (1 + e));
        CHECK(error(curve(Double(x)).item(), want) < 4e-15);
        CHECK(error(lower(Double(-x)).item(), -want) < 4e-15);
    }
}

TEST_CASE("numerics: a sum of negative zeros has one sign, whatever the width of a register")
{
    for (const std::int64_t n : {2, 3, 4, 5, 8, 9, 16, 17, 64, 5000}) {
        INFO(n);
        const Tensor<float> x = full<float>({3, n}, -0.0F);
        CHECK(!std::signbit(sum(x, {1})(0).item()));
        CHECK(!std::signbit(amax(x, {1})(0).item()));
        CHECK(!std::signbit(sum(full<double>({n, 3}, -0.0), {0})(0).item()));
    }
    CHECK(std::signbit(sum(full<double>({3, 1}, -0.0), {1})(0).item()));  // one element is that element
}

// Both modes to the second order of every function of complex tensors, of views, empty arrays, rank 0; the convention of cotangents.
#include "complex/complex_cases.hpp"

using namespace complex_cases;

namespace {

// What rules read the value of alone, with slope 0, no program finds.
template <class X>
concept HasCopysign = requires(X x) { copysign(x, x); };
static_assert(!HasCopysign<Tensor<double>>);

template <class T> wg::CheckOptions options(int order)
{
    const bool single = std::is_same_v<T, float>;
    return {.order = order, .eps = single ? 2e-2 : 0.0, .tolerance = single ? 3e-2 : 2e-6};
}
/// A view whose axes are exchanged, with the elements of z.
template <class T> Z<T> exchanged(const Z<T>& z) { return transpose(copy(transpose(z))); }

}  // namespace

TEMPLATE_TEST_CASE("complex: derivatives to the second order", "", float, double)
{
    using T = TestType;
    for (const auto& c : all<T>())
        for (const auto& z : {numbers<T>({2, 3}), exchanged(numbers<T>({2, 3}, 2))}) {
            const auto report = wg::check_grads(loss<T>(c.f), z, options<T>(2));
            INFO(c.name << ": " << report.message);
            CHECK(report.ok);
        }
}

TEST_CASE("complex: derivatives with respect to real operands")
{
    using C = std::complex<double>;
    using D = Tensor<double>;
    const Z<double> z = numbers<double>({2, 3});
    const D r = {0.5, -2.0, 1.5};
    const std::vector<std::pair<std::string, std::function<Z<double>(const D&)>>> functions = {
        {"times", [&](const D& x) { return z * x; }},
        {"plus", [&](const D& x) { return x + z; }},
        {"less", [&](const D& x) { return z - x; }},
        {"from", [&](const D& x) { return x - z; }},
        {"by", [&](const D& x) { return z / x; }},
        {"over", [&](const D& x) { return x / z; }},
        {"a number", [&](const D& x) { return x * C(0.3, 1) + C(1, 2) / x; }},
        {"polar", [&](const D& x) { return polar(x, 2.0 * x); }},
        {"complex", [&](const D& x) { return complex(x, sin(x)); }},
        {"cast", [&](const D& x) { return exp(wg::cast<C>(x)); }}};
    for (const auto& [name, f] : functions) {
        const auto report =
            wg::check_grads([&](const D& x) { return sum(sin(f(x).parts())); }, r, {.order = 2});
        INFO(name << ": " << report.message);
        CHECK(report.ok);
    }
}

TEST_CASE("complex: empty arrays and rank 0")
{
    for (const auto& c : elementwise<double>()) {
        INFO(c.name);
        const auto f = [&](const Z<double>& z) { return sum(c.f(z).parts()); };
        CHECK(wg::grad(f)(numbers<double>({0, 3})).shape() == Shape{0, 3});
        const auto report = wg::check_grads([&](const Z<double>& z) { return sum(sin(c.f(z).parts())); },
                                            numbers<double>({}));
        INFO(report.message);
        CHECK(report.ok);
    }
}

TEST_CASE("complex: a gradient is dL/dRe + i dL/dIm, so that a step against it descends")
{
    using C = std::complex<double>;
    const Z<double> z = {C(1, 2), C(-0.5, 0.3)};
    CHECK(allclose(wg::grad([](const Z<double>& t) { return sum(square(abs(t))); })(z), 2.0 * z, 1e-15));
    CHECK(allclose(wg::grad([](const Z<double>& t) { return sum(imag(t)); })(z), wg::full<C>({2}, C(0, 1)),
                   0.0));
    CHECK(allclose(wg::grad([](const Z<double>& t) { return sum(real(t * t)); })(z), 2.0 * conj(z), 1e-15));
    Z<double> w = z;
    const auto f = [](const Z<double>& t) { return sum(square(abs(t - C(3, -1)))); };
    for (int i = 0; i < 100; ++i) w -= 0.1 * wg::grad(f)(w);
    CHECK(allclose(w, wg::full<C>({2}, C(3, -1)), 1e-8));
}

TEST_CASE("complex: abs and angle have the gradient 0 at 0")
{
    const Z<double> z = wg::zeros<std::complex<double>>({2});
    const auto f = [](const Z<double>& t) { return sum(abs(t)) + sum(angle(t)); };
    CHECK(allclose(wg::grad(f)(z), z, 0.0));
}

TEST_CASE("complex: backward() and leaves")
{
    using C = std::complex<double>;
    Z<double> z = {C(1, 2), 3.0};
    z.requires_grad();
    CHECK(z.is_leaf());
    backward(sum(square(abs(z))));
    CHECK(allclose(z.grad(), 2.0 * z.detach(), 1e-15));
    z.zero_grad();
    CHECK(allclose(z.grad(), wg::zeros<C>({2}), 0.0));
    backward(sum(real(z.detach() * z)));
    CHECK(allclose(z.grad(), conj(z.detach()), 1e-15));
}

TEST_CASE(
    "complex: a variable that is written without being recorded stays one, and otherwise an interior value")
{
    using C = std::complex<double>;
    const Z<double> start = {C(1, 2), C(3, -1)};
    const Tensor<double> real = {2.0, 4.0};
    const auto updates =
        std::tuple([&](auto& z) { z += real; }, [&](auto& z) { z -= 1.0; }, [&](auto& z) { z *= C(0, 2); },
                   [&](auto& z) { z /= real; }, [&](auto& z) { z *= start; }, [&](auto& z) { z += start; },
                   [&](auto& z) { z /= 2.0; }, [&](auto& z) { z *= z; });
    const auto check = [&](const auto& update) {
        Z<double> expected = start, z = start;
        update(expected);
        z.requires_grad();
        {
            const wg::NoGrad guard;
            update(z);
        }
        CHECK(allclose(z.detach(), expected, 0.0));
        REQUIRE(z.is_leaf());
        backward(sum(square(abs(z))));
        CHECK(allclose(z.grad(), 2.0 * expected, 1e-14));

        Z<double> leaf = start;
        leaf.requires_grad();
        const Z<double> before = leaf;
        update(leaf);
        CHECK_FALSE(leaf.is_leaf());
        backward(sum(square(abs(leaf))));
        CHECK(allclose(before.grad(), wg::grad([&](const Z<double>& t) {
                           Z<double> u = t;
                           update(u);
                           return sum(square(abs(u)));
                       })(start),
                       1e-14));
        CHECK_THROWS_WITH(leaf.grad(), contains("became an interior value by the write at"));
    };
    std::apply([&](const auto&... update) { (check(update), ...); }, updates);
}

TEST_CASE("complex: gradients through the updates of variables that copies share")
{
    using C = std::complex<double>;
    Z<double> z = {C(1, 2), C(3, -1)};
    z.requires_grad();
    Z<double> copy = z;
    {
        const wg::NoGrad guard;
        copy *= C(0, 1);
    }
    backward(sum(square(abs(z))) + sum(square(abs(copy))) * 2.0);
    CHECK(allclose(z.grad(), 2.0 * z.detach(), 1e-15));
    CHECK(allclose(copy.grad(), 4.0 * copy.detach(), 1e-15));
}

TEST_CASE("complex: a zero cotangent makes no NaN, whatever its neighbours are")
{
    using C = std::complex<double>;
    using Function = std::function<Z<double>(const Z<double>&)>;
    const std::pair<const char*, Function> functions[] = {
        {"log", [](const Z<double>& z) { return log(z); }},
        {"sqrt", [](const Z<double>& z) { return sqrt(z); }},
        {"reciprocal", [](const Z<double>& z) { return reciprocal(z); }},
        {"quotient", [](const Z<double>& z) { return z / z; }},
        {"product", [](const Z<double>& z) { return z * log(z) * conj(log(z)); }},
        {"number", [](const Z<double>& z) { return C(1.0, 2.0) / z + real(z) / z; }},
    };
    const Z<double> z{C(0.0, 0.0), C(1.0, 0.5)}, along{C(1.0, 2.0), C(0.3, -0.2)}, alone{C(1.0, 0.5)};
    for (const auto& [name, f] : functions) {
        INFO(name);
        const auto loss = [&, &of = f](const Z<double>& x) {
            return sum(real(where(abs(x) > 0.0, of(x), 0.0 * x)));
        };
        const Z<double> want = wg::grad(loss)(alone), g = wg::grad(loss)(z);
        CHECK(g.data()[0] == C(0.0, 0.0));
        CHECK(g.data()[1] == want.data()[0]);
        const Z<double> frozen = wg::freeze(wg::grad(loss))(z);
        CHECK(same_bits(frozen.parts(), g.parts()));
        const Z<double> second = wg::hvp(loss)(z, along),
                        only = wg::hvp(loss)(alone, Z<double>{C(0.3, -0.2)});
        CHECK(second.data()[0] == C(0.0, 0.0));
        CHECK(std::abs(second.data()[1] - only.data()[0]) <= 1e-14 * std::abs(only.data()[0]));
        const auto twice = [&](const Z<double>& x) { return sum(real(wg::grad(loss)(x) * C(0.5, -1.0))); };
        const Z<double> nested = wg::grad(twice)(z), once = wg::grad(twice)(alone);
        CHECK(nested.data()[0] == C(0.0, 0.0));
        CHECK(std::abs(nested.data()[1] - once.data()[0]) <= 1e-14 * std::abs(once.data()[0]));
        const wg::AllowNaN as_elsewhere;
        CHECK(std::isnan(wg::grad(loss)(z).data()[0].real()));
    }
    const auto flat = [](const Z<double>& x) { return sum(real(tanh(x) * conj(tanh(x)))); };
    const Z<double> curved = wg::hvp(flat)(z, along);  // |tanh z|² is |z|² near 0
    CHECK(std::abs(curved.data()[0] - 2.0 * C(1.0, 2.0)) < 1e-14);
}

// Values of complex functions beside std::complex, over sweeps of magnitudes and angles and at edges; construction and reading.
#include "complex/complex_cases.hpp"

#include <sstream>

using namespace complex_cases;

namespace {

/// Magnitudes from `least` to `most`, at angles in every octant and on the axes.
template <class T> std::vector<std::complex<T>> sweep(double least, double most)
{
    std::vector<std::complex<T>> z;
    for (double r = least; r <= most; r *= 1.37)
        for (const double a :
             {0.0, 0.3, 0.7853981633974483, 1.2, 1.5707963267948966, 2.2, 2.9, -0.1, -0.9, -1.9, -2.5, -3.0})
            z.emplace_back(T(r * std::cos(a)), T(r * std::sin(a)));
    return z;
}

/// The distance of values to those of long double, as units in the last place of their size.
template <class T, class F, class G>
void check(const char* name, const std::vector<std::complex<T>>& in, const F& f, const G& exact,
           double allowed)
{
    const Z<T> out = f(Z<T>(in));
    double worst = 0;
    std::complex<T> where = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const std::complex<long double> want = exact(std::complex<long double>(in[i].real(), in[i].imag()));
        const long double size = std::abs(want);
        if (!(size < std::numeric_limits<T>::max()) || size < std::numeric_limits<T>::min()) continue;
        const std::complex<T> got = out.data()[i];
        const std::complex<long double> error(got.real() - want.real(), got.imag() - want.imag());
        const double ulps = static_cast<double>(std::abs(error) / size / std::numeric_limits<T>::epsilon());
        if (!(ulps <= worst)) worst = ulps, where = in[i];
    }
    INFO(name << ": " << worst << " units at " << where.real() << " + " << where.imag() << " i");
    CHECK(worst <= allowed);
}

}  // namespace

TEMPLATE_TEST_CASE("complex: functions are within a few units of the exact values", "", float, double)
{
    using T = TestType;
    using L = std::complex<long double>;
    const auto all =
        sweep<T>(std::is_same_v<T, float> ? 1e-30 : 1e-300, std::is_same_v<T, float> ? 1e30 : 1e300);
    const auto usual = sweep<T>(1e-3, 30.0);
    check<T>(
        "log", all, [](const Z<T>& z) { return log(z); }, [](L z) { return std::log(z); }, 4);
    check<T>(
        "sqrt", all, [](const Z<T>& z) { return sqrt(z); }, [](L z) { return std::sqrt(z); }, 4);
    check<T>(
        "reciprocal", all, [](const Z<T>& z) { return reciprocal(z); }, [](L z) { return L(1) / z; }, 4);
    check<T>(
        "abs", all, [](const Z<T>& z) { return Z<T>(wg::cast<std::complex<T>>(abs(z))); },
        [](L z) { return L(std::abs(z)); }, 2);
    check<T>(
        "exp", usual, [](const Z<T>& z) { return exp(z); }, [](L z) { return std::exp(z); }, 4);
    check<T>(
        "sin", usual, [](const Z<T>& z) { return sin(z); }, [](L z) { return std::sin(z); }, 5);
    check<T>(
        "cos", usual, [](const Z<T>& z) { return cos(z); }, [](L z) { return std::cos(z); }, 5);
    check<T>(
        "sinh", usual, [](const Z<T>& z) { return sinh(z); }, [](L z) { return std::sinh(z); }, 5);
    check<T>(
        "cosh", usual, [](const Z<T>& z) { return cosh(z); }, [](L z) { return std::cosh(z); }, 5);
    check<T>(
        "tanh", usual, [](const Z<T>& z) { return tanh(z); }, [](L z) { return std::tanh(z); }, 8);
    check<T>(
        "tan", usual, [](const Z<T>& z) { return tan(z); }, [](L z) { return std::tan(z); }, 8);
    check<T>(
        "divide", all, [](const Z<T>& z) { return std::complex<T>(T(0.3), T(-2.5)) / z; },
        [](L z) { return L(std::complex<T>(T(0.3), T(-2.5))) / z; }, 5);
    check<T>(
        "product", usual, [](const Z<T>& z) { return z * std::complex<T>(T(0.3), T(-2.5)); },
        [](L z) { return z * L(std::complex<T>(T(0.3), T(-2.5))); }, 3);
}

TEMPLATE_TEST_CASE("complex: log has its digits near the unit circle", "", float, double)
{
    using T = TestType;
    std::vector<std::complex<T>> near;
    for (int k = 0; k < 64; ++k)
        for (const double off : {0.0, 1e-9, -1e-7, 1e-4, -1e-3}) {
            const double a = 0.1 * k, r = 1 + off;
            near.emplace_back(T(r * std::cos(a)), T(r * std::sin(a)));
        }
    near.emplace_back(T(0.6), T(0.8));
    const Z<T> got = log(Z<T>(near));
    for (std::size_t i = 0; i < near.size(); ++i) {  // x² + y² − 1 of the very numbers, with twice the digits
        const auto x = static_cast<long double>(near[i].real()), y = static_cast<long double>(near[i].imag());
        const long double want =
            std::is_same_v<T, float> ? std::log1p((x - 1) * (x + 1) + y * y) / 2 : std::log(std::hypot(x, y));
        const long double allowed = 6 * std::numeric_limits<T>::epsilon() * std::abs(want) + 1e-19L;
        INFO(near[i].real() << " + " << near[i].imag() << " i: " << got.data()[i].real() << ", want "
                            << static_cast<double>(want));
        CHECK(std::abs(got.data()[i].real() - want) <= allowed);
    }
}

TEST_CASE("complex: edges, cuts and signs of zero as in C99")
{
    using C = std::complex<double>;
    constexpr double inf = std::numeric_limits<double>::infinity();
    const auto same = [](const Z<double>& got, C want) {
        const C g = got.item();
        INFO(g.real() << ", " << g.imag() << "; want " << want.real() << ", " << want.imag());
        CHECK(same_bits(wg::Tensor<double>(g.real()), wg::Tensor<double>(want.real())));
        CHECK(same_bits(wg::Tensor<double>(g.imag()), wg::Tensor<double>(want.imag())));
    };
    for (const C z : {C(-4.0, 0.0), C(-4.0, -0.0), C(4.0, -0.0), C(0.0, 0.0), C(-0.0, -0.0), C(0.0, -2.0),
                      C(inf, 1.0), C(-inf, -1.0), C(1.0, inf), C(-1.0, -inf)})
        same(sqrt(Z<double>(z)), std::sqrt(z));
    for (const C z :
         {C(-1.0, 0.0), C(-1.0, -0.0), C(1.0, 0.0), C(1.0, -0.0), C(0.0, 0.0), C(inf, 1.0), C(3.0, -inf)})
        same(log(Z<double>(z)), std::log(z));
    for (const C z : {C(0.0, 0.0), C(0.0, -0.0), C(-inf, 3.0), C(inf, 0.0)})
        same(exp(Z<double>(z)), std::exp(z));
    const auto near = [](C a, C b) { return std::abs(a * 0x1p-20 / (b * 0x1p-20) - 1.0) < 1e-12; };
    CHECK(near(exp(Z<double>(C(710.0, 0.78))).item(), std::exp(C(710.0, 0.78))));  // e^710 alone is infinite
    CHECK(near(sinh(Z<double>(C(-710.7, 0.78))).item(), std::sinh(C(-710.7, 0.78))));
    CHECK(near(cosh(Z<double>(C(710.7, 0.78))).item(), std::cosh(C(710.7, 0.78))));
    same(Z<double>(C(1.0, -0.0)) + 1.0, C(2.0, -0.0));
    same(Z<double>(C(1.0, -0.0)) * 2.0, C(2.0, -0.0));
    same(Z<double>(C(1.0, 2.0)) / 0.0, C(inf, inf));
    CHECK(std::isinf((Z<double>(C(1.0, 2.0)) / C(0.0, 0.0)).item().real()));
    CHECK((Z<double>(C(1.0, 2.0)) / C(inf, 1.0)).item() == C(0.0, 0.0));
    CHECK(abs(Z<double>(C(3e300, 4e300))).item() == 5e300);
    CHECK((Z<double>(C(1e300, 1e300)) / C(1e300, 1e300)).item() == C(1.0, 0.0));
    CHECK((Z<double>(C(1e-310, 1e-310)) / C(1e-310, 1e-310)).item() == C(1.0, 0.0));
    same(pow(Z<double>(C(0.0, 0.0)), 2.5), C(0.0, 0.0));
    same(pow(Z<double>(C(0.0, 0.0)), 0.0), C(1.0, 0.0));
    CHECK(pow(Z<double>(C(3.0, 4.0)), 100.0).item() == pow(Z<double>(C(3.0, 4.0)), 100).item());
    CHECK(pow(Z<double>(C(3.0, 4.0)), -2.0).item() == pow(Z<double>(C(3.0, 4.0)), -2).item());
    const auto slope = [](double w) {
        return wg::grad([=](const Z<double>& z) { return real(pow(z, w)); })(Z<double>(C(0.0, 0.0))).item();
    };
    CHECK(slope(1.0) == C(1.0, 0.0));
    CHECK(slope(0.0) == C(0.0, 0.0));
}

TEST_CASE("complex: flip, squeeze and roll of all axes")
{
    using C = std::complex<double>;
    const Z<double> z = {{C(1, 2), C(3, 4)}};
    CHECK(flip(z).data()[0] == C(3, 4));
    CHECK(flip(z).shape() == Shape{1, 2});
    CHECK(squeeze(z).shape() == Shape{2});
    CHECK(squeeze(z).data()[1] == C(3, 4));
    CHECK(roll(z, 1).data()[0] == C(3, 4));
    CHECK(roll(z, 1).shape() == Shape{1, 2});
}

TEST_CASE("complex: members are the functions of their names")
{
    using C = std::complex<double>;
    const Z<double> z = {{C(1, 2), C(3, 4), 0.5}, {C(0, -1), 2.0, C(-1, 1)}};
    CHECK(allclose(z.T(), transpose(z), 0.0));
    CHECK(allclose(z.reshape({3, -1}), reshape(z, {3, 2}), 0.0));
    CHECK(allclose(z.sum(), sum(z), 0.0));
    CHECK(allclose(z.sum(1, true), sum(z, 1, true), 0.0));
    CHECK(allclose(z.mean(), mean(z), 0.0));
    CHECK(allclose(z.mean({0}), mean(z, {0}), 0.0));
    CHECK(z[1][2].item() == C(-1, 1));
    CHECK(wg::check_grads([](const Z<double>& t) { return sum(abs((-t).T().reshape({-1}) * t.mean())); }, z,
                          {.order = 2})
              .ok);
}

TEST_CASE("complex: a view with a name writes to its variable, and shows what it has written")
{
    using C = std::complex<double>;
    Z<double> z = {{C(1, 2), C(3, 4)}, {5.0, C(0, 1)}};
    auto row = view(z, 0);
    row *= 2.0;
    CHECK(z(0, 1).item() == C(6, 8));
    CHECK(row(1).item() == C(6, 8));
    row += view(z, 1);
    row -= C(0, 1);
    CHECK(z(0, 0).item() == C(7, 3));
    row /= 2.0;
    CHECK(z(0, 0).item() == C(3.5, 1.5));
    row = z(1);
    CHECK(z(0, 1).item() == C(0, 1));
    CHECK(row(0).item() == C(5, 0));
    view(z, 1) = row;
    CHECK(z(1, 1).item() == C(0, 1));
    const auto f = [](const Z<double>& t) {
        Z<double> u = t * 1.0;
        auto first = view(u, 0);
        first *= view(t, 1);
        first += 2.5;
        return sum(abs(u) * abs(u));
    };
    CHECK(wg::check_grads(f, z, {.order = 2}).ok);
    CHECK(allclose(wg::freeze(wg::grad(f))(z), wg::grad(f)(z), 0.0));
}

TEST_CASE("complex: construction, reading, comparison and printing")
{
    using C = std::complex<double>;
    const Z<double> z = {{1.0, C(0, 2)}, {C(3, -1), 4}};
    CHECK(z.shape() == Shape{2, 2});
    CHECK(z.dimension() == 2);
    CHECK(z.size() == 4);
    CHECK(z.size(-1) == 2);
    CHECK(z(1, 0).item() == C(3, -1));
    CHECK(z.data()[1] == C(0, 2));
    CHECK(z.parts().shape() == Shape{2, 2, 2});
    CHECK(C(z(0, 1)) == C(0, 2));
    CHECK(Z<double>(C(1, 2)).shape().empty());
    CHECK(Z<double>(std::vector<C>{C(1, 1), 2.0}).shape() == Shape{2});
    CHECK(Z<double>(xt::xarray<C>{C(1, 2), C(3, 4)})(1).item() == C(3, 4));
    CHECK(Z<double>(Shape{1, 2}, std::vector<C>{1.0, C(0, 1)})(0, 1).item() == C(0, 1));
    CHECK(allclose(wg::zeros<C>({2}) + wg::ones<C>({2}), wg::full<C>({2}, C(1, 0)), 0.0));
    CHECK(all(z == z).item());
    CHECK((z != conj(z))(0, 1).item());
    CHECK_FALSE((z == conj(z))(1, 0).item());
    CHECK(allclose(z, z + 1e-12));
    CHECK_FALSE(allclose(z, z + C(0, 1e-3)));
    CHECK(allclose(wg::cast<std::complex<float>>(z), wg::cast<std::complex<float>>(z), 0.0));
    CHECK(real(z)(1, 0).item() == 3.0);
    std::ostringstream text;
    text << z << Z<double>();
    CHECK_THAT(text.str(), contains("complex") && contains("-1.0") && contains("undefined"));
    const Z<double> none = wg::zeros<C>({0, 3});
    CHECK((none * none + exp(none)).shape() == Shape{0, 3});
    CHECK(sum(none).item() == C(0, 0));
}

TEST_CASE("complex: products beside loops")
{
    using C = std::complex<double>;
    const Z<double> a = numbers<double>({3, 4}), b = numbers<double>({4, 5}, 2), y = matmul(a, b);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 5; ++j) {
            C s = 0;
            for (int k = 0; k < 4; ++k) s += a(i, k).item() * b(k, j).item();
            CHECK(std::abs(y(i, j).item() - s) < 1e-14);
        }
    CHECK(allclose(matmul(a(0), b), y(0), 1e-15));
    CHECK(std::abs(dot(a(0), a(1)).item() - sum(a(0) * a(1)).item()) < 1e-15);
}

TEST_CASE("complex: cosh and cos on their axes, where the other part is infinite")
{
    using C = std::complex<double>;
    for (const double x : {2000.0, -2000.0, 3.0, -3.0, 0.0})
        for (const double y : {0.0, -0.0}) {
            const C h = cosh(Z<double>(C(x, y))).item(), wanted = std::cosh(C(x, y));
            CHECK(h.imag() == 0.0);
            CHECK(std::signbit(h.imag()) == std::signbit(wanted.imag()));
            CHECK((std::isinf(h.real()) ? h.real() == wanted.real() : std::abs(h - wanted) < 1e-14));
            const C c = cos(Z<double>(C(y, x))).item(), cosine = std::cos(C(y, x));
            CHECK(c.imag() == 0.0);
            CHECK(std::signbit(c.imag()) == std::signbit(cosine.imag()));
        }
}

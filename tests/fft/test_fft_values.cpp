// Fourier transforms beside numpy.fft: values, gradients and tangents, of contiguous operands and of strided ones.
#include <wengert/fft.hpp>
#include <wengert/wengert.hpp>

#include "fixtures/fixtures.hpp"

namespace wg = wengert;
namespace ft = wengert::fft;
using wg::Shape;
using wg::Tensor;

namespace {

struct Asked {
    std::int64_t n, axis;
    Shape s;
    wg::Axes axes, two;
    ft::Norm norm;
    explicit Asked(const fixtures::Params& p)
        : n(p.integer("n", ft::whole)), axis(p.integer("axis", -1)), s(p.shape("s")), axes(p.shape("axes")),
          two(p.has("axes") ? axes : wg::Axes{-2, -1}), norm(ft::Norm::backward)
    {
        if (p.has("norm") && p["norm"][0] == "ortho") norm = ft::Norm::ortho;
        if (p.has("norm") && p["norm"][0] == "forward") norm = ft::Norm::forward;
    }
};

/// From parts to parts, or from and to real numbers.
template <class T, class F> auto by_parts(F f)
{
    return [f](const fixtures::Inputs<T>& x, const fixtures::Case& c) {
        const Asked a(c.params);
        const auto y = f(Tensor<std::complex<T>>::from_parts(x[0]), a);
        if constexpr (requires { y.parts(); })
            return y.parts();
        else
            return y;
    };
}
template <class T, class F> auto of_reals(F f)
{
    return [f](const fixtures::Inputs<T>& x, const fixtures::Case& c) {
        return f(x[0], Asked(c.params)).parts();
    };
}

/// Errors relative to the largest element: a transform mixes all of them. How many cases there were.
template <class T, class F> void check(const std::string& name, const F& f)
{
    const double tolerance = std::is_same_v<T, float> ? 2e-6 : 2e-14;
    std::size_t count = 0;
    for (const auto& c : fixtures::load("fourier")) {
        if (c.name != name || c.ins[0].dtype != wg::dtype_of<T>()) continue;
        ++count;
        for (const bool strided : {false, true}) {
            INFO(c.name << " [" << c.label << "]" << (strided ? ", strided" : ""));
            const auto x = fixtures::inputs_of<T>(c, strided);
            fixtures::expect("value", f(x, c), c.out, tolerance, tolerance * fixtures::scale_of(c.out));
            fixtures::check_reverse<T>(c, f, x, tolerance);
            fixtures::check_forward<T>(c, f, x, tolerance);
        }
    }
    CHECK(count > 0);
}

}  // namespace

TEMPLATE_TEST_CASE("fft: transforms along an axis beside NumPy's", "", float, double)
{
    using T = TestType;
    check<T>("fft",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::fft(z, a.n, a.axis, a.norm); }));
    check<T>("ifft",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::ifft(z, a.n, a.axis, a.norm); }));
    check<T>("irfft",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::irfft(z, a.n, a.axis, a.norm); }));
    check<T>("rfft",
             of_reals<T>([](const auto& x, const Asked& a) { return ft::rfft(x, a.n, a.axis, a.norm); }));
}

TEMPLATE_TEST_CASE("fft: transforms along several axes beside NumPy's", "", float, double)
{
    using T = TestType;
    check<T>("fft2",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::fft2(z, a.s, a.two, a.norm); }));
    check<T>("ifft2",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::ifft2(z, a.s, a.two, a.norm); }));
    check<T>("irfft2",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::irfft2(z, a.s, a.two, a.norm); }));
    check<T>("rfft2",
             of_reals<T>([](const auto& x, const Asked& a) { return ft::rfft2(x, a.s, a.two, a.norm); }));
    check<T>("fftn",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::fftn(z, a.s, a.axes, a.norm); }));
    check<T>("ifftn",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::ifftn(z, a.s, a.axes, a.norm); }));
    check<T>("irfftn",
             by_parts<T>([](const auto& z, const Asked& a) { return ft::irfftn(z, a.s, a.axes, a.norm); }));
    check<T>("rfftn",
             of_reals<T>([](const auto& x, const Asked& a) { return ft::rfftn(x, a.s, a.axes, a.norm); }));
}

TEST_CASE("fft: frequencies and shifts")
{
    using D = Tensor<double>;
    CHECK(allclose(ft::fftfreq(5, 0.1), D{0.0, 2.0, 4.0, -4.0, -2.0}, 1e-15));
    CHECK(allclose(ft::fftfreq(4), D{0.0, 0.25, -0.5, -0.25}, 0.0));
    CHECK(allclose(ft::rfftfreq(5), D{0.0, 0.2, 0.4}, 0.0));
    CHECK(allclose(ft::rfftfreq(2), D{0.0, 0.5}, 0.0));
    CHECK(allclose(ft::fftfreq(2), D{0.0, -0.5}, 0.0));
    CHECK(ft::rfftfreq<float>(1).shape() == Shape{1});
    const D x = {{0.0, 1.0, 2.0}, {3.0, 4.0, 5.0}};
    CHECK(allclose(ft::fftshift(x), D{{5.0, 3.0, 4.0}, {2.0, 0.0, 1.0}}, 0.0));
    CHECK(allclose(ft::fftshift(x, {1}), D{{2.0, 0.0, 1.0}, {5.0, 3.0, 4.0}}, 0.0));
    CHECK(allclose(ft::ifftshift(ft::fftshift(x)), x, 0.0));
    CHECK(ft::fftshift(wg::zeros<double>({0, 3})).shape() == wg::Shape{0, 3});
    const auto z = ft::fft(x);
    CHECK(allclose(ft::ifftshift(ft::fftshift(z, {-1}), {-1}), z, 0.0));
}

TEST_CASE("fft: long transforms, of primes too, come back")
{
    for (const std::int64_t n : {1009, 4096, 30030}) {
        const auto x = wg::normal<double>(wg::Key(7), {n});
        CHECK(allclose(ft::irfft(ft::rfft(x), n), x, 1e-13));
        CHECK(allclose(real(ft::ifft(ft::fft(x))), x, 1e-13));
    }
}

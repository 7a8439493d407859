#include "catch.hpp"

#include <wengert/kernels/cpu/lane.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using wengert::Lane;
using wengert::lit;

namespace {

/// A rule as primitives write them.
template <class V> constexpr V polynomial_pull(V g, V x, V y)
{
    return g * (lit(1) - y * y) + x / lit(2) - lit(3);
}
template <class V> V mixed_rule(V g, V x)
{
    using std::exp, std::pow, std::tanh, wengert::maximum, wengert::pow, wengert::where;
    return where(x > lit(0), pow(x, lit(2)), exp(-x)) + maximum(g, lit(0)) * tanh(x) +
           where(x <= g, lit(1), x);
}

/// A value type of one's own, for constant expressions.
struct Counted {
    double value;
    int operations = 0;
    constexpr Counted(double v, int n = 0) : value(v), operations(n) {}
    constexpr Counted(wengert::Literal l) : value(l.value) {}
    friend constexpr Counted operator+(Counted a, Counted b)
    {
        return {a.value + b.value, a.operations + b.operations + 1};
    }
    friend constexpr Counted operator-(Counted a, Counted b)
    {
        return {a.value - b.value, a.operations + b.operations + 1};
    }
    friend constexpr Counted operator*(Counted a, Counted b)
    {
        return {a.value * b.value, a.operations + b.operations + 1};
    }
    friend constexpr Counted operator/(Counted a, Counted b)
    {
        return {a.value / b.value, a.operations + b.operations + 1};
    }
};
static_assert(polynomial_pull<Counted>(2, 4, 3).value == -17);
static_assert(polynomial_pull<double>(2, 4, 3) == -17);
static_assert(std::is_same_v<decltype(lit(1) - 1.0F), float> && std::is_same_v<decltype(2 * lit(0.5)), int>);

template <class T> std::vector<T> arguments()
{
    using Limits = std::numeric_limits<T>;
    std::vector<T> x;
    for (T s : {T(1), T(-1)})
        for (T v : {T(0),
                    T(1),
                    T(0.5),
                    T(1.5),
                    T(2.5),
                    T(3.5),
                    T(10),
                    T(88.8),
                    T(104),
                    T(709.8),
                    T(710.4),
                    T(746),
                    Limits::infinity(),
                    Limits::quiet_NaN(),
                    Limits::denorm_min(),
                    Limits::min(),
                    Limits::max(),
                    Limits::epsilon(),
                    T(1e-5),
                    T(1e9),
                    T(3.14159265358979323),
                    T(1.5707963267948966),
                    T(1e22)})
            x.push_back(s * v);
    std::mt19937 random(7);
    for (double range : {1.0, 10.0, 100.0, 800.0, 1e4, 1e9}) {
        std::uniform_real_distribution<double> uniform(-range, range);
        for (int i = 0; i < 3000; ++i) x.push_back(static_cast<T>(uniform(random)));
    }
    while (x.size() % 64 != 0) x.push_back(T(1));
    return x;
}

/// Distance in units of the last place; 0 for NaN and NaN, huge when only one is NaN or infinite.
template <class T> double ulps(T got, long double want)
{
    if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
    const T rounded = static_cast<T>(want);
    if (std::isnan(got) || std::isinf(got) || std::isinf(rounded)) return got == rounded ? 0 : 1e30;
    if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : 1e30;
    const T size = std::min(std::abs(rounded), std::numeric_limits<T>::max() / 2);
    const T unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
    return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

template <class T, class F, class G> double worst(F f, G reference)
{
    using L = Lane<T>;
    double most = 0;
    const auto x = arguments<T>();
    for (std::size_t i = 0; i < x.size(); i += L::width) {
        std::array<T, L::width> y;
        f(L::load(&x[i])).store(y.data());
        for (std::size_t j = 0; j < L::width; ++j) {
            const double off = ulps(y[j], reference(static_cast<long double>(x[i + j])));
            most = std::max(most, off);
        }
    }
    return most;
}

template <class T, class F, class G> double worst_of_pairs(F f, G reference)
{
    using L = Lane<T>;
    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> values = {0,      T(-0.0), 1,        -1, 2,   -2,   3,   -3,      T(0.5),   T(-0.5),
                             T(0.1), T(7.3),  T(-2.25), 30, inf, -inf, nan, T(1e30), T(-1e30), T(1e-30)};
    double most = 0;
    for (T a : values)
        for (T b : values) {
            std::array<T, L::width> y;
            f(L(a), L(b)).store(y.data());
            for (T v : y)
                most = std::max(most,
                                ulps(v, reference(static_cast<long double>(a), static_cast<long double>(b))));
        }
    return most;
}

}  // namespace

TEMPLATE_TEST_CASE("one rule, every value type", "[lane]", float, double)
{
    using T = TestType;
    using L = Lane<T>;
    const T g = T(0.75), x = T(1.25), y = T(-0.5);
    CHECK(polynomial_pull(L(g), L(x), L(y)).first() == polynomial_pull<T>(g, x, y));
    for (T at : {T(-1.5), T(0), T(0.5), T(2)}) {
        const T lane = mixed_rule(L(g), L(at)).first(), scalar = mixed_rule(g, at);
        CHECK(std::abs(lane - scalar) <= 8 * std::numeric_limits<T>::epsilon() * (1 + std::abs(scalar)));
    }
}

TEMPLATE_TEST_CASE("functions are within the errors that lane_math.hpp states", "[lane]", float, double)
{
    using T = TestType;
    CHECK(worst<T>([](auto x) { return exp(x); }, [](long double x) { return std::exp(x); }) < 1.3);
    CHECK(worst<T>([](auto x) { return expm1(x); }, [](long double x) { return std::expm1(x); }) < 2.5);
    CHECK(worst<T>([](auto x) { return log(x); }, [](long double x) { return std::log(x); }) < 1.3);
    CHECK(worst<T>([](auto x) { return log1p(x); }, [](long double x) { return std::log1p(x); }) < 1.5);
    CHECK(worst<T>([](auto x) { return log2(x); }, [](long double x) { return std::log2(x); }) < 2.5);
    CHECK(worst<T>([](auto x) { return log10(x); }, [](long double x) { return std::log10(x); }) < 2.5);
    CHECK(worst<T>([](auto x) { return sin(x); }, [](long double x) { return std::sin(x); }) < 2.5);
    CHECK(worst<T>([](auto x) { return cos(x); }, [](long double x) { return std::cos(x); }) < 2.5);
    CHECK(worst<T>([](auto x) { return tan(x); }, [](long double x) { return std::tan(x); }) < 4);
    CHECK(worst<T>([](auto x) { return asin(x); }, [](long double x) { return std::asin(x); }) < 3);
    CHECK(worst<T>([](auto x) { return acos(x); }, [](long double x) { return std::acos(x); }) < 3);
    CHECK(worst<T>([](auto x) { return atan(x); }, [](long double x) { return std::atan(x); }) < 3);
    CHECK(worst<T>([](auto x) { return sinh(x); }, [](long double x) { return std::sinh(x); }) < 3);
    CHECK(worst<T>([](auto x) { return cosh(x); }, [](long double x) { return std::cosh(x); }) < 3);
    CHECK(worst<T>([](auto x) { return tanh(x); }, [](long double x) { return std::tanh(x); }) < 3);
    CHECK(worst<T>([](auto x) { return erf(x); }, [](long double x) { return std::erf(x); }) < 3);
    CHECK(worst_of_pairs<T>([](auto a, auto b) { return pow(a, b); },
                            [](auto a, auto b) { return std::pow(a, b); }) < 1.1);
    CHECK(worst_of_pairs<T>([](auto a, auto b) { return atan2(a, b); },
                            [](auto a, auto b) { return std::atan2(a, b); }) < 2);
    CHECK(worst_of_pairs<T>([](auto a, auto b) { return hypot(a, b); },
                            [](auto a, auto b) { return std::hypot(a, b); }) < 2);
}

TEMPLATE_TEST_CASE("rounding, selection and signs are exact", "[lane]", float, double)
{
    using T = TestType;
    const auto sign_of = [](long double x) { return x > 0 ? 1.0L : x < 0 ? -1.0L : x == 0 ? 0.0L : x; };
    const auto top = [](long double a, long double b) { return a != a || b != b ? a + b : a > b ? a : b; };
    const auto low = [](long double a, long double b) { return a != a || b != b ? a + b : a < b ? a : b; };
    CHECK(worst<T>([](auto x) { return floor(x); }, [](long double x) { return std::floor(x); }) == 0);
    CHECK(worst<T>([](auto x) { return ceil(x); }, [](long double x) { return std::ceil(x); }) == 0);
    CHECK(worst<T>([](auto x) { return round(x); }, [](long double x) { return std::nearbyint(x); }) == 0);
    CHECK(worst<T>([](auto x) { return abs(x); }, [](long double x) { return std::abs(x); }) == 0);
    CHECK(worst<T>([](auto x) { return -x; }, [](long double x) { return -x; }) == 0);
    CHECK(worst<T>([](auto x) { return square(x); }, [](long double x) { return x * x; }) <= 0.51);
    CHECK(worst<T>([](auto x) { return sqrt(x); }, [](long double x) { return std::sqrt(x); }) <= 0.51);
    CHECK(worst<T>([](auto x) { return sign(x); }, sign_of) == 0);
    CHECK(worst_of_pairs<T>([](auto a, auto b) { return maximum(a, b) + lit(0); },
                            [&](auto a, auto b) { return top(a, b) + 0.0L; }) == 0);
    CHECK(worst_of_pairs<T>([](auto a, auto b) { return minimum(a, b) + lit(0); },
                            [&](auto a, auto b) { return low(a, b) + 0.0L; }) == 0);
    CHECK(worst_of_pairs<T>([](auto a, auto b) { return copysign(a, b); },
                            [](auto a, auto b) { return std::copysign(a, b); }) == 0);
}

TEMPLATE_TEST_CASE("comparisons and masks agree with those of numbers", "[lane]", float, double)
{
    using T = TestType;
    using L = Lane<T>;
    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const T values[] = {0, T(-0.0), 1, -1, inf, -inf, nan};
    const auto same = [](auto mask, bool expected) { return all(mask) == expected && any(mask) == expected; };
    for (T a : values)
        for (T b : values) {
            CAPTURE(a, b);
            CHECK((same(L(a) < L(b), a < b) && same(L(a) <= L(b), a <= b) && same(L(a) > L(b), a > b)));
            CHECK((same(L(a) >= L(b), a >= b) && same(L(a) == L(b), a == b) && same(L(a) != L(b), a != b)));
            CHECK((same(is_finite(L(a)), std::isfinite(a)) && same(is_nan(L(a)), std::isnan(a))));
            const bool p = a > 0, q = b > 0;
            CHECK((same((L(a) > lit(0)) & (L(b) > lit(0)), p && q) &&
                   same((L(a) > lit(0)) | (L(b) > lit(0)), p || q)));
            CHECK((same((L(a) > lit(0)) ^ (L(b) > lit(0)), p != q) && same(!(L(a) > lit(0)), !p)));
        }
}

namespace {

/// Memory whose end nobody may read or write behind.
class GuardedEnd {
public:
    GuardedEnd()
    {
        at_ = static_cast<std::byte*>(
            ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        REQUIRE(at_ != MAP_FAILED);
        REQUIRE(::mprotect(at_ + page_, page_, PROT_NONE) == 0);
    }
    GuardedEnd(const GuardedEnd&) = delete;
    GuardedEnd& operator=(const GuardedEnd&) = delete;
    ~GuardedEnd() { ::munmap(at_, 2 * page_); }
    /// The last `count` numbers.
    template <class T> T* last(std::size_t count) const
    {
        return reinterpret_cast<T*>(at_ + page_ - count * sizeof(T));
    }

private:
    std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::byte* at_;
};

}  // namespace

TEMPLATE_TEST_CASE("a part of a register is read and written without what lies behind it", "[lane]", float,
                   double)
{
    using T = TestType;
    using L = Lane<T>;
    const GuardedEnd memory;
    for (std::size_t count = 0; count <= L::width; ++count) {
        T* const part = memory.last<T>(count);
        for (std::size_t i = 0; i < count; ++i) part[i] = static_cast<T>(i + 1);
        std::vector<T> y(L::width);
        const L x = L::load_part(part, count, L(T(9)));
        x.store(y.data());
        for (std::size_t i = 0; i < L::width; ++i) CHECK(y[i] == (i < count ? static_cast<T>(i + 1) : T(9)));
        (x + L(T(1))).store_part(part, count);
        for (std::size_t i = 0; i < count; ++i) CHECK(part[i] == static_cast<T>(i + 2));
    }
}

TEMPLATE_TEST_CASE("the end of an array gets the bits of its middle, and nothing beyond is touched", "[lane]",
                   float, double)
{
    using T = TestType;
    using L = Lane<T>;
    std::vector<T> x(L::width), whole(L::width);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(0.37) * static_cast<T>(i) - T(1.1);
    const auto f = [](L v) { return tanh(v) * exp(v) + sin(v) * erf(v); };
    f(L::load(x.data())).store(whole.data());
    for (std::size_t count = 0; count <= L::width; ++count) {
        const std::vector<T> part(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
        std::vector<T> y(L::width, T(7)), want(whole);
        f(L::load_part(part.data(), count)).store_part(y.data(), count);
        std::fill(want.begin() + static_cast<std::ptrdiff_t>(count), want.end(), T(7));
        CHECK(y == want);
        L::load_part(part.data(), count, L(T(3))).store(y.data());
        CHECK(std::count(y.begin(), y.end(), T(3)) == static_cast<std::ptrdiff_t>(L::width - count));
    }
}

TEMPLATE_TEST_CASE("a product is rounded before it is added", "[lane]", float, double)
{
    using T = TestType;
    using L = Lane<T>;
    const T e = std::numeric_limits<T>::epsilon();
    volatile T up = 1 + e, down = 1 - e;
    const L a(up), b(down);
    CHECK((a * b - lit(1)).first() == 0);  // fused: −ε²
    CHECK((L(T(-1)) + a * b).first() == 0);
}

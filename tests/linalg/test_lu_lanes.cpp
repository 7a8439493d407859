// Matrices of order 2 to 4 share registers: the same factors and solutions as LAPACK's, and the same bits wherever a matrix stands.
#include "linalg/linalg_cases.hpp"

#include <cfenv>

#include <wengert/linalg.hpp>

namespace la = wengert::linalg;
namespace lapack = wengert::kernels::lapack;
using namespace linalg_cases;

namespace {

/// Factors by LAPACK: what it counts as pivots, and the largest difference in units of ε.
template <class T> double distance_to_lapack(std::size_t n, const T* a, const T* packed)
{
    std::vector<T> f(a, a + n * n);
    std::vector<int> pivots(n);
    lapack::lu<T>(n, n, f.data(), pivots.data());
    double worst = 0, size = 0;
    for (std::size_t e = 0; e < n * n; ++e) {
        worst = std::max(worst, std::abs(double(f[e]) - double(packed[e])));
        size = std::max(size, std::abs(double(f[e])));
    }
    for (std::size_t k = 0; k < n; ++k) CHECK(double(packed[n * n + k]) == pivots[k]);
    return worst / size / double(std::numeric_limits<T>::epsilon());
}

/// |A X − B| beside |A| |X| + |B|, in units of ε, the worst of all elements.
template <class T> double residual(const Tensor<T>& a, const Tensor<T>& x, const Tensor<T>& b)
{
    const Tensor<double> da = cast<double>(a), dx = cast<double>(x), db = cast<double>(b);
    const Tensor<double> off = abs(matmul(da, dx) - db) / (matmul(abs(da), abs(dx)) + abs(db));
    return wg::amax(off).item() / double(std::numeric_limits<T>::epsilon());
}

}  // namespace

TEMPLATE_TEST_CASE("small matrices: the factors are LAPACK's", "[linalg]", float, double)
{
    using T = TestType;
    const std::int64_t n = GENERATE(2, 3, 4), count = GENERATE(1, 3, 8, 37);
    CAPTURE(n, count);
    const auto a = wg::normal<T>(wg::Key(11), {count, n, n});  // every order of pivots
    const auto packed = la::detail::lu_factor(a, wg::Site{});
    const auto size = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        CHECK(distance_to_lapack(size, a.data() + i * size * size, packed.data() + i * (size * size + size)) <
              200);
}

TEMPLATE_TEST_CASE("small matrices: residuals, either way and of several columns", "[linalg]", float, double)
{
    using T = TestType;
    const std::int64_t n = GENERATE(2, 3, 4), columns = GENERATE(0, 1, 3);
    const auto a = wg::normal<T>(wg::Key(12), {5, 7, n, n});
    const auto b = wg::normal<T>(wg::Key(13), {5, 7, n, columns}),
               one = wg::normal<T>(wg::Key(14), {n, columns});
    CAPTURE(n, columns);
    const auto x = la::solve(a, b), y = la::solve(a, one), z = la::solve(swapaxes(a, -1, -2), b);
    CHECK(x.shape() == Shape{5, 7, n, columns});
    CHECK(y.shape() == Shape{5, 7, n, columns});
    if (columns == 0) return;
    CHECK(residual(a, x, b) < 40);
    CHECK(residual(a, y, one + zeros_like(b)) < 40);
    CHECK(residual(copy(swapaxes(a, -1, -2)), z, b) < 40);
    const auto packed = la::detail::lu_factor(a, wg::Site{});
    CHECK(residual(copy(swapaxes(a, -1, -2)), la::LuSolve::solved(packed, a, b, true), b) < 40);
}

TEMPLATE_TEST_CASE("small matrices: a matrix alone has the bits that it has among others", "[linalg]", float,
                   double)
{
    using T = TestType;
    const std::int64_t n = GENERATE(2, 3, 4);
    const auto a = wg::normal<T>(wg::Key(15), {19, n, n}), b = wg::normal<T>(wg::Key(16), {19, n, 2});
    const auto x = la::solve(a, b), d = la::det(a);
    for (std::int64_t i = 0; i < 19; ++i) {
        CHECK(same_bits(la::solve(copy(a(i)), copy(b(i))), copy(x(i))));
        CHECK(same_bits(la::det(copy(a(i))), copy(d(i))));
    }
}

TEMPLATE_TEST_CASE("small matrices: factors that are made again give the bits of factors that are kept",
                   "[linalg]", float, double)
{
    using T = TestType;
    const std::int64_t n = GENERATE(2, 3, 4);
    const auto shapes = GENERATE(table<Shape, Shape>(
        {{{}, {}}, {{19}, {19}}, {{19}, {}}, {{3, 7}, {7}}, {{3, 7}, {3, 1}}, {{0}, {0}}}));
    const auto of = [&](Shape batch, std::int64_t columns) {
        batch.push_back(n);
        batch.push_back(columns);
        return batch;
    };
    const auto a = wg::normal<T>(wg::Key(21), of(std::get<0>(shapes), n)),
               b = wg::normal<T>(wg::Key(22), of(std::get<1>(shapes), 2));
    REQUIRE(la::SmallSolve::fits(a.shape(), b.shape()));
    const auto kept = [](const Tensor<T>& x, const Tensor<T>& y) {
        return la::LuSolve::solved(la::detail::lu_factor(x, wg::Site{}), x, y, false);
    };
    const auto again = [](const Tensor<T>& x, const Tensor<T>& y) { return la::solve(x, y); };
    CHECK(same_bits(again(a, b), kept(a, b)));
    const auto gradients = [&](const auto& solve) {
        return wg::grad<0, 1>([&](const Tensor<T>& x, const Tensor<T>& y) { return sum(sin(solve(x, y))); })(
            a, b);
    };
    CHECK(same_bits(std::get<0>(gradients(again)), std::get<0>(gradients(kept))));
    CHECK(same_bits(std::get<1>(gradients(again)), std::get<1>(gradients(kept))));
    const auto second = [&](const auto& solve) {
        const auto loss = [&](const Tensor<T>& x) { return sum(square(solve(x, b))); };
        return std::pair(wg::hvp(loss)(a, cos(a)), wg::jvp(loss, a, cos(a)).second);
    };
    CHECK(same_bits(second(again).first, second(kept).first));
    CHECK(same_bits(second(again).second, second(kept).second));
}

TEST_CASE("small matrices: one matrix for many right sides is factorized once", "[linalg]")
{
    CHECK(!la::SmallSolve::fits({3, 3}, {5, 3, 1}));
    CHECK(!la::SmallSolve::fits({1, 3, 3}, {5, 3, 1}));
    CHECK(!la::SmallSolve::fits({5, 5}, {5, 1}));
}

TEST_CASE("small matrices: one that is singular is named, wherever it stands", "[linalg]")
{
    const std::int64_t n = GENERATE(2, 3, 4), bad = GENERATE(0, 5, 8, 16);
    std::vector<double> elements;
    const Tensor<double> regular = matrices<double>({17}, n, n);
    elements.assign(regular.data(), regular.data() + regular.size());
    for (std::int64_t c = 0; c < n; ++c)  // its last row is twice its first
        elements[static_cast<std::size_t>((bad * n + n - 1) * n + c)] =
            2 * elements[static_cast<std::size_t>(bad * n * n + c)];
    const Tensor<double> a(Shape{17, n, n}, elements);
    CAPTURE(n, bad);
    CHECK_THROWS_WITH(la::solve(a, wg::ones<double>({17, n, 1})),
                      Catch::Contains("of matrix " + std::to_string(bad) + " is"));
    CHECK_THROWS_AS(la::inv(a), wg::NumericError);
    CHECK(std::abs(la::det(a)(bad).item()) < 1e-15);
}

TEMPLATE_TEST_CASE("small matrices: pivots whose reciprocals are infinite or subnormal", "[linalg]", float,
                   double)
{
    using T = TestType;
    using limits = std::numeric_limits<T>;
    const std::int64_t n = GENERATE(2, 3, 4), count = 37;
    const std::vector<T> pivots{T(1.5),
                                limits::denorm_min() * 16,
                                limits::min() / 8,
                                -limits::min() / 2,
                                limits::max(),
                                -limits::max() / 2,
                                T(3)};
    const auto pivot_of = [&](std::int64_t i) { return pivots[static_cast<std::size_t>(i) % pivots.size()]; };
    // p at (0, 0), p / 2 at (0, n − 1), else the unit matrix: x is (3/4, 1, …, 1, 0)
    std::vector<T> a, b;
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < n; ++c) a.push_back(r == c ? T(1) : T(0));
            if (r == 0) a[a.size() - static_cast<std::size_t>(n)] = pivot_of(i), a.back() = pivot_of(i) / 2;
            b.push_back(r == 0 ? pivot_of(i) / 4 * 3 : r == n - 1 ? T(0) : T(1));
        }
    const Tensor<T> matrices(Shape{count, n, n}, a), right(Shape{count, n, 1}, b);
    const auto packed = la::detail::lu_factor(matrices, wg::Site{});
    const auto x = la::solve(matrices, right), kept = la::LuSolve::solved(packed, matrices, right, false);
    for (std::int64_t i = 0; i < count; ++i) {
        CAPTURE(n, i, pivot_of(i));
        CHECK(packed(i, n - 1).item() == T(0.5));
        CHECK(x(i, 0, 0).item() == T(0.75));
        CHECK(x(i, n - 1, 0).item() == T(0));
    }
    CHECK(same_bits(x, kept));
}

TEST_CASE("small matrices: what is not finite stays in its matrix", "[linalg]")
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor<double> a{{{nan, 1.0}, {1.0, 2.0}}, {{2.0, 0.0}, {0.0, 4.0}}};
    const auto x = la::solve(a, wg::ones<double>({2, 2, 1}));
    CHECK(std::isnan(x(0, 0, 0).item()));
    CHECK(x(1, 0, 0).item() == 0.5);
    CHECK(x(1, 1, 0).item() == 0.25);
}

TEMPLATE_TEST_CASE("small matrices: lanes without one raise nothing, for programs that trap", "[linalg]",
                   float, double)
{
    using T = TestType;
    const std::int64_t n = GENERATE(2, 3, 4), count = GENERATE(1, 3);
    const Tensor<T> a = wg::normal<T>(wg::Key(5), {count, n, n}) + T(4) * wg::eye<T>(n);
    const Tensor<T> one = wg::normal<T>(wg::Key(6), {count, n, 1}),
                    three = wg::normal<T>(wg::Key(7), {count, n, 3});
    std::feclearexcept(FE_ALL_EXCEPT);
    la::solve(a, one), la::solve(a, three), la::inv(a);
    CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW) == 0);
}

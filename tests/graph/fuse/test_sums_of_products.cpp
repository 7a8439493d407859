// Sums of products of matrices: all executors have the bits of eager, at one row, one column and one product, too.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/wengert.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <cstring>
#include <vector>

namespace wg = wengert;

namespace {

/// Every ninth is 0: products of zeros have signs.
template <class T> wg::Tensor<T> noise(std::uint64_t seed, const wg::Shape& shape)
{
    const wg::Tensor<T> x = wg::normal<T>(wg::Key(seed), shape);
    std::vector<T> values(x.data(), x.data() + x.size());
    for (std::size_t i = 0; i < values.size(); i += 9) values[i] = 0;
    return wg::Tensor<T>(shape, values);
}

template <class T> using Matrix = wg::Tensor<T>;

template <class T>
Matrix<T> values(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c, const Matrix<T>& d)
{
    return wg::matmul(a, b) + wg::matmul(c, d);
}
template <class T>
Matrix<T> difference(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c, const Matrix<T>& d)
{
    return wg::matmul(a, b) * wg::matmul(a, d) - wg::matmul(c, d);
}
template <class T>
Matrix<T> tangent(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c, const Matrix<T>& d)
{
    const auto f = [](const Matrix<T>& x, const Matrix<T>& y) { return wg::matmul(x, y); };
    return wg::jvp(f, std::tuple(a, d), std::tuple(c, b)).second;
}
/// Cotangents that are added up: each weight is used twice.
template <class T>
Matrix<T> gradient(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c, const Matrix<T>& d)
{
    return wg::grad([&](const Matrix<T>& w) {
        return wg::sum(wg::square(wg::matmul(a, w)) + wg::matmul(c, w) * wg::matmul(a, d));
    })(b);
}

/// The names of those of the four whose bits differ.
template <class T>
std::string wrong(const wg::FreezeOptions& options, std::int64_t m, std::int64_t k, std::int64_t n)
{
    const Matrix<T> a = noise<T>(1, {m, k}), b = noise<T>(2, {k, n}), c = noise<T>(3, {m, k}),
                    d = noise<T>(4, {k, n});
    std::string names;
    const auto compare = [&](const char* name, auto f) {
        const auto frozen = wg::freeze(f, options);
        frozen(a, b, c, d);
        if (!identical(frozen(a, b, c, d), f(a, b, c, d))) names += std::string(" ") + name;
    };
    compare("values", values<T>);
    compare("difference", difference<T>);
    compare("tangent", tangent<T>);
    compare("gradient", gradient<T>);
    return names;
}

template <class T> void check_all(const wg::FreezeOptions& options, std::initializer_list<std::int64_t> sizes)
{
    for (const std::int64_t m : sizes)
        for (const std::int64_t k : sizes)
            for (const std::int64_t n : sizes) {
                CAPTURE(m, k, n);
                CHECK(wrong<T>(options, m, k, n) == "");
            }
}

}  // namespace

TEMPLATE_TEST_CASE("sums of products in tiles have the bits of eager", "", float, double)
{
    check_all<TestType>({.check = false}, {1, 2, 3, 5, 17, 64});
    for (const std::int64_t k : {128, 129, 300, 2100}) {
        CAPTURE(k);
        CHECK(wrong<TestType>({.check = false}, 1, k, 70) == "");
        CHECK(wrong<TestType>({.check = false}, 20, k, 33) == "");
        CHECK(wrong<TestType>({.check = false}, 40, k, 1) == "");
    }
}
TEMPLATE_TEST_CASE("sums of products by threads have the bits of eager", "", float, double)
{
    check_all<TestType>({.check = false, .threads = 3}, {1, 5, 64});
}
TEMPLATE_TEST_CASE("sums of products in native code have the bits of eager", "", float, double)
{
    const wg::FreezeOptions native{.backend = wg::native,
                                   .check = false};  // a compiler's run for each function
    CHECK(wrong<TestType>(native, 1, 5, 33) == "");
    CHECK(wrong<TestType>(native, 5, 1, 33) == "");
    CHECK(wrong<TestType>(native, 33, 5, 1) == "");
    CHECK(wrong<TestType>(native, 1, 1, 7) == "");
}

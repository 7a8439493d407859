// matmul, dot, outer: NumPy's shapes, operands that are views, gradients.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/matmul.hpp>

#include <random>

using namespace wengert;
using fixtures::Inputs;

namespace {

template <class T> constexpr fixtures::Tolerance of_products()
{
    return std::is_same_v<T, float> ? fixtures::Tolerance{4e-6, 1e-5} : fixtures::Tolerance{1e-13, 1e-12};
}

template <class T> Tensor<T> noise(const Shape& shape, unsigned seed)
{
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> u(-1, 1);
    std::vector<double> v(element_count(shape));
    for (auto& e : v) e = u(generator);
    return Tensor<T>(shape, v);
}

/// x read with its last two axes exchanged; nothing is recorded.
template <class T> Tensor<T> transposed(const Tensor<T>& x)
{
    Shape shape = x.shape();
    Strides strides = x.strides();
    const std::size_t r = shape.size() - 2;
    std::swap(shape[r], shape[r + 1]);
    std::swap(strides[r], strides[r + 1]);
    return Tensor<T>(AnyTensor{make_view(x.any().value, shape, &strides, 0), {}});
}

/// Σ over the inner index in long double, the distance in units of Σ |a b|.
template <class T> double distance_to_naive(const Tensor<T>& a, const Tensor<T>& b, const Tensor<T>& y)
{
    const auto x = a.array(), z = b.array(), got = y.array();
    double worst = 0;
    for (std::size_t i = 0; i < got.shape(0); ++i)
        for (std::size_t j = 0; j < got.shape(1); ++j) {
            long double total = 0, size = 1e-300L;
            for (std::size_t k = 0; k < z.shape(0); ++k) {
                const long double term =
                    static_cast<long double>(x(i, k)) * static_cast<long double>(z(k, j));
                total += term;
                size += std::abs(term);
            }
            worst = std::max(
                worst, static_cast<double>(std::abs(static_cast<long double>(got(i, j)) - total) / size));
        }
    return worst;
}

template <class F> std::string message_of(F&& f)
{
    try {
        f();
    } catch (const ShapeError& e) {
        return e.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEMPLATE_TEST_CASE("products: fixtures", "", float, double)
{
    using T = TestType;
    constexpr auto tolerance = of_products<T>();
    fixtures::check_cases<T>(
        "products", "matmul", [](const Inputs<T>& x) { return matmul(x[0], x[1]); }, tolerance);
    fixtures::check_cases<T>(
        "products", "dot", [](const Inputs<T>& x) { return dot(x[0], x[1]); }, tolerance);
    fixtures::check_cases<T>(
        "products", "outer", [](const Inputs<T>& x) { return outer(x[0], x[1]); }, tolerance);
}

TEMPLATE_TEST_CASE("matmul: sizes on both sides of every kernel's limits, in all four layouts", "", float,
                   double)
{
    using T = TestType;
    const double bound = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    const std::size_t sizes[][3] = {{1, 1, 1},    {1, 33, 65},  {33, 65, 1},  {5, 1, 7},    {15, 16, 17},
                                    {16, 16, 16}, {64, 31, 10}, {1, 512, 70}, {129, 67, 35}};
    for (const auto& [m, k, n] : sizes)
        for (int layout = 0; layout < 4; ++layout) {
            const auto a = layout & 1 ? transposed(noise<T>({k, m}, 1)) : noise<T>({m, k}, 1);
            const auto b = layout & 2 ? transposed(noise<T>({n, k}, 2)) : noise<T>({k, n}, 2);
            CAPTURE(m, k, n, layout);
            CHECK(distance_to_naive(a, b, matmul(a, b)) < bound * std::sqrt(static_cast<double>(k) + 1));
        }
}

TEMPLATE_TEST_CASE("matmul: the gradient into a cotangent that is there already", "", float, double)
{
    using T = TestType;
    const auto x = noise<T>({6, 5}, 1), z = noise<T>({6, 5}, 2), c = noise<T>({6, 4}, 3);
    Tensor<T> w = noise<T>({5, 4}, 4);
    w.requires_grad(true);
    backward(sum(matmul(x, w) * c) + sum(matmul(z, w) * c));
    const Tensor<T> want = matmul(transposed(x), c) + matmul(transposed(z), c);
    for (std::size_t i = 0; i < want.size(); ++i)
        CHECK(w.grad().data()[i] == Approx(want.data()[i]).epsilon(1e-5));
}

TEST_CASE("matmul: a constant factor is saved, its partner is not")
{
    const auto a = noise<double>({3, 4}, 1);
    Tensor<double> x = noise<double>({4, 2}, 2);
    x.requires_grad(true);
    const auto y = matmul(a, x);
    const Node& node = *y.any().node;
    CHECK(node.saved()[0] == a.any().value.get());
    CHECK(node.saved()[1] == nullptr);
    CHECK(node.saved()[2] == nullptr);
}

TEST_CASE("matmul: integers")
{
    const Tensor<std::int64_t> a = {{1, 2}, {3, 4}}, b = {{5, 6}, {7, 8}};
    const auto y = matmul(a, b);
    CHECK(std::vector<std::int64_t>(y.data(), y.data() + 4) == std::vector<std::int64_t>{19, 22, 43, 50});
    CHECK(dot(Tensor<std::int32_t>{1, 2, 3}, Tensor<std::int32_t>{4, 5, 6}).item() == 32);
}

TEST_CASE("matmul: what does not fit")
{
    const auto f = [](const Shape& a, const Shape& b) {
        return message_of([&] { matmul(noise<double>(a, 1), noise<double>(b, 2)); });
    };
    CHECK_THAT(f({3, 4}, {5, 6}),
               contains("shapes (3, 4) and (5, 6): 4 columns do not meet 5 rows (test_products.cpp:"));
    CHECK_THAT(f({4}, {5}), contains("4 columns do not meet 5 rows"));
    CHECK_THAT(f({2, 3, 4}, {5, 6}), contains("shapes (2, 3, 4) and (5, 6)"));
    CHECK_THAT(f({2, 3, 4}, {3, 4, 5}), contains("the batches (2) and (3) cannot be broadcast together"));
    CHECK_THAT(f({}, {2, 2}), contains("rank 0"));
    CHECK_THAT(message_of([] { dot(noise<double>({3}, 1), noise<double>({4}, 2)); }),
               contains("[dot] shapes (3) and (4)"));
}

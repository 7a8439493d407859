// The cotangent of a Cholesky factorization: beside the formula in long double, to the second order, and the same bits everywhere.
#include "linalg/linalg_cases.hpp"

#include <wengert/linalg.hpp>
#include <wengert/native.hpp>

namespace la = wengert::linalg;
using namespace linalg_cases;

namespace {

using Long = std::vector<long double>;

template <class T> Tensor<T> definite(const Shape& batch, std::int64_t n, std::uint64_t seed)
{
    Shape shape = batch;
    shape.push_back(n);
    shape.push_back(n);
    const auto a = wg::normal<T>(wg::Key(seed), shape);
    return matmul(a, wg::swapaxes(a, -1, -2)) / T(n) + wg::eye<T>(n);
}

/// Ā = sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹), in long double.
template <class T> Long by_formula(std::size_t n, const T* l, const T* g)
{
    Long x(n * n);  // Φ(Lᵀ L̄), then L⁻ᵀ Φ, then that times L⁻¹
    for (std::size_t r = 0; r < n; ++r)
        for (std::size_t c = 0; c <= r; ++c) {
            for (std::size_t k = r; k < n; ++k)
                x[r * n + c] += static_cast<long double>(l[k * n + r]) * g[k * n + c];
            if (r == c) x[r * n + c] /= 2;
        }
    for (std::size_t c = 0; c < n; ++c)
        for (std::size_t r = n; r-- > 0;) {
            for (std::size_t k = r + 1; k < n; ++k) x[r * n + c] -= l[k * n + r] * x[k * n + c];
            x[r * n + c] /= l[r * n + r];
        }
    for (std::size_t r = 0; r < n; ++r)
        for (std::size_t c = n; c-- > 0;) {
            for (std::size_t k = c + 1; k < n; ++k) x[r * n + c] -= x[r * n + k] * l[k * n + c];
            x[r * n + c] /= l[c * n + c];
        }
    Long a(n * n);
    for (std::size_t r = 0; r < n; ++r)
        for (std::size_t c = 0; c < n; ++c) a[r * n + c] = (x[r * n + c] + x[c * n + r]) / 2;
    return a;
}

}  // namespace

TEMPLATE_TEST_CASE("cholesky: the sweep in halves has the formula's values", "[linalg]", float, double)
{
    using T = TestType;
    const std::int64_t n = GENERATE(1, 2, 15, 16, 17, 24, 25, 40, 67, 130);
    CAPTURE(n);
    const auto l = la::cholesky(definite<T>({2}, n, 1));
    const auto above = triu(wg::full<T>({n, n}, std::numeric_limits<T>::quiet_NaN()), 1);
    const auto g = wg::normal<T>(wg::Key(2), {2, n, n});
    const auto unread = where(above == above, g, above);  // what is above the diagonal is not read
    const auto a = la::CholeskyCotangent::of(l, unread);
    const auto size = static_cast<std::size_t>(n * n);
    for (std::size_t i = 0; i < 2; ++i) {
        const Long want = by_formula(static_cast<std::size_t>(n), l.data() + i * size, g.data() + i * size);
        long double worst = 0, most = 0;
        for (std::size_t e = 0; e < size; ++e) {
            worst = std::max(worst, std::abs(want[e] - a.data()[i * size + e]));
            most = std::max(most, std::abs(want[e]));
        }
        CHECK(static_cast<double>(worst / most) < 30 * double(std::numeric_limits<T>::epsilon()));
    }
    CHECK(same_bits(copy(a(1)), la::CholeskyCotangent::of(copy(l(1)), copy(g(1)))));
}

TEST_CASE("cholesky: derivatives of the cotangent, in both operands", "[linalg]")
{
    const std::int64_t n = GENERATE(1, 4, 18);
    const auto l = la::cholesky(definite<double>({}, n, 3)), g = wg::normal<double>(wg::Key(4), {n, n});
    const auto of_both = [](const Tensor<double>& x, const Tensor<double>& y) {
        return la::CholeskyCotangent::of(tril(x), sin(y));
    };
    const wg::CheckReport report = wg::check_grads(of_both, std::tuple(l, g), wg::CheckOptions{.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    const auto root = [&](const Tensor<double>& x) {
        return la::cholesky(matmul(x, transpose(x)) + wg::eye<double>(n));
    };
    const wg::CheckReport third = wg::check_grads(root, g, wg::CheckOptions{.order = 3, .tolerance = 1e-5});
    INFO(third.message);
    CHECK(third.ok);
}

TEMPLATE_TEST_CASE("cholesky: frozen gradients have the bits of eager ones", "[linalg]", float, double)
{
    using T = TestType;
    const auto x = definite<T>({3}, 37, 5);
    const auto loss = [](const Tensor<T>& t) { return sum(sin(la::cholesky(t))); };
    const auto second = [=](const Tensor<T>& t) { return wg::hvp(loss)(t, t); };
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native}) {
        auto gradient = wg::freeze(wg::grad(loss), {.backend = backend});
        auto product = wg::freeze(second, {.backend = backend});
        for (int i = 0; i < 3; ++i) {
            CHECK(same_bits(gradient(x), wg::grad(loss)(x)));
            CHECK(wg::allclose(product(x), second(x), std::numeric_limits<T>::digits > 24 ? 1e-12 : 1e-4));
        }
    }
    const auto rows = wg::vmap(wg::grad(loss));
    CHECK(same_bits(rows(x), wg::grad(loss)(x)));
}

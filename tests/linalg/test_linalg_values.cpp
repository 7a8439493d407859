// The values of linalg:: against what defines them, and against elimination in long double.
#include "linalg/linalg_cases.hpp"

#include <wengert/linalg.hpp>

namespace la = wengert::linalg;
using namespace linalg_cases;

namespace {

using Wide = std::vector<std::vector<long double>>;

template <class T> constexpr double epsilon()
{
    return static_cast<double>(std::numeric_limits<T>::epsilon());
}
template <class T> Tensor<T> mirrored(const Tensor<T>& x) { return wg::swapaxes(x, -1, -2); }
template <class T> double size_of_all(const Tensor<T>& x) { return static_cast<double>(wg::norm(x).item()); }
/// ‖a − b‖ / ‖b‖ over all elements.
template <class T> double distance(const Tensor<T>& a, const Tensor<T>& b)
{
    REQUIRE(a.shape() == b.shape());
    return size_of_all(a - b) / size_of_all(b);
}

template <class T> Wide wide(const Tensor<T>& x)
{
    Wide w(static_cast<std::size_t>(x.shape()[0]),
           std::vector<long double>(static_cast<std::size_t>(x.shape()[1])));
    const auto a = x.array();
    for (std::size_t i = 0; i < w.size(); ++i)
        for (std::size_t j = 0; j < w[i].size(); ++j) w[i][j] = static_cast<long double>(a(i, j));
    return w;
}
/// A⁻¹ B by Gauss and Jordan with pivots, in long double.
Wide solved(Wide a, Wide b)
{
    const std::size_t n = a.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t p = k;
        for (std::size_t i = k; i < n; ++i)
            if (std::abs(a[i][k]) > std::abs(a[p][k])) p = i;
        std::swap(a[k], a[p]);
        std::swap(b[k], b[p]);
        for (std::size_t i = 0; i < n; ++i) {
            if (i == k) continue;
            const long double f = a[i][k] / a[k][k];
            for (std::size_t j = k; j < n; ++j) a[i][j] -= f * a[k][j];
            for (std::size_t j = 0; j < b[i].size(); ++j) b[i][j] -= f * b[k][j];
        }
    }
    for (std::size_t i = 0; i < n; ++i)
        for (auto& e : b[i]) e /= a[i][i];
    return b;
}
/// ‖x − y‖ / ‖y‖
template <class T> double distance_to(const Tensor<T>& x, const Wide& y)
{
    const Wide a = wide(x);
    long double off = 0, size = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
        for (std::size_t j = 0; j < y[i].size(); ++j) {
            off += (a[i][j] - y[i][j]) * (a[i][j] - y[i][j]);
            size += y[i][j] * y[i][j];
        }
    return static_cast<double>(std::sqrt(off / size));
}

/// Along the last axis, and down to 0.
template <class T> bool descends(const Tensor<T>& s)
{
    const auto k = static_cast<std::size_t>(s.shape().back());
    for (std::size_t i = 0; i < s.size(); ++i)
        if (s.data()[i] < 0 || (i % k > 0 && s.data()[i] > s.data()[i - 1])) return false;
    return true;
}

/// U diag(s) Vᵀ with s from 1 down to 1 / condition, U and V random.
template <class T> Tensor<T> of_condition(std::int64_t n, double condition)
{
    const auto orthogonal = [&](std::uint64_t seed) {
        return la::qr(wg::normal<double>(wg::Key(seed), {n, n})).first;
    };
    const Tensor<double> s = exp(wg::linspace<double>(0.0, -std::log(condition), n));
    return wg::cast<T>(matmul(orthogonal(1) * s, orthogonal(2)));
}

}  // namespace

TEMPLATE_TEST_CASE("linalg: systems, inverses and determinants beside elimination in long double", "", float,
                   double)
{
    using T = TestType;
    for (const std::int64_t n : {1, 2, 5, 40}) {
        const auto a = wg::normal<T>(wg::Key(5), {n, n}), b = wg::normal<T>(wg::Key(6), {n, 3});
        const double bound =
            40 * static_cast<double>(n) * epsilon<T>() * static_cast<double>(la::cond(a).item());
        CHECK(distance_to(la::solve(a, b), solved(wide(a), wide(b))) < bound);
        CHECK(distance_to(la::solve(mirrored(a), b), solved(wide(copy(mirrored(a))), wide(b))) < bound);
        CHECK(distance_to(la::inv(a), solved(wide(a), wide(wg::eye<T>(n)))) < bound);
        CHECK(distance_to(la::lstsq(a, b), solved(wide(a), wide(b))) < bound);
        CHECK(distance_to(la::pinv(a), solved(wide(a), wide(wg::eye<T>(n)))) < bound);
        const auto spd = matmul(a, mirrored(a)) + wg::eye<T>(n);
        CHECK(distance_to(la::cho_solve(la::cholesky(spd), b), solved(wide(spd), wide(b))) <
              bound * bound / epsilon<T>() + bound);
        const auto [sign, logarithm] = la::slogdet(a);
        CHECK(std::abs(static_cast<double>((sign * exp(logarithm) / la::det(a)).item()) - 1) <
              bound + 1e-6 * (epsilon<T>() > 1e-10));
    }
}

TEMPLATE_TEST_CASE("linalg: condition numbers up to 10¹⁰", "", float, double)
{
    using T = TestType;
    const std::int64_t n = 20;
    for (const double condition : {1e0, 1e3, 1e6, 1e10}) {
        if (condition * epsilon<T>() > 1e-2) continue;
        INFO("condition " << condition);
        const auto a = of_condition<T>(n, condition), b = wg::normal<T>(wg::Key(8), {n, 2});
        const auto x = la::solve(a, b);
        const double unit = static_cast<double>(n) * epsilon<T>();
        CHECK(size_of_all(matmul(a, x) - b) <
              10 * unit * size_of_all(a) * size_of_all(x));  // a residual of rounding
        CHECK(distance_to(x, solved(wide(a), wide(b))) < 10 * unit * condition);
        const auto ga = wg::grad([&](const Tensor<T>& t) { return sum(la::solve(t, b)); })(a);
        const auto gb = wg::grad([&](const Tensor<T>& t) { return sum(la::solve(a, t)); })(b);
        const Wide h = solved(wide(copy(mirrored(a))), wide(wg::ones<T>({n, 2})));
        CHECK(distance_to(gb, h) < 10 * unit * condition);
        const Wide y = solved(wide(a), wide(b));
        Wide outer(static_cast<std::size_t>(n), std::vector<long double>(static_cast<std::size_t>(n)));
        for (std::size_t i = 0; i < outer.size(); ++i)
            for (std::size_t j = 0; j < outer.size(); ++j)
                outer[i][j] = -h[i][0] * y[j][0] - h[i][1] * y[j][1];
        CHECK(distance_to(ga, outer) < 20 * unit * condition);
        CHECK(static_cast<double>(la::cond(a).item()) == Approx(condition).epsilon(condition * unit + 1e-5));
    }
}

TEMPLATE_TEST_CASE("linalg: factors multiply to what they are factors of", "", float, double)
{
    using T = TestType;
    const double bound = 60 * epsilon<T>();
    for (const Shape& batch : {Shape{}, Shape{2, 3}})
        for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {4, 4}, {6, 3}, {3, 6}}) {
            const auto a = matrices<T>(batch, m, n, 9);
            INFO(to_string(a.shape()));
            const std::int64_t k = std::min(m, n);
            const auto unit = wg::zeros<T>(batch.empty() ? Shape{k, k} : Shape{2, 3, k, k}) + wg::eye<T>(k);
            const auto [p, l, u] = la::lu(a);
            CHECK(distance(matmul(p, matmul(l, u)), a) < bound);
            CHECK(same_bits(l, tril(l)));
            CHECK(same_bits(u, triu(u)));
            CHECK(amax(abs(l)).item() == T(1));
            const auto [q, r] = la::qr(a);
            CHECK(distance(matmul(q, r), a) < bound);
            CHECK(distance(matmul(mirrored(q), q), unit) < bound);
            CHECK(same_bits(r, triu(r)));
            const auto [w, s, vt] = la::svd(a);
            CHECK(distance(matmul(w * expand_dims(s, -2), vt), a) < bound);
            CHECK(distance(matmul(mirrored(w), w), unit) < bound);
            CHECK(distance(matmul(vt, mirrored(vt)), unit) < bound);
            CHECK(descends(s));
            const auto x = la::pinv(a), ax = matmul(a, x), xa = matmul(x, a);  // Penrose 1955
            CHECK(distance(matmul(ax, a), a) < bound);
            CHECK(distance(matmul(xa, x), x) < bound);
            CHECK(distance(mirrored(ax), ax) < bound);
            CHECK(distance(mirrored(xa), xa) < bound);
            if (m != n) continue;
            const auto symmetric = a + mirrored(a);
            const auto [e, v] = la::eigh(symmetric);
            CHECK(distance(matmul(symmetric, v), v * expand_dims(e, -2)) < bound);
            CHECK(distance(matmul(mirrored(v), v), unit) < bound);
            const auto spd = matmul(a, mirrored(a));
            const auto c = la::cholesky(spd);
            CHECK(distance(matmul(c, mirrored(c)), spd) < bound);
            CHECK(same_bits(c, tril(c)));
        }
}

TEMPLATE_TEST_CASE(
    "linalg: Cholesky and eigh of a matrix that is not symmetric are those of its symmetric part", "", float,
    double)
{
    using T = TestType;
    const std::int64_t n = GENERATE(1, 15, 16, 17, 32, 33, 40, 65);  // within a block, and of several
    CAPTURE(n);
    const Tensor<T> a = wg::normal<T>(wg::Key(21), {n, n}) + T(4 * n) * wg::eye<T>(n);
    const Tensor<T> symmetric = T(0.5) * a + T(0.5) * mirrored(a), l = la::cholesky(a);
    CHECK(distance(wg::matmul(l, mirrored(l)), symmetric) < 4 * double(n) * epsilon<T>());
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = i + 1; j < n; ++j) CHECK(l(i, j).item() == T(0));
    const auto [w, v] = la::eigh(a);
    CHECK(distance(wg::matmul(v * wg::reshape(w, {1, n}), mirrored(v)), symmetric) <
          20 * double(n) * epsilon<T>());
}

TEMPLATE_TEST_CASE("linalg: least squares", "", float, double)
{
    using T = TestType;
    const auto tall = matrices<T>({2}, 6, 3, 4), b = wg::normal<T>(wg::Key(2), {2, 6, 2});
    const auto rest = b - matmul(tall, la::lstsq(tall, b));
    CHECK(size_of_all(matmul(mirrored(tall), rest)) < 100 * epsilon<T>());
    const auto x = la::lstsq(mirrored(tall), wg::ones<T>({3}));
    CHECK(x.shape() == Shape{2, 6});
    CHECK(distance(x, squeeze(matmul(la::pinv(copy(mirrored(tall))), wg::ones<T>({3, 1})), -1)) <
          100 * epsilon<T>());
    CHECK(allclose(la::lstsq(Tensor<T>{{1, 0}, {1, 1}, {1, 2}}, Tensor<T>{1, 3, 5}), Tensor<T>{1, 2}));
}

TEMPLATE_TEST_CASE("linalg: exponentials of every size beside their series in long double", "", float, double)
{
    using T = TestType;
    for (const double size : {1e-4, 1e-2, 0.2, 0.8, 1.5, 3.0, 5.0, 30.0}) {
        INFO("size " << size);
        const Tensor<T> a = wg::uniform<T>(wg::Key(3), {4, 4}, T(-1), T(1)) * static_cast<T>(size / 4);
        Wide x = wide(a), y(4, std::vector<long double>(4)), term(4, std::vector<long double>(4));
        const auto times = [](const Wide& p, const Wide& q, long double f) {
            Wide r(4, std::vector<long double>(4));
            for (std::size_t i = 0; i < 4; ++i)
                for (std::size_t j = 0; j < 4; ++j)
                    for (std::size_t k = 0; k < 4; ++k) r[i][j] += f * p[i][k] * q[k][j];
            return r;
        };
        for (auto& row : x)
            for (auto& e : row) e /= 1024;
        for (std::size_t i = 0; i < 4; ++i) y[i][i] = term[i][i] = 1;
        for (int k = 1; k < 30; ++k) {
            term = times(term, x, 1.0L / k);
            for (std::size_t i = 0; i < 4; ++i)
                for (std::size_t j = 0; j < 4; ++j) y[i][j] += term[i][j];
        }
        for (int i = 0; i < 10; ++i) y = times(y, y, 1);
        CHECK(distance_to(la::expm(a), y) < (50 + 20 * size) * epsilon<T>());
    }
    CHECK(same_bits(la::expm(wg::zeros<T>({2, 3, 3})), wg::zeros<T>({2, 3, 3}) + wg::eye<T>(3)));
}

TEMPLATE_TEST_CASE("linalg: norms of vectors and matrices", "", float, double)
{
    using T = TestType;
    const Tensor<T> x{{3, -4}, {0, 12}};
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(la::norm(x).item() == T(13));
    CHECK(allclose(la::norm(x, 2.0, -1), Tensor<T>{5, 12}));
    CHECK(allclose(la::norm(x, 1.0, 0), Tensor<T>{3, 16}));
    CHECK(allclose(la::norm(x, infinity, -1), Tensor<T>{4, 12}));
    CHECK(allclose(la::norm(x, -infinity, -1), Tensor<T>{3, 0}));
    CHECK(allclose(la::norm(x, 0.0, -1), Tensor<T>{2, 1}));
    CHECK(allclose(la::norm(x, 3.0, {0, 1}), Tensor<T>(std::cbrt(T(27 + 64 + 1728)))));
    CHECK(la::norm(x, la::MatrixNorm::frobenius).item() == T(13));
    CHECK(la::norm(x, la::MatrixNorm::one).item() == T(16));
    CHECK(la::norm(x, la::MatrixNorm::infinity).item() == T(12));
    const Tensor<T> diagonal{{0, -3}, {2, 0}};
    CHECK(allclose(la::norm(diagonal, la::MatrixNorm::nuclear), Tensor<T>(5)));
    CHECK(allclose(la::norm(diagonal, la::MatrixNorm::two), Tensor<T>(3)));
    CHECK(allclose(la::norm(diagonal, la::MatrixNorm::least), Tensor<T>(2)));
    CHECK(allclose(la::cond(diagonal), Tensor<T>(T(1.5))));
    CHECK(allclose(wg::grad([](const Tensor<T>& t) { return la::norm(t, 3.0, 0); })(Tensor<T>{0, 0}),
                   Tensor<T>{0, 0}, 0.0));
}

TEMPLATE_TEST_CASE("linalg: vectors, batches that are broadcast, and empty matrices", "", float, double)
{
    using T = TestType;
    const auto ones = [](const Shape& s) { return wg::ones<T>(s); };
    CHECK(la::solve(ones({5, 1, 1}) * T(2), ones({5, 1, 2})).shape() == Shape{5, 1, 2});
    CHECK(la::solve(ones({5, 1, 1}), ones({1})).shape() == Shape{5, 1});
    CHECK(la::solve(ones({5, 1, 1, 1}), ones({7, 1, 2})).shape() == Shape{5, 7, 1, 2});
    const auto a = matrices<T>({3}, 2, 2), b = wg::normal<T>(wg::Key(1), {2, 2});
    const auto x = la::solve(a, b);
    for (std::int64_t i = 0; i < 3; ++i) CHECK(same_bits(copy(x(i)), la::solve(copy(a(i)), b)));
    const auto empty = wg::zeros<T>({2, 0, 0});
    CHECK(la::inv(empty).shape() == empty.shape());
    CHECK(same_bits(la::det(empty), ones({2})));
    CHECK(same_bits(la::slogdet(empty).second, wg::zeros<T>({2})));
    CHECK(la::cholesky(empty).shape() == empty.shape());
    CHECK(la::eigh(empty).first.shape() == Shape{2, 0});
    CHECK(la::expm(empty).shape() == empty.shape());
    CHECK(la::pinv(wg::zeros<T>({2, 0, 3})).shape() == Shape{2, 3, 0});
    CHECK(std::get<0>(la::svd(wg::zeros<T>({2, 3, 0}))).shape() == Shape{2, 3, 0});
    CHECK(la::qr(wg::zeros<T>({3, 0})).second.shape() == Shape{0, 0});
    CHECK(std::get<1>(la::lu(wg::zeros<T>({3, 0}))).shape() == Shape{3, 0});
    CHECK(same_bits(la::matrix_power(a, 0), wg::zeros<T>({3, 2, 2}) + wg::eye<T>(2)));
    CHECK(same_bits(la::matrix_power(a, 1), a));
    CHECK(allclose(la::matrix_power(a, 5), matmul(a, matmul(a, matmul(a, matmul(a, a))))));
}

TEST_CASE("norms of infinities")
{
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Tensor<double> x = {inf, 1.0};
    for (const double p : {0.5, 1.0, 2.0, 2.5, 3.0, inf}) CHECK(la::norm(x, p, 0).item() == inf);
    for (const double p : {-inf, -1.0, -2.5}) CHECK(la::norm(x, p, 0).item() == 1.0);
}

TEST_CASE("linalg: determinants and cofactors of large and small numbers")
{
    using D = Tensor<double>;
    const auto det = [](const D& a) { return la::det(a); };
    for (const double scale : {1e200, 1e-200}) {
        const D c = wengert::grad(det)(D{{scale, 0.0}, {0.0, scale}});
        CHECK(c(0, 0).item() == Approx(scale));
        CHECK(c(1, 1).item() == Approx(scale));
        CHECK(c(0, 1).item() == 0);
    }
    for (const double scale : {1e70, 1e-70}) {
        const D c = wengert::grad(det)(scale * wengert::eye<double>(5));
        CHECK(c(4, 4).item() == Approx(std::pow(scale, 4)));
        CHECK(c(0, 4).item() == 0);
    }
    const D spread = {
        {0.0, 1e-200, 0.0, 0.0}, {1e-200, 0.0, 0.0, 0.0}, {0.0, 0.0, 1e200, 0.0}, {0.0, 0.0, 0.0, 1e200}};
    CHECK(det(spread).item() == Approx(-1.0));
    CHECK(la::det(Tensor<float>{{1e-30F, 0.0F}, {0.0F, 1e-8F}}).item() == Approx(1e-38F));
    CHECK(std::isnan(det(D{{std::nan(""), 1.0}, {0.0, 1.0}}).item()));
}

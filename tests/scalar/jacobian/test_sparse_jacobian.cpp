// sparse_jacobian: the pattern from the program, values against the dense one.
#include "catch.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/describe/structural.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

namespace wg = wengert;
using R = wg::Real<double>;
using Reals = std::vector<R>;

TEST_CASE("A banded Jacobian in rows")
{
    const auto residuals = [](const Reals& v) {
        Reals r;
        for (std::size_t i = 0; i + 1 < v.size(); ++i) r.push_back(v[i + 1] * v[i] - 1.0);
        return r;
    };
    const auto J = wg::sparse_jacobian(residuals)(Reals{1.0, 2.0, 3.0, 4.0});
    CHECK(J.rows == std::vector<std::int64_t>{0, 2, 4, 6});
    CHECK(J.columns == std::vector<std::int64_t>{0, 1, 1, 2, 2, 3});
    CHECK(J.values == std::vector<double>{2, 1, 3, 2, 4, 3});
    CHECK(J.width == 4);
    CHECK(wg::ScalarStream::of(wg::Tape::current()).size() == 1);
}

TEST_CASE("Rows of constants, of inputs, of shared work; branches; the dense one's values")
{
    const auto f = [](const Reals& v) {
        const R shared = sin(v[0] * v[3]) / v[1];
        return std::array<R, 5>{shared * v[2], R(3.0), v[4], v[2] > 1.0 ? shared : exp(v[4]),
                                shared * shared + 0.0 * v[2]};
    };
    const Reals x{0.3, 1.7, 2.0, -0.4, 0.6};
    const auto J = wg::sparse_jacobian(f)(x);
    CHECK(J.rows == std::vector<std::int64_t>{0, 4, 4, 5, 8, 12});
    const auto pullback = wg::vjp(f, x).second;
    for (std::size_t i = 0; i < 5; ++i) {
        std::array<R, 5> unit{};
        unit[i] = 1.0;
        const Reals row = pullback(unit);
        std::vector<double> dense(5);
        for (auto k = static_cast<std::size_t>(J.rows[i]); k < static_cast<std::size_t>(J.rows[i + 1]); ++k)
            dense[static_cast<std::size_t>(J.columns[k])] = J.values[k];
        for (std::size_t j = 0; j < 5; ++j) CHECK(dense[j] == Approx(row[j].value()));
    }
}

TEST_CASE("What sparse_jacobian refuses")
{
    const auto f = [](const Reals& v) { return v; };
    const auto inside = [&](R x) {
        static_cast<void>(wg::sparse_jacobian(f)(Reals{x}));
        return x;
    };
    CHECK_THROWS_AS(wg::grad(inside)(R(1.0)), wg::TapeError);
    CHECK(wg::sparse_jacobian(f)(Reals{}).rows.size() == 1);
}

namespace {

/// A residual with a branch, of three unknowns and a number of its own, and an energy of the same.
const auto residual = wg::kernel([](auto a, auto b, auto c, auto w) {
    using std::sin;
    if (a > b) return std::array{a * b * w + sin(c), c * c * a};
    return std::array{a - b * w, a * b * c};
});
const auto energy = wg::kernel([](auto a, auto b, auto c, auto w) {
    using std::sin;
    return a * a * b + w * c * sin(b);
});
const wg::BlockPlaces<3> places{{0, 1, 2}, {3, 1, 4}, {2, 2, 0}, {4, 3, 1}};  // one has an unknown twice
const wg::Tensor<double> unknowns = {0.3, 1.2, -0.5, 2.0, 0.7}, weights = {1.0, 2.0, 3.0, 4.0};

/// The function of all unknowns whose blocks these are.
template <class F> auto whole(const F& f)
{
    return [&f](const wg::Tensor<double>& x) {
        std::vector<wg::Tensor<double>> y;
        for (std::size_t b = 0; b < places.size(); ++b) {
            const auto [i, j, k] = places[b];
            const auto block = f(x(i), x(j), x(k), weights(static_cast<std::int64_t>(b)));
            for (const auto& r : wg::detail::as_list(block)) y.push_back(r);
        }
        return stack(y);
    };
}
template <class T> wg::Tensor<T> dense(const wg::SparseMatrix<T>& m)
{
    std::vector<T> all((m.rows.size() - 1) * static_cast<std::size_t>(m.width));
    for (std::size_t i = 0; i + 1 < m.rows.size(); ++i)
        for (auto k = static_cast<std::size_t>(m.rows[i]); k < static_cast<std::size_t>(m.rows[i + 1]); ++k)
            all[i * static_cast<std::size_t>(m.width) + static_cast<std::size_t>(m.columns[k])] +=
                m.values[k];
    return wg::Tensor<T>(wg::Shape{m.rows.size() - 1, static_cast<std::size_t>(m.width)}, all);
}

}  // namespace

TEST_CASE("All blocks of a structure at once")
{
    const auto J = wg::sparse_jacobian(residual, places)(unknowns, weights);
    CHECK(wg::allclose(dense(J), wg::jacobian(whole(residual))(unknowns), 1e-14));
    CHECK(J.columns.size() == 2 * (3 + 3 + 2 + 3));
    for (std::size_t i = 0; i + 1 < J.rows.size(); ++i)
        CHECK(std::is_sorted(J.columns.begin() + J.rows[i], J.columns.begin() + J.rows[i + 1]));
    const auto H = wg::sparse_hessian(energy, places)(unknowns, weights);
    const auto total = [](const wg::Tensor<double>& x) { return sum(whole(energy)(x)); };
    CHECK(wg::allclose(dense(H), wg::hessian(total)(unknowns), 1e-14));
    CHECK((H.columns.size() == 17 && H.rows.size() == 6));
    // The pattern of a row: in both ways, through a loop, not through what is flat.
    const auto rows = wg::kernel([](auto a, auto b, auto c, auto w) {
        using Number = decltype(a);
        using std::floor;
        const auto summed = wg::for_each(
            3,
            [&](const std::array<Number, 2>& s, const Number&) {
                return std::array<Number, 2>{s[1], b * w};
            },
            std::array<Number, 2>{Number(0.0), Number(0.0)});
        return std::array<Number, 3>{a > b ? a * w : c + floor(b), summed[0], c * c};
    });
    const auto sparse = wg::sparse_jacobian(rows, places)(unknowns, weights);
    CHECK(wg::allclose(dense(sparse), wg::jacobian(whole(rows))(unknowns), 1e-14));
    CHECK((sparse.rows[1] == 2 && sparse.rows[2] == 3 && sparse.rows[3] == 4 && sparse.columns[2] == 1));
    // More results than unknowns: by tangents. Numbers as data; single precision.
    const auto many = wg::kernel([](auto a, auto w) { return std::array{a * w, a * a, w - a}; });
    const auto tall =
        wg::sparse_jacobian(many, wg::BlockPlaces<1>{{1}, {0}})(wg::Tensor<float>{2.0f, 3.0f}, 4.0f);
    CHECK(tall.values == std::vector<float>{4, 6, -1, 4, 4, -1});
    CHECK(tall.columns == std::vector<std::int64_t>{1, 1, 1, 0, 0, 0});
}

TEST_CASE("Blocks of several kinds, none, and what is refused")
{
    const auto square = wg::kernel([](auto a) { return a * a; });
    auto J = wg::sparse_jacobian(square, wg::BlockPlaces<1>{{2}})(unknowns);
    J.append(wg::sparse_jacobian(residual, places)(unknowns, weights));
    CHECK((J.rows.size() == 10 && J.rows[1] == 1 && J.columns[0] == 2 && J.values[0] == -1.0));
    CHECK((J.rows.back() == 23 && J.values.size() == 23));
    const auto none = wg::sparse_jacobian(square, wg::BlockPlaces<1>{})(unknowns);
    CHECK((none.rows.size() == 1 && none.width == 5));
    CHECK(wg::sparse_hessian(square, wg::BlockPlaces<1>{})(unknowns).rows.size() == 6);
    CHECK_THROWS_AS(wg::sparse_jacobian(square, wg::BlockPlaces<1>{{5}})(unknowns), wg::ShapeError);
    CHECK_THROWS_AS(wg::sparse_jacobian(square, wg::BlockPlaces<1>{{-1}})(unknowns), wg::ShapeError);
    CHECK_THROWS_AS(wg::sparse_jacobian(residual, places)(unknowns, wg::Tensor<double>{1.0, 2.0}),
                    wg::ShapeError);
    CHECK_THROWS_AS(wg::sparse_hessian(residual, places)(unknowns, weights), wg::ShapeError);
    CHECK_THROWS_AS(J.append(wg::SparseMatrix<double>{}), wg::ShapeError);
    const auto weighted = wg::kernel([](auto a, auto w) { return a * a * w; });
    const wg::BlockPlaces<1> two{{0}, {1}};
    for (const auto& data :
         {wg::Tensor<double>{{1.0, 2.0}, {10.0, 20.0}}, wg::Tensor<double>{1.0, 2.0, 3.0}}) {
        CHECK_THROWS_AS(wg::sparse_hessian(weighted, two)(unknowns, data), wg::ShapeError);
        CHECK_THROWS_AS(wg::sparse_jacobian(weighted, two)(unknowns, data), wg::ShapeError);
    }
    const wg::Tensor<double> three = {1.0, 2.0, 3.0};  // for one block
    CHECK_THROWS_AS(wg::sparse_hessian(weighted, wg::BlockPlaces<1>{{0}})(unknowns, three), wg::ShapeError);
    CHECK(wg::sparse_hessian(weighted, two)(unknowns, wg::Tensor<double>(3.0)).values[0] == 6.0);
    const auto differentiated = [&](const wg::Tensor<double>& x) {
        return x(0) * wg::sparse_jacobian(square, wg::BlockPlaces<1>{{0}})(x).values[0];
    };
    CHECK_THROWS_AS(wg::grad(differentiated)(unknowns), wg::TapeError);
}

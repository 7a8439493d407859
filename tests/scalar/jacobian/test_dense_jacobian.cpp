// jacobian, hessian and sparse_hessian of functions of reals.
#include "catch.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>

#include <thread>

namespace wg = wengert;
using R = wg::Real<double>;
using D = wg::Tensor<double>;
using Reals = std::vector<R>;

namespace {

const auto wide = [](const Reals& x) {  // 3 results of 20
    R a = 0.0, b = 1.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        a += sin(x[i]) * x[(i + 1) % x.size()];
        if (x[i] > 0.0) b *= 1.0 + 0.1 * x[i] / (2.0 + x[0]);
    }
    return Reals{a, b * b, x[7]};
};
const auto tall = [](const Reals& x) {  // 12 results of 2
    Reals y;
    for (int k = 0; k < 11; ++k) y.push_back(pow(x[0], k) * exp(-0.1 * k * x[1]));
    y.push_back(R(4.0));
    return y;
};
const auto chain = [](const Reals& x) {  // a band, and one variable that is coupled with all
    R total = 0.0;
    for (std::size_t i = 2; i < x.size(); ++i)
        total += 100.0 * square(x[i] - x[i - 1] * x[i - 1]) + square(1.0 - x[i - 1]) + x[0] * exp(0.1 * x[i]);
    return total + hypot(x[1], x[2]) / x[3];
};
Reals numbers(std::size_t n)
{
    Reals x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(std::sin(1.0 + 0.7 * static_cast<double>(i)));
    return x;
}
/// Row by row from pullbacks.
template <class F> void same_rows(const D& J, const F& f, const Reals& x)
{
    const auto [y, pullback] = wg::vjp(f, x);
    REQUIRE(J.shape() == wg::Shape{y.size(), x.size()});
    for (std::size_t i = 0; i < y.size(); ++i) {
        Reals unit(y.size());
        unit[i] = 1.0;
        const Reals row = pullback(unit);
        for (std::size_t j = 0; j < x.size(); ++j)
            CHECK(J(i, j).item() == Approx(row[j].value()).epsilon(1e-13).margin(1e-15));
    }
}

}  // namespace

TEST_CASE("Dense Jacobians of reals by rows and by columns")
{
    same_rows(wg::jacobian(wide)(numbers(20)), wide, numbers(20));
    same_rows(wg::jacobian(tall)(Reals{0.7, 1.2}), tall, Reals{0.7, 1.2});
    const D row = wg::jacobian([](const Reals& x) { return x[0] * x[1]; })(Reals{2.0, 3.0});
    CHECK((row.shape() == wg::Shape{2} && row(0).item() == 3 && row(1).item() == 2));
    const D one = wg::jacobian([](R x) { return x * x; })(R(3.0));
    CHECK((one.shape() == wg::Shape{} && one.item() == 6));
    const D none = wg::jacobian([](const Reals&) { return Reals{R(1.0), R(2.0)}; })(Reals{1.0});
    CHECK((none.shape() == wg::Shape{2, 1} && none(1, 0).item() == 0));
    CHECK(wg::Tape::current().size() == 0);
}

TEST_CASE("Jacobians of reals that are differentiated, capture, or mix with tensors")
{
    const auto mixed = [](const Reals& x) {
        const Reals e = wg::elements(tanh(wg::stack(x)));
        return Reals{e[0] * x[1], e[1] + x[0]};
    };
    same_rows(wg::jacobian(mixed)(Reals{0.3, 0.8}), mixed, Reals{0.3, 0.8});
    const auto checkpointed = wg::checkpoint(mixed);
    same_rows(wg::jacobian(checkpointed)(Reals{0.3, 0.8}), mixed, Reals{0.3, 0.8});
    const auto norm = [](const Reals& x) { return wg::real(sum(square(wg::jacobian(tall)(x)))); };
    CHECK(wg::check_grads(norm, Reals{0.7, 1.2}).ok);
    const auto captured = [](R a) {
        return wg::real(sum(wg::jacobian([&](const Reals& x) {
            return Reals{a * x[0] * x[0], a + x[1]};
        })(Reals{3.0, 1.0})));
    };
    CHECK(wg::grad(captured)(R(2.0)).value() == 6);
    R v = 2.0;
    v.requires_grad();
    wg::backward(sum(wg::jacobian([&](const Reals& x) { return Reals{v * x[0]}; })(Reals{3.0})));
    CHECK(v.grad() == 1);
    v.requires_grad(false);
    const auto fails = [](const Reals&) -> Reals { throw std::runtime_error("no"); };
    CHECK_THROWS_AS(wg::jacobian(fails)(Reals{1.0}), std::runtime_error);
    CHECK(wg::Tape::current().size() == 0);
    const auto root = [](const Reals& x) { return Reals{0.0 * sqrt(x[0]) + x[1], x[1] * x[0]}; };
    const D J = wg::jacobian(root)(Reals{0.0, 2.0});
    CHECK((J(0, 0).item() == 0 && J(0, 1).item() == 1 && J(1, 0).item() == 2));
}

TEST_CASE("Hessians, dense and sparse")
{
    const Reals x = numbers(9);
    const D H = wg::hessian(chain)(x);
    REQUIRE(H.shape() == wg::Shape{9, 9});
    const auto S = wg::sparse_hessian(chain)(x);
    CHECK((S.width == 9 && S.rows.size() == 10));
    CHECK(S.columns.size() < 60);
    std::vector<std::vector<double>> dense(9, std::vector<double>(9));
    for (std::size_t i = 0; i < 9; ++i)
        for (auto k = static_cast<std::size_t>(S.rows[i]); k < static_cast<std::size_t>(S.rows[i + 1]); ++k) {
            if (k > static_cast<std::size_t>(S.rows[i])) CHECK(S.columns[k - 1] < S.columns[k]);
            dense[i][static_cast<std::size_t>(S.columns[k])] = S.values[k];
        }
    for (std::size_t i = 0; i < 9; ++i)
        for (std::size_t j = 0; j < 9; ++j)
            CHECK(dense[i][j] == Approx(H(i, j).item()).epsilon(1e-12).margin(1e-13));
}

TEST_CASE("The sparse Hessian of sums that go on, that are kept and that are used again is the dense one")
{
    constexpr std::size_t n = 200;  // more inputs than a sum adds before it merges them
    const auto energy = [](const Reals& x) {
        R total = 0.0, before = 0.0;
        Reals kept;
        for (std::size_t i = 0; i + 1 < n; ++i) {
            total += x[i] * x[i + 1];
            total += x[n - 1 - i] * x[n - 1 - i];
            if (i % 50 == 7) kept.push_back(total);
            before = total + x[i];
        }
        for (std::size_t i = 0; i < 5; ++i) total += sin(x[i] + x[40 * i]) + x[3] * x[3];
        return total + before + kept[0] * x[150] + kept[1];
    };
    const Reals x = numbers(n);
    const D H = wg::hessian(energy)(x);
    const auto S = wg::sparse_hessian(energy)(x);
    CHECK(S.columns.size() < 5 * n);
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> row(n);
        for (auto k = static_cast<std::size_t>(S.rows[i]); k < static_cast<std::size_t>(S.rows[i + 1]); ++k)
            row[static_cast<std::size_t>(S.columns[k])] = S.values[k];
        std::size_t wrong = 0;
        for (std::size_t j = 0; j < n; ++j)
            wrong += std::abs(row[j] - H(i, j).item()) > 1e-12 * (1 + std::abs(row[j]));
        CHECK(wrong == 0);
    }
}

namespace {

using Pattern = std::vector<std::vector<std::uint32_t>>;

/// Neighbours have other colours, and every path of four vertices has three.
bool is_star_colouring(const Pattern& rows, const std::vector<std::uint32_t>& colour)
{
    bool is = true;
    for (std::uint32_t v = 0; v < rows.size(); ++v)
        for (const std::uint32_t w : rows[v]) {
            if (w == v) continue;
            is = is && colour[v] != colour[w];
            for (const std::uint32_t x : rows[w])
                for (const std::uint32_t y : rows[x])
                    is = is && (x == v || x == w || y == w || y == x || y == v ||
                                !(colour[v] == colour[x] && colour[w] == colour[y]));
        }
    return is;
}

Pattern random_pattern(std::uint32_t n, std::uint32_t seed)
{
    std::vector<std::vector<bool>> is(n, std::vector<bool>(n));
    for (std::uint32_t k = 0; k < 2 * n; ++k) {
        seed = seed * 1664525U + 1013904223U;
        const std::uint32_t i = (seed >> 8) % n, j = (seed >> 18) % (k % 3 ? n : 1 + n / 4);
        is[i][j] = is[j][i] = true;
    }
    Pattern rows(n);
    for (std::uint32_t i = 0; i < n; ++i)
        for (std::uint32_t j = 0; j < n; ++j)
            if (is[i][j]) rows[i].push_back(j);
    return rows;
}

}  // namespace

TEST_CASE("Colours of hubs and of random patterns")
{
    // a hub has one colour and its neighbours another, wherever it stands
    CHECK(wg::detail::star_colours({{3}, {3}, {3}, {0, 1, 2}}) == std::vector<std::uint32_t>{1, 1, 1, 0});
    std::size_t wrong = 0;
    for (std::uint32_t seed = 1; seed < 400; ++seed) {
        const Pattern rows = random_pattern(3 + seed % 17, seed);
        wrong += !is_star_colouring(rows, wg::detail::star_colours(rows));
    }
    CHECK(wrong == 0);
    constexpr std::size_t n = 20000;  // n colours would be 3 GB
    for (const bool last : {false, true}) {
        const auto arrow = [last](const Reals& x) {
            R sum = 0.0;
            const R& hub = last ? x.back() : x.front();
            for (const R& one : x) sum += one * one * hub;
            return sum;
        };
        const auto H = wg::sparse_hessian(arrow)(Reals(n, R(0.5)));
        CHECK(H.values.size() == 3 * n - 2);
        const double of_hub = last ? H.values.back() : H.values.front();
        CHECK(of_hub == 3.0);  // 6 x
    }
}

TEST_CASE("The pattern and the number of colours of a Hessian")
{
    const auto star = [](const Reals& x) {
        R total = 3.0 * x[1] + x[2] / 2.0 - x[3];
        for (std::size_t i = 1; i < x.size(); ++i) total += x[0] * x[i];
        return total;
    };
    const auto S = wg::sparse_hessian(star)(numbers(6));
    CHECK(S.rows == std::vector<std::int64_t>{0, 5, 6, 7, 8, 9, 10});
    CHECK(S.columns == std::vector<std::int64_t>{1, 2, 3, 4, 5, 0, 0, 0, 0, 0});
    CHECK(S.values == std::vector<double>(10, 1.0));
    const auto colours = wg::detail::star_colours({{1, 2, 3}, {0}, {0}, {0}});
    CHECK(colours == std::vector<std::uint32_t>{0, 1, 1, 1});
    const auto unused = [](const Reals& x) {
        static_cast<void>(x[0] * x[1]);  // the result does not depend on it
        return x[1] * x[1] * x[1] / 6.0;
    };
    const auto U = wg::sparse_hessian(unused)(Reals{1.0, 5.0});
    CHECK((U.rows == std::vector<std::int64_t>{0, 0, 1} && U.values == std::vector<double>{5.0}));
    const auto flat = [](const Reals&) { return R(1.0); };
    CHECK(wg::sparse_hessian(flat)(Reals{1.0, 5.0}).rows == std::vector<std::int64_t>{0, 0, 0});
    const auto tensors = [](const Reals& x) { return wg::real(sum(square(wg::stack(x)))); };
    CHECK_THROWS_AS(wg::sparse_hessian(tensors)(Reals{1.0, 5.0}), wg::TapeError);
    const auto between = [](const Reals& x) { return wg::elements(square(wg::stack(x))); };
    CHECK_THROWS_AS(wg::sparse_jacobian(between)(Reals{1.0, 5.0}), wg::TapeError);
    CHECK_THROWS_AS(wg::grad([&](R a) {
                        return R(wg::sparse_hessian(unused)(Reals{a, a}).values[0]) * a;
                    })(R(1.0)),
                    wg::TapeError);
    CHECK(wg::Tape::current().size() == 0);
}

namespace {

Reals with_constants(const Reals& v)
{
    Reals y;
    for (std::size_t i = 0; i < v.size(); ++i) y.push_back(sin(v[i]) * v[(i + 1) % v.size()]);
    y.insert(y.end(), {R(3.0), v[0]});
    return y;
}
const Reals at{0.3, 1.2, -0.7, 2.0};
std::vector<Reals> many_cotangents(std::size_t n)
{
    std::vector<Reals> all(n, Reals(6));
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = 0; i < 6; ++i) all[k][i] = std::sin(double(k) + 2.0 * double(i));
    return all;
}
R sum_of_squares(const std::vector<Reals>& all)
{
    R s;
    for (const Reals& g : all)
        for (const R& e : g) s += e * e;
    return s;
}

}  // namespace

TEST_CASE("Many cotangents through one recording")
{
    const auto cotangents = many_cotangents(11);  // more than go into one sweep
    const auto [y, pullback] = wg::vjps(with_constants, at);
    CHECK((y.size() == 6 && y[0].value() == with_constants(at)[0].value() && !y[0].is_active()));
    std::vector<Reals> all;
    std::thread elsewhere([&, &p = pullback] { all = p(cotangents); });
    elsewhere.join();
    const auto one = wg::vjp(with_constants, at).second;
    REQUIRE(all.size() == 11);
    for (std::size_t k = 0; k < 11; ++k) {
        const Reals g = one(cotangents[k]);
        for (std::size_t j = 0; j < at.size(); ++j)
            CHECK(all[k][j].value() == Approx(g[j].value()).epsilon(1e-15));
    }
    CHECK(pullback({}).empty());
    CHECK_THROWS_AS(pullback({Reals{1.0}}), wg::ShapeError);
    const auto single =
        wg::vjps([](const wg::Real<float>& x) { return x * x; }, wg::Real<float>(3.0f)).second;
    CHECK(single({1.0f, -2.0f})[1].value() == -12.0f);
}

TEST_CASE("Many cotangents inside of a derivative, of tensors in between, and of what is captured")
{
    const auto by_point = [](const Reals& q) {
        return sum_of_squares(wg::vjps(with_constants, q).second(many_cotangents(3)));
    };
    const auto by_cotangent = [](const Reals& q) {
        auto c = many_cotangents(2);
        c[0][0] = q[0], c[1][2] = q[1] * q[2];
        return sum_of_squares(wg::vjps(with_constants, at).second(c));
    };
    CHECK(wg::check_grads(by_point, at).ok);
    CHECK(wg::check_grads(by_cotangent, at).ok);
    const auto tensors = [](const Reals& v) { return wg::elements(tanh(wg::stack(v)) * 2.0); };
    const auto g = wg::vjps(tensors, at).second({Reals{1.0, 0.0, 0.0, 0.0}, Reals{0.0, 1.0, 0.0, 0.0}});
    CHECK(g[1][1].value() == Approx(2 / (std::cosh(1.2) * std::cosh(1.2))));
    const auto captured = [](const R& w) {
        const auto f = [&](const Reals& v) { return Reals{v[0] * v[0], w}; };  // w is none of f's variables
        return wg::vjps(f, at).first[1] * R(wg::jacobian(f)(at)(0, 0));
    };
    CHECK(wg::grad(captured)(R(2.0)).value() == Approx(0.6));
}

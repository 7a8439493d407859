// What has no answer: the error names the function, the operand, what was expected and the user's line.
#include "linalg/linalg_cases.hpp"

#include <wengert/linalg.hpp>

namespace la = wengert::linalg;
using namespace linalg_cases;

namespace {

using D = Tensor<double>;

/// The text of the error E that f() throws.
template <class E, class F> std::string refused(const F& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    } catch (const std::exception& e) {
        return std::string("another error: ") + e.what();
    }
    return "nothing was thrown";
}
std::string line(int n) { return "(test_linalg_errors.cpp:" + std::to_string(n) + ")"; }

const D singular{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}}, b{1.0, -1.0, 2.0};

}  // namespace

TEST_CASE("linalg: shapes that do not fit")
{
    const D wide = wg::ones<double>({2, 3}), square = matrices<double>({2}, 3, 3);
    CHECK(refused<wg::ShapeError>([&] { la::solve(wide, b); }) ==
          "[solve] shape (2, 3): square matrices are expected " + line(__LINE__ - 1));
    CHECK(refused<wg::ShapeError>([&] { la::inv(b); }) ==
          "[inv] shape (3): matrices in the last two of at least two axes are expected " +
              line(__LINE__ - 1));
    CHECK(refused<wg::ShapeError>([&] { la::solve(square, wg::ones<double>({4})); }) ==
          "[solve] shapes (2, 3, 3) and (4): 3 rows on the right are expected " + line(__LINE__ - 1));
    CHECK(refused<wg::ShapeError>([&] {
              la::lstsq(wide, wg::ones<double>({5, 3, 1}));
          }) ==
          "[lstsq] shapes (2, 3) and (5, 3, 1): 2 rows on the right are expected " + line(__LINE__ - 1));
    CHECK(refused<wg::ShapeError>([&] {
              la::solve_triangular(square, wg::ones<double>({5, 3, 1}));
          }) ==
          "[solve_triangular] shapes (2, 3, 3) and (5, 3, 1): the batches cannot be broadcast together " +
              line(__LINE__ - 1));
    for (const auto& c : all<double>()) {
        INFO(c.name);
        CHECK_THROWS_AS(c.f(b), wg::ShapeError);
    }
}

TEST_CASE("linalg: singular and indefinite matrices")
{
    CHECK(refused<wg::NumericError>([] {
              la::solve(D{{1.0, 2.0}, {2.0, 4.0}}, D{1.0, 1.0});
          }) == "[solve] of float64, shape (2, 2): singular to working precision: pivot 1 is 0, a regular "
                "matrix is expected " +
                    line(__LINE__ - 2));
    CHECK_THAT(refused<wg::NumericError>([] {
                   la::inv(wg::stack({wg::eye<double>(3), singular}));
               }),
               contains("pivot 2 of matrix 1 is") && contains("shape (2, 3, 3)") &&
                   contains(line(__LINE__ - 1)));
    CHECK_THAT(refused<wg::NumericError>([] { la::matrix_power(singular, -1); }), contains(line(__LINE__)));
    CHECK_THAT(refused<wg::NumericError>([] {
                   la::solve_triangular(D{{1.0, 0.0}, {1.0, 0.0}}, D{1.0, 1.0});
               }),
               contains("[solve_triangular]") && contains("element (1, 1) of the diagonal is 0") &&
                   contains(line(__LINE__ - 1)));
    CHECK(refused<wg::NumericError>([] {
              la::cholesky(D{{1.0, 2.0}, {2.0, 1.0}});
          }) == "[cholesky] of float64, shape (2, 2): the leading minor of order 2 is not positive: a "
                "positive definite matrix is "
                "expected " +
                    line(__LINE__ - 2));
    CHECK_THAT(refused<wg::NumericError>([] {
                   la::lstsq(D{{1.0, 2.0}, {2.0, 4.0}, {3.0, 6.0}}, b);
               }),
               contains("singular to working precision") && contains(line(__LINE__ - 1)));
    CHECK_THAT(refused<wg::NumericError>([] {
                   la::lu(D{{1.0, 2.0}, {2.0, 4.0}, {3.0, 6.0}});
               }),
               contains(line(__LINE__)));
}

TEST_CASE("linalg: badly scaled matrices are not singular")
{
    const D scaled{{1e-200, 2e-200}, {3e150, 4e150}};
    CHECK(allclose(matmul(scaled, la::inv(scaled)), wg::eye<double>(2), 1e-12));
    const D triangular{{1e20, 1e20}, {0.0, 1.0}};
    CHECK(allclose(la::solve(triangular, D{1e20, 1.0}), D{0.0, 1.0}, 1e-12));
    const D tall{{1e-20, 1.0}, {2e-20, 1.0}, {3e-20, 1.0}};
    CHECK(allclose(la::lstsq(tall, D{2.0, 3.0, 4.0}) * D{1e-20, 1.0}, D{1.0, 1.0}, 1e-12));
}

TEST_CASE("linalg: what is not finite")
{
    const D nan = {{1.0, std::nan("")}, {2.0, 3.0}};
    CHECK_THAT(refused<wg::NumericError>([&] { la::eigh(nan); }),
               contains("not finite") && contains(line(__LINE__)));
    CHECK_THAT(refused<wg::NumericError>([&] { la::svd(nan); }),
               contains("not finite") && contains(line(__LINE__)));
    CHECK_THAT(refused<wg::NumericError>([&] { la::pinv(nan); }),
               contains("not finite") && contains(line(__LINE__)));
    CHECK_THAT(refused<wg::NumericError>([&] { la::expm(nan); }),
               contains("not finite") && contains(line(__LINE__)));
    CHECK_THROWS_AS(la::cholesky(nan), wg::NumericError);
    for (const D& y : {la::solve(nan, D{1.0, 1.0}), la::det(nan), la::inv(nan), la::qr(nan).second})
        CHECK(std::isnan(sum(y).item()));
}

TEST_CASE(
    "linalg: determinants of singular matrices have their first derivative, and say that they have no second")
{
    const D zero = wg::zeros<double>({2, 2}), once{{1.0, 2.0}, {2.0, 4.0}};
    const auto det = [](const D& t) { return la::det(t); };
    CHECK(det(zero).item() == 0.0);
    CHECK(det(once).item() == 0.0);
    CHECK(allclose(wg::grad(det)(zero), zero, 0.0));
    CHECK(allclose(wg::grad(det)(once), D{{4.0, -2.0}, {-2.0, 1.0}}, 1e-14));
    CHECK(wg::check_grads(det, singular));
    CHECK(la::slogdet(once).first.item() == 0.0);
    CHECK(la::slogdet(once).second.item() == -std::numeric_limits<double>::infinity());
    CHECK_THAT(refused<wg::NumericError>([&] { wg::hessian([](const D& t) { return la::det(t); })(once); }),
               contains(line(__LINE__ - 1)));
    CHECK_THAT(
        refused<wg::NumericError>([&] { wg::grad([](const D& t) { return la::slogdet(t).second; })(once); }),
        contains(line(__LINE__ - 1)));
}

TEST_CASE("linalg: repeated eigenvalues and singular values")
{
    const D one = wg::eye<double>(3), two{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 5.0}};
    const auto trace = [](const D& t) { return sum(la::eigh(t).first); };
    CHECK(allclose(wg::grad(trace)(one), one, 1e-14));
    CHECK(allclose(wg::grad([](const D& t) { return sum(std::get<1>(la::svd(t))); })(two), one, 1e-14));
    CHECK_THAT(refused<wg::NumericError>([&] {
                   wg::grad([](const D& t) { return sum(la::eigh(t).second * D{1.0, 2.0, 3.0}); })(two);
               }),
               contains("[eigh]") && contains("eigenvalues") && contains("equal to working precision") &&
                   contains("shape (3, 3)") && contains(line(__LINE__ - 2)));
    CHECK_THAT(refused<wg::NumericError>([&] {
                   wg::jvp([](const D& t) { return la::eigh(t).second; }, two, wg::ones<double>({3, 3}));
               }),
               contains("[eigh]") && contains(line(__LINE__ - 1)));
    CHECK_THAT(refused<wg::NumericError>([&] {
                   wg::grad([](const D& t) { return sum(std::get<0>(la::svd(t)) * D{1.0, 2.0, 3.0}); })(two);
               }),
               contains("[svd]") && contains(line(__LINE__ - 1)));
    const D deficient{{1.0, 2.0}, {2.0, 4.0}, {3.0, 6.0}};
    CHECK_THAT(refused<wg::NumericError>(
                   [&] { wg::grad([](const D& t) { return sum(std::get<0>(la::svd(t))); })(deficient); }),
               contains("[svd]") && contains("is 0 to working precision") && contains(line(__LINE__ - 1)));
    CHECK_THAT(refused<wg::NumericError>(
                   [&] { wg::grad([](const D& t) { return sum(la::qr(t).first); })(deficient); }),
               contains("singular to working precision") && contains(line(__LINE__ - 1)));
    CHECK(wg::check_grads([](const D& t) { return la::pinv(t); }, one,
                          {.order = 2}));  // which has no vectors in its rule
}

TEST_CASE("linalg: a frozen function throws with the line of its call")
{
    auto frozen = wg::freeze([](const D& a) { return la::solve(a, b); });
    for (std::uint64_t seed = 1; seed < 4; ++seed)
        static_cast<void>(frozen(matrices<double>({}, 3, 3, seed)));
    CHECK_THAT(refused<wg::NumericError>([&] { frozen(singular); }),
               contains("[solve]") && contains("singular") && contains(line(__LINE__ - 4)));
}

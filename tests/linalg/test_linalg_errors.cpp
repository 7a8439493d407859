// What has no answer: the error names the function, the operand, what was expected and the user's line.
#include "lacks.hpp"
#include "linalg/linalg_cases.hpp"

#include <wengert/linalg.hpp>

namespace la = wengert::linalg;
using namespace linalg_cases;

namespace {

using D = Tensor<double>;

const D singular{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}}, b{1.0, -1.0, 2.0};

/// f() throws an E whose text starts with `text` and ends with a line of this file between `first` and the one of this call.
template <class E, class F>
void refuses(int first, const std::string& text, const F& f, int last = __builtin_LINE())
{
    const std::string said = thrown<E>(f);
    INFO(said);
    CHECK(said.substr(0, text.size()) == text);
    const std::string file = " (test_linalg_errors.cpp:";
    const std::size_t at = said.rfind(file);
    REQUIRE(at != std::string::npos);
    const int line = std::stoi(said.substr(at + file.size()));
    CHECK(first <= line);
    CHECK(line <= last + 5);  // of a call of several lines g++ and clang tell different ones
}

}  // namespace

TEST_CASE("linalg: shapes that do not fit")
{
    const D wide = wg::ones<double>({2, 3}), square = matrices<double>({2}, 3, 3);
    refuses<wg::ShapeError>(__LINE__, "[solve] shape (2, 3): square matrices are expected",
                            [&] { la::solve(wide, b); });
    refuses<wg::ShapeError>(__LINE__,
                            "[inv] shape (3): matrices in the last two of at least two axes are expected",
                            [&] { la::inv(b); });
    refuses<wg::ShapeError>(__LINE__, "[solve] shapes (2, 3, 3) and (4): 3 rows on the right are expected",
                            [&] { la::solve(square, wg::ones<double>({4})); });
    refuses<wg::ShapeError>(__LINE__, "[lstsq] shapes (2, 3) and (5, 3, 1): 2 rows on the right are expected",
                            [&] {
                                la::lstsq(wide, wg::ones<double>({5, 3, 1}));
                            });
    refuses<wg::ShapeError>(
        __LINE__,
        "[solve_triangular] shapes (2, 3, 3) and (5, 3, 1): the batches cannot be broadcast together", [&] {
            la::solve_triangular(square, wg::ones<double>({5, 3, 1}));
        });
    CHECK_THROWS_AS(la::cholesky(wide), wg::ShapeError);
    CHECK_THROWS_AS(la::cho_solve(wide, b), wg::ShapeError);
    CHECK_THROWS_AS(la::det(wide), wg::ShapeError);
    CHECK_THROWS_AS(la::slogdet(wide), wg::ShapeError);
    CHECK_THROWS_AS(la::eigh(wide), wg::ShapeError);
    CHECK_THROWS_AS(la::expm(wide), wg::ShapeError);
    CHECK_THROWS_AS(la::matrix_power(wide, 2), wg::ShapeError);
    CHECK_THROWS_AS(la::cond(wide, la::MatrixNorm::one), wg::ShapeError);
    CHECK_THROWS_AS(la::lu(b), wg::ShapeError);
    CHECK_THROWS_AS(la::qr(b), wg::ShapeError);
    CHECK_THROWS_AS(la::svd(b), wg::ShapeError);
    CHECK_THROWS_AS(la::pinv(b), wg::ShapeError);
    CHECK_THROWS_AS(la::norm(b, la::MatrixNorm::one), wg::ShapeError);
    CHECK_THROWS_AS(la::cond(D(1.0)), wg::ShapeError);
    CHECK_THROWS_AS(la::solve(square, D(1.0)), wg::ShapeError);
    CHECK_THROWS_AS(la::solve(D(), b), wg::TapeError);
}

TEST_CASE("linalg: singular and indefinite matrices")
{
    const D dependent{{1.0, 2.0}, {2.0, 4.0}, {3.0, 6.0}};
    refuses<wg::NumericError>(__LINE__,
                              "[solve] of float64, shape (2, 2): singular to working precision: pivot 1 is "
                              "0, a regular matrix is expected",
                              [] {
                                  la::solve(D{{1.0, 2.0}, {2.0, 4.0}}, D{1.0, 1.0});
                              });
    refuses<wg::NumericError>(
        __LINE__,
        "[solve] of float64, shape (2, 3, 3): singular to working precision: pivot 2 of matrix 1 is ", [] {
            la::inv(wg::stack({wg::eye<double>(3), singular}));
        });
    refuses<wg::NumericError>(__LINE__, "[solve] of float64, shape (3, 3): singular",
                              [] { la::matrix_power(singular, -1); });
    refuses<wg::NumericError>(
        __LINE__,
        "[solve_triangular] of float64, shape (2, 2): singular: element (1, 1) of the diagonal is 0", [] {
            la::solve_triangular(D{{1.0, 0.0}, {1.0, 0.0}}, D{1.0, 1.0});
        });
    refuses<wg::NumericError>(
        __LINE__,
        "[cholesky] of float64, shape (2, 2): the leading minor of order 2 is not positive: a "
        "positive definite matrix is expected",
        [] {
            la::cholesky(D{{1.0, 2.0}, {2.0, 1.0}});
        });
    refuses<wg::NumericError>(
        __LINE__, "[lstsq: solve_triangular] of float64, shape (2, 2): singular to working precision",
        [&] { la::lstsq(dependent, b); });
    refuses<wg::NumericError>(__LINE__, "[solve_triangular] of float64, shape (2, 2): singular",
                              [&] { la::lu(dependent); });
}

TEST_CASE("linalg: a derivative that does not exist has the line of the function, eager and frozen")
{
    const int line = __LINE__ + 1;
    const auto f = [](const D& x) { return sum(la::eigh(x).second * D{{1.0, 2.0}, {3.0, 4.0}}); };
    const D distinct = {{2.0, 0.5}, {0.5, 1.0}}, equal = {{2.0, 0.0}, {0.0, 2.0}};
    const auto said = [](const auto& g) { return thrown<wg::NumericError>(g); };
    const std::string at = "(test_linalg_errors.cpp:" + std::to_string(line) + ")";
    auto of_gradient = wg::freeze(wg::grad(f));
    auto frozen = wg::freeze(f);
    of_gradient(distinct);
    wg::grad(frozen)(distinct);
    wg::jvp(frozen, distinct, distinct);
    for (const std::string& text :
         {said([&] { wg::grad(f)(equal); }), said([&] { wg::jvp(f, equal, distinct); }),
          said([&] { of_gradient(equal); }), said([&] { wg::grad(frozen)(equal); }),
          said([&] { wg::jvp(frozen, equal, distinct); })}) {
        INFO(text);
        CHECK(text.find("eigenvalues 0 and 1, 2 and 2") != std::string::npos);
        CHECK(text.find(at) != std::string::npos);
    }
}

TEST_CASE("linalg: badly scaled matrices are not singular")
{
    const D scaled{{1e-200, 2e-200}, {3e150, 4e150}};
    CHECK(allclose(la::solve(scaled, D{3e-200, 7e150}), D{1.0, 1.0}, 1e-12));
    const D triangular{{1e20, 1e20}, {0.0, 1.0}};
    CHECK(allclose(la::solve(triangular, D{1e20, 1.0}), D{0.0, 1.0}, 1e-12));
    const D tall{{1e-20, 1.0}, {2e-20, 1.0}, {3e-20, 1.0}};
    CHECK(allclose(la::lstsq(tall, D{2.0, 3.0, 4.0}) * D{1e-20, 1.0}, D{1.0, 1.0}, 1e-12));
}

TEST_CASE("linalg: what is not finite")
{
    const D nan = {{1.0, std::nan("")}, {2.0, 3.0}};
    const std::string shape = " of float64, shape (2, 2): an element is not finite";
    refuses<wg::NumericError>(__LINE__, "[eigh]" + shape, [&] { la::eigh(nan); });
    refuses<wg::NumericError>(__LINE__, "[svd]" + shape, [&] { la::svd(nan); });
    refuses<wg::NumericError>(__LINE__, "[pinv]" + shape, [&] { la::pinv(nan); });
    refuses<wg::NumericError>(__LINE__, "[expm]" + shape, [&] { la::expm(nan); });
    refuses<wg::NumericError>(__LINE__, "[cholesky]", [&] { la::cholesky(nan); });
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
    const int line = __LINE__ + 1;
    const auto again = [](const D& t) { return la::det(t); };
    const auto logarithm = [](const D& t) { return la::slogdet(t).second; };
    refuses<wg::NumericError>(line, "[solve] of float64", [&] { wg::hessian(again)(once); });
    refuses<wg::NumericError>(line, "[solve] of float64", [&] { wg::grad(logarithm)(once); });
}

TEST_CASE("linalg: repeated eigenvalues and singular values")
{
    const D one = wg::eye<double>(3), two{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 5.0}};
    const D deficient{{1.0, 2.0}, {2.0, 4.0}, {3.0, 6.0}}, weights{1.0, 2.0, 3.0};
    CHECK(allclose(wg::grad([](const D& t) { return sum(la::eigh(t).first); })(one), one, 1e-14));
    CHECK(allclose(wg::grad([](const D& t) { return sum(std::get<1>(la::svd(t))); })(two), one, 1e-14));
    const int line = __LINE__ + 1;
    const auto vectors = [&](const D& t) { return sum(la::eigh(t).second * weights); };
    const auto singular_vectors = [&](const D& t) { return sum(std::get<0>(la::svd(t)) * weights); };
    const auto left = [](const D& t) { return sum(std::get<0>(la::svd(t))); };
    const auto q = [](const D& t) { return sum(la::qr(t).first); };
    refuses<wg::NumericError>(
        line, "[eigh] of float64, shape (3, 3): eigenvalues 0 and 1, 2 and 2, are equal to working precision",
        [&] { wg::grad(vectors)(two); });
    refuses<wg::NumericError>(line, "[eigh] of float64, shape (3, 3): eigenvalues", [&] {
        wg::jvp(vectors, two, wg::ones<double>({3, 3}));
    });
    refuses<wg::NumericError>(line, "[svd] of float64, shape (3, 3): singular values",
                              [&] { wg::grad(singular_vectors)(two); });
    refuses<wg::NumericError>(line, "[svd] of float64, shape (3, 3): singular values",
                              [&] { wg::grad(left)(one); });  // whose terms cancel in Uᵀ Ū − Ūᵀ U
    refuses<wg::NumericError>(line,
                              "[svd] of float64, shape (3, 2): singular value 1 is 0 to working precision",
                              [&] { wg::grad(left)(deficient); });
    refuses<wg::NumericError>(line,
                              "[solve_triangular] of float64, shape (2, 2): singular to working precision",
                              [&] { wg::grad(q)(deficient); });
    CHECK(wg::check_grads([](const D& t) { return la::pinv(t); }, one,
                          {.order = 2}));  // without vectors in its rule
}

TEST_CASE(
    "linalg: second derivatives of equal values throw in every mode, also where the values' cotangents are 0")
{
    const D one = wg::eye<double>(2), zero = wg::zeros<double>({3, 2}), e = {{0.0, 1.0}, {1.0, 0.0}};
    const auto of_eigenvalues = [](const D& a) { return sum(square(la::eigvalsh(a) - 1.0)); };
    const auto of_eigh = [](const D& a) { return sum(square(la::eigh(a).first - 1.0)); };
    const auto of_svdvals = [](const D& a) { return sum(square(la::svdvals(a) - 1.0)); };
    const auto squares = [](const D& a) { return sum(square(la::svdvals(a))); };
    const auto throws = [&](const auto& f, const D& a, const D& along) {
        CHECK(sum(square(wg::grad(f)(a))).item() == 0);
        CHECK_THROWS_AS(wg::hessian(f)(a), wg::NumericError);
        CHECK_THROWS_AS(wg::freeze(wg::hessian(f))(a), wg::NumericError);
        CHECK_THROWS_AS(wg::hvp(f)(a, along), wg::NumericError);
        const auto slope = [&](const D& x) { return sum(wg::grad(f)(x) * along); };
        CHECK_THROWS_AS(wg::grad(slope)(a), wg::NumericError);
    };
    throws(of_eigenvalues, one, e);
    throws(of_eigh, one, e);
    throws(of_svdvals, one, e);
    throws(squares, zero, wg::ones<double>({3, 2}));
    throws(squares, transpose(zero), wg::ones<double>({2, 3}));
    const D apart = {{1.0, 2.0, 0.3}, {0.5, -1.0, 2.0}};  // ‖A‖², whose Hessian is 2
    CHECK(allclose(wg::hessian(squares)(apart), 2.0 * reshape(wg::eye<double>(6), {2, 3, 2, 3}), 1e-14));
    CHECK(allclose(wg::hvp(of_eigenvalues)(D{{2.0, 0.5}, {0.5, 1.0}}, e), 2.0 * e, 1e-13));
}

TEST_CASE("linalg: a frozen function throws with the line of its call")
{
    const int line = __LINE__ + 1;
    auto frozen = wg::freeze([](const D& a) { return la::solve(a, b); });
    for (std::uint64_t seed = 1; seed < 4; ++seed)
        static_cast<void>(frozen(matrices<double>({}, 3, 3, seed)));
    refuses<wg::NumericError>(line, "[solve] of float64, shape (3, 3): singular", [&] { frozen(singular); });

    const int body = __LINE__ + 1;
    const auto step = [](const D& s) { return std::pair(s - sum(la::inv(s + 0.1)), std::tuple<>()); };
    const auto looped = [&](const D& s) { return sum(wg::scan(step, s, 3).first); };
    const D start = singular - 0.1;
    auto frozen_loop = wg::freeze(looped);
    static_cast<void>(frozen_loop(matrices<double>({}, 3, 3)));
    const std::string text = "[solve] of float64, shape (3, 3): singular";
    refuses<wg::NumericError>(body, text, [&] { looped(start); });
    refuses<wg::NumericError>(body, text, [&] { wg::grad(looped)(start); });
    refuses<wg::NumericError>(body, text, [&] { frozen_loop(start); });
}

TEST_CASE("linalg: values alone have a derivative in forward mode where vectors have none")
{
    const D unit = wg::eye<double>(2), along = {{1.0, 2.0}, {2.0, 4.0}};
    const auto pushed = [&](const auto& f) { return wg::jvp(f, unit, along).second; };
    const auto check = [&](const auto& f, const D& want) {
        CHECK(allclose(pushed(f), want, 1e-14));
        CHECK(
            allclose(wg::freeze([&](const D& a) { return wg::jvp(f, a, along).second; })(unit), want, 1e-14));
    };
    check([](const D& a) { return sum(la::eigvalsh(a)); }, D(5.0));
    check([](const D& a) { return sum(la::svdvals(a)); }, D(5.0));
    check([](const D& a) { return la::norm(a, la::MatrixNorm::nuclear); }, D(5.0));
    CHECK(wg::check_grads([](const D& a) { return sum(la::eigvalsh(a)); }, unit).ok);
    CHECK_NOTHROW(pushed([](const D& a) { return la::cond(a); }));
    const D a = {{2.0, 0.5}, {0.5, 1.0}}, wide = {{1.0, 2.0, 0.5}, {0.0, 1.0, -1.0}};
    CHECK(allclose(la::eigvalsh(a), la::eigh(a).first, 0.0));
    CHECK(allclose(la::svdvals(wide), std::get<1>(la::svd(wide)), 0.0));
    CHECK(wg::check_grads([](const D& x) { return sum(exp(la::eigvalsh(x))); }, a, {.order = 2}).ok);
    CHECK(wg::check_grads([](const D& x) { return sum(exp(la::svdvals(x))); }, wide, {.order = 2}).ok);
    CHECK(la::cond(wg::zeros<double>({2, 2})).item() == std::numeric_limits<double>::infinity());
    CHECK(la::cond(D{{1.0, 0.0}, {0.0, 0.0}}).item() == std::numeric_limits<double>::infinity());
}

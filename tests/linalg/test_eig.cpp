// Complex systems and eigenvalues of general matrices: values, derivatives to the second order, graphs; what has no derivative.
#include <wengert/linalg.hpp>
#include <wengert/complex_linalg.hpp>
#include <wengert/wengert.hpp>

#include "catch.hpp"

namespace wg = wengert;
namespace la = wengert::linalg;
using wg::Shape;
using wg::Tensor;
using C = std::complex<double>;
using D = Tensor<double>;
using Z = Tensor<C>;

namespace {

Z matrix(const Shape& shape, std::uint64_t seed = 1)
{
    const std::int64_t n = shape.back();
    return complex(wg::uniform<double>(wg::Key(seed), shape, -1.0, 1.0),
                   wg::uniform<double>(wg::Key(seed + 50), shape, -1.0, 1.0)) +
           wg::eye<double>(n) * wg::arange<double>(static_cast<double>(n)) * 1.5 + wg::eye<double>(n);
}
D real_matrix(std::uint64_t seed = 1)
{
    return real(matrix({4, 4}, seed)) + 2.0 * wg::triu(wg::ones<double>({4, 4}), 1) -
           wg::tril(wg::ones<double>({4, 4}), -1);
}
template <class Y> D mixed(const Y& y)
{
    return sum(sin(y.parts() +
                   reshape(wg::arange<double>(static_cast<double>(y.parts().size())), y.parts().shape())));
}
template <class X, class F> void check(const char* name, const X& x, const F& f)
{
    const auto report =
        wg::check_grads([&](const X& t) { return mixed(f(t)); }, x, {.order = 2, .tolerance = 1e-6});
    INFO(name << ": " << report.message);
    CHECK(report.ok);
}

}  // namespace

TEST_CASE("eig: complex systems and inverses")
{
    const Z a = matrix({3, 3}), b = matrix({3, 3}, 2)(0), many = matrix({2, 3, 3}, 3);
    CHECK(allclose(matmul(a, la::solve(a, b)), b, 1e-13));
    CHECK(allclose(matmul(many, la::solve(many, a)), broadcast_to(a, {2, 3, 3}), 1e-13));
    CHECK(allclose(matmul(a, la::inv(a)), wg::cast<C>(wg::eye<double>(3)), 1e-13));
    check("solve", a, [&](const Z& t) { return la::solve(t, b); });
    check("solve of the right", b, [&](const Z& t) { return la::solve(a, t); });
    check("solve of batches", many, [&](const Z& t) { return la::solve(t, a); });
    check("inv", a, [&](const Z& t) { return la::inv(t); });
    CHECK_THROWS_AS(la::solve(Z{{1.0, C(0, 1)}, {C(0, 1), -1.0}}, Z{1.0, 2.0}), wg::NumericError);
    CHECK_THROWS_AS(la::solve(a, Z{1.0, 2.0}), wg::ShapeError);
    CHECK_THROWS_AS(la::inv(Z{1.0, 2.0}), wg::ShapeError);
}

TEST_CASE("eig: values, in their order")
{
    const Z w = la::eig(D{{0.0, 1.0}, {-1.0, 0.0}});
    CHECK(w.data()[0] == C(0, -1));
    CHECK(w.data()[1] == C(0, 1));
    const D triangle = {{3.0, 1.0, 2.0}, {0.0, 1.0, 5.0}, {0.0, 0.0, 2.0}};
    CHECK(allclose(la::eig(triangle), wg::cast<C>(D{1.0, 2.0, 3.0}), 1e-14));
    const Z a = matrix({2, 4, 4});  // each makes A − w I singular; sums and products of all
    const Z of = la::eig(a);
    CHECK(of.shape() == Shape{2, 4});
    for (int k = 0; k < 2; ++k) {
        C trace = 0;
        for (int i = 0; i < 4; ++i) trace += a(k, i)(i).item();
        CHECK(std::abs(sum(of(k)).item() - trace) < 1e-13);
    }
    CHECK(la::eig(wg::zeros<double>({0, 0})).shape() == Shape{0});
    CHECK(la::eig(wg::zeros<double>({0, 3, 3})).shape() == Shape{0, 3});
    CHECK(
        allclose(la::eig(wg::cast<float>(triangle)), wg::cast<std::complex<float>>(D{1.0, 2.0, 3.0}), 1e-5));
}

TEST_CASE("eig: derivatives to the second order, in graphs as well")
{
    check("complex", matrix({3, 3}), [](const Z& t) { return la::eig(t); });
    check("batch", matrix({2, 3, 3}, 4), [](const Z& t) { return la::eig(t); });
    check("real", real_matrix(), [](const D& t) { return la::eig(t); });
    const auto gradient = wg::grad([](const D& t) { return sum(abs(la::eig(t))); });
    auto frozen = wg::freeze(gradient);
    for (std::uint64_t seed = 1; seed < 4; ++seed)
        CHECK(allclose(frozen(real_matrix(seed)), gradient(real_matrix(seed)), 1e-12));
}

TEST_CASE("eig: what has no derivative throws, with the line")
{
    const auto gradient = wg::grad([](const D& t) { return sum(abs(la::eig(t))); });
    for (const D& a :
         {wg::eye<double>(3), D{{1.0, 1.0}, {0.0, 1.0}},
          D{{3.0, 1.0, 0.2}, {-1.0, 1.0, 0.7}, {0.0, 0.0, 5.0}}})  // the last is defective up to rounding
        CHECK_THROWS_WITH(gradient(a),
                          contains("[eig]") && contains("have no derivative") && contains("test_eig.cpp"));
    CHECK_THROWS_AS(la::eig(D{{1.0, std::nan("")}, {0.0, 1.0}}), wg::NumericError);
    CHECK_THROWS_AS(la::eig(D{1.0, 2.0}), wg::ShapeError);
    CHECK(allclose(la::eig(wg::eye<double>(3)), wg::ones<C>({3}), 0.0));
}

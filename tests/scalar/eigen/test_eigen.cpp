// Eigen over reals: what its algorithms do, products and solves as one operation, matrices in arguments.
#include "catch.hpp"

#if __has_include(<Eigen/Dense>) || __has_include(<eigen3/Eigen/Dense>)
#include "eigen/eigen_matrices.hpp"

#include <wengert/ops/sum.hpp>

TEST_CASE("Values over reals are those over double")
{
    const M a = matrix(5, 0.2);
    const Plain p = a.unaryExpr([](const R& x) { return x.value(); });
    CHECK(R((a * a).norm()).value() == Approx((p * p).norm()));
    CHECK(R(a.lu().determinant()).value() == Approx(p.lu().determinant()));
    CHECK(!M(a * a)(0, 0).is_active());
    CHECK(recorded() == 0);
    CHECK(M(3, 3)(1, 1).is_active() == false);  // memory that Eigen gives is zeroed
    CHECK(M(3, 3)(1, 1).value() == 0);
}

TEST_CASE("A product is one operation, also with plain matrices")
{
    constexpr int n = 24;
    const Plain plain = Plain::Random(n, n);
    std::uint32_t most = 0;
    const OfSystem f = [&](const System& s) {
        const M &a = s.a, b = a * a.transpose();
        const V c = plain * (a * (a.transpose() * V::Ones(n)));
        const M d = plain * a * plain;
        M e = M::Constant(n, n, 0.5);
        e.noalias() -= a * b;
        const R y = R(b.sum()) + R(c.squaredNorm()) + R(d.squaredNorm()) + R(e(1, 2));
        most = recorded();
        return y;
    };
    const System s{0.1 * matrix(n, 0.4), vector(1), {1.0, 1.0}};
    check("products", f, s);
    static_cast<void>(wg::grad(f)(s));
    CHECK(most < 20 * n * n);  // the products alone are 5 · 2n³ operations
    const M g = wg::grad(f)(s).a, c = wg::grad(OfSystem(wg::checkpoint(f)))(s).a;
    CHECK((g - c).norm() == 0.0);
    {
        const wg::NoGrad off;
        CHECK(!f(s).is_active());
    }
    CHECK(recorded() == 0);
}

TEST_CASE("A solve is one operation with the adjoint solve, by every factorization")
{
    const auto f = [](wg::Factors how) {
        return OfSystem([how](const System& s) {
            const M a = how == wg::Factors::lu || how == wg::Factors::qr ? s.a : definite(s.a);
            const V x = wg::solve(a, s.b, how);
            return R(x.squaredNorm()) * sin(x(1));
        });
    };
    for (const auto how : {wg::Factors::lu, wg::Factors::llt, wg::Factors::ldlt, wg::Factors::qr}) {
        check("factors " + std::to_string(static_cast<int>(how)), f(how), in);
        check("in a checkpoint", OfSystem(wg::checkpoint(f(how))), in, 1);
    }
    check("several right-hand sides", OfSystem([](const System& s) {
              M b(4, 2);
              b << s.b, s.b.cwiseProduct(s.b);
              const M x = wg::solve(s.a, b);
              const M y = wg::solve(Plain::Identity(4, 4) * 2.0, x);  // a constant matrix
              return R((x.transpose() * y).sum());
          }),
          in);
    check("least squares", OfSystem([](const System& s) {
              const V x = wg::solve(s.a.leftCols(2), s.b, wg::Factors::qr);
              return x(0) * x(1);
          }),
          in);
    std::uint32_t most = 0;
    static_cast<void>(wg::grad(OfSystem([&](const System& s) {
        const V x = wg::solve(s.a, V::Ones(30));
        most = recorded();
        return R(x.sum());
    }))(System{matrix(30, 0.1), vector(1), {1.0, 1.0}}));
    CHECK(most < 1000);
    CHECK(R(wg::solve(in.a, in.b)(0)).value() == Approx(R(in.a.lu().solve(in.b)(0)).value()));
}

/// A⁻¹ B and B A⁻¹ of a triangle of A, the latter from both orders of memory, and in place where both strides of B are 2.
template <unsigned mode, class A> std::vector<A> solutions_of_triangle(const A& a, const A& b)
{
    using ByRows = Eigen::Matrix<typename A::Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto t = a.template triangularView<mode>();
    const ByRows rows = b;
    A wide = A::Constant(2 * b.rows(), 2 * b.cols(), typename A::Scalar(1.0));
    Eigen::Map<A, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> apart(wide.data(), b.rows(), b.cols(),
                                                                          {2 * wide.rows(), 2});
    apart = b;
    t.solveInPlace(apart);
    return {
        wide,
        t.solve(b),
        t.template solve<Eigen::OnTheRight>(A(b.transpose())),
        A(t.solve(rows)),
        a.transpose().template triangularView<mode>().solve(b),
        a.transpose().template triangularView<mode>().template solve<Eigen::OnTheRight>(A(b.transpose()))};
}

TEMPLATE_TEST_CASE_SIG("A triangular solve of many right-hand sides, of each side and order", "",
                       ((unsigned mode), mode), Eigen::Lower, Eigen::Upper, Eigen::UnitLower,
                       Eigen::UnitUpper)
{
    const M a = matrix(5, 0.2), b = matrix(5, 0.7).leftCols(3);
    const Plain pa = wg::detail::values_of(a), pb = wg::detail::values_of(b);
    const auto x = solutions_of_triangle<mode>(a, b);
    const auto p = solutions_of_triangle<mode>(pa, pb);
    for (std::size_t k = 0; k < x.size(); ++k)
        CHECK((Plain(wg::detail::values_of(x[k])) - p[k]).norm() < 1e-13 * p[k].norm());
    check("triangles", OfSystem([](const System& s) {
              M b(4, 2);
              b << s.b, s.b.cwiseProduct(s.b);
              R y = 0;
              for (const M& x : solutions_of_triangle<mode>(s.a, b)) y += R(x.squaredNorm());
              return y;
          }),
          in);
}

TEST_CASE("Expressions of an inverse and of a solve, which nobody stores")
{
    for (const int n : {3, 8}) {
        const M a = M::Identity(n, n) * 2.0;
        CHECK(R(a.inverse().trace()).value() == Approx(0.5 * n));
        CHECK(R(a.inverse()(0, 0)).value() == Approx(0.5));
        CHECK(R(a.lu().solve(M::Identity(n, n)).trace()).value() == Approx(0.5 * n));
        CHECK(R(a.llt().solve(a).sum()).value() == Approx(1.0 * n));
        const auto f = [](const M& b) { return R((b.inverse() + b).sum()); };
        const M g = wg::grad(f)(a);
        CHECK(g(0, 0).value() == Approx(0.75));
        CHECK(g(0, 1).value() == Approx(0.75));
    }
}

TEST_CASE("More equations than unknowns: each factorization has the derivative of its own solution")
{
    const auto slope = [](const auto& solved, Eigen::Index rows, Eigen::Index columns) {
        const Plain a = Plain::Random(rows, columns), step = Plain::Random(rows, columns);
        const auto first = [&](const auto& m) {
            using N = typename std::decay_t<decltype(m)>::Scalar;
            const Eigen::Matrix<N, Eigen::Dynamic, 1> ones = Eigen::Matrix<N, Eigen::Dynamic, 1>::Ones(rows);
            return N(solved(m, ones)(0));
        };
        const M g = wg::grad([&](const M& m) { return R(first(m)); })(M(a.cast<R>()));
        const double h = 1e-6,
                     along = g.unaryExpr([](const R& x) { return x.value(); }).cwiseProduct(step).sum();
        CHECK(along == Approx((first(Plain(a + h * step)) - first(Plain(a - h * step))) / (2 * h))
                           .epsilon(1e-5)
                           .margin(1e-7));
    };
    constexpr unsigned thin = Eigen::ComputeThinU | Eigen::ComputeThinV;
    slope([](const auto& m, const auto& b) { return m.fullPivLu().solve(b).eval(); }, 13, 3);
    slope([](const auto& m, const auto& b) { return m.bdcSvd(thin).solve(b).eval(); }, 24, 18);
    slope([](const auto& m, const auto&) { return m.bdcSvd(thin).singularValues(); }, 24, 18);
}

TEST_CASE("A sparse solve, by the nonzeros")
{
    const auto chain = [](const V& d) {
        Sparse a(d.size(), d.size());
        for (int i = 0; i < d.size(); ++i) {
            a.insert(i, i) = 2.5 + d(i) * d(i);
            if (i > 0) a.insert(i, i - 1) = -1.0;
            if (i + 1 < d.size()) a.insert(i, i + 1) = sin(d(i));
        }
        a.makeCompressed();
        return a;
    };
    check("sparse solve", OfSystem([&](const System& s) {
              const V x = wg::solve(chain(s.b), s.b);
              return R(x.squaredNorm()) * x(2);
          }),
          System{matrix(1, 0.0), vector(5), {1.0, 1.0}});
    const Sparse a = chain(vector(5));
    const auto by_entries = [](const Sparse& s) {
        const V x = wg::solve(s, V::Ones(5));
        return R(x.sum());
    };
    const Sparse g = wg::grad(by_entries)(a);
    CHECK(g.nonZeros() == a.nonZeros());
    check("of its entries", by_entries, a);
}

TEST_CASE("What Eigen over reals refuses")
{
    CHECK_THROWS_AS(wg::solve(M(M::Zero(3, 3)), V(vector(3))), wg::NumericError);
    CHECK_THROWS_AS(wg::solve(M(-M::Identity(3, 3)), V(vector(3)), wg::Factors::llt), wg::NumericError);
    CHECK_THROWS_AS(wg::solve(M(M::Ones(4, 2)), V(vector(4)), wg::Factors::qr), wg::NumericError);
    CHECK_THROWS_AS(wg::solve(Sparse(3, 3), V(vector(3))), wg::NumericError);
    try {
        static_cast<void>(wg::solve(M(M::Ones(3, 2)), V(vector(3))));
        FAIL("not refused");
    } catch (const wg::ShapeError& e) {
        CHECK(std::string(e.what()).find("[solve]") == 0);
        CHECK(std::string(e.what()).find("test_eigen.cpp") != std::string::npos);
    }
    CHECK_THROWS_AS(wg::jvp([](const M& a) { return R(a.sum()); }, M(2, 3), M(3, 2)), wg::ShapeError);
    Sparse loose(3, 3);
    loose.insert(1, 1) = 2.0;
    loose.uncompress();
    CHECK_THROWS_AS(wg::grad([](const Sparse& s) { return R(s.sum()); })(loose), wg::ShapeError);
    CHECK(recorded() == 0);
}
#else
TEST_CASE("Eigen is not here") { SUCCEED("libeigen3-dev is not installed"); }
#endif

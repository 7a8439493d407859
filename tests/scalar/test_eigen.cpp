// Eigen over reals: what its algorithms do, products and solves as one operation, matrices in arguments.
#include "catch.hpp"

#if __has_include(<Eigen/Dense>) || __has_include(<eigen3/Eigen/Dense>)
#include <wengert/eigen.hpp>
#include <wengert/ops/sum.hpp>

namespace wg = wengert;
using R = wg::Real<double>;
using Reals = std::vector<R>;
using M = Eigen::Matrix<R, Eigen::Dynamic, Eigen::Dynamic>;
using V = Eigen::Matrix<R, Eigen::Dynamic, 1>;
using Plain = Eigen::MatrixXd;
using Sparse = Eigen::SparseMatrix<R>;

namespace {

/// Well conditioned, and far from symmetric.
M matrix(int n, double seed)
{
    M a(n, n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a(i, j) = std::sin(seed + 1.3 * i + 2.1 * j * i) + (i == j ? 3.0 : 0.0);
    return a;
}
V vector(int n)
{
    V b(n);
    for (int i = 0; i < n; ++i) b(i) = 0.5 + 0.3 * i;
    return b;
}
/// What solve() reads of a matrix that is positive definite.
M definite(const M& a)
{
    M s = a * 0.2;
    for (int i = 0; i < s.rows(); ++i) s(i, i) += 3.0;
    return s;
}
std::uint32_t recorded() { return wg::ScalarStream::of(wg::Tape::current()).size() - 1; }

struct System {
    M a;
    V b;
    Eigen::Array<R, 2, 1> scale;
    int id = 0;
};
const System in{matrix(4, 0.3), vector(4), {0.7, 1.9}, 3};

void check(const std::string& name, const auto& f, const auto& x, int order = 2)
{
    const auto report = wg::check_grads(f, x, {.order = order});
    INFO(name << ": " << report.message);
    CHECK(report.ok);
}

}  // namespace

TEST_CASE("Eigen's decompositions work over reals")
{
    const auto norm = [](const V& x) { return R(x.squaredNorm()) * R(sin(x(0))); };
    const auto gram = [](const M& a) { return M(a.transpose() * a + M::Identity(a.rows(), a.cols())); };
    check(
        "lu", [&](const System& s) { return norm(s.a.lu().solve(s.b)); }, in);
    check(
        "llt", [&](const System& s) { return norm(gram(s.a).llt().solve(s.b)); }, in, 1);
    check(
        "ldlt", [&](const System& s) { return norm(gram(s.a).ldlt().solve(s.b)); }, in, 1);
    check(
        "qr", [&](const System& s) { return norm(s.a.colPivHouseholderQr().solve(s.b)); }, in, 1);
    check(
        "svd", [](const System& s) { return R(s.a.jacobiSvd().singularValues()(1)); }, in, 1);
    check(
        "sparse lu",
        [&](const System& s) {
            Sparse a = s.a.sparseView();
            a.makeCompressed();
            Eigen::SparseLU<Sparse> lu(a);
            return norm(lu.solve(s.b));
        },
        in, 1);
    using Three = Eigen::Matrix<R, 3, 3>;
    check(
        "fixed", [](const Three& a) { return R(a.inverse().trace() * a.determinant()); },
        Three(matrix(3, 0.3)), 1);
    check(
        "array and map",
        [](const System& s) {
            Reals raw(4);
            Eigen::Map<V> view(raw.data(), 4);
            view = 2.0 * s.b;
            const Eigen::Array<R, Eigen::Dynamic, 1> e =
                (view.array() * s.scale(0)).exp() + view.array().sqrt();
            return R(e.sum() * s.scale(1)) + static_cast<double>(s.id);
        },
        in);
}

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
    const auto f = [&](const M& a) {
        const M b = a * a.transpose();
        const V c = plain * (a * (a.transpose() * V::Ones(n)));
        const M d = plain * a * plain;
        M e = M::Constant(n, n, 0.5);
        e.noalias() -= a * b;
        const R y = R(b.sum()) + R(c.squaredNorm()) + R(d.squaredNorm()) + R(e(1, 2));
        most = recorded();
        return y;
    };
    const M a = 0.1 * matrix(n, 0.4);
    const auto report = wg::check_grads(f, a, {.order = 2});
    INFO(report.message);
    CHECK(report.ok);
    static_cast<void>(wg::grad(f)(a));
    CHECK(most < 20 * n * n);  // the products alone are 5 · 2n³ operations
    const M g = wg::grad(f)(a), c = wg::grad(wg::checkpoint(f))(a);
    CHECK((g - c).norm() == 0.0);
    {
        const wg::NoGrad off;
        CHECK(!f(a).is_active());
    }
    CHECK(recorded() == 0);
}

TEST_CASE("A solve is one operation with the adjoint solve, by every factorization")
{
    const auto f = [](wg::Factors how) {
        return [how](const System& s) {
            const M a = how == wg::Factors::lu || how == wg::Factors::qr ? s.a : definite(s.a);
            const V x = wg::solve(a, s.b, how);
            return R(x.squaredNorm()) * sin(x(1));
        };
    };
    for (const auto how : {wg::Factors::lu, wg::Factors::llt, wg::Factors::ldlt, wg::Factors::qr}) {
        check("factors " + std::to_string(static_cast<int>(how)), f(how), in);
        CHECK(wg::check_grads(wg::checkpoint(f(how)), in).ok);
    }
    check(
        "several right-hand sides",
        [](const System& s) {
            M b(4, 2);
            b << s.b, s.b.cwiseProduct(s.b);
            const M x = wg::solve(s.a, b);
            const M y = wg::solve(Plain::Identity(4, 4) * 2.0, x);  // a constant matrix
            return R((x.transpose() * y).sum());
        },
        in);
    check(
        "least squares",
        [](const System& s) {
            const V x = wg::solve(s.a.leftCols(2), s.b, wg::Factors::qr);
            return x(0) * x(1);
        },
        in);
    std::uint32_t most = 0;
    static_cast<void>(wg::grad([&](const M& a) {
        const V x = wg::solve(a, V::Ones(30));
        most = recorded();
        return R(x.sum());
    })(matrix(30, 0.1)));
    CHECK(most < 1000);
    CHECK(R(wg::solve(in.a, in.b)(0)).value() == Approx(R(in.a.lu().solve(in.b)(0)).value()));
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
    check(
        "sparse solve",
        [&](const V& d) {
            const V x = wg::solve(chain(d), d);
            return R(x.squaredNorm()) * x(2);
        },
        V(vector(5)));
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

// Eigen's decompositions of matrices of reals: what is solved with them is one operation.
#include "catch.hpp"

#if __has_include(<Eigen/Dense>) || __has_include(<eigen3/Eigen/Dense>)
#include "eigen_matrices.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/indexing.hpp>

namespace {

/// Of a cell: a system of nine equations, a product, a determinant.
const auto system_of_cell = [](auto a, auto b) {
    using N = decltype(a);
    using Matrix = Eigen::Matrix<N, Eigen::Dynamic, Eigen::Dynamic>;
    Matrix A(9, 9);
    for (int i = 0; i < 9; ++i)
        for (int j = 0; j < 9; ++j) A(i, j) = i == j ? N(a + 3.0) : N(b * std::sin(i + 2.0 * j));
    const Matrix x = A.lu().solve(Matrix::Constant(9, 1, N(0.5)));
    return N(x.squaredNorm() + Matrix(A * A).sum() * 1e-3 + A.determinant() * 1e-6);
};

}  // namespace

TEST_CASE("Eigen's decompositions over reals: solutions are one operation, but of a few numbers")
{
    const auto norm = [](const V& x) { return R(x.squaredNorm()) * R(sin(x(0))); };
    constexpr unsigned thin = Eigen::ComputeThinU | Eigen::ComputeThinV;
    const auto tall = [](const System& s) { return M(s.a.leftCols(s.a.cols() - 2)); };
    const auto wide = [](const System& s) { return M(s.a.topRows(s.a.rows() - 2)); };
    const auto sparse = [](const System& s) {
        Sparse a = s.a.sparseView();
        a.makeCompressed();
        return a;
    };
    const std::pair<const char*, OfSystem> cases[] = {
        {"lu", [&](const System& s) { return norm(s.a.lu().solve(s.b)); }},
        {"transposed", [&](const System& s) { return norm(s.a.lu().transpose().solve(s.b)); }},
        {"plain right-hand side",
         [&](const System& s) { return norm(s.a.lu().solve(Eigen::VectorXd::Ones(s.b.size()))); }},
        {"full lu", [&](const System& s) { return norm(s.a.fullPivLu().solve(s.b)); }},
        {"inverse", [&](const System& s) { return norm(M(s.a.inverse()).col(1)); }},
        {"determinant",
         [&](const System& s) { return s.a.determinant() * s.a.fullPivLu().determinant() * 1e-6; }},
        {"llt", [&](const System& s) { return norm(definite(s.a).llt().solve(s.b)); }},
        {"upper llt",
         [&](const System& s) {
             return norm(definite(s.a).selfadjointView<Eigen::Upper>().llt().solve(s.b));
         }},
        {"ldlt",
         [&](const System& s) {
             const Eigen::LDLT<M> ldlt(definite(s.a));
             V x = s.b;
             ldlt.solveInPlace(x);
             return norm(x);
         }},
        {"qr", [&](const System& s) { return norm(s.a.householderQr().solve(s.b)); }},
        {"pivoted qr", [&](const System& s) { return norm(tall(s).colPivHouseholderQr().solve(s.b)); }},
        {"transposed qr",
         [&](const System& s) {
             return norm(tall(s).colPivHouseholderQr().transpose().solve(s.b.head(s.b.size() - 2)));
         }},
        {"cod",
         [&](const System& s) {
             return norm(wide(s).completeOrthogonalDecomposition().solve(s.b.head(s.b.size() - 2)));
         }},
        {"svd",
         [&](const System& s) { return norm(wide(s).jacobiSvd(thin).solve(s.b.head(s.b.size() - 2))); }},
        {"sparse lu", [&](const System& s) { return norm(Eigen::SparseLU<Sparse>(sparse(s)).solve(s.b)); }},
        {"sparse lu, transposed",
         [&](const System& s) { return norm(Eigen::SparseLU<Sparse>(sparse(s)).transpose().solve(s.b)); }},
    };
    for (const auto& [name, f] : cases) {
        check(name, f, in);
        check(name, f, large);
        std::uint32_t most = 0;
        static_cast<void>(wg::grad(OfSystem([&, &g = f](const System& s) {
            const R y = g(s);
            most = recorded();
            return y;
        }))(large));
        INFO(name << ": " << most);
        CHECK(most <
              5 * 81);  // three arrays of that size at most: the operations of one are more than 9³ / 3
        check("in a checkpoint", OfSystem(wg::checkpoint(f)), large, 1);
    }
}

TEST_CASE("Factors and singular values")
{
    const std::pair<const char*, OfSystem> cases[] = {
        {"factors of lu",
         [](const System& s) {
             const Eigen::PartialPivLU<M> lu(s.a);
             return R(lu.matrixLU()(0, 1) * lu.matrixLU()(1, 0));
         }},
        {"factor of llt",
         [](const System& s) {
             const Eigen::LLT<M> llt(definite(s.a));
             const M L = llt.matrixL();
             return llt.info() == Eigen::Success ? R(L(2, 1) * L(1, 1)) : R(0);
         }},
        {"singular values", [](const System& s) { return R(s.a.jacobiSvd().singularValues()(1)); }},
        {"singular vectors",
         [](const System& s) {
             const Eigen::JacobiSVD<M> svd(s.a, Eigen::ComputeFullU | Eigen::ComputeFullV);
             return R(svd.matrixU()(0, 1) * svd.matrixV()(1, 1));
         }},
        {"basic solution",
         [](const System& s) { return R(V(s.a.topRows(2).colPivHouseholderQr().solve(s.b.head(2)))(0)); }},
        {"any rank",
         [](const System& s) {
             const M a = s.a.leftCols(2) * s.a.topRows(2);
             return R(V(a.completeOrthogonalDecomposition().solve(s.b)).squaredNorm());
         }},
        {"sparse determinant",
         [](const System& s) {
             return Eigen::SparseLU<Sparse>(Sparse(s.a.sparseView())).logAbsDeterminant();
         }},
        {"array and map",
         [](const System& s) {
             Reals raw(4);
             Eigen::Map<V> view(raw.data(), 4);
             view = 2.0 * s.b;
             const Eigen::Array<R, Eigen::Dynamic, 1> e =
                 (view.array() * s.scale(0)).exp() + view.array().sqrt();
             return R(e.sum() * s.scale(1)) + static_cast<double>(s.id);
         }},
    };
    for (const auto& [name, f] : cases) check(name, f, in, 1);
    check("singular values", cases[2].second, in, 2);
    using Three = Eigen::Matrix<R, 3, 3>;
    check(
        "fixed",
        [](const Three& a) { return R(a.inverse().trace() * a.determinant() * a.lu().solve(a.col(0))(1)); },
        Three(matrix(3, 0.3)), 1);
    // What is asked of a decomposition under NoGrad is no constant afterwards.
    const auto asked = wg::grad(OfSystem([](const System& s) {
        const Eigen::PartialPivLU<M> lu(s.a);
        {
            const wg::NoGrad off;
            static_cast<void>(R(lu.matrixLU()(0, 0)));
        }
        return R(lu.matrixLU()(0, 0));
    }))(in);
    CHECK(R(asked.a.cwiseAbs().sum()).value() == 1);
}

TEST_CASE("Decompositions in kernels, and one for all threads")
{
    const wg::Tensor<double> x = {0.3, 1.2};
    const auto kernel = wg::kernel(system_of_cell);
    const auto y = kernel(x, 0.5);
    for (int i : {0, 1}) CHECK(y(i).item() == Approx(system_of_cell(x(i).item(), 0.5)).epsilon(1e-13));
    const auto g = wg::grad([&](const wg::Tensor<double>& q) { return sum(kernel(q, 0.5)); })(x);
    CHECK(g(0).item() ==
          Approx(wg::grad([](R a) { return system_of_cell(a, R(0.5)); })(R(0.3)).value()).epsilon(1e-12));

    const auto lu = matrix(8, 0.2).lu();
    const auto total = [&](const Reals& q, std::size_t threads) {
        const auto one = [&lu](std::size_t i, const Reals& v) {
            const V z = lu.solve(V::Constant(8, v[0] * v[1] * double(i)));
            return R(z.squaredNorm() + R(lu.matrixLU()(0, 0)) * v[0]);
        };
        R s;
        for (const R& part : wg::parallel_for(40, one, q, {.threads = threads})) s += part;
        return s;
    };
    const Reals p{0.3, 0.7};
    const auto with = [&](std::size_t threads) {
        return wg::grad([&](const Reals& q) { return total(q, threads); })(p);
    };
    CHECK((with(1)[0].value() == with(2)[0].value() && with(1)[1].value() == with(2)[1].value()));
    CHECK(wg::check_grads([&](const Reals& q) { return total(q, 2); }, p, {.modes = wg::Modes::reverse}).ok);
}

TEST_CASE("Triangular systems of many right-hand sides in kernels, frozen functions and checkpoints")
{
    const auto cell = [](const R& u, const R& v) {
        M a(3, 3), b(3, 2);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) a(i, j) = i == j ? 2.0 + u * u : sin(u + i + 2 * j) * v * 0.3;
            b(i, 0) = u * (i + 1.0), b(i, 1) = v * v - u;
        }
        const M x = a.triangularView<Eigen::Upper>().solve(b),
                y = a.transpose().triangularView<Eigen::UnitUpper>().solve<Eigen::OnTheRight>(
                    M(b.transpose()));
        return R(x.squaredNorm()) + R(y.sum());
    };
    const auto kernel = wg::kernel(cell);
    const auto frozen = wg::freeze(cell);
    const auto gradient = wg::freeze(wg::grad<0, 1>(cell));
    const wg::Tensor<double> u = {0.3, -0.4, 1.2}, v = {1.1, 0.2, -0.6};
    for (int i : {0, 1, 2}) {
        const R p = u(i).item(), q = v(i).item();
        const double value = cell(p, q).value();
        CHECK(kernel(u, v)(i).item() == value);
        CHECK(frozen(p, q).value() == value);
        const auto [gu, gv] = gradient(p, q);
        const auto [eu, ev] = wg::grad<0, 1>(cell)(p, q);
        CHECK((gu.value() == Approx(eu.value()) && gv.value() == Approx(ev.value())));
        CHECK(wg::grad(wg::checkpoint(cell))(p, q).value() == eu.value());
    }
    CHECK(wg::check_grads(
              [&](const wg::Tensor<double>& a, const wg::Tensor<double>& b) { return sum(kernel(a, b)); },
              std::tuple(u, v), {.order = 2})
              .ok);
}
#else
TEST_CASE("Eigen is not here") { SUCCEED("libeigen3-dev is not installed"); }
#endif

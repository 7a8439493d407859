#include "linalg/linalg_cases.hpp"

#include <wengert/linalg.hpp>

namespace la = wengert::linalg;

namespace linalg_cases {

namespace {

template <class T> std::vector<Case<T>> make()
{
    using X = Tensor<T>;
    std::vector<Case<T>> list;
    const std::vector<std::pair<std::int64_t, std::int64_t>> of_square{{3, 3}, {1, 1}},
        of_any{{3, 3}, {4, 2}, {2, 4}, {1, 1}};
    const auto add = [&](const char* name, const auto& extents, Function<T> f) {
        list.push_back({name, f, extents});
    };
    const auto rows = [](const X& t) { return t.shape()[t.dimension() - 2]; };
    const auto mirrored = [](const X& t) { return wg::swapaxes(t, -1, -2); };
    const auto definite = [=](const X& t) { return matmul(t, mirrored(t)) + wg::eye<T>(t.shape().back()); };
    const auto column = [=](std::int64_t n) { return wg::linspace<T>(T(0.5), T(2), n); };
    const auto fixed = [](std::int64_t n) { return matrices<T>({}, n, n, 7); };

    add("solve: a", of_square, [=](const X& t) { return la::solve(t, column(rows(t))); });
    add("solve: b", of_square, [=](const X& t) { return la::solve(fixed(rows(t)), t); });
    add("solve: both", of_square, [=](const X& t) { return la::solve(t, t * t); });
    add("inv", of_square, [](const X& t) { return la::inv(t); });
    add("det", of_square, [](const X& t) { return la::det(t); });
    add("slogdet", of_square, [](const X& t) { return la::slogdet(t).second; });
    add("matrix_power", of_square,
        [](const X& t) { return la::matrix_power(t, 3) + la::matrix_power(t, -2); });
    add("cholesky", of_square, [=](const X& t) { return la::cholesky(definite(t)); });
    add("cholesky of a matrix that is not symmetric", of_square, [](const X& t) { return la::cholesky(t); });
    add("cho_solve", of_square, [=](const X& t) { return la::cho_solve(t, t); });
    add("solve_triangular", of_square, [=](const X& t) {
        return la::solve_triangular(t, column(rows(t))) +
               la::solve_triangular(t, column(rows(t)), {.lower = false});
    });
    add("solve_triangular, transposed", of_square, [=](const X& t) {
        return la::solve_triangular(t, t, {.transposed = true, .unit = true}) +
               la::solve_triangular(t, t, {.lower = false, .transposed = true});
    });
    add("lu", of_any, [](const X& t) { return matmul(std::get<1>(la::lu(t)), sin(std::get<2>(la::lu(t)))); });
    add("qr", of_any, [](const X& t) { return matmul(la::qr(t).first, sin(la::qr(t).second)); });
    add("eigh: values", of_square, [](const X& t) { return la::eigh(t).first; });
    add("eigh: vectors", of_square, [](const X& t) { return square(la::eigh(t).second); });
    add("eigh: a square root", of_square, [=](const X& t) {
        const auto [w, v] = la::eigh(definite(t));
        return matmul(v * expand_dims(sqrt(w), -2), mirrored(v));
    });
    add("svd: values", of_any, [](const X& t) { return std::get<1>(la::svd(t)); });
    add("svd: vectors", of_any, [=](const X& t) {
        const auto [u, s, vt] = la::svd(t);
        return matmul(u * expand_dims(sin(s), -2), vt);
    });
    add("svd: squares of vectors", of_any, [=](const X& t) {
        const auto [u, s, vt] = la::svd(t);
        return sum(square(u) * T(1.5), {-2, -1}) + sum(square(vt) * expand_dims(s, -1), {-2, -1}) +
               sum(square(square(u)), {-2, -1});
    });
    add("pinv", of_any, [](const X& t) { return la::pinv(t); });
    add("lstsq: a", of_any, [=](const X& t) { return la::lstsq(t, column(rows(t))); });
    add("lstsq: both", of_any, [=](const X& t) { return la::lstsq(t, t * t); });
    add("expm", of_square, [](const X& t) { return la::expm(t); });
    const auto away = [=](const X& t) {  // from 0 and from equal sums of rows and columns
        const std::int64_t n = t.shape().back();
        return t + T(2) + expand_dims(wg::arange<T>(rows(t)), 1) * T(2) + wg::arange<T>(n) * T(1.5);
    };
    add("norm", of_any, [=](const X& t) {
        return la::norm(t) + la::norm(away(t), 3.0, {-1, -2}, true) + la::norm(away(t), 1.0, -1, true);
    });
    add("norm of matrices", of_any, [=](const X& t) {
        using enum la::MatrixNorm;
        return la::norm(t, frobenius) + la::norm(t, nuclear) + la::norm(t, two) + la::norm(t, least) +
               la::norm(away(t), one) + la::norm(away(t), infinity);
    });
    add("cond", of_square, [](const X& t) { return la::cond(t) + la::cond(t, la::MatrixNorm::frobenius); });
    return list;
}

}  // namespace

template <class T> const std::vector<Case<T>>& all()
{
    static const std::vector<Case<T>> list = make<T>();
    return list;
}
template const std::vector<Case<float>>& all();
template const std::vector<Case<double>>& all();

}  // namespace linalg_cases

/// The words of random programs for one more axis, for order, for products over named axes, and for linear algebra. Included by
/// random_programs_run.hpp.
#pragma once

#include <wengert/arrays.hpp>
#include <wengert/linalg.hpp>
#if __has_include(<boost/math/policies/policy.hpp>)
#include <wengert/special.hpp>
#endif

#include "graph/random/random_programs_newer.hpp"

namespace random_programs {

/// A body for each row of one array, or of two, beside a value that every row is given whole.
template <class T>
Tensor<T> Machine<T>::mapped(const Instruction& i, const Tensor<T>& a_any, const Tensor<T>& b)
{
    const Tensor<T> a = whole(a_any);
    const std::int64_t axis = i.p[0] % 3 ? 0 : axis_of(i.p[1], a), rows = a.size(axis);
    if (rows == 0 || rows > 9) return a;
    const auto f = [m = deferred(true), &i, b](const Tensor<T>& x, const Tensor<T>& y) {
        if (i.p[2] % 4 == 0) return x * fitted(y, x.shape()) + sum(x);
        return Machine(m).run_body(i.body, {y, x, i.p[2] % 4 == 1 ? b : x}, false);
    };
    const bool both = i.p[2] % 3 == 0;
    if (!plain_) {
        const std::int64_t of_y = both ? axis : wg::VmapOptions::whole;
        return wg::vmap(f, {.in_axes = {axis, of_y}})(a, both ? a * 0.5 : b);
    }
    std::vector<Tensor<T>> ys;
    const auto row = [&](const Tensor<T>& x, std::int64_t k) { return take(x, Whole(k), axis); };
    for (std::int64_t k = 0; k < rows; ++k) ys.push_back(f(row(a, k), both ? row(a * 0.5, k) : b));
    return wg::stack(ys, 0);
}

/// Groups, curves, calls of a library for each element.
template <class T> Tensor<T> Machine<T>::grouped(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const std::int64_t n = a.size(0);
    std::vector<std::int64_t> ids;
    for (std::int64_t k = 0; k < n; ++k) ids.push_back((k * 5 + i.p[2] % 7) % (n > 2 ? n - 1 : n));
    const Whole each(wg::Shape{n}, ids);
    switch (i.p[1] % 6) {
    case 0: return segment_max(a, each, n);
    case 1: return segment_min(wg::clip(a, -2.0, 2.0), each, n + 1);
    case 2: return segment_mean(a, each, n);
    case 3: return i.p[2] % 2 ? scatter_max(a * 0.5, each, a, 0) : scatter_min(a, each, a * 0.5, 0);
#if __has_include(<boost/math/policies/policy.hpp>)
    case 4: {
        const Tensor<T> x = abs(wg::clip(a, -6.0, 6.0)) + 0.125;
        return i.p[2] % 3 == 0 ? gammainc(1.5, x) : i.p[2] % 3 == 1 ? cyl_bessel_j(1, x) : wg::lambert_w(x);
    }
#endif
    default: {
        const std::int64_t knots = std::min<std::int64_t>(static_cast<std::int64_t>(b.size()), 6);
        if (knots < 2) return a;
        const auto ends = i.p[2] % 2 ? wg::SplineEnds::natural : wg::SplineEnds::not_a_knot;
        return cubic_spline(wg::arange<T>(knots), tanh(view(flatten(b), wg::range(knots))),
                            ends)(wg::clip(a, -1.0, 7.0));
    }
    }
}

/// Sorted elements, ranks, quantiles, tables.
template <class T>
Tensor<T> Machine<T>::ordered(const Instruction& i, const Tensor<T>& a_any, const Tensor<T>& b)
{
    const Tensor<T> a = whole(a_any);
    if (a.size() == 0 || b.size() == 0) return a;
    const std::int64_t axis = axis_of(i.p[1], a);
    const Tensor<T> table = sort(tanh(flatten(b)));
    switch (i.p[0] % 11) {
    case 0: return sort(a, axis, i.p[2] % 2);
    case 1: return take_along_axis(a * 0.5, argsort(sin(a), axis, i.p[2] % 2), axis);
    case 2: return topk(a, 1 + i.p[2] % a.size(axis), axis, i.p[2] % 2).first;
    case 3: return median(a, axis, i.p[2] % 2);
    case 4: return quantile(a, 0.1 * (i.p[2] % 11), axis, i.p[2] % 2);
    case 5: return wg::cast<T>(searchsorted(table, tanh(a), i.p[2] % 2)) * 0.125 + a;
    case 6: return interp(a, wg::arange<T>(static_cast<std::int64_t>(b.size())), flatten(b));
    case 7: return logcumsumexp(wg::clip(a, -3.0, 3.0), axis, i.p[2] % 2);
    case 8: return trapezoid(a, 0.5, axis);
    default: return grouped(i, a, b);
    }
}

/// Axes that move, repeat, meet in products.
template <class T>
Tensor<T> Machine<T>::arranged(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    const Tensor<T> x = matrix(a);
    const std::int64_t n = std::min<std::int64_t>(x.size(0), 4), m = std::min<std::int64_t>(x.size(1), 5);
    const Tensor<T> y = view(x, wg::range(n), wg::range(m)), wide = view(x, wg::all(), wg::range(m));
    const Tensor<T> v =
        view(flatten(whole(b)), wg::range(std::min<std::int64_t>(static_cast<std::int64_t>(b.size()), 4)));
    switch (i.p[0] % 10) {
    case 0: return einsum("ij,kj->ik", y, wide);
    case 1: return einsum("ij,kj,kl->il", wide, y, y * 0.5);
    case 2: return einsum(i.p[1] % 2 ? "ij,k->jki" : "ij,k->k", y, v);
    case 3: return tensordot(y, wide, wg::Axes{1}, wg::Axes{1});
    case 4: return kron(y, v);
    case 5: return moveaxis(whole(a), axis_of(i.p[1], whole(a)), axis_of(i.p[2], whole(a)));
    case 6: return rot90(x, static_cast<std::int64_t>(i.p[1] % 9) - 4);
    case 7: return wg::tile(y, {1 + i.p[1] % 3, 1 + i.p[2] % 2});
    case 8: {
        const auto [p, q] = meshgrid(v, v * 0.5);
        return p * q + trace(y) * masked_fill(p, q > 0.0, T(0.25));
    }
    default: {
        const Tensor<T> three = wg::concatenate({v, v, v, wg::ones<T>({3})}, 0);
        return cross(view(three, wg::range(3)), view(sin(three), wg::range(0, 3)));
    }
    }
}

/// Linear algebra of matrices that are far from singular, one or a batch of two. Their eigenvalues differ also where m is 0.
template <class T> Tensor<T> Machine<T>::solved(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    namespace la = wg::linalg;
    const auto square_of = [&](const Tensor<T>& x) {
        const Tensor<T> line = flatten(wg::clip(where(x == x, x, Tensor<T>(T(0))), -1.0, 1.0));
        const std::int64_t size = std::int64_t(line.size()), n = size >= 16  ? 4
                                                                 : size >= 9 ? 3
                                                                 : size >= 4 ? 2
                                                                             : 1;
        return wg::reshape(view(wg::concatenate({line, wg::ones<T>({1})}, 0), wg::range(n * n)), {n, n});
    };
    const Tensor<T> one = square_of(a), r_one = square_of(b);
    const Tensor<T> m = i.p[1] % 3 ? one : wg::stack({one, transpose(one) * 0.5}, 0);
    const std::int64_t n = one.size(0);
    const Tensor<T> definite =
        matmul(m, swapaxes(m, -1, -2)) + wg::eye<T>(n) * (wg::arange<T>(n) * 0.25 + 1.5);
    const Tensor<T> v = r_one.size(0) == n ? r_one : m * 0.5 + 1.0;
    switch (i.p[0] % 12) {
    case 0: return la::solve(definite, v);
    case 1: return la::cholesky(definite);
    case 2: return la::slogdet(definite).second;
    case 3: return la::inv(definite);
    case 4: return la::det(definite);
    case 5: return la::eigh(definite).first;
    case 6: return la::expm(m * 0.25);
    case 7: return la::qr(definite).second;
    case 8: return std::get<1>(la::svd(definite));
    case 9: return la::lstsq(definite, v);
    case 10: return la::cho_solve(la::cholesky(definite), v);
    default: return la::matrix_power(m, 3);
    }
}

template <class T> Tensor<T> Machine<T>::arrays(const Instruction& i, const Tensor<T>& a, const Tensor<T>& b)
{
    switch (i.op) {
    case Op::mapped: return mapped(i, a, b);
    case Op::arranged: return arranged(i, a, b);
    case Op::ordered: return ordered(i, a, b);
    default: return solved(i, a, b);
    }
}

}  // namespace random_programs

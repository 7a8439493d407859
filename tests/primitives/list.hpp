/// Every public function of tensors, one line each: what fixtures, choices, texts, executors and random programs run over.
/// visit(name, function of tensors, what it asks of them). Those of one tensor and of two come in families of their own.
#pragma once

#include "entries.hpp"

#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/arrays.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/composed/arrange.hpp>
#include <wengert/ops/composed/contractions.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/composed/order.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/elementwise/probability.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/scans.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/ops/elementwise/special.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/lambda.hpp>

namespace primitives {

using namespace wengert;

// clang-format off
template <class Visit>
void powers(Visit visit) {
    visit("negative", [](const auto& x) { return -x; });
    visit("square", [](const auto& x) { return square(x); });
    visit("sqrt", [](const auto& x) { return sqrt(x); });
    visit("reciprocal", [](const auto& x) { return reciprocal(x); });
    visit("exp", [](const auto& x) { return exp(x); });
    visit("expm1", [](const auto& x) { return expm1(x); });
    visit("log", [](const auto& x) { return log(x); });
    visit("log1p", [](const auto& x) { return log1p(x); });
    visit("log2", [](const auto& x) { return log2(x); });
    visit("log10", [](const auto& x) { return log10(x); });
}

template <class Visit>
void trigonometry(Visit visit) {
    visit("sin", [](const auto& x) { return sin(x); });
    visit("cos", [](const auto& x) { return cos(x); });
    visit("tan", [](const auto& x) { return tan(x); });
    visit("asin", [](const auto& x) { return asin(x); });
    visit("acos", [](const auto& x) { return acos(x); });
    visit("atan", [](const auto& x) { return atan(x); });
    visit("sinh", [](const auto& x) { return sinh(x); });
    visit("cosh", [](const auto& x) { return cosh(x); });
    visit("tanh", [](const auto& x) { return tanh(x); });
}

template <class Visit>
void activations(Visit visit) {
    visit("erf", [](const auto& x) { return erf(x); });
    visit("sigmoid", [](const auto& x) { return sigmoid(x); });
    visit("softplus", [](const auto& x) { return softplus(x); });
    visit("relu", [](const auto& x) { return relu(x); });
    visit("gelu", [](const auto& x) { return gelu(x); });
    visit("silu", [](const auto& x) { return silu(x); });
}

template <class Visit>
void piecewise(Visit visit) {
    visit("abs", [](const auto& x) { return abs(x); });
    visit("sign", [](const auto& x) { return sign(x); });
    visit("floor", [](const auto& x) { return floor(x); });
    visit("ceil", [](const auto& x) { return ceil(x); });
    visit("round", [](const auto& x) { return round(x); });
}

/// What has a line of its own in a family above or below, where it has fixtures or needs operands of its own.
using WithLines = detail::List<Exp, Expm1, Log, Log1p, Log2, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Erf, Sigmoid, Softplus, Erfinv,
                               LogSigmoid, Pow, Atan2, Hypot, LogAddExp, Xlogy>;
/// Moved into the domain of F.
template <class F> constexpr double moved_by = 0;
template <> inline constexpr double moved_by<Acosh> = 1;

/// All others of the library's list of functions: no fixtures, their values are tests/scalar/'s.
template <class Visit>
void special(Visit visit) {
    const auto one = [&]<class F>() {
        if constexpr (!detail::is_in<F, WithLines>)
            visit(F::name.data(), [](const auto& x) { return detail::call<F>(moved_by<F> == 0 ? x : x + moved_by<F>, Site{}); });
    };
    [&]<class... F>(detail::List<F...>) { (one.template operator()<F>(), ...); }(detail::Joined<detail::ApproximatedOfOne, ComposedFunctions>());
}

template <class Visit>
void remainders(Visit visit) {
    const auto two = [&]<class F>() {
        if constexpr (!detail::is_in<F, WithLines>) visit(F::name.data(), [](const auto& a, const auto& b) { return detail::call<F>(a, b, Site{}); });
    };
    [&]<class... F>(detail::List<F...>) { (two.template operator()<F>(), ...); }(detail::Joined<PairFunctions, ComposedPairs>());
}

template <class Visit>
void pairs(Visit visit) {
    visit("add", [](const auto& a, const auto& b) { return add(a, b); });
    visit("subtract", [](const auto& a, const auto& b) { return subtract(a, b); });
    visit("multiply", [](const auto& a, const auto& b) { return multiply(a, b); });
    visit("divide", [](const auto& a, const auto& b) { return divide(a, b); });
    visit("pow", [](const auto& a, const auto& b) { return pow(a, b); });
    visit("atan2", [](const auto& a, const auto& b) { return atan2(a, b); });
    visit("hypot", [](const auto& a, const auto& b) { return hypot(a, b); });
    visit("maximum", [](const auto& a, const auto& b) { return maximum(a, b); });
    visit("minimum", [](const auto& a, const auto& b) { return minimum(a, b); });
}

template <class Visit>
void comparisons(Visit visit) {
    visit("less", [](const auto& a, const auto& b) { return less(a, b); });
    visit("less_equal", [](const auto& a, const auto& b) { return less_equal(a, b); });
    visit("greater", [](const auto& a, const auto& b) { return greater(a, b); });
    visit("greater_equal", [](const auto& a, const auto& b) { return greater_equal(a, b); });
    visit("equal", [](const auto& a, const auto& b) { return equal(a, b); });
    visit("not_equal", [](const auto& a, const auto& b) { return not_equal(a, b); });
}

/// Of bools in the fixtures.
template <class Visit>
void logic(Visit visit) {
    visit("logical_and", [](const auto& a, const auto& b) { return logical_and(a, b); });
    visit("logical_or", [](const auto& a, const auto& b) { return logical_or(a, b); });
}

/// Functions of elements with parameters, conditions, other types; and those of a program's own.
template <class Visit>
void selections(Visit visit) {
    visit("clip", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return clip(a, T(-0.25), T(0.6)) + clip(b, a, T(0.7)); });
    visit("where", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return where(a < b, a * a, sin(b)) + where(!(a < b), b, T(0.5)); });
    visit("is_finite", [](const auto& a, const auto& b) { return where(is_finite(a), b, a); });
    visit("isfinite", [](const auto& a, const auto& b) { return where(isfinite(b), a, b); });
    visit("isnan", [](const auto& a, const auto& b) { return where(isnan(a), b, a); });
    visit("nan_to_num", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return nan_to_num(a) * b; });
    visit("trunc", [](const auto& a, const auto& b) { return trunc(a) * b; });
    visit("erfinv", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return erfinv(sin(a) * T(0.9)) * b; });
    visit("log_sigmoid", [](const auto& a, const auto& b) { return log_sigmoid(a) * b; });
    visit("logaddexp", [](const auto& a, const auto& b) { return logaddexp(a, b); });
    visit("xlogy", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return xlogy(a, square(b) + T(0.5)); });
    visit("cast", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        return cast<T>(cast<std::int64_t>(clip(a * T(9), T(-99), T(99)))) + cast<T>(cast<double>(a)) * b + cast<T>(cast<bool>(b));
    }, Asks{.order = 1});
    visit("integers", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        const auto i = cast<std::int64_t>(clip(a * T(9), T(-99), T(99)));
        const auto j = cast<std::int32_t>(clip(b * T(9), T(-99), T(99)));
        return cast<T>(maximum(i * i - i, -i)) + cast<T>(abs(j) + sign(j) * minimum(j, j + 2)) + cast<T>(i < 3 && i != -1);
    }, Asks{.order = 0});
    visit("literals", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return (a * T(0.5) - 1.0) / (pow(b, 2) + 2.0) + 3.0 * maximum(b, 0.25) + pow(2.0, a); });
    visit("own", [](const auto& a, const auto& b) {
        static const auto own = elementwise([](auto x, auto y) { using std::sin; return where(x > 0.5, sin(x) * y, x + y * y); });
        return own(a, b);
    });
}

template <class Visit>
void folds(Visit visit) {
    visit("sum", [](const auto& x) { return sum(x); });
    visit("sum_rows", [](const auto& x) { return sum(x, {-1}); }, Asks{1});
    visit("sum_columns", [](const auto& x) { return sum(x, {0}, true); }, Asks{1});
    visit("mean", [](const auto& x) { return mean(x); });
    visit("mean_rows", [](const auto& x) { return mean(x, {-1}, true); }, Asks{1});
    visit("mean_ends", [](const auto& x) { return mean(x, {0, -1}); }, Asks{2});
    visit("prod", [](const auto& x) { return prod(x); });
    visit("prod_columns", [](const auto& x) { return prod(x, {0}); }, Asks{1});
    visit("amax", [](const auto& x) { return amax(x); }, Asks{.elements = true});
    visit("amax_rows", [](const auto& x) { return amax(x, {-1}); }, Asks{1, true});
    visit("amin_columns", [](const auto& x) { return amin(x, {0}, true); }, Asks{1, true});
    visit("var", [](const auto& x) { return var(x); });
    visit("var_columns", [](const auto& x) { return var(x, {0}, false, 1); }, Asks{1});
    visit("stddev_rows", [](const auto& x) { return stddev(x, {-1}); }, Asks{1, true, 1});
    visit("norm", [](const auto& x) { return norm(x); });
    visit("norm_rows", [](const auto& x) { return norm(x, {-1}, true); }, Asks{1});
    visit("logsumexp", [](const auto& x) { return logsumexp(x); });
    visit("logsumexp_columns", [](const auto& x) { return logsumexp(x, {0}); }, Asks{1});
    visit("argmax", [](const auto& x) { return argmax(x); }, Asks{0, true, 0});
    visit("argmax_rows", [](const auto& x) { return argmax(x, -1, true); }, Asks{1, true, 0});
    visit("argmin_columns", [](const auto& x) { return argmin(x, 0); }, Asks{1, true, 0});
    visit("all", [](const auto& x) { return all(x < 0.5, {-1}); }, Asks{1, false, 0});
    visit("any", [](const auto& x) { return any(x); }, Asks{.order = 0});
    visit("softmax", [](const auto& x) { return softmax(x); }, Asks{1});
    visit("softmax_columns", [](const auto& x) { return softmax(x, 0); }, Asks{1});
    visit("log_softmax", [](const auto& x) { return log_softmax(x); }, Asks{1});
    visit("log_softmax_columns", [](const auto& x) { return log_softmax(x, 0); }, Asks{1});
}

template <class Visit>
void scans(Visit visit) {
    visit("cumsum", [](const auto& x) { return cumsum(x, -1); }, Asks{1});
    visit("cumsum_back", [](const auto& x) { return cumsum(x, 0, true); }, Asks{1});
    visit("cumprod", [](const auto& x) { return cumprod(x, 0); }, Asks{1});
    visit("cumprod_back", [](const auto& x) { return cumprod(x, -1, true); }, Asks{1});
    visit("cummax", [](const auto& x) { return cummax(x, -1); }, Asks{1});
    visit("cummax_back", [](const auto& x) { return cummax(x, 0, true); }, Asks{1});
    visit("diff", [](const auto& x) { return diff(x, 0, 2); }, Asks{1});
    visit("logcumsumexp", [](const auto& x) { return logcumsumexp(x, -1) + logcumsumexp(x, 0, true); }, Asks{1});
    visit("trapezoid", [](const auto& x) { return trapezoid(x, 0.5, 0) + trapezoid(x, cumsum(square(x), 0), 0); }, Asks{1});
}

/// By the order of elements. The places have no derivative.
template <class Visit>
void orders(Visit visit) {
    visit("sort", [](const auto& x) { return sort(x, -1) * sort(x, 0, true); }, Asks{.axes = 1, .host = true});
    visit("argsort", [](const auto& x) { return argsort(x, 0); }, Asks{.axes = 1, .order = 0, .host = true});
    visit("topk", [](const auto& x) { return topk(x, 1, -1).first - topk(x, 1, -1, false).first; }, Asks{.axes = 1, .elements = true, .host = true});
    visit("quantile", [](const auto& x) { return quantile(x, 0.3, -1) + median(x, -1); }, Asks{.axes = 1, .elements = true, .host = true});
    visit("searchsorted", []<class T, class D>(const Tensor<T, D>& x) { return searchsorted(arange<T, D>(5) * T(0.5) - T(1), x) + searchsorted(sort(flatten(x)), x, true); }, Asks{.order = 0, .host = true});
    visit("interp", []<class T, class D>(const Tensor<T, D>& x) { return interp(x, arange<T, D>(7) * T(1.01) - T(3), sin(arange<T, D>(7))); }, Asks{.host = true});
    visit("cubic_spline", []<class T, class D>(const Tensor<T, D>& x) { return cubic_spline(arange<T, D>(7) * T(1.01) - T(3), sin(arange<T, D>(7)))(x); }, Asks{.host = true});
}

template <class Visit>
void views(Visit visit) {
    using placeholders::_;
    visit("reshape", []<class T, class D>(const Tensor<T, D>& x) { return reshape(x, {static_cast<std::int64_t>(x.size()), 1}); });
    visit("flatten", [](const auto& x) { return flatten(x); });
    visit("transpose", [](const auto& x) { return transpose(x); });
    visit("swapaxes", [](const auto& x) { return swapaxes(x, 0, -1); }, Asks{1});
    visit("expand_dims", [](const auto& x) { return expand_dims(x, 0); });
    visit("squeeze", [](const auto& x) { return squeeze(expand_dims(x, -1)); });
    visit("broadcast_to", []<class T, class D>(const Tensor<T, D>& x) {
        Shape wide{3};
        for (auto e : x.shape()) wide.push_back(e);
        return broadcast_to(x, wide);
    });
    visit("split", []<class T, class D>(const Tensor<T, D>& x) { return split(x, static_cast<std::int64_t>(x.shape()[0]), 0).back(); }, Asks{1, true});
    visit("view", [](const auto& x) { return view(x, range(_, _, -2), ellipsis(), newaxis()); }, Asks{1});
    visit("view_part", [](const auto& x) { return view(x, ellipsis(), range(1, _), 0); }, Asks{2, true});
    visit("element", []<class T, class D>(const Tensor<T, D>& x) { return flatten(x)(static_cast<std::int64_t>(x.size()) / 2); }, Asks{.elements = true});
    visit("diagonal", [](const auto& x) { return diagonal(x); }, Asks{2});
    visit("sliding_window", [](const auto& x) { return sliding_window(x, 1, 0); }, Asks{1, true});
    visit("sliding_windows", []<class T, class D>(const Tensor<T, D>& x) { return sliding_window(x, (static_cast<std::int64_t>(x.shape().back()) + 1) / 2, -1); }, Asks{1, true});
    visit("copy", [](const auto& x) { return copy(transpose(x)); });
}

template <class Visit>
void moves(Visit visit) {
    visit("roll", [](const auto& x) { return roll(x, 2, -1); }, Asks{1});
    visit("roll_all", [](const auto& x) { return roll(x, -3); });
    visit("flip", [](const auto& x) { return flip(x); });
    visit("pad", []<class T, class D>(const Tensor<T, D>& x) { return pad(x, Padding(x.dimension(), {1, 2}), 0.5); });
    visit("pad_edge", []<class T, class D>(const Tensor<T, D>& x) { return pad(x, Padding(x.dimension(), {2, 1}), PadMode::edge); }, Asks{.elements = true});
    visit("pad_wrap", []<class T, class D>(const Tensor<T, D>& x) { return pad(x, Padding(x.dimension(), {0, 7}), PadMode::wrap); }, Asks{.elements = true});
    visit("pad_reflect", []<class T, class D>(const Tensor<T, D>& x) { return pad(x, Padding(x.dimension(), {1, 1}), PadMode::reflect); }, Asks{.elements = true});
    visit("repeat", [](const auto& x) { return repeat(x, 3, -1); }, Asks{1});
    visit("tile", []<class T, class D>(const Tensor<T, D>& x) { return tile(x, Extents::filled(x.dimension() + 1, 2)); });
    visit("moveaxis", [](const auto& x) { return moveaxis(x, 0, -1); }, Asks{1});
    visit("rot90", [](const auto& x) { return rot90(x) * rot90(x, 3) + rot90(transpose(x), 2, {-1, -2}); }, Asks{2, false, 2, false, 2});
    visit("meshgrid", []<class T, class D>(const Tensor<T, D>& x) {
        const Tensor<T, D> v = view(flatten(x), range(placeholders::_, 5));
        return meshgrid(v, sin(v))[0] * meshgrid(v, v, v)[2];
    });
    visit("repeat_all", [](const auto& x) { return repeat(x, 2); });
    visit("tril", [](const auto& x) { return tril(x, 1); }, Asks{2});
    visit("triu", [](const auto& x) { return triu(x, -1); }, Asks{2});
    visit("zeros_like", []<class T, class D>(const Tensor<T, D>& x) { return zeros_like(x) + full_like(x, T(0.5)) + x * ones_like(x); });
    visit("creation", []<class T, class D>(const Tensor<T, D>& x) { return eye<T, D>(3, 4) + linspace<T, D>(0, 1, 4) * arange<T, D>(4) + sum(x); });
    visit("stop_gradient", [](const auto& x) { return x + stop_gradient(x); }, Asks{.order = 0});
}

template <class Visit>
void stores(Visit visit) {
    using placeholders::_;
    visit("concatenate", [](const auto& a, const auto& b) { return wengert::concatenate({a, b, a}, -1); }, Asks{1});
    visit("stack", [](const auto& a, const auto& b) { return wengert::stack({a, b, transpose(transpose(a))}, 0); });
    visit("assign_view", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        Tensor<T, D> y = a;
        view(y, range(_, _, 2)) = view(b, range(_, _, 2));
        return y;
    }, Asks{1});
    visit("add_view", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        Tensor<T, D> y = a * T(2);
        view(y, ellipsis(), range(1, _)) += view(b, ellipsis(), range(_, -1));
        view(y, 0) -= view(y, -1);
        return y;
    }, Asks{1, true});
    visit("updates", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        Tensor<T, D> y = a;
        y += b;
        y *= a;
        y -= T(0.5);
        y /= b * b + T(1);
        return y;
    });
}

/// i below n, as many as wanted, in no order; some of them counted from the end.
template <class D> Tensor<std::int64_t, D> places(const Shape& shape, std::int64_t n, bool negative)
{
    auto block = make_block(DType::int64, shape);
    for (std::size_t k = 0; k < block->count; ++k) {
        const auto i = static_cast<std::int64_t>(k * 7 + 3) % n;
        block->as<std::int64_t>()[k] = negative && k % 3 == 1 ? i - n : i;
    }
    return Tensor<std::int64_t, D>(AnyTensor{detail::made<D>(std::move(block)), {}});
}
template <class T, class D> std::int64_t first_extent(const Tensor<T, D>& x) { return x.shape()[0]; }

/// Functions of (a, b) and of indices: fixed ones, and such that depend on the data (`argmax`).
template <class Visit>
void gathers(Visit visit) {
    visit("take", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>&) { return take(a, places<D>({5}, first_extent(a), true), 0); }, Asks{1, true});
    visit("take_rows", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return take(a, argmax(b, -1), -1); }, Asks{1, true, 2, false, 3});
    visit("scatter_add", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        return scatter_add(a, places<D>({first_extent(a)}, std::min<std::int64_t>(first_extent(a), 2), false), b, 0);
    }, Asks{1, true});
    visit("one_hot", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>&) { return one_hot<T>(argmax(a, 0), first_extent(a)); }, Asks{1, true, 0});
    visit("take_along_axis", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return take_along_axis(a, argmax(b, 0, true), 0) + take_along_axis(b, places<D>(a.shape(), first_extent(a), true), 0); }, Asks{1, true});
    visit("put_along_axis", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return put_along_axis(a, argmin(b, -1, true), amax(b, {-1}, true), -1); }, Asks{1, true});
    visit("segment_max", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        const std::int64_t n = std::min<std::int64_t>(first_extent(a), 2);  // no segment without elements
        const auto to = places<D>({first_extent(a)}, n, false);
        return segment_max(a, to, n) * segment_min(b, to, n) + segment_mean(a, to, n);
    }, Asks{1, true});
    visit("scatter_max", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        const auto to = places<D>({first_extent(a)}, std::min<std::int64_t>(first_extent(a), 2), true);
        return scatter_max(a, to, b, 0) * scatter_min(b, to, a, 0);
    }, Asks{1, true});
    visit("segment_sum", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>&) { return segment_sum(a, places<D>({first_extent(a)}, 4, false), 4); }, Asks{1, true});
}

template <class Visit>
void products(Visit visit) {
    visit("matmul", [](const auto& a, const auto& b) { return matmul(a, swapaxes(b, -1, -2)); }, Asks{2, false, 2, true});
    visit("matmul_left", [](const auto& a, const auto& b) { return matmul(swapaxes(a, -1, -2), b); }, Asks{2, false, 2, true});
    visit("matmul_vector", [](const auto& a, const auto& b) { return matmul(a, view(flatten(b), range(0, a.shape().back()))); }, Asks{2, true, 2, true});
    visit("dot", [](const auto& a, const auto& b) { return dot(flatten(a), flatten(b)); }, Asks{.library = true});
    visit("outer", [](const auto& a, const auto& b) { return outer(sum(a, {-1}), b); }, Asks{1, false, 2, true});
    visit("tensordot", [](const auto& a, const auto& b) { return tensordot(a, b, {-1}, {-1}); }, Asks{1, false, 2, true});
    visit("einsum", [](const auto& a, const auto& b) { return einsum("...i,...i->i...", a, b) + einsum("...j,...k,...k->j...", a, b, sin(b)); }, Asks{1, false, 2, true});
    visit("kron", [](const auto& a, const auto& b) { return kron(a, b); }, Asks{.most = 2});
    visit("trace", [](const auto& a, const auto& b) { return trace(a) * trace(b); }, Asks{2});
    visit("cross", [](const auto& a, const auto& b) { return cross(wengert::stack({a, b, a * b}, 0), wengert::stack({b, sin(b), a}, 0), 0); });
    visit("masked_fill", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return masked_fill(a, a < b, T(0.5)); });
    visit("mse", [](const auto& a, const auto& b) { return mse(a, b) + mse(a, 0.5); });
    visit("cross_entropy", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return cross_entropy(a, argmax(b, -1)); }, Asks{2, true, 2, true});
}

/// Of arrays.hpp, but for what gathers and orders have.
template <class Visit>
void statistics(Visit visit) {
    visit("convolve", [](const auto& a, const auto& b) { return convolve(a, b) * convolve(b, a, wengert::ConvolveMode::full); }, Asks{1, true, 2, false, 3, true});
    visit("convolve_same", [](const auto& a, const auto& b) { return convolve(a, view(b, ellipsis(), range(placeholders::_, placeholders::_, 2)), wengert::ConvolveMode::same); }, Asks{1, true, 2, false, 3, true});
    visit("correlate", [](const auto& a, const auto& b) { return correlate(concatenate({a, b}, -1), b) + correlate(b, sin(a), wengert::ConvolveMode::valid); }, Asks{1, true, 2, false, 3, true});
    visit("gradient", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) {
        const auto both = wengert::concatenate({a, b, a * b}, 0);
        return gradient(both, 0.5, 0) * gradient(both, cumsum(exp(view(flatten(both), range(placeholders::_, both.shape()[0])))), 0);
    }, Asks{1, true});
    visit("cov", [](const auto& a, const auto& b) { return cov(a) + corrcoef(b + a * a) + cov(a, 0); }, Asks{2, true, 2, true, 2});
    visit("average", [](const auto& a, const auto& b) { return average(a, exp(b), -1) + average(a, exp(b)); }, Asks{1, true});
    visit("nansum", [](const auto& a, const auto& b) { return nansum(a) * nansum(b, {-1}); }, Asks{1});
    visit("nanmean", [](const auto& a, const auto& b) { return nanmean(a, {0}) + nanmean(b); }, Asks{1, true});
    visit("nanmax", [](const auto& a, const auto& b) { return nanmax(a, {-1}) - nanmin(b, {-1}) + nanmax(b) * nanmin(a); }, Asks{1, true});
    visit("ptp", [](const auto& a, const auto& b) { return ptp(a, {-1}) * ptp(b); }, Asks{1, true});
    visit("count_nonzero", [](const auto& a, const auto& b) { return count_nonzero(a < b, {-1}) + count_nonzero(floor(a)); }, Asks{1, false, 0});
    visit("diag", [](const auto& a, const auto& b) { return diag(flatten(a), 1) + diag(flatten(b), -1); });
    visit("diagonal_of", []<class T, class D>(const Tensor<T, D>& a, const Tensor<T, D>& b) { return diagonal(a, 1) + T(2) * diagonal(b, 1); }, Asks{2});
    visit("isclose", [](const auto& a, const auto& b) { return isclose(a, b, 0.5) & ~isinf(a); }, Asks{.order = 0});
}

template <class Visit>
void randoms(Visit visit) {
    visit("uniform", []<class T, class D>(const Tensor<T, D>& x) { return x * uniform<T, D>(Key(3), x.shape(), T(-1), T(2)); });
    visit("normal", []<class T, class D>(const Tensor<T, D>& x) { return x + normal<T, D>(fold_in(Key(4), 7), x.shape()); });
    visit("bernoulli", []<class T, class D>(const Tensor<T, D>& x) { return where(bernoulli<D>(Key(5), x.shape(), 0.3), x, T(0)); });
    visit("randint", []<class T, class D>(const Tensor<T, D>& x) { return x * cast<T>(randint<std::int64_t, D>(split(Key(6)).first, x.shape(), -5, 9)); });
    visit("dropout_mask", []<class T, class D>(const Tensor<T, D>& x) { return x * dropout_mask<T, D>(Key(8), x.shape(), 0.25); });
    visit("permutation", []<class T, class D>(const Tensor<T, D>& x) { return take(x, permutation<D>(Key(9), first_extent(x)), 0); }, Asks{1, true});
}
// clang-format on

/// All families: one(name, f, asks) for functions of one tensor, two(…) for those of two. First those of numbers, then those of
/// arrays.
template <class One, class Two> void numbers_of(One one, Two two)
{
    powers(one), trigonometry(one), activations(one), piecewise(one), special(one);
    pairs(two), remainders(two), comparisons(two), selections(two);
}
template <class One, class Two> void arrays_of(One one, Two two)
{
    folds(one), scans(one), orders(one), views(one), moves(one);
    stores(two), gathers(two), products(two), randoms(one), statistics(two);
}

}  // namespace primitives

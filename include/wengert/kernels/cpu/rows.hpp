#pragma once

#include "reduce.hpp"

/// Kernels that map and reduce along the middle axis of contiguous blocks (outer, n, inner): variance,
/// log-sum-exp, softmax and their backward passes. y may be x, and dx may be g or y.
namespace wengert::kernels {

namespace detail {

/// Calls row(x offset) for each row when inner is 1, tile(x offset, out offset, columns) for each tile of
/// columns otherwise.
template <class Row, class Tile>
inline void each_row_or_tile(std::size_t outer, std::size_t n, std::size_t inner, const Row& row,
                             const Tile& tile)
{
    for (std::size_t o = 0; o < outer; ++o) {
        if (inner == 1) {
            row(o * n, o);
            continue;
        }
        for (std::size_t j = 0; j < inner; j += column_tile)
            tile(o * n * inner + j, o * inner + j, std::min(column_tile, inner - j));
    }
}

/// f(k, count) over the lanes of a row.
template <class L, class F> [[gnu::always_inline]] inline void each_lane(std::size_t n, const F& f)
{
    std::size_t k = 0;
    for (; k + L::width <= n; k += L::width) f(k, L::width);
    if (k < n) f(k, n - k);
}

/// What is subtracted before exp: the largest element, or 0 where that is infinite. (Columns beyond a tile
/// are filled with zeros, too: exp of left-over memory may be denormal, which is slow.)
template <class T, class A> inline T finite_shift(T largest)
{
    return is_finite(largest) || largest != largest ? largest : T(0);
}

/// Σ (d − mean d)² / freedom of a row, with d = x − x₀: exactly 0 for equal elements, whose mean may be rounded, and
/// accurate where the mean is large beside the deviations (Chan, Golub & LeVeque 1983).
template <class T, class A> inline T var_row(const T* x, std::size_t n, std::size_t ddof)
{
    using L = Lane<T, A>;
    const T freedom = n > ddof ? static_cast<T>(n - ddof) : T(0);
    const L first(n > 0 ? x[0] : T(0));
    const auto value = [&](std::size_t k, std::size_t c) { return L::load_part(x + k, c) - first; };
    const L mean(fold_row<Add, L>(n, value) / static_cast<T>(n));
    return fold_row<Add, L>(n, [&](std::size_t k, std::size_t c) { return square(value(k, c) - mean); }) /
           freedom;
}

}  // namespace detail

/// Σ (x − mean)² / (n − ddof), in two passes as var_row; NaN (0/0) or inf when ddof ≥ n.
template <std::floating_point T, class A = xsimd::default_arch>
void var(const T* x, std::size_t outer, std::size_t n, std::size_t inner, std::size_t ddof, T* out)
{
    using L = Lane<T, A>;
    const T count = static_cast<T>(n), freedom = n > ddof ? static_cast<T>(n - ddof) : T(0);
    const auto deviation = [](L v, L mean) { return square(v - mean); };
    detail::each_row_or_tile(
        outer, n, inner,
        [&](std::size_t at, std::size_t o) { out[o] = detail::var_row<T, A>(x + at, n, ddof); },
        [&](std::size_t at, std::size_t o, std::size_t columns) {
            alignas(L) T mean[detail::column_tile];
            const auto value = [&](std::size_t k, std::size_t j, std::size_t c) {
                return L::load_part(x + at + k * inner + j, c) - L::load_part(x + at + j, c);
            };
            detail::fold_columns<detail::Add, L>(n, columns, inner, value, mean);
            for (std::size_t j = 0; j < columns; ++j) mean[j] /= count;
            detail::fold_columns<detail::Add, L>(
                n, columns, inner,
                [&](std::size_t k, std::size_t j, std::size_t c) {
                    return deviation(value(k, j, c), L::load_part(mean + j, c));
                },
                out + o);
            for (std::size_t j = 0; j < columns; ++j) out[o + j] /= freedom;
        });
}

namespace detail {

/// ln of numbers, by the kernels' own function.
template <class T, class A> inline T log_of(T x) { return log(Lane<T, A>(x)).first(); }
template <class T, class A> inline void take_logs(T* x, std::size_t n)
{
    using L = Lane<T, A>;
    each_lane<L>(n, [&](std::size_t k, std::size_t c) { log(L::load_part(x + k, c)).store_part(x + k, c); });
}

/// Largest element m and s = Σ exp(x − m) of a row; exp(x − m) is stored at e unless that is null.
template <class T> struct ShiftedSum {
    T shift, sum;
};

/// Not inlined: among what surrounds it the loop over exp would run short of registers.
template <class T, class A>
[[gnu::noinline]] inline ShiftedSum<T> shifted_row(const T* x, std::size_t n, T* e)
{
    using L = Lane<T, A>;
    const T largest =
        fold_row<Max, L>(n, [&](std::size_t k, std::size_t c) { return L::load_part(x + k, c); });
    const T shift = finite_shift<T, A>(largest);
    const T sum = fold_row<Add, L>(n, [&](std::size_t k, std::size_t c) {
        const L v = exp(L::load_part(x + k, c) - L(shift));
        if (e) v.store_part(e + k, c);
        return v;
    });
    return {shift, sum};
}

template <class T, class A>
inline void shifted_columns(const T* x, std::size_t n, std::size_t columns, std::size_t inner, T* e, T* shift,
                            T* sum)
{
    using L = Lane<T, A>;
    const auto value = [&](std::size_t k, std::size_t j, std::size_t c) {
        return L::load_part(x + k * inner + j, c);
    };
    fold_columns<Max, L>(n, columns, inner, value, shift);
    for (std::size_t j = 0; j < columns; ++j) shift[j] = finite_shift<T, A>(shift[j]);
    fold_columns<Add, L>(
        n, columns, inner,
        [&](std::size_t k, std::size_t j, std::size_t c) {
            const L v = exp(value(k, j, c) - L::load_part(shift + j, c));
            if (e) v.store_part(e + k * inner + j, c);
            return v;
        },
        sum);
}

template <class T, class A> inline T logsumexp_row(const T* x, std::size_t n)
{
    const auto [shift, sum] = shifted_row<T, A>(x, n, nullptr);
    return shift + log_of<T, A>(sum);
}

}  // namespace detail

/// ln Σ eˣ = m + ln Σ e^(x − m). −inf for n = 0 and for rows of −inf.
template <std::floating_point T, class A = xsimd::default_arch>
void logsumexp(const T* x, std::size_t outer, std::size_t n, std::size_t inner, T* out)
{
    detail::each_row_or_tile(
        outer, n, inner,
        [&](std::size_t at, std::size_t o) { out[o] = detail::logsumexp_row<T, A>(x + at, n); },
        [&](std::size_t at, std::size_t o, std::size_t columns) {
            alignas(64) T shift[detail::column_tile], sum[detail::column_tile];
            detail::shifted_columns<T, A>(x + at, n, columns, inner, nullptr, shift, sum);
            detail::take_logs<T, A>(sum, columns);
            for (std::size_t j = 0; j < columns; ++j) out[o + j] = shift[j] + sum[j];
        });
}

namespace detail {

/// A row that fits in one register: the same steps, without a visit to memory between them.
template <class T, class A> inline void softmax_lane(const T* x, std::size_t n, T* y)
{
    using L = Lane<T, A>;
    const L v = L::load_part(x, n, L(-std::numeric_limits<T>::infinity()));
    const L e = exp(v - L(finite_shift<T, A>(fold_lane<Max>(v))));
    (e * L(T(1) / fold_lane<Add>(e))).store_part(y, n);
}

template <class T, class A> inline void softmax_row(const T* x, std::size_t n, T* y)
{
    using L = Lane<T, A>;
    if (n <= L::width) return softmax_lane<T, A>(x, n, y);
    const L scale(T(1) / shifted_row<T, A>(x, n, y).sum);
    each_lane<L>(
        n, [&](std::size_t k, std::size_t c) { (L::load_part(y + k, c) * scale).store_part(y + k, c); });
}

template <class T, class A> inline void log_softmax_row(const T* x, std::size_t n, T* y)
{
    using L = Lane<T, A>;
    const auto [shift, sum] = shifted_row<T, A>(x, n, nullptr);
    const L m(shift), log_sum(log_of<T, A>(sum));
    each_lane<L>(n, [&](std::size_t k, std::size_t c) {
        (L::load_part(x + k, c) - m - log_sum).store_part(y + k, c);
    });
}

}  // namespace detail

/// y = e^(x − m) / Σ e^(x − m). NaN at elements of +inf and in rows of nothing but −inf.
template <std::floating_point T, class A = xsimd::default_arch>
void softmax(const T* x, std::size_t outer, std::size_t n, std::size_t inner, T* y)
{
    using L = Lane<T, A>;
    detail::each_row_or_tile(
        outer, n, inner, [&](std::size_t at, std::size_t) { detail::softmax_row<T, A>(x + at, n, y + at); },
        [&](std::size_t at, std::size_t, std::size_t columns) {
            alignas(64) T shift[detail::column_tile], scale[detail::column_tile];
            detail::shifted_columns<T, A>(x + at, n, columns, inner, y + at, shift, scale);
            for (std::size_t j = 0; j < columns; ++j) scale[j] = T(1) / scale[j];
            for (std::size_t k = 0; k < n; ++k)
                detail::each_lane<L>(columns, [&](std::size_t j, std::size_t c) {
                    T* to = y + at + k * inner + j;
                    (L::load_part(to, c) * L::load_part(scale + j, c)).store_part(to, c);
                });
        });
}

/// y = (x − m) − ln Σ e^(x − m).
template <std::floating_point T, class A = xsimd::default_arch>
void log_softmax(const T* x, std::size_t outer, std::size_t n, std::size_t inner, T* y)
{
    using L = Lane<T, A>;
    detail::each_row_or_tile(
        outer, n, inner,
        [&](std::size_t at, std::size_t) { detail::log_softmax_row<T, A>(x + at, n, y + at); },
        [&](std::size_t at, std::size_t, std::size_t columns) {
            alignas(64) T shift[detail::column_tile], log_sum[detail::column_tile];
            detail::shifted_columns<T, A>(x + at, n, columns, inner, nullptr, shift, log_sum);
            detail::take_logs<T, A>(log_sum, columns);
            for (std::size_t k = 0; k < n; ++k)
                detail::each_lane<L>(columns, [&](std::size_t j, std::size_t c) {
                    const L v = L::load_part(x + at + k * inner + j, c) - L::load_part(shift + j, c);
                    (v - L::load_part(log_sum + j, c)).store_part(y + at + k * inner + j, c);
                });
        });
}

namespace detail {

/// dx = map(g, y, s) with s = Σ term(g, y) along the middle axis.
struct SoftmaxRule {
    static auto term(auto g, auto y) { return g * y; }
    static auto map(auto g, auto y, auto total) { return y * (g - total); }
};
struct LogSoftmaxRule {
    static auto term(auto g, auto) { return g; }
    static auto map(auto g, auto y, auto total) { return g - exp(y) * total; }
};

template <class Rule, class T, class A> inline void pull_row(const T* y, const T* g, std::size_t n, T* dx)
{
    using L = Lane<T, A>;
    const L total(fold_row<Add, L>(n, [&](std::size_t k, std::size_t c) {
        return L(Rule::term(L::load_part(g + k, c), L::load_part(y + k, c)));
    }));
    each_lane<L>(n, [&](std::size_t k, std::size_t c) {
        Rule::map(L::load_part(g + k, c), L::load_part(y + k, c), total).store_part(dx + k, c);
    });
}

template <class Rule, class T, class A>
inline void pull_columns(const T* y, const T* g, std::size_t n, std::size_t columns, std::size_t inner, T* dx)
{
    using L = Lane<T, A>;
    alignas(L) T total[column_tile];
    const auto lane = [&](const T* x, std::size_t k, std::size_t j, std::size_t c) {
        return L::load_part(x + k * inner + j, c);
    };
    fold_columns<Add, L>(
        n, columns, inner,
        [&](std::size_t k, std::size_t j, std::size_t c) {
            return L(Rule::term(lane(g, k, j, c), lane(y, k, j, c)));
        },
        total);
    for (std::size_t k = 0; k < n; ++k)
        each_lane<L>(columns, [&](std::size_t j, std::size_t c) {
            Rule::map(lane(g, k, j, c), lane(y, k, j, c), L::load_part(total + j, c))
                .store_part(dx + k * inner + j, c);
        });
}

template <class Rule, class T, class A>
inline void pull(const T* y, const T* g, std::size_t outer, std::size_t n, std::size_t inner, T* dx)
{
    each_row_or_tile(
        outer, n, inner,
        [&](std::size_t at, std::size_t) { pull_row<Rule, T, A>(y + at, g + at, n, dx + at); },
        [&](std::size_t at, std::size_t, std::size_t columns) {
            pull_columns<Rule, T, A>(y + at, g + at, n, columns, inner, dx + at);
        });
}

}  // namespace detail

/// dx = y (g − Σ g y).
template <std::floating_point T, class A = xsimd::default_arch>
void softmax_backward(const T* y, const T* g, std::size_t outer, std::size_t n, std::size_t inner, T* dx)
{
    detail::pull<detail::SoftmaxRule, T, A>(y, g, outer, n, inner, dx);
}

/// dx = g − e^y Σ g.
template <std::floating_point T, class A = xsimd::default_arch>
void log_softmax_backward(const T* y, const T* g, std::size_t outer, std::size_t n, std::size_t inner, T* dx)
{
    detail::pull<detail::LogSoftmaxRule, T, A>(y, g, outer, n, inner, dx);
}

/// dx = g e^(x − y), with y and g of shape (outer, inner); 0 where x is −inf.
template <std::floating_point T, class A = xsimd::default_arch>
void logsumexp_backward(const T* x, const T* y, const T* g, std::size_t outer, std::size_t n,
                        std::size_t inner, T* dx)
{
    using L = Lane<T, A>;
    const L minus_inf(-std::numeric_limits<T>::infinity());
    const auto weigh = [&](L xi, L yi, L gi) { return where(xi == minus_inf, L(T(0)), gi * exp(xi - yi)); };
    detail::each_row_or_tile(
        outer, n, inner,
        [&](std::size_t at, std::size_t o) {
            detail::each_lane<L>(n, [&](std::size_t k, std::size_t c) {
                weigh(L::load_part(x + at + k, c), L(y[o]), L(g[o])).store_part(dx + at + k, c);
            });
        },
        [&](std::size_t at, std::size_t o, std::size_t columns) {
            for (std::size_t k = 0; k < n; ++k)
                detail::each_lane<L>(columns, [&](std::size_t j, std::size_t c) {
                    const L yi = L::load_part(y + o + j, c), gi = L::load_part(g + o + j, c);
                    weigh(L::load_part(x + at + k * inner + j, c), yi, gi)
                        .store_part(dx + at + k * inner + j, c);
                });
        });
}

}  // namespace wengert::kernels

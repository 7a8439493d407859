#pragma once

#include "fold.hpp"

#include <concepts>
#include <type_traits>

/// Reductions of a contiguous block x (outer, n, inner) to out (outer, inner).
///
/// Floats: bits do not depend on the instruction set (fold.hpp says how). Integers wrap like unsigned ones.
/// n = 0 gives the identity (0, 1, ∓inf); that amax of nothing is an error is for the caller to say.
namespace wengert::kernels {

namespace detail {

inline constexpr auto as_is = [](auto v) __attribute__((always_inline)) { return v; };
/// For integers and bools: out[j] = step(out[j], x[k, j]), as plain loops that compilers vectorise.
template <class A, class T, class Out, class Step>
inline void fold_plain(const T* x, std::size_t outer, std::size_t n, std::size_t inner, Out start, Out* out,
                       const Step& step)
{
    for (std::size_t o = 0; o < outer; ++o, out += inner) {
        if (inner == 1) {
            Out acc = start;
            for (std::size_t k = 0; k < n; ++k) acc = step(acc, x[k]);
            *out = acc;
            x += n;
            continue;
        }
        std::fill_n(out, inner, start);
        for (std::size_t k = 0; k < n; ++k, x += inner)
            for (std::size_t j = 0; j < inner; ++j) out[j] = step(out[j], x[j]);
    }
}

}  // namespace detail

/// `Out` is T for floats; integers and bools may be summed into a wider integer.
template <class T, class A = xsimd::default_arch, class Out>
void sum(const T* x, std::size_t outer, std::size_t n, std::size_t inner, Out* out)
{
    if constexpr (std::floating_point<T>)
        detail::fold<detail::Add, T, A>(x, outer, n, inner, detail::as_is, out);
    else
        detail::fold_plain<A>(x, outer, n, inner, Out(0), out,
                              [](Out a, T v) { return wrapping_add(a, static_cast<Out>(v)); });
}

#ifdef WENGERT_COMPILED  // in impl/library.ipp
extern template void sum<float>(const float*, std::size_t, std::size_t, std::size_t, float*);
extern template void sum<double>(const double*, std::size_t, std::size_t, std::size_t, double*);
#endif

/// NaN if any element is.
template <class T, class A = xsimd::default_arch>
void amax(const T* x, std::size_t outer, std::size_t n, std::size_t inner, T* out)
{
    if constexpr (std::floating_point<T>)
        detail::fold<detail::Max, T, A>(x, outer, n, inner, detail::as_is, out);
    else
        detail::fold_plain<A>(x, outer, n, inner, detail::none<detail::Max, T>(), out,
                              [](T a, T v) { return a > v ? a : v; });
}

template <class T, class A = xsimd::default_arch>
void amin(const T* x, std::size_t outer, std::size_t n, std::size_t inner, T* out)
{
    if constexpr (std::floating_point<T>)
        detail::fold<detail::Min, T, A>(x, outer, n, inner, detail::as_is, out);
    else
        detail::fold_plain<A>(x, outer, n, inner, detail::none<detail::Min, T>(), out,
                              [](T a, T v) { return a < v ? a : v; });
}

namespace detail {

/// The first k with x[k] == value, or with x[k] ≠ x[k] when the value is NaN. There is one.
template <class T, class A> inline std::int64_t find_first(const T* x, std::size_t n, T value)
{
    std::size_t k = 0;
    const bool nan = value != value;
    if constexpr (std::floating_point<T>) {
        using L = Lane<T, A>;
        for (const L v(value); k + L::width <= n; k += L::width) {
            const L here = L::load(x + k);
            if (any(nan ? is_nan(here) : here == v)) break;
        }
    }
    while (k + 1 < n && !(nan ? x[k] != x[k] : x[k] == value)) ++k;
    return static_cast<std::int64_t>(k);
}

template <class A, class T, class Better>
inline void arg_columns(const T* x, std::size_t n, std::size_t inner, std::int64_t* out, const Better& better)
{
    T best[column_tile];
    for (std::size_t j0 = 0; j0 < inner; j0 += column_tile) {
        const std::size_t columns = std::min(column_tile, inner - j0);
        std::copy_n(x + j0, columns, best);
        std::fill_n(out + j0, columns, std::int64_t{0});
        for (std::size_t k = 1; k < n; ++k)
            for (std::size_t j = 0; j < columns; ++j) {
                const T v = x[k * inner + j0 + j];
                const bool take = better(v, best[j]) || (v != v && best[j] == best[j]);
                best[j] = take ? v : best[j];
                out[j0 + j] = take ? static_cast<std::int64_t>(k) : out[j0 + j];
            }
    }
}

}  // namespace detail

/// Index along the middle axis of the first largest element; of the first NaN if there is one. n ≥ 1.
template <class T, class A = xsimd::default_arch>
void argmax(const T* x, std::size_t outer, std::size_t n, std::size_t inner, std::int64_t* out)
{
    for (std::size_t o = 0; o < outer; ++o, x += n * inner, out += inner) {
        if (inner != 1) {
            detail::arg_columns<A>(x, n, inner, out, [](T v, T best) { return v > best; });
            continue;
        }
        T best;
        amax<T, A>(x, 1, n, 1, &best);
        *out = detail::find_first<T, A>(x, n, best);
    }
}

template <class T, class A = xsimd::default_arch>
void argmin(const T* x, std::size_t outer, std::size_t n, std::size_t inner, std::int64_t* out)
{
    for (std::size_t o = 0; o < outer; ++o, x += n * inner, out += inner) {
        if (inner != 1) {
            detail::arg_columns<A>(x, n, inner, out, [](T v, T best) { return v < best; });
            continue;
        }
        T best;
        amin<T, A>(x, 1, n, 1, &best);
        *out = detail::find_first<T, A>(x, n, best);
    }
}

}  // namespace wengert::kernels

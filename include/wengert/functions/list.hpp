// The functions of numbers, one line each. A new function is a struct in rules/, a line here, and a line in calls.hpp. One without a
// composition of others has an Approximation, too (format.hpp).
//
// Positions in these lists are the kinds of terms (term.hpp) and the operations of scalar code (scalar/stream/entry.hpp). Names,
// compiled code (ops/elementwise/library.hpp), generated texts and tests walk the lists.
#pragma once

#include <cstddef>

namespace wengert {

namespace detail {
template <class... P> struct List {};
}  // namespace detail

// clang-format off
/// Of one number, by an approximation. A Real records each as one operation.
using ElementaryFunctions = detail::List<
    struct Cbrt,
    struct Exp,
    struct Exp2,
    struct Expm1,
    struct Log,
    struct Log2,
    struct Log10,
    struct Log1p,
    struct Sin,
    struct Cos,
    struct Tan,
    struct Asin,
    struct Acos,
    struct Atan,
    struct Sinh,
    struct Cosh,
    struct Tanh,
    struct Asinh,
    struct Acosh,
    struct Atanh,
    struct Erf,
    struct Erfc,
    struct Erfcx,
    struct Tgamma,
    struct Lgamma,
    struct Sigmoid>;
/// Of one number, by an approximation, for tensors and the lambdas of elementwise.
using TensorFunctions = detail::List<
    struct Digamma,
    struct NormalCdf>;
/// Of two numbers, by an approximation. Those in the first list take whole numbers, too.
using PowerFunctions = detail::List<
    struct Pow>;
using PairFunctions = detail::List<
    struct Atan2,
    struct Hypot,
    struct Fmod,
    struct Remainder>;
/// Composed of others: `value` is written with functions that exist.
using ComposedFunctions = detail::List<
    struct Erfinv,
    struct LogSigmoid,
    struct Softplus>;
using ComposedPairs = detail::List<
    struct LogAddExp,
    struct Xlogy>;
/// The same for tensors and the lambdas of elementwise.
using ComposedTensorFunctions = detail::List<
    struct Reciprocal,
    struct Relu,
    struct Gelu,
    struct Silu>;
/// To whole numbers: flat.
using WholeFunctions = detail::List<
    struct Floor,
    struct Ceil,
    struct Trunc,
    struct Round>;
// clang-format on

namespace detail {

template <class... A> auto join(List<A...> all) { return all; }
template <class... A, class... B, class... More> auto join(List<A...>, List<B...>, More... more)
{
    return join(List<A..., B...>(), more...);
}
/// Several lists as one.
template <class... L> using Joined = decltype(join(L()...));

template <class... P> constexpr std::size_t length_of(List<P...>) { return sizeof...(P); }
/// Where P stands, or the list's length.
template <class P, class... Q> constexpr std::size_t position_in(List<Q...>)
{
    constexpr bool same[] = {__is_same(P, Q)..., true};
    std::size_t i = 0;
    while (!same[i]) ++i;
    return i;
}
template <class P, class L> inline constexpr bool is_in = position_in<P>(L()) < length_of(L());

/// Functions with an approximation, which terms call by kind.
using ApproximatedOfOne = Joined<ElementaryFunctions, TensorFunctions>;
using ApproximatedOfTwo = Joined<PowerFunctions, PairFunctions>;
using ApproximatedFunctions = Joined<ApproximatedOfOne, ApproximatedOfTwo>;
/// Functions of which Real records each as one operation.
using RecordedFunctions = Joined<ElementaryFunctions, ComposedFunctions>;
using RecordedPairs = Joined<ApproximatedOfTwo, ComposedPairs>;

/// Fills a block up.
struct NoFunction {};

template <class R, class P, class Visit> [[gnu::always_inline]] constexpr R visit_one(const Visit& visit)
{
    if constexpr (__is_same(P, NoFunction))
        __builtin_unreachable();
    else
        return visit(P());
}
template <class R, class Visit>
[[gnu::always_inline]] constexpr R visit_within(List<>, std::size_t, const Visit&)
{
    __builtin_unreachable();
}
template <class R, class A, class B, class C, class D, class E, class F, class G, class H, class I, class J,
          class K, class L, class M, class N, class O, class P, class... More, class Visit>
[[gnu::always_inline]] constexpr R visit_within(List<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, More...>,
                                                std::size_t i, const Visit& visit)
{
    switch (i) {
    case 0: return visit_one<R, A>(visit);
    case 1: return visit_one<R, B>(visit);
    case 2: return visit_one<R, C>(visit);
    case 3: return visit_one<R, D>(visit);
    case 4: return visit_one<R, E>(visit);
    case 5: return visit_one<R, F>(visit);
    case 6: return visit_one<R, G>(visit);
    case 7: return visit_one<R, H>(visit);
    case 8: return visit_one<R, I>(visit);
    case 9: return visit_one<R, J>(visit);
    case 10: return visit_one<R, K>(visit);
    case 11: return visit_one<R, L>(visit);
    case 12: return visit_one<R, M>(visit);
    case 13: return visit_one<R, N>(visit);
    case 14: return visit_one<R, O>(visit);
    case 15: return visit_one<R, P>(visit);
    default: return visit_within<R>(List<More...>(), i - 16, visit);
    }
}
template <class R, class P, class... Few, class Visit>
    requires(sizeof...(Few) < 15)
[[gnu::always_inline]] constexpr R visit_within(List<P, Few...>, std::size_t i, const Visit& visit)
{
    using X = NoFunction;
    if constexpr (__is_same(P, X))
        __builtin_unreachable();
    else
        return visit_within<R>(Joined<List<P, Few...>, List<X, X, X, X, X, X, X, X, X, X, X, X, X, X, X>>(),
                               i, visit);
}
/// visit(P()) for the P in place `i` of a list, other() beyond its end: a table of jumps for each 16.
/// other() stands there once, as it may be long and is inlined.
template <class... F, class Visit, class Other>
[[gnu::always_inline]] constexpr auto visit_position(List<F...> all, std::size_t i, const Visit& visit,
                                                     const Other& other)
{
    return i < sizeof...(F) ? visit_within<decltype(other())>(all, i, visit) : other();
}

}  // namespace detail
}  // namespace wengert

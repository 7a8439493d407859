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
    struct Lgamma>;
/// Of one number, by an approximation, for tensors and the lambdas of elementwise.
using TensorFunctions = detail::List<
    struct Digamma,
    struct Sigmoid,
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
    struct LogSigmoid>;
using ComposedPairs = detail::List<
    struct LogAddExp,
    struct Xlogy>;
/// The same for tensors and the lambdas of elementwise.
using ComposedTensorFunctions = detail::List<
    struct Reciprocal,
    struct Softplus,
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

template <class P, class Visit, class Other>
[[gnu::always_inline]] constexpr auto visit_one(const Visit& visit, const Other& other)
{
    if constexpr (__is_same(P, NoFunction))
        return other();
    else
        return visit(P());
}
/// visit(P()) for the P in place `i` of a list, other() beyond its end: a table of jumps for each 16.
template <class Visit, class Other>
[[gnu::always_inline]] constexpr auto visit_position(List<>, std::size_t, const Visit&, const Other& other)
{
    return other();
}
template <class A, class B, class C, class D, class E, class F, class G, class H, class I, class J, class K,
          class L, class M, class N, class O, class P, class... More, class Visit, class Other>
[[gnu::always_inline]] constexpr auto visit_position(
    List<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, More...>, std::size_t i, const Visit& visit,
    const Other& other)
{
    switch (i) {
    case 0: return visit_one<A>(visit, other);
    case 1: return visit_one<B>(visit, other);
    case 2: return visit_one<C>(visit, other);
    case 3: return visit_one<D>(visit, other);
    case 4: return visit_one<E>(visit, other);
    case 5: return visit_one<F>(visit, other);
    case 6: return visit_one<G>(visit, other);
    case 7: return visit_one<H>(visit, other);
    case 8: return visit_one<I>(visit, other);
    case 9: return visit_one<J>(visit, other);
    case 10: return visit_one<K>(visit, other);
    case 11: return visit_one<L>(visit, other);
    case 12: return visit_one<M>(visit, other);
    case 13: return visit_one<N>(visit, other);
    case 14: return visit_one<O>(visit, other);
    case 15: return visit_one<P>(visit, other);
    default: return visit_position(List<More...>(), i - 16, visit, other);
    }
}
template <class P, class... Few, class Visit, class Other>
    requires(sizeof...(Few) < 15)
[[gnu::always_inline]] constexpr auto visit_position(List<P, Few...>, std::size_t i, const Visit& visit,
                                                     const Other& other)
{
    using X = NoFunction;
    if constexpr (__is_same(P, X))
        return other();
    else
        return visit_position(Joined<List<P, Few...>, List<X, X, X, X, X, X, X, X, X, X, X, X, X, X, X>>(), i,
                              visit, other);
}

}  // namespace detail
}  // namespace wengert

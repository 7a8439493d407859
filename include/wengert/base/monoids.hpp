// What a fold is made of: passes over the elements of a line, each a monoid with what is done before and after it.
//
//     struct SumOfSquares : wg::monoid::Add {                                        // identity, combine, finish
//         template <class V> static V map(const V& x) { return x * x; }              // of each element; itself where there is none
//         template <class V> static V result(const V& s) { using std::sqrt; return sqrt(s); }   // of the fold; itself likewise
//     };
//
// All are templates over a value type, as rules are. `map` and `result` may have a `const FoldLine<V>&` behind their other arguments.
// What its map takes many instructions for says `bool is_long = true`: its text stands once in a loop. `using mapper = M` is said by
// M, whose map those share that derive from it.
// A fold of several numbers has `std::array identity` and combines std::array<V, k>; `map` makes one of each element. One of a
// number and its place in the line has `bool places = true` and combines std::pair<V, P>.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "scalar_math.hpp"

namespace wengert {

/// What formulas of a fold may read beside elements.
template <class V> struct FoldLine {
    V n;       ///< how many elements are folded
    V number;  ///< `Fold::number`
    V first;   ///< the first of the elements
    V least;   ///< of numbers of the type: below it, digits get lost
    V r[3];    ///< results of the passes before
    V kept;    ///< what a pass with `bool keeps = true` has mapped this element to
};

/// One after another.
template <class... P> struct Passes {
    static constexpr std::size_t size = sizeof...(P);
    static_assert(size >= 1 && size <= 3, "wengert: a fold has one to three passes");
    template <std::size_t i> using at = std::tuple_element_t<i, std::tuple<P...>>;
};

namespace detail {

/// Whole numbers wrap.
template <class V> [[gnu::always_inline]] inline V plus(const V& a, const V& b)
{
    if constexpr (Wrapping<V>)
        return wrapping_add(a, b);
    else
        return static_cast<V>(a + b);
}
template <class V> [[gnu::always_inline]] inline V times(const V& a, const V& b)
{
    if constexpr (Wrapping<V>)
        return wrapping_multiply(a, b);
    else
        return static_cast<V>(a * b);
}

}  // namespace detail

namespace monoid {

/// `plain`: operators and comparisons alone, so that numbers may be combined as well as lanes.
struct Add {
    static constexpr bool plain = true;
    static constexpr Literal identity = lit(0);
    template <class V> [[gnu::always_inline]] static V combine(const V& a, const V& b)
    {
        return detail::plus(a, b);
    }
    /// Where the order would decide about the sign of 0, it is +.
    template <class V> [[gnu::always_inline]] static V finish(const V& a) { return a + lit(0); }
};
struct Multiply {
    static constexpr bool plain = true;
    static constexpr Literal identity = lit(1);
    template <class V> [[gnu::always_inline]] static V combine(const V& a, const V& b)
    {
        return detail::times(a, b);
    }
};
/// NaN where there is one.
struct Maximum {
    static constexpr bool plain = true;
    static constexpr Literal identity = lit(-std::numeric_limits<double>::infinity());
    template <class V> [[gnu::always_inline]] static V combine(const V& a, const V& b)
    {
        return maximum(a, b);
    }
    template <class V> [[gnu::always_inline]] static V finish(const V& a) { return a + lit(0); }
};
struct Minimum {
    static constexpr bool plain = true;
    static constexpr Literal identity = lit(std::numeric_limits<double>::infinity());
    template <class V> [[gnu::always_inline]] static V combine(const V& a, const V& b)
    {
        return minimum(a, b);
    }
    template <class V> [[gnu::always_inline]] static V finish(const V& a) { return a + lit(0); }
};
struct And {
    static constexpr Literal identity = lit(1);
    template <class V> [[gnu::always_inline]] static V combine(const V& a, const V& b)
    {
        return static_cast<V>(a & b);
    }
};
struct Or {
    static constexpr Literal identity = lit(0);
    template <class V> [[gnu::always_inline]] static V combine(const V& a, const V& b)
    {
        return static_cast<V>(a | b);
    }
};
/// The mean. Streams know it beside the sum.
struct Average : Add {
    template <class V> static V result(const V& s, const FoldLine<V>& line) { return s / line.n; }
};

}  // namespace monoid

namespace detail {

template <class Op> struct PassesOf {
    using type = Passes<Op>;
};
template <class Op>
    requires requires { typename Op::passes; }
struct PassesOf<Op> {
    using type = typename Op::passes;
};
/// The passes of a fold; what names none is one itself.
template <class Op> using passes_of = typename PassesOf<Op>::type;

/// How many numbers are folded at once.
template <class P> constexpr std::size_t numbers_of()
{
    if constexpr (requires { P::identity.value; })
        return 1;
    else
        return std::size(P::identity);
}
template <class P> constexpr bool has_places = requires { P::places; };
template <class P> constexpr bool keeps_elements = requires { P::keeps; };

/// The monoid that it derives from, whose code it shares.
template <class P, class... M> struct MonoidOf {
    using type = P;
};
template <class P, class M, class... More> struct MonoidOf<P, M, More...> {
    using type =
        typename std::conditional_t<std::is_base_of_v<M, P>, MonoidOf<M>, MonoidOf<P, More...>>::type;
};
template <class P>
using monoid_of = typename MonoidOf<P, monoid::Add, monoid::Multiply, monoid::Maximum, monoid::Minimum>::type;

/// What is folded, over numbers of type V.
template <class P, class V, std::size_t k = numbers_of<P>()> struct FoldStateOf {
    using type = std::array<V, k>;
};
template <class P, class V> struct FoldStateOf<P, V, 1> {
    using type = V;
};
template <class P, class V> using FoldState = typename FoldStateOf<P, V>::type;

/// f of each number of one state or of several: a state of what that gives.
template <class F, class S, class... More>
[[gnu::always_inline]] inline auto each_number(const F& f, const S& s, const More&... more)
{
    if constexpr (requires { std::tuple_size<S>::value; }) {
        const auto at = [&](std::size_t i) __attribute__((always_inline)) { return f(s[i], more[i]...); };
        return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline))
        {
            return std::array{at(i)...};
        }
        (std::make_index_sequence<std::tuple_size_v<S>>());
    } else
        return f(s, more...);
}

/// As a number of type T: infinities as the largest whole ones.
template <class T> constexpr T number_from(Literal x)
{
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        if (x.value - x.value != 0)
            return x.value < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    }
    return static_cast<T>(x.value);
}
template <class P> constexpr Literal identity_of(std::size_t i)
{
    if constexpr (numbers_of<P>() == 1)
        return P::identity;
    else
        return P::identity[i];
}
/// The identity of a pass. make(Literal) makes its numbers.
template <class P, class Make> constexpr auto no_elements(const Make& make)
{
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        if constexpr (numbers_of<P>() == 1)
            return make(identity_of<P>(0));
        else
            return std::array{make(identity_of<P>(i))...};
    }(std::make_index_sequence<numbers_of<P>()>());
}

// clang-format off
template <class P, class V, class... X> [[gnu::always_inline]] inline auto mapped(const FoldLine<V>& line, const V& x, const X&... more)
{
    if constexpr (requires { P::map(x, more..., line); }) return P::map(x, more..., line);
    else if constexpr (requires { P::map(x, more...); }) return P::map(x, more...);
    else return x;
}
template <class P, class S> [[gnu::always_inline]] inline S finished(const S& s)
{
    if constexpr (requires { P::finish(s); }) return P::finish(s);
    else return s;
}
template <class P> concept HasResult = requires(double s, std::array<double, numbers_of<P>()> all, FoldLine<double> line) { P::result(s); }
    || requires(double s, FoldLine<double> line) { P::result(s, line); }
    || requires(std::array<double, numbers_of<P>()> s) { P::result(s); }
    || requires(std::array<double, numbers_of<P>()> s, FoldLine<double> line) { P::result(s, line); };
template <class P, class V, class S> [[gnu::always_inline]] inline V resulting(const FoldLine<V>& line, const S& s)
{
    if constexpr (requires { P::result(s, line); }) return P::result(s, line);
    else if constexpr (requires { P::result(s); }) return P::result(s);
    else return s;
}
// clang-format on

/// Has it more than one pass, or formulas that read what differs from line to line? Then it goes line by line.
template <class P> constexpr bool reads_line = requires(double x, FoldLine<double> l) { P::map(x, l); };

}  // namespace detail
}  // namespace wengert

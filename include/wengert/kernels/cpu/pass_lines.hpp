#pragma once

#include "reduce.hpp"

/// What the passes of a fold read: operands along a line, what formulas know of it, and maps of elements.
namespace wengert::kernels::detail {

using wengert::detail::keeps_elements;
using wengert::detail::monoid_of;
using wengert::detail::passes_of;
template <class F> inline constexpr std::size_t pass_count = passes_of<F>::size;
template <class F, std::size_t p> using pass_at = typename passes_of<F>::template at<p>;

/// Has it a result for each element?
template <class F>
concept MapsLines = requires { typename F::maps; };
/// One pass, or a first one whose result is enough for most.
template <class F>
concept FirstSuffices = requires { &pass_at<F, 0>::template enough<double>; };
template <class F>
inline constexpr bool goes_whole =
    (pass_count<F> == 1 || FirstSuffices<F>)&&!MapsLines<F> &&
    wengert::detail::numbers_of<pass_at<F, 0>>() == 1 && !wengert::detail::reads_line<pass_at<F, 0>>;

/// Operands, `stride` elements apart along a line, and what it is told.
template <class L, std::size_t operands> struct Lines {
    using T = typename L::value_type;
    const T* x[operands];
    std::size_t n, stride;
    T number;
    Lines at(std::size_t i) const
    {
        Lines moved = *this;
        for (const T*& p : moved.x) p += i;
        return moved;
    }
    T first() const { return n > 0 ? *x[0] : T(0); }
};

/// What formulas read that is the same for all lines.
template <class L>
[[gnu::always_inline]] inline FoldLine<L> any_line(std::size_t n, typename L::value_type number)
{
    using Limits = std::numeric_limits<typename L::value_type>;
    FoldLine<L> l;
    l.n = L(static_cast<typename L::value_type>(n)), l.number = L(number);
    l.least = L(Limits::min() / Limits::epsilon());
    return l;
}
/// What they read before pass p of a row: the same in all lanes.
template <std::size_t p, class L, std::size_t operands>
[[gnu::always_inline]] inline FoldLine<L> line_of(const Lines<L, operands>& a,
                                                  const typename L::value_type* r)
{
    FoldLine<L> l = any_line<L>(a.n, a.number);
    l.first = L(a.first());
    for (std::size_t q = 0; q < p; ++q) l.r[q] = L(r[q]);
    return l;
}
/// P's map of elements that load(operand) gives.
template <class P, std::size_t operands, class L, class Load>
[[gnu::always_inline]] inline auto mapped_from(const FoldLine<L>& line, const Load& load)
{
    return [&]<std::size_t... k>(std::index_sequence<k...>) __attribute__((always_inline))
    {
        return wengert::detail::mapped<P>(line, load(k)...);
    }
    (std::make_index_sequence<operands>());
}
template <class F, std::size_t operands, class L, class Load>
[[gnu::always_inline]] inline L each_from(const FoldLine<L>& line, const Load& load)
{
    return [&]<std::size_t... k>(std::index_sequence<k...>) __attribute__((always_inline))
    {
        return F::each(load(k)..., line);
    }
    (std::make_index_sequence<operands>());
}

/// f(k, count) over the lanes of a row.
template <class L, class F> [[gnu::always_inline]] inline void each_lane(std::size_t n, const F& f)
{
    std::size_t k = 0;
    for (; k + L::width <= n; k += L::width) f(k, L::width);
    if (k < n) f(k, n - k);
}

/// Whose map a pass has: passes that differ in their results share the loops.
template <class P> struct MapperOf {
    using type = P;
};
template <class P>
    requires requires { typename P::mapper; }
struct MapperOf<P> {
    using type = typename P::mapper;
};
template <class P> using mapper_of = typename MapperOf<P>::type;

/// P's map of lanes or of numbers.
template <class P, class L> struct MapOf {
    [[gnu::always_inline]] L operator()(L x) const { return wengert::detail::mapped<P>(FoldLine<L>(), x); }
    [[gnu::always_inline]] typename L::value_type operator()(typename L::value_type x) const
    {
        if constexpr (requires { P::map(L(x)); })
            return P::map(L(x)).first();
        else
            return x;
    }
};
/// The map of a pass over elements alone: passes without one share the loops of all that fold elements as they are.
template <class P, class L> auto map_of()
{
    if constexpr (requires { &P::template map<double>; })
        return MapOf<P, L>();
    else
        return as_is;
}
/// Reads a pass nothing but the elements of one operand, and writes none?
template <class P, std::size_t operands>
inline constexpr bool reads_elements_alone =
    operands == 1 && !keeps_elements<P> && !wengert::detail::reads_line<P> &&
    wengert::detail::numbers_of<P>() == 1;

}  // namespace wengert::kernels::detail

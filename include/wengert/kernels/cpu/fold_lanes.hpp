#pragma once

#include "../../base/monoids.hpp"
#include "lane.hpp"

#include <cstddef>

/// Numbers that are folded, one or several, and the lanes of registers of them combined: always by halves, lane i with lane i + width/2.
namespace wengert::kernels::detail {

using monoid::Add;
using Max = monoid::Maximum;
using Min = monoid::Minimum;
using wengert::detail::each_number;
using wengert::detail::finished;
using wengert::detail::FoldState;

/// The identity of the fold, as numbers or as lanes of them.
template <class Op, class V> [[gnu::always_inline]] inline FoldState<Op, V> none()
{
    return wengert::detail::no_elements<Op>([](Literal x) {
        if constexpr (requires { typename V::value_type; })
            return V(wengert::detail::number_from<typename V::value_type>(x));
        else
            return wengert::detail::number_from<V>(x);
    });
}
/// The first numbers of lanes.
template <class S> [[gnu::always_inline]] inline auto first_of(const S& s)
{
    return each_number([](auto v) { return v.first(); }, s);
}
/// f of numbers where they do, of lanes of them otherwise: functions are those of lanes.
template <class Op, class L, class S, class F>
[[gnu::always_inline]] inline S on_numbers(const F& f, const S& a, const S& b)
{
    if constexpr (requires { Op::plain; })
        return f(a, b);
    else {
        const auto lanes = [](auto x) { return L(x); };
        return first_of(f(each_number(lanes, a), each_number(lanes, b)));
    }
}
template <class Op, class L, class S> [[gnu::always_inline]] inline S combined(const S& a, const S& b)
{
    return on_numbers<Op, L>([](const auto& x, const auto& y) { return Op::combine(x, y); }, a, b);
}
template <class Op, class L, class S> [[gnu::always_inline]] inline S ended(const S& a)
{
    return on_numbers<Op, L>([](const auto& x, const auto&) { return finished<Op>(x); }, a, a);
}

/// The upper half of each 2·Half elements exchanged with the lower one.
template <std::size_t Half, class T, class A>
[[gnu::always_inline]] inline Lane<T, A> swap_halves(Lane<T, A> v)
{
    using L = Lane<T, A>;
    using Batch = typename L::Batch;
    constexpr std::size_t bytes = Half * sizeof(T), size = sizeof(typename L::Register);
#if defined(__AVX512F__)
    if constexpr (size == 64) {
        if constexpr (sizeof(T) == 8) {
            if constexpr (bytes == 32) return Batch(_mm512_shuffle_f64x2(v.batch, v.batch, 0x4E));
            if constexpr (bytes == 16) return Batch(_mm512_shuffle_f64x2(v.batch, v.batch, 0xB1));
            if constexpr (bytes == 8) return Batch(_mm512_permute_pd(v.batch, 0x55));
        } else {
            if constexpr (bytes == 32) return Batch(_mm512_shuffle_f32x4(v.batch, v.batch, 0x4E));
            if constexpr (bytes == 16) return Batch(_mm512_shuffle_f32x4(v.batch, v.batch, 0xB1));
            if constexpr (bytes == 8) return Batch(_mm512_permute_ps(v.batch, 0x4E));
            if constexpr (bytes == 4) return Batch(_mm512_permute_ps(v.batch, 0xB1));
        }
    } else
#endif
#if defined(__AVX__)
        if constexpr (size == 32) {
        if constexpr (sizeof(T) == 8) {
            if constexpr (bytes == 16) return Batch(_mm256_permute2f128_pd(v.batch, v.batch, 1));
            if constexpr (bytes == 8) return Batch(_mm256_permute_pd(v.batch, 5));
        } else {
            if constexpr (bytes == 16) return Batch(_mm256_permute2f128_ps(v.batch, v.batch, 1));
            if constexpr (bytes == 8) return Batch(_mm256_permute_ps(v.batch, 0x4E));
            if constexpr (bytes == 4) return Batch(_mm256_permute_ps(v.batch, 0xB1));
        }
    } else
#endif
#if defined(__SSE2__)
        if constexpr (size == 16) {
        if constexpr (sizeof(T) == 8)
            return Batch(_mm_shuffle_pd(v.batch, v.batch, 1));
        else if constexpr (bytes == 8)
            return Batch(_mm_shuffle_ps(v.batch, v.batch, 0x4E));
        else
            return Batch(_mm_shuffle_ps(v.batch, v.batch, 0xB1));
    } else
#endif
    {
        T in[L::width], out[L::width];
        v.store(in);
        for (std::size_t i = 0; i < L::width; ++i) out[i] = in[i ^ Half];
        return L::load(out);
    }
}

template <class Op, class L, std::size_t Half = L::width / 2>
[[gnu::always_inline]] inline FoldState<Op, typename L::value_type> fold_lane(const FoldState<Op, L>& v)
{
    if constexpr (Half == 0)
        return first_of(v);
    else
        return fold_lane<Op, L, Half / 2>(
            Op::combine(v, each_number([](L lane) { return swap_halves<Half>(lane); }, v)));
}

template <class L>
inline constexpr auto lane_index = [] {
    std::array<typename L::value_type, L::width> index{};
    for (std::size_t i = 0; i < L::width; ++i) index[i] = static_cast<typename L::value_type>(i);
    return index;
}();

/// `v` in its first `count` elements, what changes nothing in the others.
template <class Op, class L>
[[gnu::always_inline]] inline FoldState<Op, L> keep_first(const FoldState<Op, L>& v, std::size_t count)
{
    using T = typename L::value_type;
    const auto inside = L::load(lane_index<L>.data()) < L(static_cast<T>(count));
    return each_number([&](L lane, L other) { return where(inside, lane, other); }, v, none<Op, L>());
}

/// Register r with register r + half, and so on: the same halving, above the width of a lane.
template <class Op, std::size_t Count, class S> [[gnu::always_inline]] inline S fold_registers(S* acc)
{
    if constexpr (Count == 1) {
        return acc[0];
    } else {
        [&]<std::size_t... R>(std::index_sequence<R...>) {
            ((acc[R] = Op::combine(acc[R], acc[R + Count / 2])), ...);
        }(std::make_index_sequence<Count / 2>{});
        return fold_registers<Op, Count / 2>(acc);
    }
}

/// In blocks of Half lanes, a's and b's by turns: the lower (From = 0) or upper halves (From = Half) of each 2·Half lanes.
template <std::size_t Half, std::size_t From, class L, std::size_t... I>
[[gnu::always_inline]] inline L pick_halves(L a, L b, std::index_sequence<I...>)
{
    constexpr std::size_t width = L::width;
#if defined(__clang__)
    return L(typename L::Batch(__builtin_shufflevector(
        a.reg(), b.reg(),
        static_cast<int>(From + I / Half % 2 * width + I / (2 * Half) * (2 * Half) + I % Half)...)));
#else
    using Int = typename L::Int;
    typedef Int Indices __attribute__((vector_size(sizeof(typename L::Register))));
    return L(typename L::Batch(__builtin_shuffle(
        a.reg(), b.reg(),
        Indices{static_cast<Int>(From + I / Half % 2 * width + I / (2 * Half) * (2 * Half) + I % Half)...})));
#endif
}

/// Lane i: combine of row i's lanes, in the order of fold_lane. A row costs two shuffles instead of one for each halving.
template <class Op, std::size_t Half, class L> [[gnu::always_inline]] inline L fold_each(L* row)
{
    if constexpr (Half == 0) {
        return row[0];
    } else {
        constexpr auto all = std::make_index_sequence<L::width>{};
        [&]<std::size_t... R>(std::index_sequence<R...>) __attribute__((always_inline))
        {
            ((row[R] = Op::combine(pick_halves<Half, 0>(row[R], row[R + Half], all),
                                   pick_halves<Half, Half>(row[R], row[R + Half], all))),
             ...);
        }
        (std::make_index_sequence<Half>{});
        return fold_each<Op, Half / 2>(row);
    }
}

}  // namespace wengert::kernels::detail

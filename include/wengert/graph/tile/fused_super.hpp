// Super-instructions: two or three additions, subtractions and multiplications as one kernel over tiles, so that what is
// between them stays in a register. Each step rounds as it does alone (Lane keeps products from being contracted).
#pragma once

#include "../../kernels/cpu/elementwise.hpp"
#include "../../ops/math.hpp"

namespace wengert::tiling {

/// Of an accumulator x and an operand y. `reversed` is y − x.
enum class Arith : std::uint8_t { add, subtract, multiply, reversed, none };

namespace detail {

template <Arith op, class L> [[gnu::always_inline]] inline L arith(L x, L y)
{
    if constexpr (op == Arith::add)
        return x + y;
    else if constexpr (op == Arith::subtract)
        return x - y;
    else if constexpr (op == Arith::multiply)
        return x * y;
    else
        return y - x;
}

/// (a ∘ b) ∘ c
template <Arith first, Arith second> struct Chain2 {
    static constexpr std::size_t arity = 3;
    template <class L> [[gnu::always_inline]] static L value(L a, L b, L c)
    {
        return arith<second>(arith<first>(a, b), c);
    }
};
/// ((a ∘ b) ∘ c) ∘ d
template <Arith first, Arith second, Arith third> struct Chain3 {
    static constexpr std::size_t arity = 4;
    template <class L> [[gnu::always_inline]] static L value(L a, L b, L c, L d)
    {
        return arith<third>(arith<second>(arith<first>(a, b), c), d);
    }
};
/// (a ∘ b) ∘ (c ∘ d)
template <Arith left, Arith top, Arith right> struct Tree3 {
    static constexpr std::size_t arity = 4;
    template <class L> [[gnu::always_inline]] static L value(L a, L b, L c, L d)
    {
        return arith<top>(arith<left>(a, b), arith<right>(c, d));
    }
};

/// The loop of a super-instruction: two registers at a time, so that the counter costs half.
template <class F, class A, class T, std::size_t... k>
void super_loop(std::size_t n, const void* const* in, void* to)
{
    using V = Lane<T, A>;
    constexpr std::size_t w = V::width;
    T* out = static_cast<T*>(to);
    const T* const p[] = {static_cast<const T*>(in[k])...};
    std::size_t i = 0;
    for (; i + 2 * w <= n; i += 2 * w) {
        const V low = F::value(V::load(p[k] + i)...), high = F::value(V::load(p[k] + i + w)...);
        low.store(out + i);
        high.store(out + i + w);
    }
    for (; i < n; i += w) F::value(V::load_part(p[k] + i, n - i)...).store_part(out + i, n - i);
}

template <class F, class A, class T> constexpr TileKernel super_kernel()
{
    return []<std::size_t... k>(std::index_sequence<k...>) {
        return &super_loop<F, A, T, k...>;
    }(std::make_index_sequence<F::arity>());
}

constexpr Arith nth_arith(std::size_t i) { return static_cast<Arith>(i); }

/// All kernels of a dtype. The first step of a chain and both leaves of a tree take their operands in order, so that they
/// need no `reversed`.
template <class T, class A> struct SuperTable {
    template <std::size_t... i> static constexpr auto chains2(std::index_sequence<i...>)
    {
        return std::array<TileKernel, sizeof...(i)>{
            super_kernel<Chain2<nth_arith(i / 4), nth_arith(i % 4)>, A, T>()...};
    }
    template <std::size_t... i> static constexpr auto chains3(std::index_sequence<i...>)
    {
        return std::array<TileKernel, sizeof...(i)>{
            super_kernel<Chain3<nth_arith(i / 16), nth_arith(i / 4 % 4), nth_arith(i % 4)>, A, T>()...};
    }
    template <std::size_t... i> static constexpr auto trees3(std::index_sequence<i...>)
    {
        return std::array<TileKernel, sizeof...(i)>{
            super_kernel<Tree3<nth_arith(i / 9), nth_arith(i / 3 % 3), nth_arith(i % 3)>, A, T>()...};
    }
    static constexpr auto chain2 = chains2(std::make_index_sequence<12>());
    static constexpr auto chain3 = chains3(std::make_index_sequence<48>());
    static constexpr auto tree3 = trees3(std::make_index_sequence<27>());
};

constexpr std::size_t number(Arith a) { return static_cast<std::size_t>(a); }

template <class A, class T> Arith arith_of(TileKernel kernel)
{
    if (kernel == elementwise_primitive<Add, A, T, T, T>.value) return Arith::add;
    if (kernel == elementwise_primitive<Subtract, A, T, T, T>.value) return Arith::subtract;
    if (kernel == elementwise_primitive<Multiply, A, T, T, T>.value) return Arith::multiply;
    return Arith::none;
}

}  // namespace detail

/// Which of the combinable operations a primitive is. Told by the kernel, so that another one of the same name is not.
template <class A = xsimd::default_arch> Arith arith_kind(const Primitive& p)
{
    if (p.dtype == DType::float32) return detail::arith_of<A, float>(p.value);
    if (p.dtype == DType::float64) return detail::arith_of<A, double>(p.value);
    return Arith::none;
}

template <class A = xsimd::default_arch> bool is_square(const Primitive& p)
{
    return (p.dtype == DType::float32 && p.value == elementwise_primitive<Square, A, float, float>.value) ||
           (p.dtype == DType::float64 && p.value == elementwise_primitive<Square, A, double, double>.value);
}

/// (a ∘ b) ∘ c, or ((a ∘ b) ∘ c) ∘ d where there is a third.
template <class A = xsimd::default_arch>
TileKernel chain_kernel(DType t, Arith first, Arith second, Arith third)
{
    using detail::number;
    const std::size_t two = number(first) * 4 + number(second), three = two * 4 + number(third);
    if (third == Arith::none)
        return t == DType::float32 ? detail::SuperTable<float, A>::chain2[two]
                                   : detail::SuperTable<double, A>::chain2[two];
    return t == DType::float32 ? detail::SuperTable<float, A>::chain3[three]
                               : detail::SuperTable<double, A>::chain3[three];
}

/// (a ∘ b) ∘ (c ∘ d)
template <class A = xsimd::default_arch> TileKernel tree_kernel(DType t, Arith left, Arith top, Arith right)
{
    const std::size_t i = detail::number(left) * 9 + detail::number(top) * 3 + detail::number(right);
    return t == DType::float32 ? detail::SuperTable<float, A>::tree3[i]
                               : detail::SuperTable<double, A>::tree3[i];
}

}  // namespace wengert::tiling

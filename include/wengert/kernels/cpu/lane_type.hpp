#pragma once

#include "../../base/literal.hpp"
#include "../../base/scalar_math.hpp"
#include "../../base/site.hpp"
#include "registers.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

/// One SIMD register of floats or doubles, as a value that the rules of primitives can be written over.
///
/// Every type and function here has the instruction set `A` in its name, so that two translation units
/// compiled with different -march options can be linked and each keeps its own code.
///
/// Results of + − × ÷ are those of IEEE arithmetic, one rounding each: compilers are kept from fusing a
/// product into a sum (`unfused` below) and, whatever their options, from reordering sums (`in_order`; for clang the
/// pragma: only operators written here obey it, not xsimd's). Where a fused multiply-add is wanted, `fma(a, b, c)` says so.
#if defined(__clang__)
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)
#endif

namespace wengert {

template <class T, class A = xsimd::default_arch> struct Lane;
template <class T, class A> struct LaneMask;
template <class T, class A> struct LaneInteger;

namespace detail {

/// `value` itself, of which the compiler does not know how it was computed. The empty asm keeps it in its register.
/// (GCC 12's __builtin_assoc_barrier does the same but takes 16 floats apart one by one.)
template <class Register> [[gnu::always_inline]] inline Register opaque(Register value)
{
#if defined(__AVX512F__)
    asm("" : "+v"(value));
#elif defined(__x86_64__)
    asm("" : "+x"(value));
#elif defined(__aarch64__)
    asm("" : "+w"(value));
#endif
    return value;
}

/// A sum, difference or quotient that takes part in no reordering.
template <class Register> [[gnu::always_inline]] inline Register in_order(Register value)
{
    if constexpr (loose_arithmetic)
        return opaque(value);
    else
        return value;
}

/// A product that is not fused into a following sum.
template <class Register> [[gnu::always_inline]] inline Register unfused(Register product)
{
#if defined(__clang__) || !(defined(__FMA__) || defined(__ARM_FEATURE_FMA))
    return in_order(product);
#else
    return opaque(product);
#endif
}

template <class T, class A, class F>
[[gnu::noinline, gnu::cold]] Lane<T, A> patched(LaneMask<T, A> m, Lane<T, A> y, F, Lane<T, A> x)
{
    return where(m, F::of(x), y);
}

template <class T, class A, class F>
[[gnu::noinline, gnu::cold]] Lane<T, A> patched_of_two(LaneMask<T, A> m, Lane<T, A> x, F, Lane<T, A> y)
{
    return where(m, F::of(x, y), x);
}

/// The bits of the first `count` elements set: what AVX-512 takes as a mask.
[[gnu::always_inline]] constexpr unsigned first_bits(std::size_t count) { return (1U << count) - 1U; }

}  // namespace detail

template <class T, class A> struct LaneMask {
    using Batch = registers::batch_bool<T, A>;
    Batch batch;

    LaneMask() = default;
    LaneMask(Batch b) : batch(b) {}
    explicit LaneMask(bool value) : batch(value) {}

    friend LaneMask operator&(LaneMask a, LaneMask b) { return a.batch & b.batch; }
    friend LaneMask operator|(LaneMask a, LaneMask b) { return a.batch | b.batch; }
    /// Spelled out: xsimd 8.1's ^ of AVX-512 masks is an "or".
    friend LaneMask operator^(LaneMask a, LaneMask b) { return (a | b) & !(a & b); }
    friend LaneMask operator&&(LaneMask a, LaneMask b) { return a.batch & b.batch; }
    friend LaneMask operator||(LaneMask a, LaneMask b) { return a.batch | b.batch; }
    friend LaneMask operator!(LaneMask a) { return ~a.batch; }
    friend bool any(LaneMask a) { return registers::any(a.batch); }
    friend bool all(LaneMask a) { return registers::all(a.batch); }
};

/// The bits of a register as whole numbers of the elements' width.
template <class T, class A> struct LaneInteger {
    using Int = BitsOf<T>;
    using Batch = registers::batch<Int, A>;
    using Unsigned = registers::batch<std::make_unsigned_t<Int>, A>;
    Batch batch;

    LaneInteger(Batch b) : batch(b) {}
    explicit LaneInteger(Int value) : batch(value) {}

    friend LaneInteger operator+(LaneInteger a, LaneInteger b) { return a.batch + b.batch; }
    friend LaneInteger operator&(LaneInteger a, LaneInteger b) { return a.batch & b.batch; }
    friend LaneInteger operator|(LaneInteger a, LaneInteger b) { return a.batch | b.batch; }
    friend LaneInteger shift_left(LaneInteger a, int n) { return a.batch << n; }
    /// Zeros come in.
    friend LaneInteger shift_right(LaneInteger a, int n)
    {
        const Unsigned moved = as<Unsigned>(a.batch) >> n;
        return as<Batch>(moved);
    }

private:
    template <class To, class From> static To as(From from)
    {
        return To(std::bit_cast<typename To::register_type>(static_cast<typename From::register_type>(from)));
    }
};

template <class T, class A> struct Lane {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
    using value_type = T;
    using arch_type = A;
    using Batch = registers::batch<T, A>;
    using Register = typename Batch::register_type;
    using Mask = LaneMask<T, A>;
    using Integer = LaneInteger<T, A>;
    using Int = typename Integer::Int;
    static constexpr std::size_t width = Batch::size;
#if defined(__x86_64__) && !defined(__FMA__) && !defined(__AVX512F__)
    static constexpr bool fused = false;
#else
    static constexpr bool fused = true;  ///< fma has one rounding
#endif
#if defined(__AVX512F__)
    static constexpr bool may_scale = sizeof(Register) == 64;
#else
    static constexpr bool may_scale = false;
#endif
    static constexpr bool scales() { return may_scale; }

    Batch batch;

    Lane() = default;
    Lane(Batch b) : batch(b) {}
    Lane(T value) : batch(value) {}
    Lane(Literal value) : batch(static_cast<T>(value.value)) {}

    static Lane load(const T* p) { return Batch::load_unaligned(p); }
    void store(T* p) const { batch.store_unaligned(p); }
    static Lane load_part(const T* p, std::size_t count) { return load_part(p, count, Lane(T(0))); }
    static Lane load_part(const T* p, std::size_t count, Lane fill);
    void store_part(T* p, std::size_t count) const;

    T first() const { return batch.get(0); }

    /// A function of numbers (functions/calls.hpp), by its approximation or by what it is composed of: lane_math.hpp.
    template <class F> static constexpr int calls = 1;
    template <class F> static Lane call(Lane x, const Site&);
    template <class F> [[gnu::always_inline]] static Lane call(Lane x, Lane y, const Site&);

    Register reg() const { return batch; }
    friend Lane operator+(Lane a, Lane b) { return Batch(detail::in_order<Register>(a.reg() + b.reg())); }
    friend Lane operator-(Lane a, Lane b) { return Batch(detail::in_order<Register>(a.reg() - b.reg())); }
    friend Lane operator*(Lane a, Lane b) { return Batch(detail::unfused<Register>(a.reg() * b.reg())); }
    friend Lane operator/(Lane a, Lane b)
    {
        return Batch(detail::in_order<Register>(a.reg() / detail::in_order(b.reg())));
    }
    friend Lane operator+(Lane a) { return a; }
    friend Lane operator-(Lane a) { return registers::bitwise_xor(a.batch, Batch(T(-0.0))); }
    Lane& operator+=(Lane b) { return *this = *this + b; }
    Lane& operator-=(Lane b) { return *this = *this - b; }
    Lane& operator*=(Lane b) { return *this = *this * b; }
    Lane& operator/=(Lane b) { return *this = *this / b; }

    friend Mask operator==(Lane a, Lane b) { return a.batch == b.batch; }
    /// Not xsimd's !=, which 8.1 has as "ordered and unequal" on AVX: false for NaN.
    friend Mask operator!=(Lane a, Lane b) { return !(a == b); }
    friend Mask operator<(Lane a, Lane b) { return a.batch < b.batch; }
    friend Mask operator<=(Lane a, Lane b) { return a.batch <= b.batch; }
    friend Mask operator>(Lane a, Lane b) { return a.batch > b.batch; }
    friend Mask operator>=(Lane a, Lane b) { return a.batch >= b.batch; }

    friend Lane where(Mask m, Lane a, Lane b) { return registers::select(m.batch, a.batch, b.batch); }
    /// a·b + c in one rounding where the target has the instruction, in two where it has not.
    friend Lane fma(Lane a, Lane b, Lane c)
    {
        if constexpr (!fused)
            return a * b + c;
        else
            return Batch(detail::in_order<Register>(registers::fma(a.batch, b.batch, c.batch)));
    }
    /// In line: the arithmetic machine would save its registers around a call.
    [[gnu::always_inline]] friend Lane maximum(Lane a, Lane b) { return where((a > b) | is_nan(a), a, b); }
    [[gnu::always_inline]] friend Lane minimum(Lane a, Lane b) { return where((a < b) | is_nan(a), a, b); }
    friend Lane copysign(Lane magnitude, Lane s) { return (s.batch & Batch(T(-0.0))) | abs(magnitude).batch; }

    friend Lane abs(Lane x) { return registers::abs(x.batch); }
    friend Lane sqrt(Lane x) { return registers::sqrt(x.batch); }
    friend Lane square(Lane x) { return x * x; }
#if defined(__x86_64__) && !defined(__SSE4_1__)
    friend Lane round_even(Lane x)
    {
        const Lane a = abs(x), whole(T(sizeof(T) == 8 ? 0x1p52 : 0x1p23));
        return copysign(where(a < whole, (a + whole) - whole, x), x);
    }
    friend Lane floor(Lane x)
    {
        const Lane r = round_even(x);
        return copysign(where(r > x, r - Lane(T(1)), r), x);
    }
    friend Lane ceil(Lane x)
    {
        const Lane r = round_even(x);
        return copysign(where(r < x, r + Lane(T(1)), r), x);
    }
#else
    // copysign: xsimd may go through integers, which have no −0.
    friend Lane floor(Lane x) { return copysign(Lane(registers::floor(x.batch)), x); }
    friend Lane ceil(Lane x) { return copysign(Lane(registers::ceil(x.batch)), x); }
    /// Halves go to the even neighbour, as NumPy's round.
    friend Lane round_even(Lane x) { return copysign(Lane(registers::nearbyint(x.batch)), x); }
#endif
    friend Lane round(Lane x) { return round_even(x); }
    friend Lane nearbyint(Lane x) { return round_even(x); }
    friend Lane sign(Lane x)
    {
        const Lane one(T(1)), zero(T(0));
        return where(x > zero, one, where(x < zero, -one, where(x == zero, zero, x)));
    }
    /// bound < x ? bound : x, so that a NaN in x stays.
    friend Lane at_most(Lane x, Lane bound)
    {
#if defined(__AVX512F__)
        if constexpr (sizeof(Register) == 64) {
            if constexpr (sizeof(T) == 4)
                return Batch(_mm512_min_ps(bound.reg(), x.reg()));
            else
                return Batch(_mm512_min_pd(bound.reg(), x.reg()));
        } else
#endif
            return where(x > bound, bound, x);
    }
    friend Lane at_least(Lane x, Lane bound)
    {
#if defined(__AVX512F__)
        if constexpr (sizeof(Register) == 64) {
            if constexpr (sizeof(T) == 4)
                return Batch(_mm512_max_ps(bound.reg(), x.reg()));
            else
                return Batch(_mm512_max_pd(bound.reg(), x.reg()));
        } else
#endif
            return where(x < bound, bound, x);
    }
    /// r, or 0 where g == probe and r is not finite. This is the zero-cotangent rule in one comparison and one table of AVX-512.
    /// The table maps ±inf and NaN to 0 and keeps all else.
    friend Lane unless_zero_cotangent(Lane g, Lane probe, Lane r)
    {
#if defined(__AVX512F__)
        if constexpr (sizeof(Register) == 64) {
            constexpr int inf_and_nan = 0x00880088;
            if constexpr (sizeof(T) == 4)
                return Batch(_mm512_mask_fixupimm_ps(r.reg(),
                                                     _mm512_cmp_ps_mask(g.reg(), probe.reg(), _CMP_EQ_OQ),
                                                     r.reg(), _mm512_set1_epi32(inf_and_nan), 0));
            else
                return Batch(_mm512_mask_fixupimm_pd(r.reg(),
                                                     _mm512_cmp_pd_mask(g.reg(), probe.reg(), _CMP_EQ_OQ),
                                                     r.reg(), _mm512_set1_epi64(inf_and_nan), 0));
        } else
#endif
            return where((g == probe) & !is_finite(r), Lane(T(0)), r);
    }
    friend Mask is_nan(Lane x) { return registers::isnan(x.batch); }
    friend Mask is_finite(Lane x) { return abs(x) <= Lane(std::numeric_limits<T>::max()); }

    Integer bits() const
    {
        using IntRegister = typename Integer::Batch::register_type;
        return typename Integer::Batch(std::bit_cast<IntRegister>(static_cast<Register>(batch)));
    }
    static Lane from_bits(Integer b)
    {
        using IntRegister = typename Integer::Batch::register_type;
        return Batch(std::bit_cast<Register>(static_cast<IntRegister>(b.batch)));
    }
#if defined(__AVX512F__)
    /// x 2ⁿ for whole n, rounded once.
    friend Lane times_pow2(Lane x, Lane n)
    {
        if constexpr (sizeof(T) == 4)
            return Batch(_mm512_scalef_ps(x.reg(), n.reg()));
        else
            return Batch(_mm512_scalef_pd(x.reg(), n.reg()));
    }
#endif
    /// f of x where the mask says so, y elsewhere.
    template <class F> friend Lane seldom(Mask m, Lane y, F f, Lane x)
    {
        if (any(m)) [[unlikely]]
            return detail::patched(m, y, f, x);
        return y;
    }
    /// f of x and y where the mask says so, x elsewhere.
    template <class F> friend Lane seldom_of_two(Mask m, Lane x, F f, Lane y)
    {
        if (any(m)) [[unlikely]]
            return detail::patched_of_two(m, x, f, y);
        return x;
    }
};

/// The first `count` elements at `p`, those of `fill` behind them. Reads nothing beyond.
template <class T, class A> inline Lane<T, A> Lane<T, A>::load_part(const T* p, std::size_t count, Lane fill)
{
    if (count >= width) return load(p);
#if defined(__AVX512F__)
    if constexpr (sizeof(Register) == 64) {
        const unsigned bits = detail::first_bits(count);
        if constexpr (sizeof(T) == 4)
            return Batch(_mm512_mask_loadu_ps(fill.batch, static_cast<__mmask16>(bits), p));
        else
            return Batch(_mm512_mask_loadu_pd(fill.batch, static_cast<__mmask8>(bits), p));
    }
#endif
#if defined(__AVX__)  // a buffer would be loaded while its elements are still on their way
    if constexpr (sizeof(Register) == 32) {
        if constexpr (sizeof(T) == 4) {
            alignas(32) static constexpr std::int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
            const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones + 8 - count));
            return Batch(
                _mm256_blendv_ps(fill.batch, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask)));
        } else {
            alignas(32) static constexpr std::int64_t ones[8] = {-1, -1, -1, -1};
            const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones + 4 - count));
            return Batch(
                _mm256_blendv_pd(fill.batch, _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask)));
        }
    }
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(Register) == 16) {
        if (count == 0) return fill;
        if constexpr (sizeof(T) == 8)
            return Batch(_mm_loadl_pd(fill.batch, p));
        else {
            if (count == 1) return Batch(_mm_move_ss(fill.batch, _mm_load_ss(p)));
            const __m128 two = _mm_loadl_pi(fill.batch, reinterpret_cast<const __m64*>(p));
            if (count == 2) return Batch(two);
            const __m128 last = _mm_shuffle_ps(_mm_load_ss(p + 2), fill.batch, _MM_SHUFFLE(3, 3, 0, 0));
            return Batch(_mm_shuffle_ps(two, last, _MM_SHUFFLE(2, 0, 1, 0)));
        }
    }
#endif
    alignas(Batch) T buffer[width];
    fill.store(buffer);
    for (std::size_t i = 0; i < count; ++i) buffer[i] = p[i];
    return load(buffer);
}

template <class T, class A> inline void Lane<T, A>::store_part(T* p, std::size_t count) const
{
    if (count >= width) return store(p);
#if defined(__AVX512F__)
    if constexpr (sizeof(Register) == 64) {
        const unsigned bits = detail::first_bits(count);
        if constexpr (sizeof(T) == 4)
            _mm512_mask_storeu_ps(p, static_cast<__mmask16>(bits), batch);
        else
            _mm512_mask_storeu_pd(p, static_cast<__mmask8>(bits), batch);
        return;
    }
#endif
    alignas(Batch) T buffer[width];
    store(buffer);
    for (std::size_t i = 0; i < count; ++i) p[i] = buffer[i];
}

}  // namespace wengert

#if defined(__clang__)
#pragma float_control(pop)
#endif

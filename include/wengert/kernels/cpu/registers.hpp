// What Lane asks of registers, by instruction set: on x86 the compiler's intrinsics, elsewhere xsimd's batches.
//
// Of xsimd there is the list of instruction sets, one of which is part of every kernel's name. Its batches take as long to read
// as half of xtensor.
#pragma once

#include <concepts>
#include <cstddef>

#include "simd.hpp"

namespace wengert::registers {

#if defined(__SSE2__)

template <class T, class A> using register_of = typename xsimd::types::simd_register<T, A>::register_type;

template <class A, std::size_t bytes = sizeof(register_of<float, A>)> struct Intrinsics;

template <class A> struct Intrinsics<A, 16> {
    using F = __m128;
    using D = __m128d;
    static F filled(float v) { return _mm_set1_ps(v); }
    static D filled(double v) { return _mm_set1_pd(v); }
    static F load(const float* p) { return _mm_loadu_ps(p); }
    static D load(const double* p) { return _mm_loadu_pd(p); }
    /// Loads 16 bytes from each of several places, which are `step` elements apart. low() and high() interleave the low and the high
    /// halves of each 16 bytes of a and b.
    static F parts(const float* p, std::ptrdiff_t) { return load(p); }
    static D parts(const double* p, std::ptrdiff_t) { return load(p); }
    static F low(F a, F b) { return _mm_unpacklo_ps(a, b); }
    static D low(D a, D b) { return _mm_unpacklo_pd(a, b); }
    static F high(F a, F b) { return _mm_unpackhi_ps(a, b); }
    static D high(D a, D b) { return _mm_unpackhi_pd(a, b); }
    static void store(float* p, F v) { _mm_storeu_ps(p, v); }
    static void store(double* p, D v) { _mm_storeu_pd(p, v); }
    static F with(F a, F b) { return _mm_and_ps(a, b); }
    static D with(D a, D b) { return _mm_and_pd(a, b); }
    static F without(F a, F b) { return _mm_andnot_ps(b, a); }
    static D without(D a, D b) { return _mm_andnot_pd(b, a); }
    static F either(F a, F b) { return _mm_or_ps(a, b); }
    static D either(D a, D b) { return _mm_or_pd(a, b); }
    static F differing(F a, F b) { return _mm_xor_ps(a, b); }
    static D differing(D a, D b) { return _mm_xor_pd(a, b); }
    static F equal(F a, F b) { return _mm_cmpeq_ps(a, b); }
    static D equal(D a, D b) { return _mm_cmpeq_pd(a, b); }
    static F less(F a, F b) { return _mm_cmplt_ps(a, b); }
    static D less(D a, D b) { return _mm_cmplt_pd(a, b); }
    static F less_equal(F a, F b) { return _mm_cmple_ps(a, b); }
    static D less_equal(D a, D b) { return _mm_cmple_pd(a, b); }
    static F unordered(F a, F b) { return _mm_cmpunord_ps(a, b); }
    static D unordered(D a, D b) { return _mm_cmpunord_pd(a, b); }
    static unsigned signs(F m) { return static_cast<unsigned>(_mm_movemask_ps(m)); }
    static unsigned signs(D m) { return static_cast<unsigned>(_mm_movemask_pd(m)); }
    static F sqrt(F x) { return _mm_sqrt_ps(x); }
    static D sqrt(D x) { return _mm_sqrt_pd(x); }
#if defined(__SSE4_1__)
    static F where(F m, F a, F b) { return _mm_blendv_ps(b, a, m); }
    static D where(D m, D a, D b) { return _mm_blendv_pd(b, a, m); }
    static F floor(F x) { return _mm_floor_ps(x); }
    static D floor(D x) { return _mm_floor_pd(x); }
    static F ceil(F x) { return _mm_ceil_ps(x); }
    static D ceil(D x) { return _mm_ceil_pd(x); }
    static F nearbyint(F x) { return _mm_round_ps(x, _MM_FROUND_TO_NEAREST_INT); }
    static D nearbyint(D x) { return _mm_round_pd(x, _MM_FROUND_TO_NEAREST_INT); }
#else
    static F where(F m, F a, F b) { return either(with(m, a), without(b, m)); }
    static D where(D m, D a, D b) { return either(with(m, a), without(b, m)); }
#endif
#if defined(__FMA__)
    static F fma(F a, F b, F c) { return _mm_fmadd_ps(a, b, c); }
    static D fma(D a, D b, D c) { return _mm_fmadd_pd(a, b, c); }
#endif
};

#if defined(__AVX__)
template <class A> struct Intrinsics<A, 32> {
    using F = __m256;
    using D = __m256d;
    static F filled(float v) { return _mm256_set1_ps(v); }
    static D filled(double v) { return _mm256_set1_pd(v); }
    static F load(const float* p) { return _mm256_loadu_ps(p); }
    static D load(const double* p) { return _mm256_loadu_pd(p); }
    static F parts(const float* p, std::ptrdiff_t step)
    {
        return _mm256_set_m128(_mm_loadu_ps(p + step), _mm_loadu_ps(p));
    }
    static D parts(const double* p, std::ptrdiff_t step)
    {
        return _mm256_set_m128d(_mm_loadu_pd(p + step), _mm_loadu_pd(p));
    }
    static F low(F a, F b) { return _mm256_unpacklo_ps(a, b); }
    static D low(D a, D b) { return _mm256_unpacklo_pd(a, b); }
    static F high(F a, F b) { return _mm256_unpackhi_ps(a, b); }
    static D high(D a, D b) { return _mm256_unpackhi_pd(a, b); }
    static void store(float* p, F v) { _mm256_storeu_ps(p, v); }
    static void store(double* p, D v) { _mm256_storeu_pd(p, v); }
    static F with(F a, F b) { return _mm256_and_ps(a, b); }
    static D with(D a, D b) { return _mm256_and_pd(a, b); }
    static F without(F a, F b) { return _mm256_andnot_ps(b, a); }
    static D without(D a, D b) { return _mm256_andnot_pd(b, a); }
    static F either(F a, F b) { return _mm256_or_ps(a, b); }
    static D either(D a, D b) { return _mm256_or_pd(a, b); }
    static F differing(F a, F b) { return _mm256_xor_ps(a, b); }
    static D differing(D a, D b) { return _mm256_xor_pd(a, b); }
    static F equal(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
    static D equal(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
    static F less(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
    static D less(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
    static F less_equal(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
    static D less_equal(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_LE_OQ); }
    static F unordered(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
    static D unordered(D a, D b) { return _mm256_cmp_pd(a, b, _CMP_UNORD_Q); }
    static unsigned signs(F m) { return static_cast<unsigned>(_mm256_movemask_ps(m)); }
    static unsigned signs(D m) { return static_cast<unsigned>(_mm256_movemask_pd(m)); }
    static F where(F m, F a, F b) { return _mm256_blendv_ps(b, a, m); }
    static D where(D m, D a, D b) { return _mm256_blendv_pd(b, a, m); }
    static F sqrt(F x) { return _mm256_sqrt_ps(x); }
    static D sqrt(D x) { return _mm256_sqrt_pd(x); }
    static F floor(F x) { return _mm256_floor_ps(x); }
    static D floor(D x) { return _mm256_floor_pd(x); }
    static F ceil(F x) { return _mm256_ceil_ps(x); }
    static D ceil(D x) { return _mm256_ceil_pd(x); }
    static F nearbyint(F x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT); }
    static D nearbyint(D x) { return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT); }
#if defined(__FMA__)
    static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
    static D fma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
#endif
};
#endif

#if defined(__AVX512F__)
/// Masks are registers of their own, with a bit for each element.
template <class A> struct Intrinsics<A, 64> {
    using F = __m512;
    using D = __m512d;
    static __m512i bits(F x) { return _mm512_castps_si512(x); }
    static __m512i bits(D x) { return _mm512_castpd_si512(x); }
    static F filled(float v) { return _mm512_set1_ps(v); }
    static D filled(double v) { return _mm512_set1_pd(v); }
    static F load(const float* p) { return _mm512_loadu_ps(p); }
    static D load(const double* p) { return _mm512_loadu_pd(p); }
    static F parts(const float* p, std::ptrdiff_t step)
    {
        const F x = _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(p)), _mm_loadu_ps(p + step), 1);
        return _mm512_insertf32x4(_mm512_insertf32x4(x, _mm_loadu_ps(p + 2 * step), 2),
                                  _mm_loadu_ps(p + 3 * step), 3);
    }
    static D parts(const double* p, std::ptrdiff_t step)
    {
        const auto part = [&](int i) { return _mm_castpd_ps(_mm_loadu_pd(p + i * step)); };
        const F x = _mm512_insertf32x4(_mm512_castps128_ps512(part(0)), part(1), 1);
        return _mm512_castps_pd(_mm512_insertf32x4(_mm512_insertf32x4(x, part(2), 2), part(3), 3));
    }
    static F low(F a, F b) { return _mm512_unpacklo_ps(a, b); }
    static D low(D a, D b) { return _mm512_unpacklo_pd(a, b); }
    static F high(F a, F b) { return _mm512_unpackhi_ps(a, b); }
    static D high(D a, D b) { return _mm512_unpackhi_pd(a, b); }
    static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
    static void store(double* p, D v) { _mm512_storeu_pd(p, v); }
    static F with(F a, F b) { return _mm512_castsi512_ps(_mm512_and_si512(bits(a), bits(b))); }
    static D with(D a, D b) { return _mm512_castsi512_pd(_mm512_and_si512(bits(a), bits(b))); }
    static F without(F a, F b) { return _mm512_castsi512_ps(_mm512_andnot_si512(bits(b), bits(a))); }
    static D without(D a, D b) { return _mm512_castsi512_pd(_mm512_andnot_si512(bits(b), bits(a))); }
    static F either(F a, F b) { return _mm512_castsi512_ps(_mm512_or_si512(bits(a), bits(b))); }
    static D either(D a, D b) { return _mm512_castsi512_pd(_mm512_or_si512(bits(a), bits(b))); }
    static F differing(F a, F b) { return _mm512_castsi512_ps(_mm512_xor_si512(bits(a), bits(b))); }
    static D differing(D a, D b) { return _mm512_castsi512_pd(_mm512_xor_si512(bits(a), bits(b))); }
    static __mmask16 equal(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
    static __mmask8 equal(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
    static __mmask16 less(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
    static __mmask8 less(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
    static __mmask16 less_equal(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
    static __mmask8 less_equal(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
    static __mmask16 unordered(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
    static __mmask8 unordered(D a, D b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
    static __mmask16 with(__mmask16 a, __mmask16 b) { return static_cast<__mmask16>(a & b); }
    static __mmask8 with(__mmask8 a, __mmask8 b) { return static_cast<__mmask8>(a & b); }
    static __mmask16 either(__mmask16 a, __mmask16 b) { return static_cast<__mmask16>(a | b); }
    static __mmask8 either(__mmask8 a, __mmask8 b) { return static_cast<__mmask8>(a | b); }
    static __mmask16 differing(__mmask16 a, __mmask16 b) { return static_cast<__mmask16>(a ^ b); }
    static __mmask8 differing(__mmask8 a, __mmask8 b) { return static_cast<__mmask8>(a ^ b); }
    static unsigned signs(unsigned m) { return m; }
    static F where(__mmask16 m, F a, F b) { return _mm512_mask_blend_ps(m, b, a); }
    static D where(__mmask8 m, D a, D b) { return _mm512_mask_blend_pd(m, b, a); }
    static F sqrt(F x) { return _mm512_sqrt_ps(x); }
    static D sqrt(D x) { return _mm512_sqrt_pd(x); }
    static F floor(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF); }
    static D floor(D x) { return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEG_INF); }
    static F ceil(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_POS_INF); }
    static D ceil(D x) { return _mm512_roundscale_pd(x, _MM_FROUND_TO_POS_INF); }
    static F nearbyint(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }
    static D nearbyint(D x) { return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT); }
    static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    static D fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
};
#endif

template <class T, class A> struct batch;

/// What a comparison gives: below AVX-512 a register, with all bits of an element set or none.
template <class T, class A> struct batch_bool {
    using In = Intrinsics<A>;
    using register_type = decltype(In::less(register_of<T, A>(), register_of<T, A>()));
    static constexpr bool is_vector = sizeof(register_type) > sizeof(unsigned);
    static constexpr unsigned every = (1U << sizeof(register_of<T, A>) / sizeof(T)) - 1U;
    register_type data;

    batch_bool() = default;
    batch_bool(register_type r) : data(r) {}
    explicit batch_bool(bool v) : data(every_bit(v)) {}
    friend batch_bool operator&(batch_bool a, batch_bool b) { return In::with(a.data, b.data); }
    friend batch_bool operator|(batch_bool a, batch_bool b) { return In::either(a.data, b.data); }
    friend batch_bool operator~(batch_bool a) { return In::differing(a.data, every_bit(true)); }

private:
    static register_type every_bit(bool v)
    {
        if constexpr (is_vector) {
            const T zero(0);
            const register_type ones = In::equal(In::filled(zero), In::filled(zero));
            return v ? ones : In::filled(zero);
        } else
            return static_cast<register_type>(v ? every : 0U);
    }
};

/// A register of floats or doubles.
template <class T, class A> struct batch {
    using In = Intrinsics<A>;
    using Mask = batch_bool<T, A>;
    using register_type = register_of<T, A>;
    static constexpr std::size_t size = sizeof(register_type) / sizeof(T);
    register_type data;

    batch() = default;
    batch(register_type r) : data(r) {}
    batch(T v) : data(In::filled(v)) {}
    operator register_type() const { return data; }
    static batch load_unaligned(const T* p) { return In::load(p); }
    void store_unaligned(T* p) const { In::store(p, data); }
    T get(std::size_t i) const { return data[i]; }
    friend batch operator&(batch a, batch b) { return In::with(a.data, b.data); }
    friend batch operator|(batch a, batch b) { return In::either(a.data, b.data); }
    friend Mask operator==(batch a, batch b) { return In::equal(a.data, b.data); }
    friend Mask operator<(batch a, batch b) { return In::less(a.data, b.data); }
    friend Mask operator<=(batch a, batch b) { return In::less_equal(a.data, b.data); }
    friend Mask operator>(batch a, batch b) { return In::less(b.data, a.data); }
    friend Mask operator>=(batch a, batch b) { return In::less_equal(b.data, a.data); }
};

template <class T, class A> struct Whole {
    typedef T type __attribute__((vector_size(sizeof(register_of<float, A>))));
};
/// A register of whole numbers, by the compiler's own operators.
template <std::integral T, class A> struct batch<T, A> {
    using register_type = typename Whole<T, A>::type;
    register_type data;

    batch(register_type r) : data(r) {}
    batch(T v) : data(register_type{} + v) {}
    operator register_type() const { return data; }
    friend batch operator+(batch a, batch b) { return a.data + b.data; }
    friend batch operator&(batch a, batch b) { return a.data & b.data; }
    friend batch operator|(batch a, batch b) { return a.data | b.data; }
    friend batch operator<<(batch a, int n) { return a.data << n; }
    friend batch operator>>(batch a, int n) { return a.data >> n; }
};

template <class T, class A> bool any(batch_bool<T, A> m) { return Intrinsics<A>::signs(m.data) != 0; }
template <class T, class A> bool all(batch_bool<T, A> m)
{
    return Intrinsics<A>::signs(m.data) == batch_bool<T, A>::every;
}
template <class T, class A> batch_bool<T, A> isnan(batch<T, A> x)
{
    return Intrinsics<A>::unordered(x.data, x.data);
}
template <class T, class A> batch<T, A> select(batch_bool<T, A> m, batch<T, A> a, batch<T, A> b)
{
    return Intrinsics<A>::where(m.data, a.data, b.data);
}
template <class T, class A> batch<T, A> bitwise_xor(batch<T, A> a, batch<T, A> b)
{
    return Intrinsics<A>::differing(a.data, b.data);
}
template <class T, class A> batch<T, A> abs(batch<T, A> x)
{
    return Intrinsics<A>::without(x.data, Intrinsics<A>::filled(T(-0.0)));
}
template <class T, class A> batch<T, A> sqrt(batch<T, A> x) { return Intrinsics<A>::sqrt(x.data); }
template <class T, class A> batch<T, A> floor(batch<T, A> x) { return Intrinsics<A>::floor(x.data); }
template <class T, class A> batch<T, A> ceil(batch<T, A> x) { return Intrinsics<A>::ceil(x.data); }
template <class T, class A> batch<T, A> nearbyint(batch<T, A> x) { return Intrinsics<A>::nearbyint(x.data); }
template <class T, class A> batch<T, A> fma(batch<T, A> a, batch<T, A> b, batch<T, A> c)
{
    return Intrinsics<A>::fma(a.data, b.data, c.data);
}

#else
using namespace xsimd;
#endif

}  // namespace wengert::registers

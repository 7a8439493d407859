// The text that native code begins with: vectors as GCC and clang have them, without any include. A vector of N lanes is
// one register of the widest type that a loop reads; what is narrower takes a part of one.
#pragma once

namespace wengert::detail {

inline constexpr const char vector_text[] = R"wg(
typedef signed char i8; typedef unsigned char u8; typedef int i32; typedef long i64;
typedef unsigned u32; typedef unsigned long u64; typedef float f32; typedef double f64;
#if defined(__AVX512F__)
enum { register_bytes = 64 };
#elif defined(__AVX__)
enum { register_bytes = 32 };
#else
enum { register_bytes = 16 };
#endif
#define FN static inline __attribute__((always_inline))
template <class T, int N> struct Vec { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
template <class T, int N> using V = typename Vec<T, N>::type;
template <class T> struct bare { typedef T type; };
template <class T> struct bare<T&> { typedef T type; };
template <class T> struct bare<const T> { typedef T type; };
template <class T> struct bare<const T&> { typedef T type; };
template <class X> struct Of {
    static X& x();
    typedef typename bare<decltype(x()[0])>::type T;
    enum { N = sizeof(X) / sizeof(T) };
    typedef typename bare<decltype(x() < x())>::type M;
};
template <class X> using El = typename Of<X>::T;
template <class X> using Mask = typename Of<X>::M;

/* the same number in all lanes; subtracting keeps -0 */
template <class X> FN X K(El<X> c) { return c - X{}; }
template <class X, class T> FN X load(const T* p) { X x; __builtin_memcpy(&x, p, sizeof x); return x; }
template <class X, class T> FN void store(T* p, X x) { __builtin_memcpy(p, &x, sizeof x); }
/* C elements and zeros, where it can be not by way of memory: the load would wait for the stores */
template <class X, int C, class T> FN X load_part(const T* p)
{
    X x = {};
    if constexpr (C * sizeof(T) == 8 && sizeof(X) == 16) {
        i64 bits;
        __builtin_memcpy(&bits, p, 8);
        x = (X)V<i64, 2>{bits, 0};
    }
#if defined(__AVX__) && !defined(__clang__)
    else if constexpr (C == 3 && __is_same(X, V<f64, 4>))
        x = __builtin_ia32_maskloadpd256((const X*)p, V<long long, 4>{-1, -1, -1, 0});
#endif
    else if constexpr (C <= 3)
#pragma GCC unroll 4
        for (int l = 0; l < C; ++l) x[l] = p[l];
#if defined(__AVX512F__) && !defined(__clang__)
    else if constexpr (__is_same(X, V<f32, 16>)) x = __builtin_ia32_loadups512_mask(p, x, (1 << C) - 1);
    else if constexpr (__is_same(X, V<f64, 8>)) x = __builtin_ia32_loadupd512_mask(p, x, (1 << C) - 1);
#endif
    else
        __builtin_memcpy(&x, p, C * sizeof(T));
    return x;
}
template <int C> struct Count { enum { value = C }; };
template <class X, class T, int C> FN X get(const T* p, Count<C>)
{
    if constexpr (C == Of<X>::N) return load<X>(p);
    else return load_part<X, C>(p);
}
template <int C, class X, class T> FN void store_part(T* p, X x)
{
    if constexpr (C == 3)
        for (int l = 0; l < C; ++l) p[l] = x[l];
    else
        __builtin_memcpy(p, &x, C * sizeof(T));
}
template <class X, class T, int C> FN void put(T* p, Count<C>, X x)
{
    if constexpr (C == Of<X>::N) store(p, x);
    else store_part<C>(p, x);
}
/* body(j, count) over [0, n): whole vectors, the last of them again over what the one before has done; fewer than N at once */
template <int N, long n, class F> FN void along(F body)
{
    if constexpr (n < N)
        body(0L, Count<(int)n>());
    else
        for (long i = 0; i < n; i += N) body(n % N == 0 || i + N <= n ? i : n - N, Count<N>());
}
/* the same for loops that write where they read */
template <int N, long n, class F> FN void along_once(F body)
{
    for (long i = 0; i + N <= n; i += N) body(i, Count<N>());
    if constexpr (n % N != 0) body(n / N * N, Count<(int)(n % N)>());
}
/* phases (j, count, k) for some vectors each, k of them, before the next one (loop_phases.hpp): whole vectors up to end */
enum { phase_vectors = 8 };
template <int N, class... P> FN void phases_to(long end, P... phase)
{
    for (long i = 0; i < end; i += N * phase_vectors) {
        const int vectors = i + N * phase_vectors <= end ? phase_vectors : (end - i + N - 1) / N;
        const auto each_of = [&](auto f) __attribute__((always_inline)) {
            for (int k = 0; k < vectors; ++k) {
                const long j = i + k * N;
                f(end % N == 0 || j + N <= end ? j : end - N, Count<N>(), k);
            }
        };
        (each_of(phase), ...);
    }
}
template <int N, bool once, long n, class... P> FN void in_phases(P... phase)
{
    constexpr long end = once || n < N ? n / N * N : n;
    if constexpr (end > 0) phases_to<N>(end, phase...);
    if constexpr (end < n) (phase(end, Count<(int)(n - end)>(), 0), ...);
}
template <class X, class T> FN X gather(const T* p, long stride, int count)
{
    X x = {};
    for (int l = 0; l < count; ++l) x[l] = p[l * stride];
    return x;
}
template <class Y, class X> FN Y convert(X x) { return __builtin_convertvector(x, Y); }

/* masks are -1 or 0 in each lane, as wide as what was compared; bools in memory are bytes of 1 or 0 */
template <class M, class X> FN M mask_as(X m)
{
    if constexpr (__is_same(M, X)) return m;
    else return __builtin_convertvector(m, M);
}
template <class X> FN auto mask_of_bytes(X bytes) { return bytes != 0; }
template <int N, class M> FN V<i8, N> bytes_of_mask(M m) { return mask_as<V<i8, N>>(m) & 1; }
template <class C, class X> FN X sel(C c, X a, X b) { return mask_as<Mask<X>>(c) ? a : b; }
template <class A, class B> FN A both(A a, B b) { return a & mask_as<A>(b); }
template <class A, class B> FN A either(A a, B b) { return a | mask_as<A>(b); }
template <class A, class B> FN A differ(A a, B b) { return a ^ mask_as<A>(b); }
template <class M> FN M negate(M m) { return ~m; }

template <class M> FN bool any(M m)
{
    typename bare<decltype(m[0])>::type r = 0;
    for (int l = 0; l < Of<M>::N; ++l) r |= m[l];
    return r != 0;
}
/* f as a function that is called and not inlined, for loops that need it often */
template <auto f, class X> static __attribute__((noinline)) X called(X x) { return f(x); }
template <auto f, class X> static __attribute__((noinline)) X called2(X x, X y) { return f(x, y); }

/* f(x) where the mask says so */
template <auto f, class M, class X> FN X seldom(M m, X y, X x)
{
    return __builtin_expect(any(m), 0) ? sel(m, called<f>(x), y) : y;
}

/* f(x, y) where the mask says so, x elsewhere */
template <auto f, class M, class X> FN X seldom2(M m, X x, X y)
{
    return __builtin_expect(any(m), 0) ? sel(m, called2<f>(x, y), x) : x;
}

template <class X> constexpr bool wide = sizeof(El<X>) == 8;
template <class X> FN Mask<X> bits(X x) { return (Mask<X>)x; }
template <class X> FN X from_bits(Mask<X> b) { return (X)b; }
/* zeros come in */
template <int n, class I> FN I shift_right(I i) { return (i >> n) & K<I>((El<I>(1) << (8 * sizeof(El<I>) - n)) - 1); }
template <class X> FN X low_zero() { return K<X>(El<X>(-0.0)); }
template <class X> FN X abs_(X x)
{
    if constexpr (El<X>(0.5) == El<X>(0)) return x < 0 ? -x : x;
    else return from_bits<X>(bits(x) & ~bits(low_zero<X>()));
}
template <class X> FN X copysign_(X m, X s)
{
    return from_bits<X>((bits(s) & bits(low_zero<X>())) | bits(abs_(m)));
}
template <class X> FN X neg(X x)
{
    if constexpr (El<X>(0.5) == El<X>(0)) return -x;
    else return from_bits<X>(bits(x) ^ bits(low_zero<X>()));
}
template <class X> FN Mask<X> is_nan_(X x) { return x != x; }
template <class X> FN Mask<X> is_finite_(X x)
{
    if constexpr (El<X>(0.5) == El<X>(0)) return x == x;
    else return (x - x) == K<X>(0);
}
template <class X> FN X maximum_(X a, X b) { return ((a > b) | (a != a)) ? a : b; }
template <class X> FN X minimum_(X a, X b) { return ((a < b) | (a != a)) ? a : b; }
template <class X> FN X round_even_(X x)
{
    if constexpr (El<X>(0.5) == El<X>(0)) return x;
    else {
        const X magic = K<X>(wide<X> ? El<X>(0x1p52) : El<X>(0x1p23F)), a = abs_(x);
        return a < magic ? copysign_((a + magic) - magic, x) : x;
    }
}
template <class X> FN X floor_(X x)
{
    if constexpr (El<X>(0.5) == El<X>(0)) return x;
    else {
        const X r = round_even_(x);
        return copysign_<X>(r > x ? r - K<X>(1) : r, x);
    }
}
template <class X> FN X ceil_(X x)
{
    if constexpr (El<X>(0.5) == El<X>(0)) return x;
    else {
        const X r = round_even_(x);
        return copysign_<X>(r < x ? r + K<X>(1) : r, x);
    }
}
template <class X> FN X sign_(X x)
{
    return x > 0 ? K<X>(1) : (x < 0 ? K<X>(-1) : (x == 0 ? K<X>(0) : x));
}
/* What AVX-512 has an instruction for; the results are those of the formulas used elsewhere. */
#if defined(__AVX512F__) && !defined(__clang__)
template <class X> constexpr bool full_register = __is_same(X, V<f32, 16>) || __is_same(X, V<f64, 8>);
template <class X> FN X low_of(X bound, X x) /* bound < x ? bound : x, so that NaN stays */
{
    if constexpr (__is_same(X, V<f32, 16>)) return __builtin_ia32_minps512_mask(bound, x, x, -1, 4);
    else return __builtin_ia32_minpd512_mask(bound, x, x, -1, 4);
}
template <class X> FN X high_of(X bound, X x)
{
    if constexpr (__is_same(X, V<f32, 16>)) return __builtin_ia32_maxps512_mask(bound, x, x, -1, 4);
    else return __builtin_ia32_maxpd512_mask(bound, x, x, -1, 4);
}
template <class X> FN X times_pow2_(X x, X n) /* x 2^n, rounded once */
{
    if constexpr (__is_same(X, V<f32, 16>)) return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4);
    else return __builtin_ia32_scalefpd512_mask(x, n, x, -1, 4);
}
template <class X> FN X zero_if_not_finite(X g, X zero, X r) /* where g is `zero` */
{
    typedef long long i64x8 __attribute__((vector_size(64)));
    if constexpr (__is_same(X, V<f32, 16>))
        return __builtin_ia32_fixupimmps512_mask(r, r, V<i32, 16>{} + 0x00880088, 0, __builtin_ia32_cmpps512_mask(g, zero, 0, -1, 4), 4);
    else
        return __builtin_ia32_fixupimmpd512_mask(r, r, i64x8{} + 0x00880088, 0, __builtin_ia32_cmppd512_mask(g, zero, 0, -1, 4), 4);
}
#else
template <class X> constexpr bool full_register = false;
template <class X> X low_of(X, X);
template <class X> X high_of(X, X);
template <class X> X times_pow2_(X, X);
template <class X> X zero_if_not_finite(X, X, X);
#endif
template <class X> FN X at_most_(X x, X bound)
{
    if constexpr (full_register<X>) return low_of(bound, x);
    else return x > bound ? bound : x;
}
template <class X> FN X at_least_(X x, X bound)
{
    if constexpr (full_register<X>) return high_of(bound, x);
    else return x < bound ? bound : x;
}
/* r, or 0 where g is 0 and r is not finite: the zero-cotangent rule; zero is NaN where it is switched off */
template <class X> FN X guarded(X g, El<X> zero, X r)
{
    if constexpr (full_register<X>) return zero_if_not_finite(g, K<X>(zero), r);
    else return g == K<X>(zero) ? ((r - r) == K<X>(0) ? r : K<X>(0)) : r;
}

/* in one rounding if the kernels of the program that wrote this have it so, in two otherwise */
template <class X> FN X fma_each(X a, X b, X c)
{
#if WG_FUSED
    for (int l = 0; l < Of<X>::N; ++l) c[l] = sizeof(c[0]) == 8 ? __builtin_fma(a[l], b[l], c[l]) : __builtin_fmaf(a[l], b[l], c[l]);
    return c;
#else
    return a * b + c;
#endif
}
template <class X> FN X fma_(X a, X b, X c)
{
#if defined(__AVX512F__) && WG_FUSED
    if constexpr (__is_same(X, V<f32, 16>)) return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
    else if constexpr (__is_same(X, V<f64, 8>)) return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
    else
#endif
#if defined(__FMA__) && defined(__x86_64__) && WG_FUSED
    if constexpr (__is_same(X, V<f32, 8>)) return __builtin_ia32_vfmaddps256(a, b, c);
    else if constexpr (__is_same(X, V<f64, 4>)) return __builtin_ia32_vfmaddpd256(a, b, c);
    else if constexpr (__is_same(X, V<f32, 4>)) return __builtin_ia32_vfmaddps(a, b, c);
    else if constexpr (__is_same(X, V<f64, 2>)) return __builtin_ia32_vfmaddpd(a, b, c);
    else
#endif
    return fma_each(a, b, c);
}
/* both compilers make one instruction of this, clang when the loop is unrolled */
template <class X> FN X sqrt_(X x)
{
#pragma clang loop unroll(full)
    for (int l = 0; l < Of<X>::N; ++l) x[l] = sizeof(x[0]) == 8 ? __builtin_sqrt(x[l]) : __builtin_sqrtf(x[l]);
    return x;
}
)wg";

}  // namespace wengert::detail

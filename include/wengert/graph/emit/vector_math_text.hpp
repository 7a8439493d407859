// The maths of native code, as text: the formulas of kernels/cpu/lane_*.hpp, step by step. A function's value is within 1 ULP
// of what that kernel gives (composed ones within 2), so the bounds stated in kernels/cpu/lane_math.hpp hold here with 1 ULP
// more. What those leave to the C library, and the inverse circular functions, go to the C library element by element: they
// differ from the kernels by up to 4 ULP (atan2: 6), the kernels' own error. tests/graph/test_native_primitives.cpp.
#pragma once

namespace wengert::detail {

inline constexpr const char vector_math_text[] = R"wg(
template <class X> constexpr bool wide = sizeof(El<X>) == 8;
template <class X> FN X poly(X, El<X> c0) { return K<X>(c0); }
template <class X, class... C> FN X poly(X x, El<X> c0, C... more) { return fma_(poly<X>(x, (El<X>)more...), x, K<X>(c0)); }
template <class X, class F> FN X each(X x, F f)
{
    for (int l = 0; l < Of<X>::N; ++l) x[l] = f(x[l]);
    return x;
}
template <class X, class F> FN X each(X x, X y, F f)
{
    for (int l = 0; l < Of<X>::N; ++l) x[l] = f(x[l], y[l]);
    return x;
}
template <class M> FN bool any(M m)
{
    typename bare<decltype(m[0])>::type r = 0;
    for (int l = 0; l < Of<M>::N; ++l) r |= m[l];
    return r != 0;
}
template <class X> struct Format {
    typedef El<X> T;
    static constexpr int mantissa_bits = wide<X> ? 52 : 23;
    static constexpr T bias = wide<X> ? 1023 : 127;
    static constexpr T rounder = wide<X> ? T(0x1.8p52) : T(0x1.8p23F);
    static constexpr T ln2_hi = wide<X> ? T(0x1.62e42feep-1) : T(0x1.62e4p-1F);
    static constexpr T ln2_lo = wide<X> ? T(0x1.a39ef35793c76p-33) : T(0x1.7f7d1cp-20F);
    static constexpr T exp_max = wide<X> ? T(710) : T(89), exp_min = wide<X> ? T(-745.14) : T(-103.98F);
    static constexpr T expm1_min = wide<X> ? -38 : -18;
    static constexpr T denormal_scale = wide<X> ? T(0x1p54) : T(0x1p25F), denormal_exponent = wide<X> ? 54 : 25;
    static constexpr T exponent_magic = wide<X> ? T(0x1p52) : T(0x1p23F);
    static constexpr T smallest = wide<X> ? T(0x1p-1022) : T(0x1p-126F);
    static constexpr T inf = T(__builtin_inf());
};
template <class X> FN X pow2(X n)
{
    typedef Format<X> F;
    return from_bits<X>(bits(n + K<X>(F::rounder + F::bias)) << F::mantissa_bits);
}
/* 2^n, rounded to a whole number within `shifted` */
template <class X> FN X pow2_of_shifted(X shifted) { return from_bits<X>(bits(shifted) << Format<X>::mantissa_bits); }
template <class X> FN X round_small(X x) { const X r = K<X>(Format<X>::rounder); return (x + r) - r; }
template <class X> FN void exp_reduce(X x, X& n, X& r)
{
    typedef Format<X> F;
    n = fma_(x, K<X>(El<X>(1.44269504088896340736)), K<X>(F::rounder)) - K<X>(F::rounder);
    r = fma_(n, K<X>(-F::ln2_lo), fma_(n, K<X>(-F::ln2_hi), x));
}
/* the same; 2^n, which is a normal number */
template <class X> FN X exp_reduce_scaled(X x, X& r)
{
    typedef Format<X> F;
    const X shift = K<X>(F::rounder + F::bias), shifted = fma_(x, K<X>(El<X>(1.44269504088896340736)), shift), n = shifted - shift;
    r = fma_(n, K<X>(-F::ln2_lo), fma_(n, K<X>(-F::ln2_hi), x));
    return pow2_of_shifted(shifted);
}
template <class X> FN X exp_rest(X r)
{
    X p;
    if constexpr (wide<X>)
        p = poly(r, 0.5, 0.166666666666666675, 0.0416666666666241279, 0.00833333333333006183, 0.00138888889172137169,
                 0.000198412698630536169, 0.0000248015212959543751, 2.75572684599970648e-6, 2.76200884454097482e-7,
                 2.51003854955103191e-8);
    else
        p = poly(r, 0.5F, 0.166665769896987757F, 0.0416665546172045742F, 0.00836317905272257737F, 0.00139261835877134945F);
    return fma_(r * r, p, r);
}
template <class X> FN X exp_scaled(X x, El<X> s)
{
    typedef Format<X> F;
    typedef El<X> T;
    const X hi = K<X>(F::exp_max + T(0.7) * -s), lo = K<X>(F::exp_min);
    X n, r;
    if constexpr (full_register<X>) {
        exp_reduce<X>(high_of(K<X>(2 * F::exp_min), low_of(hi, x)), n, r);
        return times_power(K<X>(1) + exp_rest(r), s == 0 ? n : n + K<X>(s));
    }
    const Mask<X> vanishes = x < lo;
    exp_reduce<X>(x > hi ? hi : (vanishes ? K<X>(0) : x), n, r);
    n = n + K<X>(s);
    const X half = round_small(n * K<X>(T(0.5)));
    const X y = (K<X>(1) + exp_rest(r)) * pow2(half) * pow2(n - half);
    return vanishes ? K<X>(0) : y;
}
template <class X> FN X exp_(X x) { return exp_scaled<X>(x, 0); }
template <class X> FN X expm1_(X x)
{
    typedef Format<X> F;
    const X hi = K<X>(F::exp_max), lo = K<X>(F::expm1_min);
    X n, r;
    exp_reduce<X>(x > hi ? hi : (x < lo ? lo : x), n, r);
    const X scale = pow2(n - K<X>(1));
    const X y = K<X>(2) * fma_(exp_rest(r), scale, scale - K<X>(El<X>(0.5)));
    return x == K<X>(0) ? x : y;
}
template <class X> FN X log_kernel(X f, X k, X c)
{
    typedef Format<X> F;
    const X s = f / (K<X>(2) + f), z = s * s;
    X p;
    if constexpr (wide<X>)
        p = poly(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
                 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01);
    else
        p = poly(z, 0.66666662693F, 0.40000972152F, 0.28498786688F, 0.24279078841F);
    const X half_square = K<X>(El<X>(0.5)) * f * f, tail = fma_(k, K<X>(F::ln2_lo), c);
    return fma_(k, K<X>(F::ln2_hi), f - (half_square - fma_(s, half_square + z * p, tail)));
}
template <class X> FN void log_reduce(X x, X& k, X& f)
{
    typedef Format<X> F;
    typedef Mask<X> I;
    typedef El<I> Int;
    const I denormal = x < K<X>(F::smallest);
    x = denormal ? x * K<X>(F::denormal_scale) : x;
    constexpr Int one = wide<X> ? Int(0x3ff0000000000000L) : Int(0x3f800000);
    constexpr Int root_half = wide<X> ? Int(0x3fe6a09e00000000L) : Int(0x3f3504f3);
    constexpr Int mantissa = (Int(1) << F::mantissa_bits) - 1;
    const I shifted = bits(x) + (one - root_half);
    const I exponent = (shifted >> F::mantissa_bits) & (wide<X> ? Int(0xfff) : Int(0x1ff));
    k = from_bits<X>(exponent | bits(K<X>(F::exponent_magic))) - K<X>(F::exponent_magic + F::bias);
    k = k - (denormal ? K<X>(F::denormal_exponent) : K<X>(0));
    f = from_bits<X>((shifted & mantissa) + root_half) - K<X>(1);
}
template <class X> FN X log_edges(X x, El<X> origin, X inside)
{
    typedef Format<X> F;
    const X upper = x == K<X>(F::inf) ? x : inside;
    return x > K<X>(origin) ? upper : (x == K<X>(origin) ? K<X>(-F::inf) : K<X>(El<X>(__builtin_nan(""))));
}
template <class X> FN X log_(X x)
{
    X k, f;
    log_reduce(x, k, f);
    return log_edges<X>(x, 0, log_kernel(f, k, K<X>(0)));
}
template <class X> FN X log1p_(X x)
{
    const X one = K<X>(1), u = one + x;
    X k, f;
    log_reduce(u, k, f);
    const Mask<X> near = k == K<X>(0);
    const X lost = x > one ? one - (u - x) : x - (u - one);
    const X c = near ? K<X>(0) : lost / u;
    const X y = log_edges<X>(x, -1, log_kernel<X>(near ? x : f, k, c));
    return x == K<X>(0) ? x : y;
}
template <class X> FN X log2_(X x)
{
    X k, f;
    log_reduce(x, k, f);
    const X m = log_kernel(f, K<X>(0), K<X>(0));
    return log_edges<X>(x, 0, fma_(m, K<X>(El<X>(1.44269504088896340736)), k));
}
template <class X> FN X log10_(X x)
{
    typedef El<X> T;
    X k, f;
    log_reduce(x, k, f);
    const X m = log_kernel(f, K<X>(0), K<X>(0));
    const T hi = wide<X> ? T(0x1.34413508p-2) : T(0x1.344p-2), lo = wide<X> ? T(0x1.f79fef311f12bp-34) : T(0x1.3509f8p-18);
    const X y = fma_(k, K<X>(hi), fma_(m, K<X>(T(0.43429448190325182765)), k * K<X>(lo)));
    return log_edges<X>(x, 0, y);
}
template <class X> FN X tanh_(X x)
{
    const X big = K<X>(wide<X> ? 20 : 10), a = abs_(x);
    X r, b;
    if constexpr (full_register<X>) b = low_of(big, a);
    else b = a > big ? big : a;
    b = b + b;
    const X scale = exp_reduce_scaled<X>(b, r), t = fma_(exp_rest(r), scale, scale - K<X>(1));
    return copysign_(t / (t + K<X>(2)), x);
}
template <class X> FN X sinh_(X x)
{
    const X a = abs_(x), e = exp_scaled<X>(a, -1), z = x * x;
    X p;
    if constexpr (wide<X>)
        p = poly(z, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800.0, 1.0 / 1307674368000.0,
                 1.0 / 355687428096000.0);
    else
        p = poly(z, 1.0F / 6, 1.0F / 120, 1.0F / 5040, 1.0F / 362880);
    return a < K<X>(1) ? fma_(x * z, p, x) : copysign_(e - K<X>(El<X>(0.25)) / e, x);
}
template <class X> FN X cosh_(X x)
{
    const X e = exp_scaled<X>(abs_(x), -1);
    return e + K<X>(El<X>(0.25)) / e;
}
template <class X> FN X sigmoid_(X x)
{
    const X e = exp_(neg(abs_(x)));
    return (x < K<X>(0) ? e : K<X>(1)) / (K<X>(1) + e);
}
template <class X> FN X trig_reduce(X x, Mask<X>& quadrant)
{
    typedef El<X> T;
    typedef Format<X> F;
    const X shifted = x * K<X>(T(0.63661977236758134308)) + K<X>(F::rounder), n = shifted - K<X>(F::rounder);
    X r = x;
    if constexpr (wide<X>) {
        r = fma_(n, K<X>(T(-0x1.921fb4p+0)), r), r = fma_(n, K<X>(T(-0x1.4442dp-24)), r);
        r = fma_(n, K<X>(T(-0x1.8469880p-48)), r), r = fma_(n, K<X>(T(-0x1.8cc51701b839ap-72)), r);
    } else {
        r = fma_(n, K<X>(T(-0x1.92p+0F)), r), r = fma_(n, K<X>(T(-0x1.fb4p-12F)), r);
        r = fma_(n, K<X>(T(-0x1.444p-24F)), r), r = fma_(n, K<X>(T(-0x1.68c234p-39F)), r);
    }
    quadrant = bits(shifted);
    return r;
}
template <class X> FN X sin_kernel(X r)
{
    const X z = r * r;
    X p;
    if constexpr (wide<X>)
        p = poly(z, -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
                 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10);
    else
        p = poly(z, -1.6666654611e-1F, 8.3321608736e-3F, -1.9515295891e-4F);
    return fma_(z * r, p, r);
}
template <class X> FN X cos_kernel(X r)
{
    const X z = r * r;
    X p;
    if constexpr (wide<X>)
        p = poly(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                 -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11);
    else
        p = poly(z, 4.166664568298827e-2F, -1.388731625493765e-3F, 2.443315711809948e-5F);
    const X half = K<X>(El<X>(0.5)) * z, w = K<X>(1) - half;
    return w + fma_(z * z, p, (K<X>(1) - w) - half);
}
template <class X> FN X trig_edge(X x, X y, f64 (*f)(f64), f32 (*g)(f32))
{
    const Mask<X> huge = abs_(x) > K<X>(wide<X> ? El<X>(1e9) : El<X>(1e4));
    if (__builtin_expect(any(huge), 0))
        for (int l = 0; l < Of<X>::N; ++l)
            if (huge[l]) {
                if constexpr (wide<X>) y[l] = f(x[l]);
                else y[l] = g(x[l]);
            }
    return y;
}
template <class X> FN X sin_(X x)
{
    Mask<X> q;
    const X r = trig_reduce(x, q), s = sin_kernel(r), c = cos_kernel(r);
    const X v = (q & 1) != 0 ? c : s;
    const X y = x == K<X>(0) ? x : ((q & 2) != 0 ? neg(v) : v);
    return trig_edge(x, y, [](f64 a) { return __builtin_sin(a); }, [](f32 a) { return __builtin_sinf(a); });
}
template <class X> FN X cos_(X x)
{
    Mask<X> q;
    const X r = trig_reduce(x, q), s = sin_kernel(r), c = cos_kernel(r);
    const X v = (q & 1) != 0 ? s : c;
    const X y = ((q + 1) & 2) != 0 ? neg(v) : v;
    return trig_edge(x, y, [](f64 a) { return __builtin_cos(a); }, [](f32 a) { return __builtin_cosf(a); });
}
template <class X> FN X tan_(X x)
{
    Mask<X> q;
    const X r = trig_reduce(x, q), s = sin_kernel(r), c = cos_kernel(r);
    const Mask<X> swap = (q & 1) != 0;
    const X v = (swap ? neg(c) : s) / (swap ? s : c);
    const X y = x == K<X>(0) ? x : v;
    return trig_edge(x, y, [](f64 a) { return __builtin_tan(a); }, [](f32 a) { return __builtin_tanf(a); });
}
template <class X> FN X asin_(X x) { return each(x, [](El<X> a) { return sizeof a == 8 ? El<X>(__builtin_asin(a)) : El<X>(__builtin_asinf(a)); }); }
template <class X> FN X acos_(X x) { return each(x, [](El<X> a) { return sizeof a == 8 ? El<X>(__builtin_acos(a)) : El<X>(__builtin_acosf(a)); }); }
template <class X> FN X atan_(X x) { return each(x, [](El<X> a) { return sizeof a == 8 ? El<X>(__builtin_atan(a)) : El<X>(__builtin_atanf(a)); }); }
template <class X> FN X atan2_(X y, X x)
{
    return each(y, x, [](El<X> a, El<X> b) { return sizeof a == 8 ? El<X>(__builtin_atan2(a, b)) : El<X>(__builtin_atan2f(a, b)); });
}
template <class X> FN X pow_(X x, X y)
{
    return each(x, y, [](El<X> a, El<X> b) {
        return b == 2 ? a * a : b == 1 ? a : b == -1 ? 1 / a : sizeof a == 8 ? El<X>(__builtin_pow(a, b)) : El<X>(__builtin_powf(a, b));
    });
}
template <class X> FN X hypot_(X x, X y)
{
    typedef El<X> T;
    const T far = wide<X> ? T(0x1p500) : T(0x1p60F), near = T(1) / far, up = wide<X> ? T(0x1p600) : T(0x1p80F), inf = Format<X>::inf;
    const X a = abs_(x), b = abs_(y), m = a > b ? a : b;
    const X scale = m > K<X>(far) ? K<X>(T(1) / up) : (m < K<X>(near) ? K<X>(up) : K<X>(1));
    const X back = m > K<X>(far) ? K<X>(up) : (m < K<X>(near) ? K<X>(T(1) / up) : K<X>(1));
    const X big = m * scale, small = (a > b ? b : a) * scale;
    const X r = sqrt_(fma_(big, big, small * small)) * back;
    return ((a == K<X>(inf)) | (b == K<X>(inf))) ? K<X>(inf) : r;
}
template <class X> FN X erf_near(X x)
{
    const X z = x * x;
    X p;
    if constexpr (wide<X>)
        p = poly(z, 1.128379167095512567, -0.3761263890318354044, 0.1128379167094500627, -0.02686617064323777036,
                 0.005223977607116422732, -0.0008548325975389692081, 0.0001205529490483970792, -0.00001492473690741966034,
                 1.644742470331736241e-6, -1.62084838018717059e-7, 1.37200645467776856e-8, -7.795898827002142242e-10);
    else
        p = poly(z, 1.1283791658F, -0.37612626667F, 0.11283594715F, -0.026854212011F, 0.0051890874234F, -0.00080168642872F,
                 7.8758750627e-5F);
    return x * p;
}
template <class X> FN X erfc_factor(X a)
{
    const X t = (a - K<X>(2)) / (a + K<X>(2));
    if constexpr (wide<X>)
        return poly(t, 0.255395676310505745, -0.427185847413957885, 0.241658194242469857, -0.0789785810158525347,
                    0.00373289240349223978, 0.00699746174775357363, -0.000847143198076042359, -0.000981977320813102272,
                    0.0000435542024527058955, 0.000174366972329468635, 0.0000275431281856667173, -0.0000276473054436100538,
                    -0.0000140675326945820577, 1.82014319597500905e-6, 3.91705929992538851e-6);
    else
        return poly(t, 0.25539564033F, -0.42718588829F, 0.24166402506F, -0.078971952294F, 0.0035926707007F, 0.0068373667876F);
}
template <class X> FN X erf_(X x)
{
    const X a = abs_(x), near = erf_near(x), far = K<X>(wide<X> ? 6 : 4), b = a > far ? far : a;
    const X e = K<X>(1) - exp_(neg(b * b)) * erfc_factor(b);
    return a < K<X>(1) ? near : copysign_(e, x);
}
template <class X> FN X exp_half_square(X x)
{
    typedef El<X> T;
    const X c = x * K<X>(wide<X> ? T(0x1p27 + 1) : T(0x1p12 + 1)), hi = c - (c - x), lo = x - hi, square = x * x;
    const X lost = ((hi * hi - square) + K<X>(2) * (hi * lo)) + lo * lo;
    const X y = exp_(K<X>(T(-0.5)) * square);
    return y - y * (K<X>(T(0.5)) * lost);
}
template <class X> FN X normal_cdf_(X x)
{
    typedef El<X> T;
    const X one = K<X>(1), half = K<X>(T(0.5)), far = K<X>(wide<X> ? 6 : 4), limit = K<X>(64);
    const X s = abs_(x) > limit ? copysign_(limit, x) : x;
    const X z = s * K<X>(T(1.4142135623730950488 / 2)), a = abs_(z);
    const X r = a > far ? far / a : one;
    const X beyond = r * (one + K<X>(T(wide<X> ? 0.013525 : 0.02965)) * (one - r * r));
    const X q = erfc_factor<X>(a > far ? far : a) * beyond;
    const X tail = half * exp_half_square(s) * q, outer = x < K<X>(0) ? tail : one - tail;
    return a < one ? half + half * erf_near(z) : outer;
}
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
)wg";

}  // namespace wengert::detail

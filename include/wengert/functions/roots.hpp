// The cube root, and the inverse hyperbolic functions, which are logarithms of roots.
#pragma once

#include "logarithm.hpp"

namespace wengert::detail::functions {

/// y³ = z for 0.35 ≤ z ≤ 2.83: a polynomial, Halley's iteration y + y (z − y³)/(2y³ + z), and one step of Newton's with the
/// residue as a pair, so that the result is rounded from some 12 bits more.
template <class V> [[gnu::always_inline]] inline V cbrt_kernel(V z)
{
    V y = poly(z, either<V>(0.4301729059, 0.4301729059F), either<V>(0.9777849842, 0.9777849842F),
               either<V>(-0.634385757, -0.634385757F), either<V>(0.2920579304, 0.2920579304F),
               either<V>(-0.07225849166, -0.07225849166F), either<V>(0.007235708279, 0.007235708279F));
    for (int k = 0; k < (is_double<V> ? 2 : 1); ++k) {
        const V cube = y * y * y;
        y = y + y * ((z - cube) / (cube + cube + z));
    }
    const Pair<V> square = product(y, y), cube = product(square.hi, y);
    const V rest = ((z - cube.hi) - cube.lo) - square.lo * y;
    return y + rest / (lit(3) * square.hi);
}
/// x = 2^(3q) z.
template <> struct Approximation<Cbrt> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        using T = NumberOf<V>;
        const V a = abs(x), one(T(1));
        const LogReduced<V> reduced(a);
        const V q = round_even(reduced.k * V(T(1) / 3)), rest = reduced.k - lit(3) * q;
        const V power = where(rest > lit(0), V(T(2)), where(rest < lit(0), V(T(0.5)), one));
        const V y = cbrt_kernel((reduced.f + one) * power) * pow2(q);
        const auto inside = (a > lit(0)) & (a < V(std::numeric_limits<T>::infinity()));
        return where(inside, copysign(y, x), x);
    }
};

/// From here on x² would overflow, and x + 1 is x.
template <class V> [[gnu::always_inline]] inline V root_limit() { return V(either<V>(0x1p500, 0x1p60F)); }
/// The term ln 2 that turns the logarithm of a into that of 2a.
template <class V> [[gnu::always_inline]] inline V ln2_where(typename V::Mask doubled)
{
    return where(doubled, V(NumberOf<V>(std::numbers::ln2)), V(NumberOf<V>(0)));
}

/// ln(a + √(a² + 1)) = log1p(a + a²/(1 + √(a² + 1))), without cancellation.
template <> struct Approximation<Asinh> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V a = abs(x), square = a * a;
        const auto far = a > root_limit<V>();
        const V y = log1p(where(far, a, a + square / (lit(1) + sqrt(square + lit(1)))));
        return copysign(y + ln2_where<V>(far), x);
    }
};
/// ln(x + √(x² − 1)) = log1p(t + √(t (t + 2))) of t = x − 1.
template <> struct Approximation<Acosh> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V t = x - lit(1), nan(std::numeric_limits<NumberOf<V>>::quiet_NaN());
        const auto far = x > root_limit<V>();
        const V y = log1p(where(far, x, t + sqrt(t * (t + lit(2)))));
        return where(x < lit(1), nan, y + ln2_where<V>(far));
    }
};
/// ½ ln((1 + a)/(1 − a)) = ½ log1p(2a/(1 − a)).
template <> struct Approximation<Atanh> {
    template <class V> [[gnu::always_inline]] static V of(V x)
    {
        const V a = abs(x);
        return copysign(lit(0.5) * log1p((a + a) / (lit(1) - a)), x);
    }
};

}  // namespace wengert::detail::functions

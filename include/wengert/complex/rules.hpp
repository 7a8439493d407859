// What complex functions compute, over real and imaginary part: values on any type of numbers, slopes on complex tensors. Edges are
// those of C99's Annex G where they are finite; infinities that meet make NaN, as they do in NumPy's products.
#pragma once

#include <array>
#include <limits>
#include <string_view>

#include "../ops/elementwise/choices.hpp"
#include "../ops/elementwise/math.hpp"
#include "../ops/elementwise/pairs.hpp"
#include "primitive.hpp"

namespace wengert {

namespace rules {

/// y = |a| with the sign of b, that of a zero included. Rules read its value alone: the slope is 0.
struct WithSign {
    static constexpr std::string_view name = "copysign";
    template <class V> static V value(const V& a, const V& b) { return copysign(a, b); }
};
template <class T> Tensor<T> copysign(const Tensor<T>& a, const Tensor<T>& b)
{
    return apply_elementwise<WithSign, T>(Site{}, a, b);
}

struct Multiply {
    static constexpr std::string_view name = "complex_multiply";
    static constexpr std::array pairs = {true, true};
    static constexpr unsigned saves = 0b011;
    static constexpr bool bilinear = true;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& c, const V& d)
    {
        return {a * c - b * d, a * d + b * c};
    }
    template <class C> static C slope(wrt<0>, const C&, const C& w, const C&) { return w; }
    template <class C> static C slope(wrt<1>, const C& z, const C&, const C&) { return z; }
};
/// z conj(w): linear over the reals.
struct MultiplyConjugate {
    static constexpr std::string_view name = "complex_multiply_conjugate";
    static constexpr std::array pairs = {true, true};
    static constexpr unsigned saves = 0b011;
    static constexpr bool bilinear = true;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& c, const V& d)
    {
        return {a * c + b * d, b * c - a * d};
    }
    template <class T>
    static Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& w, const Tensor<T>&)
    {
        return detail::complexwise<Multiply>(Site{}, g, w).parts();
    }
    /// ⟨g, z conj(ẇ)⟩ = ⟨z conj(g), ẇ⟩
    template <class T>
    static Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& z, const Tensor<T>&, const Tensor<T>&)
    {
        return detail::complexwise<MultiplyConjugate>(Site{}, z, g).parts();
    }
};
/// Complex times real.
struct Scale {
    static constexpr std::string_view name = "complex_scale";
    static constexpr std::array pairs = {true, false};
    static constexpr unsigned saves = 0b011;
    static constexpr bool bilinear = true;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& r) { return {a * r, b * r}; }
    template <class C, class R> static R slope(wrt<0>, const C&, const R& r, const C&) { return r; }
    template <class C, class R> static C slope(wrt<1>, const C& z, const R&, const C&) { return z; }
};
/// Complex plus, minus and divided by real numbers, and real minus complex: what is not there is not touched, not even the sign of
/// a zero.
struct AddReal {
    static constexpr std::string_view name = "complex_add";
    static constexpr std::array pairs = {true, false};
    static constexpr unsigned saves = 0;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& r) { return {a + r, b}; }
    template <std::size_t i, class... X> static UnitSlope slope(wrt<i>, const X&...) { return {}; }
};
struct SubtractReal {
    static constexpr std::string_view name = "complex_subtract";
    static constexpr std::array pairs = {true, false};
    static constexpr unsigned saves = 0;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& r) { return {a - r, b}; }
    template <std::size_t i, class... X> static UnitSlope slope(wrt<i>, const X&...) { return {i == 1}; }
};
struct SubtractFromReal {
    static constexpr std::string_view name = "complex_subtract";
    static constexpr std::array pairs = {true, false};
    static constexpr unsigned saves = 0;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& r) { return {r - a, -b}; }
    template <std::size_t i, class... X> static UnitSlope slope(wrt<i>, const X&...) { return {i == 0}; }
};
struct DivideByReal {
    static constexpr std::string_view name = "complex_divide";
    static constexpr std::array pairs = {true, false};
    static constexpr unsigned saves = 0b110;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& r) { return {a / r, b / r}; }
    template <class C, class R> static R slope(wrt<0>, const C&, const R& r, const C&) { return lit(1) / r; }
    template <class C, class R> static C slope(wrt<1>, const C&, const R& r, const C& y) { return -(y / r); }
};

/// A number of V's precision beside x.
template <class V> V constant(const V& x, Literal c) { return zero_like(x) + c; }

/// z / w, scaled: Smith 1962 with the corrections of Baudin & Smith 2012.
struct Divide {
    static constexpr std::string_view name = "complex_divide";
    static constexpr std::array pairs = {true, true};
    static constexpr unsigned saves = 0b110;
    template <class V> static Pair<V> value(const V& a, const V& b, const V& c, const V& d)
    {
        using P = Precision<V>;
        const auto scale = [](const V& most) {
            return where(most >= P::half_largest, constant(most, lit(0.5)),
                         where(most <= P::small, constant(most, P::rescue), constant(most, lit(1))));
        };
        const V below = maximum(abs(c), abs(d)), s = scale(maximum(abs(a), abs(b))), t = scale(below),
                back = t / s;
        const Pair<V> q = smith<V>(a * s, b * s, c * t, d * t);
        const V pole = copysign(constant(c, P::infinity), c);
        return {where(below == lit(0), pole * a, q.re * back), where(below == lit(0), pole * b, q.im * back)};
    }
    template <class C> static C slope(wrt<0>, const C&, const C& w, const C&) { return reciprocal(w); }
    template <class C> static C slope(wrt<1>, const C&, const C& w, const C& y) { return -(y / w); }

private:
    template <class V> static Pair<V> smith(const V& a, const V& b, const V& c, const V& d)
    {
        const auto first = abs(c) >= abs(d);
        const V p = where(first, c, d), q = where(first, d, c), x = where(first, a, b),
                y = where(first, b, a), r = q / p, den = p + q * r, xr = x * r, yr = y * r;
        // where a product with r underflows, r is small, and (y / p) q has the digits
        const V re = (x + where(yr == lit(0), (y / p) * q, yr)) / den,
                im = (y - where(xr == lit(0), (x / p) * q, xr)) / den;
        return {re, where(first, im, -im)};
    }
};
/// 1 / z
struct Reciprocal {
    static constexpr std::string_view name = "complex_reciprocal";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b10;
    template <class V> static Pair<V> value(const V& x, const V& y)
    {
        return Divide::value<V>(constant(x, lit(1)), constant(x, lit(0)), x, y);
    }
    template <class C> static C slope(wrt<0>, const C&, const C& w) { return -(w * w); }
};
struct Square {
    static constexpr std::string_view name = "complex_square";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b01;
    template <class V> static Pair<V> value(const V& x, const V& y)
    {
        return {(x - y) * (x + y), lit(2) * x * y};
    }
    template <class C> static C slope(wrt<0>, const C& z, const C&) { return lit(2) * z; }
};

/// eˣ (cos y + i sin y); beyond `far` eˣ is taken in two factors, as the product may be finite where eˣ is not.
struct Exp {
    static constexpr std::string_view name = "complex_exp";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b10;
    template <class V> static Pair<V> value(const V& x, const V& y)
    {
        using P = Precision<V>;
        const auto large = x > P::far;
        const V r = exp(where(large, x - P::far, x)),
                f = where(large, constant(x, P::exp_far), constant(x, lit(1)));
        const auto nothing = x == -P::infinity;
        const V zero = zero_like(x), c = cos(y), d = where(y == lit(0), y, sin(y));
        return {where(nothing, copysign(zero, c), r * c * f),
                where(nothing || y == lit(0), copysign(zero, d), r * d * f)};
    }
    template <class C> static C slope(wrt<0>, const C&, const C& w) { return w; }
};

/// a² as two numbers: Dekker 1971.
template <class V> Pair<V> exact_square(const V& a)
{
    const V c = a * Precision<V>::splitter, high = c - (c - a), low = a - high, p = a * a;
    return {p, ((high * high - p) + lit(2) * (high * low)) + low * low};
}
/// ln |z| of |x| ≥ |y|. Near 1 it is ½ log1p(x² + y² − 1), where the sum is taken with twice the digits.
template <class V> V log_of_radius(const V& large, const V& small)
{
    const Pair<V> p = exact_square(large), q = exact_square(small);
    const V s = p.re - lit(1), t = s + q.re, lost = q.re - (t - s) + zero_like(s);
    const V near = lit(0.5) * log1p(t + (lost + (p.im + q.im)));
    const V square = p.re + q.re;
    return where(square > lit(0.5) && square < lit(3), near, log(hypot(large, small)));
}
/// ln |z| + i arg z
struct Log {
    static constexpr std::string_view name = "complex_log";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b01;
    template <class V> static Pair<V> value(const V& x, const V& y)
    {
        const V u = abs(x), v = abs(y);
        return {log_of_radius<V>(maximum(u, v), minimum(u, v)), atan2(y, x)};
    }
    template <class C> static C slope(wrt<0>, const C& z, const C&) { return reciprocal(z); }
};

/// t = √((|x| + |z|) / 2):  t + i y / 2t, or for x < 0  |y| / 2t ± i t. The cut is the negative axis, the sign of 0 says which side.
struct Sqrt {
    static constexpr std::string_view name = "complex_sqrt";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b10;
    template <class V> static Pair<V> value(const V& x, const V& y)
    {
        using P = Precision<V>;
        const V most = maximum(abs(x), abs(y));
        const auto large = most >= P::half_largest, little = most <= P::small;
        const V one = constant(x, lit(1)),
                scale = where(large, constant(x, lit(0.0625)), where(little, constant(x, P::up), one)),
                back = where(large, constant(x, lit(4)), where(little, constant(x, P::root_up), one));
        const V a = abs(x * scale), b = y * scale;
        const V t = sqrt(lit(0.5) * (a + hypot(a, b))), half = where(t == lit(0), b, b / (t + t));
        const auto left = x < lit(0), endless = abs(y) == P::infinity;
        const V re = where(left, abs(half), t), im = where(left, copysign(t, y), half);
        return {where(endless, abs(y), re * back), where(endless, y, im * back)};
    }
    template <class C> static C slope(wrt<0>, const C&, const C& w) { return lit(0.5) / w; }
};

/// sinh x = s f and cosh x = c f: two factors, as a product with either may be finite where eˣ is not.
template <class V> struct Hyperbolic {
    V s, c, f;
    explicit Hyperbolic(const V& x) : s(x), c(x), f(x)
    {
        using P = Precision<V>;
        const auto large = abs(x) > P::far;
        const V e = lit(0.5) * exp(where(large, abs(x) - P::far, zero_like(x))),
                inner = where(large, zero_like(x), x);
        s = where(large, copysign(e, x), sinh(inner));
        c = where(large, e, cosh(inner));
        f = where(large, constant(x, P::exp_far), constant(x, lit(1)));
    }
};
template <class V> Pair<V> sinh_of(const V& x, const V& y)
{
    const Hyperbolic<V> h(x);
    return {h.s * cos(y) * h.f, where(y == lit(0), y, h.c * sin(y) * h.f)};
}
template <class V> Pair<V> cosh_of(const V& x, const V& y)
{
    const Hyperbolic<V> h(x);
    const V real_line = copysign(constant(x, lit(1)), x) * y;  // ±0, also where sinh x is infinite
    return {h.c * cos(y) * h.f,
            where(y == lit(0), real_line, where(x == lit(0), h.s * y, h.s * sin(y) * h.f))};
}
/// Kahan 1987; beyond `flat` the real part is ±1.
template <class V> Pair<V> tanh_of(const V& x, const V& y)
{
    using P = Precision<V>;
    const V a = abs(x);
    const auto large = a > P::flat;
    const V inner = where(large, zero_like(x), x);
    const V t = tan(y), b = lit(1) + t * t, s = sinh(inner), r = sqrt(lit(1) + s * s), d = lit(1) + b * s * s;
    return {where(large, copysign(constant(x, lit(1)), x), b * r * s / d),
            where(large, lit(4) * sin(y) * cos(y) * exp(lit(-2) * a), t / d)};
}
struct Sinh {
    static constexpr std::string_view name = "complex_sinh";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b01;
    template <class V> static Pair<V> value(const V& x, const V& y) { return sinh_of<V>(x, y); }
    template <class C> static C slope(wrt<0>, const C& z, const C&) { return cosh(z); }
};
struct Cosh {
    static constexpr std::string_view name = "complex_cosh";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b01;
    template <class V> static Pair<V> value(const V& x, const V& y) { return cosh_of<V>(x, y); }
    template <class C> static C slope(wrt<0>, const C& z, const C&) { return sinh(z); }
};
struct Tanh {
    static constexpr std::string_view name = "complex_tanh";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b10;
    template <class V> static Pair<V> value(const V& x, const V& y) { return tanh_of<V>(x, y); }
    template <class C> static C slope(wrt<0>, const C&, const C& w) { return lit(1) - square(w); }
};
/// −i sinh iz
struct Sin {
    static constexpr std::string_view name = "complex_sin";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b01;
    template <class V> static Pair<V> value(const V& x, const V& y)
    {
        const Pair<V> w = sinh_of<V>(-y, x);
        return {w.im, -w.re};
    }
    template <class C> static C slope(wrt<0>, const C& z, const C&) { return cos(z); }
};
/// cosh iz
struct Cos {
    static constexpr std::string_view name = "complex_cos";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b01;
    template <class V> static Pair<V> value(const V& x, const V& y) { return cosh_of<V>(-y, x); }
    template <class C> static C slope(wrt<0>, const C& z, const C&) { return -sin(z); }
};
/// −i tanh iz
struct Tan {
    static constexpr std::string_view name = "complex_tan";
    static constexpr std::array pairs = {true};
    static constexpr unsigned saves = 0b10;
    template <class V> static Pair<V> value(const V& x, const V& y)
    {
        const Pair<V> w = tanh_of<V>(-y, x);
        return {w.im, -w.re};
    }
    template <class C> static C slope(wrt<0>, const C&, const C& w) { return lit(1) + square(w); }
};

}  // namespace rules
}  // namespace wengert

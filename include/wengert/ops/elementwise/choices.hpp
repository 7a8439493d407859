// Elementwise rules that reductions are made of: each says what happens where the textbook formula is undefined.
#pragma once

#include <limits>

#include "arithmetic.hpp"

namespace wengert {

/// y = 1 where a and b are equal or both NaN, else 0; flat
struct SameValue {
    static constexpr std::string_view name = "same_value";
    template <class V> static V value(const V& a, const V& b)
    {
        return where((a == b) | ((a != a) & (b != b)), V(1), V(0));
    }
};

/// y = a / b, or 0 where b = 0;  ā = ȳ / b,  b̄ = −ȳ y / b, both 0 there too
struct QuotientOrZero {
    static constexpr std::string_view name = "quotient_or_zero";
    template <class V> static V value(const V& a, const V& b) { return where(b == lit(0), V(0), V(a / b)); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& b, const V&)
    {
        return where(b == lit(0), zero_like(g), g / b);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V& b, const V& y)
    {
        return where(b == lit(0), zero_like(g), -(g * (y / b)));
    }
};

/// y = √x;  x̄ = ȳ / 2y, and 0 where y = 0
struct RootFlatAtZero {
    static constexpr std::string_view name = "stddev";
    template <class V> static V value(const V& x)
    {
        using std::sqrt;
        return sqrt(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return where(y == lit(0), zero_like(g), g / (lit(2) * y));
    }
};

template <class V> constexpr V weigh_by_exp(const V& a, const V& x, const V& s)
{
    using std::exp;
    return where(x == lit(-std::numeric_limits<double>::infinity()), zero_like(a), a * exp(x - s));
}
template <class T> Tensor<T> weigh_by_exp(const Tensor<T>& a, const Tensor<T>& x, const Tensor<T>& s);

/// y = a e^(x − s), or 0 where x = −inf;  ā = ȳ e^(x − s),  x̄ = ȳ y,  s̄ = −ȳ y
struct WeighByExp {
    static constexpr std::string_view name = "weigh_by_exp";
    static constexpr bool written_out = true;  // by terms; on tensors it is itself
    template <class V> static V value(const V& a, const V& x, const V& s) { return weigh_by_exp(a, x, s); }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& x, const V& s, const V&)
    {
        return weigh_by_exp(g, x, s);
    }
    template <class V> static constexpr V pull(wrt<1>, const V& g, const V&, const V&, const V&, const V& y)
    {
        return g * y;
    }
    template <class V> static constexpr V pull(wrt<2>, const V& g, const V&, const V&, const V&, const V& y)
    {
        return -(g * y);
    }
};

template <class T> Tensor<T> weigh_by_exp(const Tensor<T>& a, const Tensor<T>& x, const Tensor<T>& s)
{
    return apply_elementwise<WeighByExp, T>({}, a, x, s);
}

}  // namespace wengert

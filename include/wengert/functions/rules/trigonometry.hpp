// The rules of circular and hyperbolic functions.
#pragma once

#include <cmath>

#include "rule.hpp"

namespace wengert {

/// y = sin x;  x̄ = ȳ cos x
struct Sin {
    static constexpr std::string_view name = "sin";
    template <class V> static V value(const V& x)
    {
        using std::sin;
        return sin(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::cos;
        return g * cos(x);
    }
};

/// y = cos x;  x̄ = −ȳ sin x
struct Cos {
    static constexpr std::string_view name = "cos";
    template <class V> static V value(const V& x)
    {
        using std::cos;
        return cos(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::sin;
        return -(g * sin(x));
    }
};

/// y = tan x;  x̄ = ȳ (1 + y²)
struct Tan {
    static constexpr std::string_view name = "tan";
    template <class V> static V value(const V& x)
    {
        using std::tan;
        return tan(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return g * (lit(1) + y * y);
    }
};

/// y = arcsin x;  x̄ = ȳ / √(1 − x²), the root of a product because 1 − x² cancels near ±1
struct Asin {
    static constexpr std::string_view name = "asin";
    template <class V> static V value(const V& x)
    {
        using std::asin;
        return asin(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::sqrt;
        return g / sqrt((lit(1) - x) * (lit(1) + x));
    }
};

/// y = arccos x;  x̄ = −ȳ / √(1 − x²)
struct Acos {
    static constexpr std::string_view name = "acos";
    template <class V> static V value(const V& x)
    {
        using std::acos;
        return acos(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::sqrt;
        return -(g / sqrt((lit(1) - x) * (lit(1) + x)));
    }
};

/// y = arctan x;  x̄ = ȳ / (1 + x²)
struct Atan {
    static constexpr std::string_view name = "atan";
    template <class V> static V value(const V& x)
    {
        using std::atan;
        return atan(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        return g / (lit(1) + x * x);
    }
};

/// y = sinh x;  x̄ = ȳ cosh x
struct Sinh {
    static constexpr std::string_view name = "sinh";
    template <class V> static V value(const V& x)
    {
        using std::sinh;
        return sinh(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::cosh;
        return g * cosh(x);
    }
};

/// y = cosh x;  x̄ = ȳ sinh x
struct Cosh {
    static constexpr std::string_view name = "cosh";
    template <class V> static V value(const V& x)
    {
        using std::cosh;
        return cosh(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V&)
    {
        using std::sinh;
        return g * sinh(x);
    }
};

/// y = tanh x;  x̄ = ȳ (1 − y²)
struct Tanh {
    static constexpr std::string_view name = "tanh";
    template <class V> static V value(const V& x)
    {
        using std::tanh;
        return tanh(x);
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V&, const V& y)
    {
        return g * (lit(1) - y * y);
    }
};

}  // namespace wengert

// The passes of logsumexp and softmax: the largest element, then the sum of the exponentials of what the others are beyond it.
#pragma once

#include "../base/monoids.hpp"

namespace wengert::detail {

/// What is subtracted before exp: the largest element, or 0 where that is infinite or NaN.
struct Shift : monoid::Maximum {
    template <class V> static V result(const V& m) { return where(is_finite(m), m, lit(0)); }
};
struct Exponentials : monoid::Add {
    using mapper = Exponentials;
    static constexpr bool is_long = true;
    template <class V> static V map(const V& x, const FoldLine<V>& line)
    {
        using std::exp;
        return exp(x - line.r[0]);
    }
};
struct LogOfSum : Exponentials {
    template <class V> static V result(const V& s)
    {
        using std::log;
        return log(s);
    }
};
struct LogOfExponentials : Exponentials {
    template <class V> static V result(const V& s, const FoldLine<V>& line)
    {
        using std::log;
        return line.r[0] + log(s);
    }
};
struct KeptExponentials : Exponentials {
    static constexpr bool keeps = true;
    template <class V> static V result(const V& s) { return lit(1) / s; }
};
/// Σ g y, and Σ g.
struct SumOfProducts : monoid::Add {
    template <class V> static V map(const V& g, const V& y) { return g * y; }
};
struct SumOfFirst : monoid::Add {
    template <class V> static V map(const V& g, const V&) { return g; }
};

}  // namespace wengert::detail

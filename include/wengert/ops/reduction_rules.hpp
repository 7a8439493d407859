// The rules of the reductions that are differentiable: mean, prod, amax, amin, var, norm, logsumexp.
#pragma once

#include <algorithm>

#include "elementwise/choices.hpp"
#include "exponentials.hpp"
#include "scans.hpp"
#include "sum.hpp"

namespace wengert {

/// The axes of a reduction, as its rules need them.
struct Along {
    Axes axes;  ///< sorted, non-negative
    bool keepdims = false;
    Shape from;  ///< of the operand
    Shape kept() const
    {
        Shape s = from;
        for (auto a : axes) s[static_cast<std::size_t>(a)] = 1;
        return s;
    }
    Shape dropped() const
    {
        Shape s;
        for (std::size_t i = 0; i < from.size(); ++i)
            if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
                s.push_back(from[i]);
        return s;
    }
    void describe(Fold& f) const { f.axes = &axes, f.keepdims = keepdims, f.from = &from; }
    /// Elements for each one of the result.
    std::size_t count() const
    {
        std::size_t n = 1;
        for (auto a : axes) n *= static_cast<std::size_t>(from[static_cast<std::size_t>(a)]);
        return n;
    }
    /// A result or its cotangent with extents of 1 at the reduced axes, so that it broadcasts against the operand.
    template <class T> Tensor<T> spread(const Tensor<T>& y) const
    {
        return keepdims ? y : reshape(y, kept(), Site{});
    }
    template <class T> Tensor<T> sum(const Tensor<T>& x) const
    {
        return wengert::sum(x, axes, keepdims, Site{});
    }
};

namespace detail {

template <class T, class D>
Along along(std::string_view name, const Tensor<T, D>& x, const Axes* axes, bool keepdims, const Site& at)
{
    return {normalize_axes(name, axes ? *axes : Axes(), !axes, x.shape(name, at), at), keepdims, x.shape()};
}

}  // namespace detail

/// y = Σ x / n;  x̄ = ȳ / n
struct Mean {
    static constexpr std::string_view name = "mean";
    using passes = Passes<monoid::Average>;
    static constexpr bool linear = true;
    Along along;
    void describe(Fold& f) const { along.describe(f); }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return broadcast_to(along.spread(g / static_cast<double>(along.count())), along.from);
    }
};

/// y = Π over the others along the middle axis of (outer, n, inner)
struct ExclusiveProduct {
    static constexpr std::string_view name = "exclusive_product";
    static constexpr unsigned saves = 0b01;
    template <class T> Ref<Block> value(const Ref<Block>& b, const Site&) const
    {
        const auto x = contiguous(b);
        auto out = make_block(x->dtype, x->shape);
        const auto n = static_cast<std::size_t>(x->shape[1]), inner = static_cast<std::size_t>(x->shape[2]);
        const T* from = x->template as<T>();
        T* to = out->template as<T>();
        std::vector<T> run(inner);
        for (std::size_t end = x->count; end > 0; end -= n * inner, from += n * inner, to += n * inner) {
            const auto sweep = [&](std::size_t k, bool first) {
                for (std::size_t i = k * inner; i < (k + 1) * inner; ++i) {
                    T& r = run[i - k * inner];
                    to[i] = first ? r : to[i] * r;
                    r *= from[i];
                }
            };
            std::fill(run.begin(), run.end(), T(1));
            for (std::size_t k = 0; k < n; ++k) sweep(k, true);
            std::fill(run.begin(), run.end(), T(1));
            for (std::size_t k = n; k-- > 0;) sweep(k, false);
        }
        return out;
    }
    template <class T> Tensor<T> composed(const Tensor<T>& x) const
    {
        return Side<T>(x, false).product * Side<T>(x, true).product;
    }
    /// y = P S, the products before and behind an element, and ẏ = Ṗ S + P Ṡ: of any order in memory of x's size, and zeros do no
    /// harm. x̄ is the same, as the Jacobian is symmetric.
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>&) const
    {
        const Side<T> before(x, false), behind(x, true);
        return before.tangent(dot) * behind.product + before.product * behind.tangent(dot);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return push(g, x, y);
    }

private:
    /// The products of all that stand before an element, or behind it.
    template <class T> struct Side {
        CumProd rule;
        Tensor<T> others, product;
        Side(const Tensor<T>& x, bool reverse)
            : rule{1, reverse}, others(detail::shifted(x, 1, rule.way(), 1)),
              product(apply<CumProd, T>(rule, Site{}, others))
        {}
        Tensor<T> tangent(const Tensor<T>& dx) const
        {
            return rule.push(detail::shifted(dx, 1, rule.way(), 0), others, product);
        }
    };
};

/// y = Π x along the middle axis of (outer, n, inner);  x̄ᵢ = ȳ Π over the others, so that zeros are no special case
struct Prod {
    static constexpr std::string_view name = "prod";
    using passes = Passes<monoid::Multiply>;
    static constexpr unsigned saves = 0b01;
    void describe(Fold& f) const
    {
        static const Axes middle{1};
        f.axes = &middle, f.keepdims = true;
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&) const
    {
        return g * apply<ExclusiveProduct, T>({}, Site{}, x);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>&) const
    {
        return sum(dot * apply<ExclusiveProduct, T>({}, Site{}, x), {1}, true, Site{});
    }
};

/// y = max x or min x;  x̄ = ȳ shared equally by the elements that equal y: at ties that is one subgradient of many, the
/// one that treats them alike. A NaN in x is the result and takes the gradient.
template <bool largest> struct Extremum {
    static constexpr std::string_view name = largest ? "amax" : "amin";
    using passes = Passes<std::conditional_t<largest, monoid::Maximum, monoid::Minimum>>;
    static constexpr bool needs_elements = true;
    static constexpr unsigned saves = 0b11;
    Along along;
    void describe(Fold& f) const { along.describe(f); }
    /// 1 / (number of ties) at the elements that equal the result, else 0: a constant.
    template <class T> Tensor<T> shares(const Tensor<T>& x, const Tensor<T>& y) const
    {
        const Tensor<T> chosen = apply_elementwise<SameValue, T>({}, x.detach(), along.spread(y.detach()));
        return chosen / sum(chosen, along.axes, true, Site{});
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.spread(g) * shares(x, y);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.sum(dot * shares(x, y));
    }
};

namespace detail {

/// The mean of d = x − x₀. It is exactly 0 for equal elements, whose own mean may be rounded. The deviations from it are accurate
/// also if the mean of x is large beside them (Chan, Golub & LeVeque 1983).
struct MeanDeviation : monoid::Add {
    template <class V> static V map(const V& x, const FoldLine<V>& line) { return x - line.first; }
    template <class V> static V result(const V& s, const FoldLine<V>& line) { return s / line.n; }
};
struct SquaredDeviation : monoid::Add {
    template <class V> static V map(const V& x, const FoldLine<V>& line)
    {
        return square(x - line.first - line.r[0]);
    }
    template <class V> static V result(const V& s, const FoldLine<V>& line) { return s / line.number; }
};

}  // namespace detail

/// y = Σ (x − mean)² / (n − ddof), NaN or ∞ where ddof ≥ n;  x̄ = 2 ȳ (x − mean) / (n − ddof)
struct Var {
    static constexpr std::string_view name = "var";
    using passes = Passes<detail::MeanDeviation, detail::SquaredDeviation>;
    static constexpr unsigned saves = 0b01;
    Along along;
    std::size_t ddof;
    void describe(Fold& f) const
    {
        along.describe(f);
        f.number = static_cast<double>(along.count() > ddof ? along.count() - ddof : 0);
    }
    template <class T> Tensor<T> deviation(const Tensor<T>& x) const
    {
        return x - apply<Mean, T>(Mean{{along.axes, true, along.from}}, Site{}, x);
    }
    double scale() const
    {
        return 2.0 / std::max(0.0, static_cast<double>(along.count()) - static_cast<double>(ddof));
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&) const
    {
        return along.spread(g * scale()) * deviation(x);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>&) const
    {
        return along.sum(dot * deviation(x)) * scale();
    }
};

namespace detail {

/// Enough where it is a normal number: small ones have lost digits, large ones are ∞.
struct SumOfSquares : monoid::Add {
    template <class V> static V map(const V& x) { return x * x; }
    template <class V> static auto enough(const V& s, const FoldLine<V>& line)
    {
        return (s >= line.least) & is_finite(s);
    }
    template <class V> static V result(const V& s)
    {
        using std::sqrt;
        return sqrt(s);
    }
};
struct LargestSize : monoid::Maximum {
    template <class V> static V map(const V& x)
    {
        using std::abs;
        return abs(x);
    }
    template <class V> static V result(const V& m) { return maximum(lit(0), m); }
};
struct ScaledSquares : monoid::Add {
    template <class V> static V map(const V& x, const FoldLine<V>& line) { return square(x / line.r[1]); }
    template <class V> static V result(const V& s, const FoldLine<V>& line)
    {
        using std::sqrt;
        const V& m = line.r[1];
        return where((m > lit(0)) & is_finite(m), m * sqrt(s), m);
    }
};

}  // namespace detail

/// y = √Σ x²;  x̄ = ȳ x / y, and 0 at the origin, where the norm has a kink and 0 is a subgradient
struct Norm {
    static constexpr std::string_view name = "norm";
    using passes = Passes<detail::SumOfSquares, detail::LargestSize, detail::ScaledSquares>;
    static constexpr unsigned saves = 0b11;
    Along along;
    void describe(Fold& f) const { along.describe(f); }
    template <class T> Tensor<T> direction(const Tensor<T>& x, const Tensor<T>& y) const
    {
        return apply_elementwise<QuotientOrZero, T>({}, x, along.spread(y));
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.spread(g) * direction(x, y);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.sum(dot * direction(x, y));
    }
};

/// y = ln Σ eˣ;  x̄ = ȳ w with w = e^(x − y) / Σ e^(x − y), and 0 where x is −inf. The sum would be 1 but for y's rounding,
/// of which w is free: that of a y of 10⁷ is half a unit (float).
struct LogSumExp {
    static constexpr std::string_view name = "logsumexp";
    using passes = Passes<detail::Shift, detail::LogOfExponentials>;
    static constexpr unsigned saves = 0b11;
    Along along;
    void describe(Fold& f) const { along.describe(f); }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        const auto [e, total] = weights(x, y);
        return apply_elementwise<QuotientOrZero, T>({}, along.spread(g), total) * e;
    }
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        const auto [e, total] = weights(x, y);
        return reshape(
            apply_elementwise<QuotientOrZero, T>({}, sum(dot * e, along.axes, true, Site{}), total),
            y.shape(), Site{});
    }
    /// e^(x − y) and its sum, extents of 1 kept. Their quotient does not depend on y.
    template <class T> std::pair<Tensor<T>, Tensor<T>> weights(const Tensor<T>& x, const Tensor<T>& y) const
    {
        const Tensor<T> e = weigh_by_exp(detail::one_beside(x), x, along.spread(y.detach()));
        return {e, sum(e, along.axes, true, Site{})};
    }
};

}  // namespace wengert

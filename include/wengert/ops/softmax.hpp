// softmax and log_softmax along one axis. Their cotangents are operations of their own, one fused kernel each, so that
// the first derivative costs one pass and the rules below give all the higher ones.
#pragma once

#include "exponentials.hpp"
#include "elementwise/math.hpp"
#include "sum.hpp"

namespace wengert {

namespace detail {

/// Σ over the axis, kept as an extent of 1.
template <class T, class D> Tensor<T, D> sum_along(std::size_t axis, const Tensor<T, D>& x)
{
    return sum(x, {axis}, true, Site{});
}

}  // namespace detail

/// v̄(g, y) = y (g − Σ g y), the Jacobian of softmax times g: it is symmetric, so this is the tangent too.
/// ḡ = v̄(h, y),  ȳ = h (g − Σ g y) − g Σ h y
struct SoftmaxPull {
    static constexpr std::string_view name = "softmax_pull";
    using passes = Passes<detail::SumOfProducts>;
    using maps = void;
    static constexpr unsigned saves = 0b011;
    std::size_t axis;
    void describe(Fold& f) const { f.axis = axis; }
    template <class V> static V each(const V& g, const V& y, const FoldLine<V>& line)
    {
        return y * (g - line.r[0]);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>&, const Tensor<T>& y, const Tensor<T>&) const
    {
        return apply<SoftmaxPull, T>(*this, Site{}, h, y);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& h, const Tensor<T>& g, const Tensor<T>& y, const Tensor<T>&) const
    {
        return h * (g - detail::sum_along(axis, g * y)) - g * detail::sum_along(axis, h * y);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dg, const Tensor<T>& dy, const Tensor<T>& g, const Tensor<T>& y,
                   const Tensor<T>&) const
    {
        return apply<SoftmaxPull, T>(*this, Site{}, dg, y) + dy * (g - detail::sum_along(axis, g * y)) -
               y * detail::sum_along(axis, g * dy);
    }
};

/// y = eˣ / Σ eˣ;  x̄ = y (ȳ − Σ ȳ y)
struct Softmax {
    static constexpr std::string_view name = "softmax";
    using passes = Passes<detail::Shift, detail::KeptExponentials>;
    using maps = void;
    static constexpr unsigned saves = 0b10;
    std::size_t axis;
    void describe(Fold& f) const { f.axis = axis; }
    template <class V> static V each(const V&, const FoldLine<V>& line) { return line.kept * line.r[1]; }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& y) const
    {
        return apply<SoftmaxPull, T>(SoftmaxPull{axis}, Site{}, g, y);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>&, const Tensor<T>& y) const
    {
        return apply<SoftmaxPull, T>(SoftmaxPull{axis}, Site{}, dot, y);
    }
};

/// v̄(g, y) = g − eʸ Σ g;  ḡ = h − Σ h eʸ,  ȳ = −h eʸ Σ g
struct LogSoftmaxPull {
    static constexpr std::string_view name = "log_softmax_pull";
    using passes = Passes<detail::SumOfFirst>;
    using maps = void;
    static constexpr unsigned saves = 0b011;
    std::size_t axis;
    void describe(Fold& f) const { f.axis = axis; }
    template <class V> static V each(const V& g, const V& y, const FoldLine<V>& line)
    {
        using std::exp;
        return g - exp(y) * line.r[0];
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>&, const Tensor<T>& y, const Tensor<T>&) const
    {
        return h - detail::sum_along(axis, h * exp(y));
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& h, const Tensor<T>& g, const Tensor<T>& y, const Tensor<T>&) const
    {
        return -(h * exp(y) * detail::sum_along(axis, g));
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dg, const Tensor<T>& dy, const Tensor<T>& g, const Tensor<T>& y,
                   const Tensor<T>&) const
    {
        return apply<LogSoftmaxPull, T>(*this, Site{}, dg, y) - exp(y) * dy * detail::sum_along(axis, g);
    }
};

/// y = x − ln Σ eˣ;  x̄ = ȳ − eʸ Σ ȳ,  ẏ = ẋ − Σ ẋ eʸ
struct LogSoftmax {
    static constexpr std::string_view name = "log_softmax";
    using passes = Passes<detail::Shift, detail::LogOfSum>;
    using maps = void;
    static constexpr unsigned saves = 0b10;
    std::size_t axis;
    void describe(Fold& f) const { f.axis = axis; }
    template <class V> static V each(const V& x, const FoldLine<V>& line)
    {
        return x - line.r[0] - line.r[1];
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& y) const
    {
        return apply<LogSoftmaxPull, T>(LogSoftmaxPull{axis}, Site{}, g, y);
    }
    template <class T> Tensor<T> push(const Tensor<T>& dot, const Tensor<T>&, const Tensor<T>& y) const
    {
        return dot - detail::sum_along(axis, dot * exp(y));
    }
};

/// eˣ / Σ eˣ along an axis, without overflow on the way. Throws ShapeError for an axis out of range.
template <Differentiable T, class D>
Tensor<T, D> softmax(const Tensor<T, D>& x, std::int64_t axis = -1,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Softmax, T>(Softmax{normalize_axis("softmax", axis, x.shape("softmax", at), at)}, at, x);
}

/// ln softmax(x) along an axis, exact where softmax would round to 0. Throws ShapeError for an axis out of range.
template <Differentiable T, class D>
Tensor<T, D> log_softmax(const Tensor<T, D>& x, std::int64_t axis = -1,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<LogSoftmax, T>(
        LogSoftmax{normalize_axis("log_softmax", axis, x.shape("log_softmax", at), at)}, at, x);
}

}  // namespace wengert

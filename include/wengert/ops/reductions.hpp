// Reductions other than sum: mean, prod, amax, amin, var, stddev, norm, logsumexp, argmax, argmin, all, any.
//
// Each has f(x), over every axis, and f(x, axes, keepdims = false) with axes counted from the end where negative; an axis
// out of range or given twice is a ShapeError. Over no elements: mean and var are NaN, prod is 1, logsumexp −inf, norm 0;
// amax, amin, argmax and argmin throw a ShapeError.
#pragma once

#include <optional>

#include "../kernels/cpu/rows.hpp"
#include "choices.hpp"
#include "exclusive.hpp"
#include "sum.hpp"

namespace wengert {

/// The axes of a reduction, as its rules need them.
struct Along {
    Axes axes;            ///< sorted, non-negative
    bool keepdims = false;
    Shape from;           ///< of the operand
    Shape kept() const
    {
        Shape s = from;
        for (auto a : axes) s[static_cast<std::size_t>(a)] = 1;
        return s;
    }
    /// Elements for each one of the result.
    std::size_t count() const
    {
        std::size_t n = 1;
        for (auto a : axes) n *= static_cast<std::size_t>(from[static_cast<std::size_t>(a)]);
        return n;
    }
    /// A result or its cotangent with extents of 1 at the reduced axes, so that it broadcasts against the operand.
    template <class T>
    Tensor<T> spread(const Tensor<T>& y) const
    {
        return keepdims ? y : reshape(y, kept(), Site{});
    }
    template <class T>
    Tensor<T> sum(const Tensor<T>& x) const
    {
        return wengert::sum(x, axes, keepdims, Site{});
    }
};

namespace detail {

template <class T>
Along along(std::string_view name, const Tensor<T>& x, const Axes* axes, bool keepdims, const Site& at)
{
    return {normalize_axes(name, axes ? *axes : Axes(), !axes, x.shape(), at), keepdims, x.shape()};
}

/// kernel(x, outer, n, inner, out) over the axes.
template <class T, class Out, class Kernel>
Ref<Block> reduce(const Ref<Block>& x, const Along& along, const Kernel& kernel)
{
    const Reduction r = reduction_of(x, along.axes);
    auto out = make_block(dtype_of<Out>(), r.shape(along.keepdims));
    kernel(r.x->template as<T>(), r.outer, r.n, r.inner, out->template as<Out>());
    return out;
}

inline void refuse_empty(std::string_view name, const Along& along, const Site& at)
{
    if (along.count() == 0 && element_count(along.kept()) > 0)
        fail<ShapeError>(name, "there is no largest or smallest of no elements: shape " + to_string(along.from) +
                                   ", axes " + to_string(along.axes), at);
}

}  // namespace detail

/// y = Σ x / n;  x̄ = ȳ / n
struct Mean {
    static constexpr std::string_view name = "mean";
    static constexpr bool linear = true;
    Along along;
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        auto y = detail::reduce<T, T>(x, along, [](auto... a) { kernels::sum<T>(a...); });
        for (std::size_t i = 0; i < y->count; ++i) y->template as<T>()[i] /= static_cast<T>(along.count());
        return y;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return broadcast_to(along.spread(g / static_cast<double>(along.count())), along.from);
    }
};

/// y = Π x;  x̄ᵢ = ȳ Π over the others. Zeros need no special case, to any order.
struct Prod {
    static constexpr std::string_view name = "prod";
    static constexpr unsigned saves = 0b01;
    Along along;
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return detail::reduce<T, T>(x, along, [](auto... a) { kernels::prod<T>(a...); });
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&) const
    {
        return along.spread(g) * exclusive_product(x, along.axes);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>&) const
    {
        return along.sum(dot * exclusive_product(x, along.axes));
    }
};

/// y = max x or min x;  x̄ = ȳ shared equally by the elements that equal y: at ties that is one subgradient of many, the
/// one that treats them alike. A NaN in x is the result and takes the gradient.
template <bool largest>
struct Extremum {
    static constexpr std::string_view name = largest ? "amax" : "amin";
    static constexpr unsigned saves = 0b11;
    Along along;
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Site& at) const
    {
        detail::refuse_empty(name, along, at);
        return detail::reduce<T, T>(x, along, [](auto... a) {
            if constexpr (largest) kernels::amax<T>(a...);
            else kernels::amin<T>(a...);
        });
    }
    /// 1 / (number of ties) at the elements that equal the result, else 0: a constant.
    template <class T>
    Tensor<T> shares(const Tensor<T>& x, const Tensor<T>& y) const
    {
        const Tensor<T> chosen = apply_elementwise<SameValue, T>({}, x.detach(), along.spread(y.detach()));
        return chosen / sum(chosen, along.axes, true, Site{});
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.spread(g) * shares(x, y);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.sum(dot * shares(x, y));
    }
};

/// y = Σ (x − mean)² / (n − ddof);  x̄ = 2 ȳ (x − mean) / (n − ddof)
struct Var {
    static constexpr std::string_view name = "var";
    static constexpr unsigned saves = 0b01;
    Along along;
    std::size_t ddof;
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return detail::reduce<T, T>(x, along, [&](const T* p, std::size_t outer, std::size_t n, std::size_t inner, T* y) {
            kernels::var<T>(p, outer, n, inner, ddof, y);
        });
    }
    template <class T>
    Tensor<T> deviation(const Tensor<T>& x) const
    {
        return x - apply<Mean, T>(Mean{{along.axes, true, along.from}}, Site{}, x);
    }
    double scale() const { return 2.0 / std::max(0.0, static_cast<double>(along.count()) - static_cast<double>(ddof)); }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&) const
    {
        return along.spread(g * scale()) * deviation(x);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>&) const
    {
        return along.sum(dot * deviation(x)) * scale();
    }
};

/// y = √Σ x²;  x̄ = ȳ x / y, and 0 at the origin, where the norm has a kink and 0 is a subgradient
struct Norm {
    static constexpr std::string_view name = "norm";
    static constexpr unsigned saves = 0b11;
    Along along;
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return detail::reduce<T, T>(x, along, [](auto... a) { kernels::norm<T>(a...); });
    }
    template <class T>
    Tensor<T> direction(const Tensor<T>& x, const Tensor<T>& y) const
    {
        return apply_elementwise<QuotientOrZero, T>({}, x, along.spread(y));
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.spread(g) * direction(x, y);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.sum(dot * direction(x, y));
    }
};

/// y = ln Σ eˣ;  x̄ = ȳ e^(x − y), and 0 where x is −inf
struct LogSumExp {
    static constexpr std::string_view name = "logsumexp";
    static constexpr unsigned saves = 0b11;
    Along along;
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return detail::reduce<T, T>(x, along, [](auto... a) { kernels::logsumexp<T>(a...); });
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return apply_elementwise<WeighByExp, T>({}, along.spread(g), x, along.spread(y));
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return along.sum(apply_elementwise<WeighByExp, T>({}, dot, x, along.spread(y)));
    }
};


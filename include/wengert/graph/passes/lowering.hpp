// Lowering: coarse primitives as the maps and reductions that they are made of, so that they fuse with what is around them.
// By default they stay, and run as library kernels: one call each, with eager's bits. A program that wants this includes
// the header and says PassOptions{.lower = passes::lowering}.
#pragma once

#include "../../ops/reductions.hpp"
#include "../../ops/softmax.hpp"
#include "../../ops/math.hpp"
#include "../ir/fold_of.hpp"
#include "gradients.hpp"
#include "inlining.hpp"

namespace wengert::passes {

namespace detail {

/// x − max x, or x where that is infinite.
template <class T> Tensor<T> shifted(const Tensor<T>& x, const Axes& axes, Tensor<T>& shift)
{
    const Tensor<T> most = amax(x, axes, true, Site{});
    shift = where(is_finite(most, Site{}), most, T(0));
    return x - shift;
}

/// What a fold is made of; undefined where it stays.
template <class T> Tensor<T> lowered(const Fold& f, const std::vector<AnyTensor>& in)
{
    using What = Fold::What;
    const Axes axes = f.maps() ? Axes{static_cast<std::int64_t>(f.axis)} : *f.axes;
    const auto total = [&](const Tensor<T>& t, bool keepdims = true) {
        return sum(t, axes, keepdims, Site{});
    };
    const Tensor<T> x(in[0]);
    std::size_t count = 1;
    for (auto a : axes) count *= static_cast<std::size_t>(x.shape()[static_cast<std::size_t>(a)]);
    const auto n = static_cast<T>(count);
    Tensor<T> shift;
    switch (f.what) {
    case What::mean: return total(x, f.keepdims) / n;
    case What::variance: {  // 0 for equal elements, as kernels::var
        const Tensor<T> near = shifted(x, axes, shift), d = near - total(near) / n;
        return total(square(d), f.keepdims) / std::max(n - static_cast<T>(f.freedom), T(0));
    }
    case What::log_sum_exp: {
        const Tensor<T> y = log(total(exp(shifted(x, axes, shift)))) + shift;
        return f.keepdims ? y : reshape(y, reduced_shape(axes, false, x.shape()), Site{});
    }
    case What::softmax: {
        const Tensor<T> e = exp(shifted(x, axes, shift));
        return e * (T(1) / total(e));
    }
    case What::log_softmax: {
        const Tensor<T> near = shifted(x, axes, shift);
        return near - log(total(exp(near)));
    }
    case What::softmax_pull: {  // y (g − Σ g y)
        const Tensor<T> y(in[1]), s = total(x * y);
        return y * (x - s);
    }
    case What::log_softmax_pull: {  // g − eʸ Σ g
        const Tensor<T> s = total(x), e = exp(Tensor<T>(in[1]));
        return x - e * s;
    }
    default: return {};
    }
}

inline ValueId lower_rule(Rewrite& r, GraphNode& n)
{
    Fold f;
    if (!fold_of(n, f) || !wengert::differentiable(n.dtype) || element_count(n.shape) == 0) return no_value;
    return traced_inside(r, n, [&](const std::vector<AnyTensor>& in) {
        return is_single(n.dtype) ? lowered<float>(f, in).any_unchecked()
                                  : lowered<double>(f, in).any_unchecked();
    });
}

}  // namespace detail

/// softmax, log_softmax, their cotangents, mean, var and logsumexp as maps and reductions. mean keeps its bits; the others
/// round in another order, by a few units in the last place of the largest term.
inline Graph lowering(const Graph& g, const PassOptions& options = {})
{
    return compacted(settled(g, options, {{detail::lower_rule}}));
}

}  // namespace wengert::passes

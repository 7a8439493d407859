// Random tensors: pure functions of a key. The same key gives the same elements; split(key) gives fresh ones.
#pragma once

#include "../base/key.hpp"
#include "../kernels/cpu/random.hpp"
#include "creation.hpp"

namespace wengert {

namespace detail {
template <class T, class F>
Tensor<T> drawn(std::string_view name, const Shape& shape, const Site& at, const F& fill)
{
    check_shape(name, shape, at);
    auto out = make_block(dtype_of<T>(), shape);
    fill(out->template as<T>(), out->count);
    return Tensor<T>(AnyTensor{std::move(out), {}});
}
inline void check_probability(std::string_view name, double p, bool below_one, const Site& at)
{
    if (!(p >= 0 && p <= 1) || (below_one && p == 1))
        fail<Error>(name, "a probability of " + std::to_string(p) + " is none that this can have", at);
}
}  // namespace detail

/// The normal distribution of mean 0 and variance 1.
template <Differentiable T>
Tensor<T> normal(const Key& key, const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::drawn<T>("normal", shape, at,
                            [&](T* x, std::size_t n) { kernels::fill_normal(key, x, n); });
}

/// Uniform in [low, high); high itself only where low + u (high − low) rounds to it.
template <Differentiable T>
Tensor<T> uniform(const Key& key, const Shape& shape, std::type_identity_t<T> low = T(0),
                  std::type_identity_t<T> high = T(1), Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::drawn<T>("uniform", shape, at, [&](T* x, std::size_t n) {
        kernels::fill_uniform(key, x, n);
        if (low == T(0) && high == T(1)) return;
        for (std::size_t i = 0; i < n; ++i)
            x[i] = std::fma(x[i], high - low, low);  // the same bits everywhere
    });
}

/// True with probability p. Throws Error for a p outside of [0, 1].
inline Tensor<bool> bernoulli(const Key& key, const Shape& shape, double p = 0.5,
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::check_probability("bernoulli", p, false, at);
    return detail::drawn<bool>("bernoulli", shape, at,
                               [&](bool* x, std::size_t n) { kernels::fill_bernoulli(key, p, x, n); });
}

/// Integers of [low, high), all as likely. Throws Error for an empty interval.
template <class T = std::int64_t>
    requires(std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::int32_t>)
Tensor<T> randint(const Key& key, const Shape& shape, std::type_identity_t<T> low,
                  std::type_identity_t<T> high, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (low >= high)
        fail<Error>("randint", "no integers in [" + std::to_string(low) + ", " + std::to_string(high) + ")",
                    at);
    return detail::drawn<T>("randint", shape, at,
                            [&](T* x, std::size_t n) { kernels::fill_integers<T>(key, low, high, x, n); });
}

/// 0 … n − 1 in random order.
inline Tensor<std::int64_t> permutation(const Key& key, std::int64_t n,
                                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::drawn<std::int64_t>("permutation", Shape{n}, at, [&](std::int64_t* x, std::size_t count) {
        kernels::fill_permutation(key, x, count);
    });
}

/// What dropout multiplies by: 0 with the drop probability p, else 1/(1 − p). Throws Error for a p outside of [0, 1).
template <Differentiable T>
Tensor<T> dropout_mask(const Key& key, const Shape& shape, double p,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::check_probability("dropout_mask", p, true, at);
    return detail::drawn<T>("dropout_mask", shape, at,
                            [&](T* x, std::size_t n) { kernels::fill_dropout(key, p, x, n); });
}

}  // namespace wengert

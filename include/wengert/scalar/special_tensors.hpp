// The gamma function and its kin on arrays, for kernels: composed of what executors know, accurate to some 1e−14 of 1 + |ln Γ|.
#pragma once

#include "../ops/arithmetic.hpp"
#include "../ops/math.hpp"
#include "../ops/selection.hpp"
#include "../ops/trigonometry.hpp"
#include "entry.hpp"

namespace wengert::detail {

/// What Γ and ψ are made of: z = x or by reflection 1 − x, and w = z or z + 8, from where on Stirling's series serves.
template <class T> struct GammaParts {
    explicit GammaParts(const Tensor<T>& x)
        : reflected(x < 0.5), z(where(reflected, 1.0 - x, x)), near(z < 16.0), w(where(near, z + 8.0, z)),
          fraction(x - round(x)), half(0.5 * round(x))
    {}
    /// sin πx / |sin πx|
    Tensor<T> sign() const { return where((fraction < 0.0) != (half > floor(half)), Tensor<T>(-1.0), 1.0); }

    Tensor<bool> reflected;
    Tensor<T> z;
    Tensor<bool> near;
    Tensor<T> w, fraction, half;
};

template <class T> Tensor<T> lgamma_of(const GammaParts<T>& p)
{
    constexpr double of_series[] = {1.0 / 1188, 1.0 / 1680, 1.0 / 1260, 1.0 / 360, 1.0 / 12};
    const Tensor<T> u = 1.0 / (p.w * p.w);
    Tensor<T> s = 691.0 / 360360 - u * (1.0 / 156), product = p.z;
    for (const double c : of_series) s = c - u * s;
    for (int k = 1; k < 8; ++k) product = product * (p.z + static_cast<double>(k));
    const Tensor<T> far = (p.w - 0.5) * log(p.w) - p.w + 0.5 * std::log(2 * std::numbers::pi) + s / p.w;
    const Tensor<T> y = far - where(p.near, log(product), 0.0);
    return where(p.reflected, std::log(std::numbers::pi) - log(abs(sin(std::numbers::pi * p.fraction))) - y,
                 y);
}

template <class T> Tensor<T> digamma_of(const GammaParts<T>& p)
{
    constexpr double of_series[] = {-1.0 / 12,  691.0 / 32760, -1.0 / 132, 1.0 / 240,
                                    -1.0 / 252, 1.0 / 120,     -1.0 / 12};
    const Tensor<T> u = 1.0 / (p.w * p.w);
    Tensor<T> s = u * (3617.0 / 8160), sum = 1.0 / p.z;
    for (const double c : of_series) s = (s + c) * u;
    for (int k = 1; k < 8; ++k) sum = sum + 1.0 / (p.z + static_cast<double>(k));
    const Tensor<T> y = log(p.w) - 0.5 / p.w + s - where(p.near, sum, 0.0);
    return where(p.reflected, y - std::numbers::pi / tan(std::numbers::pi * p.fraction), y);
}

[[noreturn]] inline void refuse_on_arrays(ScalarOp op)
{
    fail<TapeError>("kernel",
                    std::string(name_of(op)) +
                        " has no form on arrays: take it out of the kernel, as scalar code",
                    Site{});
}

template <class T> Tensor<T> special_on_tensors(ScalarOp op, const Tensor<T>& x)
{
    const GammaParts<T> parts(x);
    if (op == ScalarOp::lgamma) return lgamma_of(parts);
    if (op != ScalarOp::tgamma) refuse_on_arrays(op);
    const Tensor<T> size = exp(lgamma_of(parts));
    return where(parts.reflected, parts.sign() * size, size);
}
template <class T> Tensor<T> special_on_tensors(ScalarOp op, const Tensor<T>& a, const Tensor<T>& b)
{
    if (op == ScalarOp::remainder) return a - round(a / b) * b;
    if (op == ScalarOp::beta) {
        const auto gamma = [](const Tensor<T>& x) { return special_on_tensors(ScalarOp::tgamma, x); };
        return gamma(a) * gamma(b) / gamma(a + b);
    }
    if (op == ScalarOp::polygamma && a.size() == 1 && a.item() == T(0)) return digamma_of(GammaParts<T>(b));
    refuse_on_arrays(op);
}

}  // namespace wengert::detail

// The gamma function and its kin on arrays, for kernels; what has no form there is refused.
#pragma once

#include "../../ops/elementwise/arithmetic.hpp"
#include "../../ops/selection.hpp"
#include "../../ops/elementwise/special.hpp"
#include "../stream/entry.hpp"

namespace wengert::detail {

[[noreturn]] inline void refuse_on_arrays(ScalarOp op)
{
    fail<TapeError>("kernel",
                    std::string(name_of(op)) +
                        " has no form on arrays: take it out of the kernel, as scalar code",
                    Site{});
}

/// Γ(a) Γ(b) / Γ(a + b) for a, b > 0, by logarithms where one of them is too large; those cost some digits, as they do <cmath>.
template <class T> Tensor<T> beta_on_tensors(const Tensor<T>& a, const Tensor<T>& b)
{
    const Tensor<T> sum = a + b, direct = tgamma(a) / tgamma(sum) * tgamma(b);
    return where(sum < std::numeric_limits<T>::max_exponent / 6.0 && is_finite(direct), direct,
                 exp(lgamma(a) + lgamma(b) - lgamma(sum)));
}
template <class T> Tensor<T> special_on_tensors(ScalarOp op, const Tensor<T>& a, const Tensor<T>& b)
{
    if (op == ScalarOp::beta) return beta_on_tensors(a, b);
    if (op != ScalarOp::polygamma || a.size() != 1) refuse_on_arrays(op);
    const auto order = static_cast<unsigned>(a.item());
    return order == 0 ? digamma(b) : polygamma_of(order, b);
}

}  // namespace wengert::detail

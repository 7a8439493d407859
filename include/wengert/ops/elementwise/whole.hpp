// Division with a whole quotient, of numbers and of integers: composed of what there is.
#pragma once

#include "cast.hpp"
#include "math.hpp"

namespace wengert {

namespace detail {

/// n, 1 where it is 0.
template <class T, class D> Tensor<T, D> divisor(const Tensor<T, D>& n, const Site& at)
{
    return apply_elementwise<Where, T>(at, ops::equal<T>(n, number<T, D>(T(0)), at), number<T, D>(T(1)), n);
}
/// The quotient of integers in double is exact for |x| < 2⁵³: its distance to the next whole number is at least 1/|n|.
template <class T, class D>
Tensor<T, D> whole_quotient(const Tensor<T, D>& x, const Tensor<T, D>& n, const Site& at)
{
    return cast<T>(floor(ops::divide<T>(x, n, at), at), at);
}

}  // namespace detail

/// x − n ⌊x / n⌋, which has the sign of n: Python's %. Of integers 0 where n is 0, and right for |x| < 2⁵³; of floating-point numbers
/// exact but for one rounding, NaN where n is 0. ∂/∂x = 1, ∂/∂n = −⌊x / n⌋.
template <Scalar T, class D>
Tensor<T, D> mod(const Tensor<T, D>& x, const std::type_identity_t<Operand<T, D>>& n)
{
    const Site& at = n.at;
    if constexpr (std::is_floating_point_v<T>) {
        const Tensor<T, D> r = fmod(x, *n, at), zero = detail::number<T, D>(T(0));
        const Tensor<bool, D> other_side =
            ops::not_equal<bool>(ops::less<T>(r, zero, at), ops::less<T>(*n, zero, at), at);
        const Tensor<bool, D> moves = ops::logical_and<bool>(ops::not_equal<T>(r, zero, at), other_side, at);
        return apply_elementwise<Where, T>(at, moves, ops::add<T>(r, *n, at), r);
    } else {
        const Tensor<T, D> by = detail::divisor(*n, at);
        return ops::subtract<T>(x, ops::multiply<T>(detail::whole_quotient(x, by, at), by, at), at);
    }
}

/// ⌊x / n⌋: Python's //. Of integers 0 where n is 0, and right for |x| < 2⁵³. The gradient is 0.
template <Scalar T, class D>
Tensor<T, D> floor_divide(const Tensor<T, D>& x, const std::type_identity_t<Operand<T, D>>& n)
{
    const Site& at = n.at;
    if constexpr (std::is_floating_point_v<T>) {
        return round(ops::divide<T>(ops::subtract<T>(x, mod(x, n), at), *n, at), at);
    } else {
        const Tensor<T, D> zero = detail::number<T, D>(T(0));
        return apply_elementwise<Where, T>(at, ops::equal<T>(*n, zero, at), zero,
                                           detail::whole_quotient(x, detail::divisor(*n, at), at));
    }
}

}  // namespace wengert

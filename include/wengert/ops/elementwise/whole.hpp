// Division with a whole quotient, of numbers and of integers: composed of what there is.
#pragma once

#include "cast.hpp"
#include "math.hpp"
#include "pairs.hpp"

namespace wengert {

namespace detail {

/// Is r not 0, and of another sign than n?
template <class T, class D>
Tensor<bool, D> on_other_side(const Tensor<T, D>& r, const Tensor<T, D>& n, const Site& at)
{
    const Tensor<T, D> zero = number<T, D>(T(0));
    const Tensor<bool, D> differ =
        ops::not_equal<bool>(ops::less<T>(r, zero, at), ops::less<T>(n, zero, at), at);
    return ops::logical_and<bool>(ops::not_equal<T>(r, zero, at), differ, at);
}

/// (q, r) of integers, x = q n + r, r of the sign of n; where n is 0, both are 0. A quotient in double is right for |x| < 2⁵³, and near
/// beyond, so the remainder is divided again. What is then still wrong is one n too much, which the sign shows.
template <class T, class D> auto whole_quotient(const Tensor<T, D>& x, const Tensor<T, D>& by, const Site& at)
{
    constexpr std::int64_t most = std::numeric_limits<T>::max();
    const auto largest = number<double, D>(most - (most >> 53));  // of double that T holds
    const auto zero = number<T, D>(T(0)), one = number<T, D>(T(1));
    const auto none = ops::equal<T>(by, zero, at);
    const auto n = apply_elementwise<Where, T>(at, none, one, by);
    const auto near = [&](const auto& a) {
        return cast<T>(apply_elementwise<Minimum, double>(at, floor(ops::divide<T>(a, n, at), at), largest),
                       at);
    };
    const auto rest = [&](const auto& a, const auto& q) {
        return ops::subtract<T>(a, ops::multiply<T>(q, n, at), at);
    };
    const auto q = near(x), first = rest(x, q), more = near(first), r = rest(first, more);
    const auto below = on_other_side(r, n, at);
    const auto both = ops::add<T>(q, more, at);
    const auto quotient = apply_elementwise<Where, T>(at, below, ops::subtract<T>(both, one, at), both);
    return std::pair(apply_elementwise<Where, T>(at, none, zero, quotient),
                     apply_elementwise<Where, T>(at, below, ops::add<T>(r, n, at), r));
}

}  // namespace detail

/// x − n ⌊x / n⌋, which has the sign of n: Python's %. Of integers exact, and 0 where n is 0; of floating-point numbers exact but for one
/// rounding, and NaN where n is 0. ∂/∂x = 1, ∂/∂n = −⌊x / n⌋.
template <Scalar T, class D>
Tensor<T, D> mod(const Tensor<T, D>& x, const std::type_identity_t<Operand<T, D>>& n)
{
    if constexpr (std::is_floating_point_v<T>) {
        const Tensor<T, D> r = fmod(x, *n, n.at);
        const Tensor<bool, D> moves = detail::on_other_side(r, *n, n.at);
        return apply_elementwise<Where, T>(n.at, moves, ops::add<T>(r, *n, n.at), r);
    } else {
        return detail::whole_quotient(x, *n, n.at).second;
    }
}

/// ⌊x / n⌋: Python's //. Of integers exact, and 0 where n is 0; of floating-point numbers there what x / n is. The gradient is 0.
template <Scalar T, class D>
Tensor<T, D> floor_divide(const Tensor<T, D>& x, const std::type_identity_t<Operand<T, D>>& n)
{
    if constexpr (std::is_floating_point_v<T>) {
        const Tensor<T, D> zero = detail::number<T, D>(T(0)), r = fmod(x, *n, n.at);
        const Tensor<T, D> q = round(ops::divide<T>(ops::subtract<T>(x, r, n.at), *n, n.at), n.at);
        const Tensor<T, D> below = ops::subtract<T>(q, detail::number<T, D>(T(1)), n.at);
        const Tensor<T, D> y =
            apply_elementwise<Where, T>(n.at, detail::on_other_side(r, *n, n.at), below, q);
        return apply_elementwise<Where, T>(n.at, ops::equal<T>(*n, zero, n.at),
                                           floor(ops::divide<T>(x, *n, n.at), n.at), y);
    } else {
        return detail::whole_quotient(x, *n, n.at).first;
    }
}

}  // namespace wengert

// numeric_limits and streams for numbers that record, as the standard library needs them.
#pragma once

#include <istream>
#include <limits>
#include <ostream>

#include "real.hpp"

namespace wengert {

template <detail::ActiveNumber X> std::ostream& operator<<(std::ostream& out, const X& x)
{
    return out << x.plain();
}
template <detail::ActiveNumber X> std::istream& operator>>(std::istream& in, X& x)
{
    typename X::plain_type value;
    if (in >> value) x = X(value);
    return in;
}

namespace detail {

template <class Number> class NumberLimits : public limits_of<Number> {
    using Base = limits_of<Number>;

public:
    static constexpr Number min() noexcept { return Base::min(); }
    static constexpr Number max() noexcept { return Base::max(); }
    static constexpr Number lowest() noexcept { return Base::lowest(); }
    static constexpr Number epsilon() noexcept { return Base::epsilon(); }
    static constexpr Number round_error() noexcept { return Base::round_error(); }
    static constexpr Number infinity() noexcept { return Base::infinity(); }
    static constexpr Number quiet_NaN() noexcept { return Base::quiet_NaN(); }
    static constexpr Number signaling_NaN() noexcept { return Base::signaling_NaN(); }
    static constexpr Number denorm_min() noexcept { return Base::denorm_min(); }
};

}  // namespace detail
}  // namespace wengert

template <wengert::detail::ActiveNumber X>
class std::numeric_limits<X> : public wengert::detail::NumberLimits<X> {};

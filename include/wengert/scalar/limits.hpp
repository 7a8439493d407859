// What the standard library asks of a number: numeric_limits, streams.
#pragma once

#include <istream>
#include <limits>
#include <ostream>

#include "real.hpp"

namespace wengert {

template <std::floating_point T> std::ostream& operator<<(std::ostream& out, const Real<T>& x)
{
    return out << x.plain();
}
template <std::floating_point T> std::istream& operator>>(std::istream& in, Real<T>& x)
{
    T value;
    if (in >> value) x = Real<T>(value);
    return in;
}

}  // namespace wengert

template <class T> class std::numeric_limits<wengert::Real<T>> : public std::numeric_limits<T> {
    using Number = wengert::Real<T>;
    using Base = std::numeric_limits<T>;

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

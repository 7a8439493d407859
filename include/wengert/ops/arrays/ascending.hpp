// What must ascend: the knots of a spline, the edges of a histogram.
#pragma once

#include <string>

#include "../../tape/speculation.hpp"
#include "../creation.hpp"

namespace wengert::detail {

/// x in a block of its own. Throws NumericError where an element is less than the one before it, `strictly`: or equal; a NaN
/// is neither. `what` it is called, and the `rule` that it breaks.
template <class T>
Ref<Block> ascending(std::string_view name, std::string_view what, bool strictly, std::string_view rule,
                     const Ref<Block>& of, const Site& at)
{
    auto x = copy_of(*of);
    const T* const k = x->template as<T>();
    for (std::size_t i = 1; i < x->count && !runs_example(); ++i)
        if (!(strictly ? k[i - 1] < k[i] : k[i - 1] <= k[i]))
            fail<NumericError>(name,
                               std::string(what) + " " + std::to_string(i) + " is " +
                                   digits_of(static_cast<double>(k[i]), 9) + " behind " +
                                   digits_of(static_cast<double>(k[i - 1]), 9) + ": " + std::string(rule),
                               at);
    return x;
}

}  // namespace wengert::detail

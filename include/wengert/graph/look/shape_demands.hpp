// What shape rules ask of parameters and operands; each question throws a ShapeError that says what does not fit.
#pragma once

#include <algorithm>
#include <vector>

#include "../../ops/reductions.hpp"
#include "../../ops/view.hpp"
#include "value_type.hpp"

namespace wengert {

namespace detail {

inline Shape broadcast(const Shape& a, const Shape& b) { return broadcast_shapes("graph", a, b, {}); }

inline Shape reduced_shape(const Axes& axes, bool keepdims, const Shape& from, const Shape& x)
{
    stated(from, x);
    demand_axes(axes, x.size());
    Shape out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool reduced = next < axes.size() && axes[next] == static_cast<std::int64_t>(i);
        next += reduced;
        if (!reduced || keepdims) out.push_back(reduced ? 1 : x[i]);
    }
    return out;
}

}  // namespace detail

}  // namespace wengert

// What of a loop's body is the same in all steps is worked out before the first one.
#pragma once

#include "../fuse/layout.hpp"

namespace wengert::detail {

/// A body in two parts: constants -> `before`'s outputs, and the body with these as inputs after its own. `before` is null
/// where there is nothing to work out.
struct HoistedBody {
    std::shared_ptr<const Graph> before, step;
};

/// Operations that are the same in all steps, as inputs from number `fixed` on are, and that others or outputs read.
std::vector<ValueId> same_in_all_steps(const Graph& g, std::size_t fixed);

/// `fixed`: see same_in_all_steps; more than there are inputs for what is no step of a loop.
HoistedBody hoisted(const std::shared_ptr<const Graph>& whole, std::size_t fixed);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/hoisted_body.ipp"
#endif

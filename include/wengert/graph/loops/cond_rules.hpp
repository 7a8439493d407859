// The derivatives of branches: branches of the derivatives.
#pragma once

#include "loop_rule_parts.hpp"

namespace wengert::detail {

std::vector<bool> active_in_either(const LoopParameters& p, const std::vector<bool>& inputs);

void cond_vjp(const LoopPull& rule);

AnyTensor cond_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in, const AnyTensor* dots);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/cond_rules.ipp"
#endif

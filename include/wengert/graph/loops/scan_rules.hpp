// The reverse rule of a scan, and the rules of scan_pull: those of the scans that keep all states, which compute the same.
#pragma once

#include "../../transforms/section.hpp"
#include "scan_pull.hpp"

namespace wengert::detail {

void scan_vjp(LoopPull& rule);

/// The scan whose derivative p is, all states kept.
std::shared_ptr<const LoopParameters> scan_of(const LoopParameters& p);

/// What a scan_pull computes, result by result, from the same operands.
std::vector<AnyTensor> pulled_with_all_states(const LoopParameters& p, const std::vector<AnyTensor>& operands,
                                              const Site& at);

void scan_pull_vjp(const LoopPull& rule);

AnyTensor scan_pull_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in, const AnyTensor* dots);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/scan_rules.ipp"
#endif

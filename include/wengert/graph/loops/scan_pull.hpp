// One step of a scan's derivative, and the loop of such steps. If the scan has kept its states, the loop is a scan from the last
// step to the first. Otherwise it is a scan_pull, which computes the missing states again.
#pragma once

#include "loop_rule_parts.hpp"

namespace wengert::detail {

struct ScanPull {
    const LoopParameters& p;
    std::vector<bool> active, given;
    std::vector<std::size_t> states, xs, constants;  ///< active inputs

    ScanPull(const LoopParameters& parameters, const std::vector<bool>& wanted,
             const std::vector<AnyTensor>& cotangents);

    /// What communications have given, kept by the scan.
    std::size_t known() const { return p.snapshots ? 0 : p.kept - p.states; }
    /// One step: cotangents of states, sums; states, slices, what communications have given, cotangents of results; constants.
    Graph body() const;
    std::vector<AnyTensor> operands(const std::vector<AnyTensor>& g, const AnyTensor& y,
                                    const std::vector<AnyTensor>& in, const Site& at) const;
    std::shared_ptr<LoopParameters> parameters() const;
};

/// The scan_pull in place of pull.parameters().
std::shared_ptr<LoopParameters> pull_of_snapshots(const ScanPull& pull);

std::vector<AnyTensor> operands_with_snapshots(const ScanPull& pull, const std::vector<AnyTensor>& g,
                                               const AnyTensor& y, const std::vector<AnyTensor>& in,
                                               const Site& at);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/scan_pull.ipp"
#endif

// Forwards through a scan or a while_loop: values and tangents run together as one loop.
#pragma once

#include "loop_rule_parts.hpp"

namespace wengert::detail {

/// A loop on values and tangents together: which inputs have tangents, and how values and tangents are ordered.
struct DualLoop {
    const LoopParameters& p;
    std::vector<bool> active;
    std::vector<std::size_t> order;  ///< (inputs, then active tangents) in the order of this loop
    std::size_t states, xs;

    DualLoop(const LoopParameters& parameters, const std::vector<bool>& inputs);
    /// The body; its outputs are states, tangents of active states, tangents of the results in `wanted`.
    Graph body(const std::vector<bool>& wanted) const;
    /// The test of a while_loop, which reads no tangents.
    Graph test(const Graph& body_graph) const;
    /// The parameters of this loop; its results are still those of p.
    std::shared_ptr<LoopParameters> loop(const std::vector<bool>& wanted) const;
    std::vector<AnyTensor> operands(const AnyTensor* in, const AnyTensor* tangents) const;
};

/// Scans and while_loops: tangents lie in the packed block where the values lie in that of p; the values are left out.
AnyTensor joint_jvp(const LoopParameters& p, const AnyTensor* in, const AnyTensor* tangents, std::size_t n);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/loop_tangents.ipp"
#endif

// What the derivatives of all loops and branches are put together from: inputs saved, cotangents of results, lists of
// positions, packed blocks made of parts.
#pragma once

#include "body_rules.hpp"

namespace wengert::detail {

/// A constant of one number; large ones are no memory of the graph.
AnyTensor filled(DType d, const Shape& shape, double v);

/// Indices of those that are true.
std::vector<std::size_t> chosen(const std::vector<bool>& which, std::size_t first, std::size_t last);

void append(std::vector<std::size_t>& to, const std::vector<std::size_t>& from, std::size_t shift = 0);

/// The position of each true one among the true ones.
std::vector<std::size_t> ranks(const std::vector<bool>& which);

/// The inputs of a loop that the results of its derivative belong to, in the order of those.
std::vector<std::size_t> pulled_inputs(const LoopParameters& pull);

/// What the reverse rule of a loop has at hand.
struct LoopPull {
    const Node& n;
    Cotangents& out;
    std::shared_ptr<const LoopParameters> p;  ///< without calls of the host
    std::vector<AnyTensor> in, cotangents;    ///< of the results, empty where there are none
    std::vector<bool> wanted;                 ///< inputs

    LoopPull(const Node& node, const LoopParameters& q, const AnyTensor& g, Cotangents& pulled,
             std::shared_ptr<const LoopParameters> without_host_calls);
    /// Hands a derivative's results on to the inputs that want them.
    void add(const LoopParameters& pull, const AnyTensor& packed,
             const std::vector<std::size_t>& inputs) const;
};

/// A cotangent or tangent, zeros where it is absent.
AnyTensor or_zeros(const AnyTensor& t, DType dtype, const Shape& shape);

std::vector<bool> have_tangents(const AnyTensor* tangents, std::size_t n);

/// A packed block from some of its results, zeros elsewhere.
AnyTensor packed_from(const LoopParameters& p, const std::vector<AnyTensor>& parts);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/loop_rule_parts.ipp"
#endif

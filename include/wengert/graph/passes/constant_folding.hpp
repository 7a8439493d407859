// Constant folding: operations on constants are computed once, here.
#pragma once

#include "../ir/cost.hpp"
#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// Operations that a value is made of, from constants alone, in an order in which they can be computed.
struct ConstantWork {
    static constexpr std::size_t most = 32;
    std::vector<ValueId> operations;
    bool known = true;   ///< there are no others, and not too many
    bool small = false;  ///< no result is larger than the operands
};

ConstantWork constant_work(const Rewrite& r, const GraphNode& n);

/// Reading the value from memory takes less than computing it, and the constants keep to their limit.
bool worth_storing(Rewrite& r, const GraphNode& n, const ConstantWork& w);

/// What an operation on constants gives; null where it throws, which is left for when it runs.
Ref<Block> folded(const Rewrite& r, const GraphNode& n, const ConstantWork& w);

ValueId fold_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Operations on constants become constants, by the kernels that would run: exact. A result larger than
/// PassOptions::fold_bytes and than its operands stays an operation, unless it is an elementwise one that takes longer to
/// compute than to read and the graph's constants keep to fold_total. Random draws have a key that is an input, or are
/// constants already.
inline constexpr Pass constant_folding{"constant_folding", detail::fold_rule};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/constant_folding.ipp"
#endif

// Which operations run on addresses that are computed when the graph is planned. For each: may it fail, and may its result lie
// where an operand does?
#pragma once

#include <algorithm>
#include <iterator>

#include "../../ops/gemm.hpp"
#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "../ir/index_program.hpp"
#include "../fuse/layout.hpp"

namespace wengert::tiling {

/// How an operation runs that no pass over elements takes up.
enum class Rule : std::uint8_t {
    product,      ///< of two matrices or vectors, or of batches of them
    add_product,  ///< the same, added to what is there
    fold,         ///< of whole axes
    index,        ///< what it has a description of (ops/index/index.hpp), whatever it is called
    zero_rule,    ///< Primitive::zero_rule, of (r, g)
    update,       ///< Primitive::update, in place
    compute,      ///< Primitive::compute, all the rest
};

namespace detail {

/// Floats of one type, of axes that lie in line.
bool plain_floats(const Graph& g, const GraphNode& n);

/// gemm can read the operand as it lies: its last two axes are rows or columns.
bool gemm_reads(const Graph& g, const Layouts& layouts, ValueId v);

/// Its kernel can read the operands as they lie, and there is something to fold.
bool folds_in_place(const Graph& g, const Layouts& layouts, const GraphNode& n, const Fold& f);

bool read_as_matrix(const Graph& g, const Layouts& layouts, const GraphNode& n, std::uint8_t operand);

/// A product that gemm carries out where its operands lie, or `compute`.
Rule rule_of_product(const Graph& g, const Layouts& layouts, const GraphNode& n);

Rule rule_of_call(const Graph& g, const Layouts& layouts, const GraphNode& n);

}  // namespace detail

Rule rule_of(const Graph& g, const Layouts& layouts, ValueId v);

/// Is the value computed in the memory of input 0?
bool updates_first(Rule r) noexcept;

/// Does it allocate or look at what it is given? Rules with addresses that are known do neither.
bool may_throw(const Graph& g, const Layouts& layouts, ValueId v);

/// May the result of an index program lie where operand o does? It begins with that, or reads it at its own places only.
bool overwrites_indexed(const Graph& g, const Layouts& layouts, const GraphNode& n, ValueId o);

/// May v, the result of an operation that is not fused, lie where its operand o does? Both are whole and of the same size.
bool overwrites(const Graph& g, const Layouts& layouts, ValueId v, ValueId o);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/library_rules.ipp"
#endif

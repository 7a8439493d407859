// Rows at once: a loop without a state does the same with each of its slices, so its operations may run on all slices together.
// vmap writes such loops, and so do their derivatives.
#pragma once

#include <optional>

#include "../loops/loop.hpp"
#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// A value of a loop's body in the graph around it.
struct ValueOfRows {
    ValueId value = no_value;
    bool rows = false;  ///< axis 0 has the rows; otherwise it is the same for each
    Fn fn = Fn::unknown;
};

/// How the operands of an operation of many lie in its result: one after another along an axis, or each at a position of an axis that
/// it does not have itself (`own_axis`).
struct JoinedParts {
    std::size_t axis = 0;
    bool own_axis = false;

    bool are(const Shape& whole, const std::vector<Selection>& parts) const;
};

/// One result of a loop whose steps know nothing of each other, from the operations of its body on all rows.
class RowsAtOnce {
public:
    RowsAtOnce(Rewrite& r, const GraphNode& result, const GraphNode& loop, const LoopParameters& p)
        : r_(r), result_(result), loop_(loop), p_(p), body_(*p.body), of_(body_.size())
    {}

    /// Elementwise operations, moves of elements, sums and small products act on each row alone, wherever it lies. Others do not say
    /// so. Where that would take much memory, a loop is as fast.
    bool can_do(std::size_t result);
    /// The value of result number `result`, of shape (rows, …).
    ValueId make(std::size_t result);

private:
    bool needed(std::size_t result);
    bool may_have_rows(const GraphNode& n, Fn fn) const;
    bool is_small_product(const GraphNode& n) const;
    std::optional<JoinedParts> parts_of(const GraphNode& n) const;
    void make_value(ValueId v);
    GraphNode with_rows(const GraphNode& n, const Shape& shape) const;
    ValueId elementwise(const GraphNode& n);
    ValueId move(const GraphNode& n);
    ValueId move_part(const GraphNode& n, Fn fn, const Selection& part);
    ValueId sum(const GraphNode& n);
    ValueId join(const GraphNode& n);
    ValueId product(const GraphNode& n);
    ValueId written(const GraphNode& n, Fn fn, ValueList x, const Shape& shape, const void* op);
    /// x for every row, also where it is the same.
    ValueId spread(const GraphNode& n, const ValueOfRows& x);
    ValueId reshaped(const GraphNode& n, ValueId x, const Shape& shape);
    /// x with axes of extent 1 behind the rows, so that a row has `rank` axes.
    ValueId aligned(const GraphNode& n, const ValueOfRows& x, std::size_t rank);
    Shape rows_of(const Shape& row, std::size_t rank) const;
    Shape rows_of(const Shape& row) const { return rows_of(row, row.size()); }

    Rewrite& r_;
    const GraphNode &result_, &loop_;
    const LoopParameters& p_;
    const Graph& body_;
    std::vector<ValueOfRows> of_;
    std::vector<bool> needed_;
};

ValueId rows_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Loops without a state as operations on all rows, where all of the body is elementwise, moves elements, sums or is a small product.
/// Exact.
inline constexpr Pass rows{"rows", detail::rows_rule};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/rows.ipp"
#endif

// Thin parts of large values, computed of thin parts of what these are made of. A halo exchange sends the edges of an array. Where
// the whole array need not be there for that, what reads it can make it on the way (text/stencils.hpp).
#pragma once

#include <map>
#include <optional>

#include "../ir/box_reads.hpp"
#include "made.hpp"
#include "options.hpp"

namespace wengert {

namespace passes::detail {

class ThinParts {
public:
    /// Elements of a value from which on a pass over it costs more than a few short operations.
    static constexpr std::size_t least_elements = 4096;
    /// All parts that are read together have at most this share of the value's elements.
    static constexpr std::size_t share = 8;
    /// Operations that a part may take.
    static constexpr std::size_t most_nodes = 32;

    explicit ThinParts(const Graph& g) : g_(g) {}
    Graph run();
    /// Are there parts that can be made so?
    bool any();

private:
    const GraphNode& node(ValueId v) const { return g_.node(v); }
    const wengert::detail::BoxReads* moves(ValueId v);
    bool takes_part(ValueId reader, ValueId of) const;
    /// Would nobody miss it, if its thin parts were made without it?
    bool is_open(ValueId v);
    bool can_be_inside(ValueId v);

    /// The reader v of a part, in the new graph.
    ValueId thin(ValueId v);
    /// The part s of v, in the new graph.
    ValueId part(ValueId v, const Selection& s);
    ValueId selected(ValueId v, const Selection& s);
    ValueId computed(ValueId v, const Selection& s);
    ValueId moved(ValueId v, const wengert::detail::BoxReads& b, const Selection& s);
    /// The elements of the part, of which read r says what is there, are put into `so_far`.
    ValueId with_read(ValueId v, ValueId so_far, const wengert::detail::BoxRead& r, const Selection& s);
    ValueId number(double x, const Shape& shape, const GraphNode& like);
    ValueId made(Fn fn, const void* op, ValueList inputs, const Shape& shape, const GraphNode& like);

    const Graph& g_;
    Graph to_;
    std::vector<ValueId> map_;
    std::vector<std::vector<ValueId>> readers_;
    std::vector<ValueId> parts_;  ///< operations that take thin parts
    std::map<ValueId, std::optional<wengert::detail::BoxReads>> moves_;
    std::map<ValueId, bool> open_;
    std::size_t nodes_ = 0, computed_ = 0;  ///< of the part at hand, and those of them that compute
    bool cut_off_ = false;                  ///< it would have taken more
};

/// The part of an elementwise operation's operand of that shape that belongs to a part of its result: of the same rank.
Selection part_of_operand(const Selection& s, const Shape& operand);

/// The elements of a part that a read makes: which of the part, and which of the operand. False where there are none, or where
/// they are no part of the operand (`known` is false then).
struct PartRead {
    Selection to, from;
    bool known = true, whole = true;

    bool cut(const wengert::detail::BoxRead& r, const Selection& s, const Shape& operand);

private:
    bool cut_result(const wengert::detail::BoxRead& r, const Selection& s);
    void cut_operand(const wengert::detail::BoxRead& r, const Selection& s, const Shape& operand);
};

}  // namespace passes::detail

/// The graph in which thin parts of values are made without these, where all that reads them computes or moves elements. Exact: an
/// element is made by the same operations in the same order. Nothing where there are no such parts.
std::optional<Graph> thin_parts(const Graph& g);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/thin_parts.ipp"
#endif

// Rows that stay where they are: map -> reduce -> broadcast -> map, as in softmax and normalisation, in one pass over rows.
//
// Elementwise operations over a shape (…, n), operations on its rows of n (row_kernels.hpp), and what is computed with one
// element a row between these, from a reduction to the operation that reads it along the row, are all operations on the same
// elements: those of (…, n). Fusion treats them as such, so its levels keep groups free of cycles here, too.
#pragma once

#include "group.hpp"

namespace wengert::tiling {

namespace detail {

/// Extents other than 1: what the elements of a value are, whatever its shape.
Shape squeezed(const Shape& shape);

/// Does a value of shape `x` with one element a row go along the rows of `shape` when it is broadcast to that?
bool spreads_along_rows(const Shape& x, const Shape& shape);

/// Which operations take part in passes over rows. `kind` numbers the elements that an operation is over, by value. It is 0 for
/// operations that run by themselves. The constructor gives operations on rows the number of the rows' elements.
class RowMembers {
public:
    /// `number(shape, segment)`: that of elements. `source(v)`: what is read when v is.
    template <class Number, class Source>
    RowMembers(const Graph& g, Preferences& wants, const std::vector<bool>& runs,
               std::vector<std::uint32_t>& kind, const Number& number, const Source& source)
        : g_(g), wants_(wants), kind_(kind), rows_(g.size(), 0), down_(g.size(), 0), up_(g.size(), false),
          narrow_(g.size(), false)
    {
        for (ValueId v = 0; v < g.size(); ++v)
            if (runs[v]) walk_down(v, number, source);
        if (!any_) return;
        for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;)
            if (runs[v]) walk_up(v, source);
        for (ValueId v = 0; v < g.size(); ++v) {
            if (!up_[v]) continue;
            kind_[v] = rows_[v] ? rows_[v] : down_[v];
            narrow_[v] = down_[v] != 0;
        }
    }
    /// Does v, of the same elements as what it reads as i, read it row by row?
    bool in_step(ValueId i, ValueId source, ValueId v) const;
    /// Has it one element a row?
    bool narrow(ValueId v) const { return narrow_[v]; }

private:
    /// What follows from reductions with one element a row.
    template <class Number, class Source>
    void walk_down(ValueId v, const Number& number, const Source& source)
    {
        const GraphNode& n = g_.node(v);
        if (const RowRole r = wants_.row(v); r.along) {
            any_ = true;
            rows_[v] = number(g_.node(n.inputs[0]).shape, n.segment);
            if (r.reduces) down_[v] = rows_[v];
            if (r.joins == RowRole::Joins::makers) read_up(v, source);
            if (r.joins == RowRole::Joins::any) up_[v] = true;
        } else if (any_ && kind_[v]) {
            for (ValueId i : n.inputs)
                if (const ValueId u = source(i); down_[u] && !down_[v] && same(u, v)) down_[v] = down_[u];
        }
    }
    bool same(ValueId u, ValueId v) const;
    /// Maps and reductions other than sums join the operation that makes their rows.
    template <class Source> void read_up(ValueId v, const Source& source)
    {
        for (ValueId i : g_.node(v).inputs)
            if (const ValueId u = source(i); kind_[u] == rows_[v] && !down_[u]) up_[v] = true;
    }
    /// Marks the operations that lead to an operation along the rows.
    template <class Source> void walk_up(ValueId v, const Source& source)
    {
        const std::uint32_t along = kind_[v] ? kind_[v] : up_[v] ? rows_[v] : 0;
        for (ValueId i : g_.node(v).inputs) {
            const ValueId u = source(i);
            if (rows_[u] && !down_[u] && rows_[u] == along) up_[u] = true;
            const bool spreads = down_[u] == along && spreads_along_rows(g_.node(i).shape, g_.node(v).shape);
            if (down_[u] && (spreads || (up_[v] && down_[u] == down_[v]))) up_[u] = true;
        }
    }

    const Graph& g_;
    Preferences& wants_;
    std::vector<std::uint32_t>& kind_;
    std::vector<std::uint32_t> rows_;  ///< of operations on rows: the number of the rows' elements
    std::vector<std::uint32_t> down_;  ///< of what follows from a reduction: that of the elements reduced
    std::vector<bool> up_;             ///< takes part
    std::vector<bool> narrow_;
    bool any_ = false;
};

}  // namespace detail

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/row_groups.ipp"
#endif

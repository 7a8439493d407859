// What of an index program is strides alone: results that are views of their operand, and boxes of elements that are moved.
#pragma once

#include "index.hpp"

namespace wengert {

/// A result as a view of operand 0: strides and an offset, in elements.
struct Alias {
    Strides strides;
    std::int64_t offset = 0;
    bool strided = false;  ///< not in row-major order
};

/// The elements of a read, in strides on both sides; extents of 1 are left out.
struct Box {
    Shape extents;
    Strides from, to;
    std::int64_t first = 0, place = 0;  ///< the elements where these begin
};

namespace detail {

/// An access without rules, in elements of an array with these strides.
struct AffineAccess {
    SmallVector<std::int64_t, 8> along;  ///< one for each axis
    std::int64_t offset = 0;
};
inline bool affine_access(const Index& p, const Positions& at, const Strides& strides, AffineAccess& out)
{
    out.along.resize(p.extents.size());
    for (std::int64_t& s : out.along) s = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
        const Position& q = at[d];
        if (!q.plain()) return false;
        out.offset += q.offset * strides[d];
        for (std::size_t t = 0; t < q.terms; ++t)
            if (p.extents[q.axis[t]] > 1) out.along[q.axis[t]] += q.step[t] * strides[d];
    }
    return true;
}

}  // namespace detail

/// Nothing but one affine read of the only operand, which has strides `of`: the result may be a view of it.
inline bool alias_of(const Index& p, const Strides& of, Alias& out)
{
    if (p.operand_count != 1 || p.read_count != 1 || p.reads[0].operand != 0 || p.owned || p.partial ||
        p.scanned != Scan::none || p.start != Index::Start::nothing || p.reads[0].how != Combine::assign ||
        p.reads[0].minus)
        return false;
    out = {row_major(p.shown()), 0, false};
    if (element_count(p.result) == 0) return true;
    detail::AffineAccess from;
    if (!detail::affine_access(p, p.reads[0].at, of, from)) return false;
    Strides strides = row_major(p.result);
    const Positions& to = p.writes[0];
    for (std::size_t d = 0; d < to.size(); ++d) {
        if (p.result[d] == 1) continue;
        if (!to[d].is_axis()) return false;
        const std::int64_t step = from.along[to[d].axis[0]];
        out.strided = out.strided || step != strides[d];
        strides[d] = step;
    }
    out.offset = from.offset;
    if (p.arranged && out.strided) return false;
    if (!p.arranged) out.strides = strides;
    return true;
}

/// One read of an operand with strides `from` as a box, to be assigned or added to what is there; false where it is none.
inline bool box_of(const Index& p, const Index::Read& r, const Strides& from, Box& out)
{
    if (p.scanned != Scan::none || p.given_count > 0 || (r.minus && r.how == Combine::assign) ||
        (r.how != Combine::assign && r.how != Combine::add))
        return false;
    const Positions& write = p.writes[r.write];
    const bool bijective = p.start == Index::Start::nothing && !p.partial;
    if (!bijective && !p.own_places(write)) return false;
    detail::AffineAccess x, y;
    if (!detail::affine_access(p, r.at, from, x) || !detail::affine_access(p, write, row_major(p.result), y))
        return false;
    out = {};
    out.first = x.offset;
    out.place = y.offset;
    for (std::size_t a = 0; a < p.extents.size(); ++a) {
        if (p.extents[a] == 1) continue;
        out.extents.push_back(p.extents[a]);
        out.from.push_back(x.along[a]);
        out.to.push_back(y.along[a]);
    }
    return true;
}

}  // namespace wengert

// An index program read backwards, as text: from the place of an element of its result to the elements that are read for it. Programs that
// can be read so run in the groups of graphs (group_text.hpp).
#pragma once

#include "../../graph/text/position_text.hpp"

namespace wengert::detail::gpu {

/// Do the elements of a read go to places of their own, each of which tells whose it is?
inline bool tells_element(const Index& p, const Positions& write)
{
    using Rule = Position::Rule;
    std::uint64_t seen = 0;
    for (std::size_t d = 0; d < write.size(); ++d) {
        const Position& q = write.data()[d];
        const VaryingTerms m(p, q);
        const bool digits = p.start == Index::Start::nothing && !p.partial && q.plain() && q.offset == 0;
        const bool turns =
            m.count == 1 && std::abs(m.step[0]) == 1 && p.extents.data()[m.axis[0]] == p.result.data()[d];
        if (q.given || q.rule == Rule::clamped || q.rule == Rule::mirrored ||
            (q.rule == Rule::wrapped && (!turns || (seen >> m.axis[0] & 1))) || (m.count > 1 && !digits))
            return false;
        for (std::size_t t = 0; t < m.count; ++t) seen |= std::uint64_t{1} << m.axis[t];
    }
    for (std::size_t a = 0; a < p.extents.size(); ++a)
        if (p.extents.data()[a] == 0 || (p.extents.data()[a] > 1 && !(seen >> a & 1))) return false;
    return true;
}
/// Can it be read backwards? Its elements are of type d.
inline bool reads_backwards(const Index& p, DType d)
{
    constexpr std::size_t most_axes = 16;
    if (p.scanned != Scan::none || p.has_factor || p.neutral || p.extents.size() > most_axes) return false;
    for (std::size_t k = 0; k < p.read_count; ++k) {
        const Index::Read& r = p.reads[k];
        const bool known = r.how == Combine::assign || r.how == Combine::add;
        if (!known || (d == DType::boolean && (r.how == Combine::add || r.minus))) return false;
        if (!tells_element(p, p.writes[r.write])) return false;
    }
    return true;
}

/// The text of places, backwards as well.
class PlaceText : public PositionText {
public:
    PlaceText(std::string& out, const char* const& index) : PositionText(out, index, "        ") {}

    /// The element of an array that has number `i` in order.
    Names split(const std::string& i, const Shape& shape)
    {
        Names at(shape.size(), "0");
        std::size_t first = 0;
        while (first + 1 < shape.size() && shape[first] == 1) ++first;
        std::string rest = i;
        for (std::size_t d = shape.size(); d-- > first + 1;) {
            if (shape[d] == 1) continue;
            at[d] = let(filled("$ % $", rest, shape[d]));
            rest = let(filled("$ / $", rest, shape[d]));
        }
        if (!shape.empty() && shape[first] != 1) at[first] = rest;
        return at;
    }
    /// The axes of a program where it writes element `r` of its result, and the condition that it does ("" where it always does).
    Names axes(const Index& p, const Positions& write, const Names& r, std::string& condition)
    {
        Names axis(p.extents.size(), "0");
        std::uint64_t known = 0;
        for (std::size_t d = 0; d < write.size(); ++d) {
            const Position& q = write.data()[d];
            const VaryingTerms m(p, q);
            if (m.count == 0) {
                if (p.result[d] != 1) both(condition, filled("$ == $", r[d], q.offset));
            } else if (m.count > 1) {
                for (std::size_t t = 0; t < m.count; ++t)
                    axis[m.axis[t]] = let(filled("$ / $ % $", r[d], m.step[t], p.extents.data()[m.axis[t]]));
            } else if (known >> m.axis[0] & 1) {
                both(condition, filled("$ == $", r[d], affine(p, q, axis)));
            } else {
                axis[m.axis[0]] = turned(p, d, q, m, r[d], condition);
                known |= std::uint64_t{1} << m.axis[0];
            }
        }
        return axis;
    }

private:
    /// The axis of which r is `q`.
    std::string turned(const Index& p, std::size_t d, const Position& q, const VaryingTerms& m,
                       const std::string& r, std::string& condition)
    {
        const std::int64_t extent = p.extents.data()[m.axis[0]], n = p.result[d], by = std::abs(m.step[0]);
        const bool up = m.step[0] > 0;
        const std::int64_t from = q.rule == Rule::wrapped ? ((q.offset % n) + n) % n : q.offset;
        if (up && from == 0 && by == 1 && extent == n) return r;
        const std::string way = let(up ? filled("$ - ($)", r, from) : filled("$ - $", from, r));
        if (q.rule == Rule::wrapped) return let(filled("$ < 0 ? $ + $ : $", way, way, n, way));
        if (by > 1) both(condition, filled("$ % $ == 0", way, by));
        const std::int64_t least = up ? -from : from - (n - 1), most = up ? n - 1 - from : from;
        const std::string a = by > 1 ? let(filled("$ / $", way, by)) : way;
        if (least < 0) both(condition, way + " >= 0");
        if (most / by >= extent) both(condition, filled("$ < $", a, extent));
        return a;
    }
};

}  // namespace wengert::detail::gpu

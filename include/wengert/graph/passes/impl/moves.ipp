// What moves.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../moves.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE bool selection_of(const Index& p, const Positions& i, const Positions& at, const Shape& of,
                                 Selection& s)
{
    s = Selection(Selection::Empty{}, of);
    std::uint64_t seen = 0;
    for (const Position& q : i) {
        const bool stands = q.plain() && q.terms == 0 && q.offset == 0;
        if (!stands && (!q.is_axis() || (seen >> q.axis[0] & 1))) return false;
        if (!stands) seen |= std::uint64_t{1} << q.axis[0];
        s.shape.push_back(stands ? 1 : p.extents[q.axis[0]]);
        s.from.push_back(-1);
        s.step.push_back(0);
    }
    for (std::size_t a = 0; a < at.size(); ++a) {
        const Position& q = at[a];
        if (!q.plain() || q.terms > 1) return false;
        s.start[a] = q.offset;
        if (q.terms == 0) continue;
        std::size_t k = 0;
        while (k < i.size() && !(i[k].is_axis() && i[k].axis[0] == q.axis[0])) ++k;
        if (k == i.size() || s.from[k] >= 0) return false;
        s.from[k] = static_cast<std::int64_t>(a);
        s.step[k] = q.step[0];
    }
    return true;
}

WENGERT_INLINE bool takes_axis(const Selection& s, std::size_t k, std::size_t a)
{
    return s.from[k] == static_cast<std::int64_t>(a) && s.start[a] == 0 && s.step[k] == 1 &&
           s.shape[k] == s.of[a];
}

WENGERT_INLINE bool keeps_elements(const Selection& s)
{
    std::size_t next = 0;
    for (std::size_t k = 0; k < s.shape.size(); ++k) {
        if (s.from[k] < 0) continue;
        const auto a = static_cast<std::size_t>(s.from[k]);
        for (; next < a; ++next)
            if (s.of[next] != 1) return false;
        if (next != a || !takes_axis(s, k, a)) return false;
        ++next;
    }
    for (; next < s.of.size(); ++next)
        if (s.of[next] != 1) return false;
    return true;
}

WENGERT_INLINE bool permutes(const Selection& s)
{
    if (s.shape.size() != s.of.size()) return false;
    for (std::size_t k = 0; k < s.shape.size(); ++k)
        if (s.from[k] < 0 || !takes_axis(s, k, static_cast<std::size_t>(s.from[k]))) return false;
    return true;
}

WENGERT_INLINE bool repeats(const Selection& s)
{
    if (s.shape.size() < s.of.size()) return false;
    const std::size_t lead = s.shape.size() - s.of.size();
    for (std::size_t k = 0; k < s.shape.size(); ++k) {
        const bool stands = s.from[k] < 0 && (k < lead || (s.of[k - lead] == 1 && s.start[k - lead] == 0));
        if (!stands && (k < lead || !takes_axis(s, k, k - lead))) return false;
    }
    return true;
}

WENGERT_INLINE Fn move_of(const Index& p, Selection& part)
{
    const Index::Read& r = p.reads[0];
    if (p.read_count != 1 || p.given_count > 0 || p.scanned != Scan::none || p.partial || r.minus)
        return Fn::unknown;
    if (p.operand_count == 2) {
        const bool adds = p.start == Index::Start::operand && p.base == 0 && r.operand == 1 &&
                          r.how == Combine::add && !p.arranged && p.own_places(p.writes[r.write]) &&
                          selection_of(p, r.at, p.writes[r.write], p.result, part) &&
                          wengert::detail::is_injective(part);
        return adds && part.shape == p.shape(1) ? Fn::add_part : Fn::unknown;
    }
    if (r.operand != 0 || r.how != Combine::assign || p.start != Index::Start::nothing ||
        !selection_of(p, p.writes[r.write], r.at, p.shape(0), part))
        return Fn::unknown;
    if (p.arranged) return selects_everything(part) && !p.owned ? Fn::reshape : Fn::unknown;
    if (p.owned) return selects_everything(part) ? Fn::copy : Fn::unknown;
    bool repeated = false;
    for (std::size_t k = 0; k < part.shape.size(); ++k)
        repeated = repeated || (part.from[k] < 0 && part.shape[k] != 1);
    if (repeated) return repeats(part) ? Fn::broadcast_to : Fn::unknown;
    if (keeps_elements(part)) return Fn::unit_axes;
    return permutes(part) ? Fn::transpose : Fn::select;
}

}  // namespace wengert::passes::detail

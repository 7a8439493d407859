// What is refused of index programs, and which places their writes give to elements: behind index.hpp.
#pragma once

#include "index.ipp"

namespace wengert {

WENGERT_INLINE void Index::check(std::string_view name, const Site& at) const
{
    check_shape(name, result, at);
    if (arranged) {
        check_shape(name, arrangement, at);
        if (element_count(arrangement) != element_count(result))
            fail<ShapeError>(name,
                             "what is written in shape " + to_string(result) + " has no elements for " +
                                 to_string(arrangement),
                             at);
    }
    if (read_count == 0 && (start == Start::nothing || neutral))
        fail<ShapeError>(name, "its description reads nothing: each element of the result needs one", at);
    for (std::size_t w = 0; w < write_count; ++w) {
        check_positions(name, writes[w], result, {"write", w}, at);
        if (start == Start::nothing && !partial) check_own_places(name, writes[w], at);
    }
    for (std::size_t r = 0; r < read_count; ++r) check_read(name, reads[r], {"read", r}, at);
    if (has_factor) check_read(name, factor, {"coefficient", 0}, at);
    for (std::size_t k = 0; k < given_count; ++k) {
        const Given& g = givens[k];
        if (g.operand >= operand_count)
            fail<ShapeError>(name, "index " + std::to_string(k) + ": there is no such operand", at);
        check_positions(name, g.at, *operands_[g.operand], {"index", k}, at);
        for (const Position& p : g.at)
            if (!p.plain())
                fail<ShapeError>(name, "index " + std::to_string(k) + ": its own position has a rule", at);
    }
    check_meeting(name, at);
    const bool scans = scanned != Scan::none;
    if (scans && (read_count != 1 || reads[0].operand == no_operand ||
                  reads[0].how != (start == Start::nothing ? Combine::assign : Combine::add)))
        fail<ShapeError>(name, "a scan has one read, which is assigned or added", at);
    if ((scanned == Scan::recurrence) != has_factor)
        fail<ShapeError>(name, "a recurrence, and nothing else, has a coefficient", at);
}
/// Throws if an element is combined and nothing is there yet, or if a negative read is neither assigned nor added.
WENGERT_INLINE void Index::check_meeting(std::string_view name, const Site& at) const
{
    if (read_count > 0 && start == Start::nothing && reads[0].how != Combine::assign)
        fail<ShapeError>(name,
                         "read 0 meets what is there, and nothing is: say write(at, shape, fill), "
                         "write_into(at, operand) or fold(at, how)",
                         at);
    for (std::size_t r = 0; r < read_count; ++r)
        if (reads[r].minus && reads[r].how != Combine::assign && reads[r].how != Combine::add)
            fail<ShapeError>(name,
                             text_of({"read", r}) +
                                 ": what is subtracted is assigned or added, not multiplied or compared; "
                                 "negate the operand first",
                             at);
}
WENGERT_INLINE std::string Index::text_of(const Part& part)
{
    return part.what + (" " + std::to_string(part.number));
}
WENGERT_INLINE void Index::check_read(std::string_view name, const Read& r, const Part& part,
                                      const Site& at) const
{
    if (r.operand == no_operand) return;
    if (r.operand >= operand_count)
        fail<ShapeError>(name,
                         text_of(part) + ": there is no operand " + std::to_string(r.operand) + " of " +
                             std::to_string(operand_count),
                         at);
    check_positions(name, r.at, *operands_[r.operand], part, at);
}
WENGERT_INLINE void Index::check_positions(std::string_view name, const Positions& p, const Shape& shape,
                                           const Part& part, const Site& at) const
{
    if (p.size() != shape.size())
        fail<ShapeError>(name,
                         text_of(part) + ": " + std::to_string(p.size()) +
                             " positions for an array of shape " + to_string(shape),
                         at);
    for (auto e : extents)
        if (e == 0) return;  // nothing is read or written
    for (std::size_t d = 0; d < p.size(); ++d) {
        using Rule = Position::Rule;
        const auto refuse = [&](const std::string& why) {
            fail<ShapeError>(name,
                             text_of(part) + ", axis " + std::to_string(d) + " of shape " + to_string(shape) +
                                 ": " + why,
                             at);
        };
        const Position& q = p.data()[d];
        if (q.is_axis() && extents.data()[q.axis[0]] <= shape.data()[d]) continue;
        if (q.rule == Rule::invalid)
            refuse("a position is not changed after wrap, clamp, mirror, masked or element, and has at most "
                   "three axes");
        std::int64_t least, most;
        if (!detail::range_of(q, extents, least, most))
            refuse("the position " + detail::text_of(q) + " is too large");
        if (q.given || (least >= 0 && most < shape[d])) continue;
        if (q.rule == Rule::inside)
            refuse("the position " + detail::text_of(q) + " goes from " + std::to_string(least) + " to " +
                   std::to_string(most));
        if (shape[d] == 0 && q.rule != Rule::masked) refuse("there is no element to repeat");
    }
}
/// Each axis stands in one position, as in a number whose digits they are, so no place is written twice or not at all.
WENGERT_INLINE void Index::check_own_places(std::string_view name, const Positions& p, const Site& at) const
{
    std::uint64_t seen = 0;
    bool good = true;
    for (std::size_t d = 0; d < p.size() && good; ++d) {
        const Position& q = p.data()[d];
        if (q.is_axis() && !(seen >> q.axis[0] & 1)) {
            seen |= std::uint64_t{1} << q.axis[0];
            continue;
        }
        good = q.plain() && q.offset == 0;
        std::int64_t digits = 1;
        std::size_t moving = 0;  // an axis of extent 1 stands still, whatever its step
        for (std::size_t t = 0; t < q.terms; ++t) moving += extents[q.axis[t]] != 1;
        for (std::size_t n = 0; n < moving && good; ++n) {
            std::size_t t = 0;
            while (t < q.terms && (extents[q.axis[t]] == 1 || q.step[t] != digits || (seen >> q.axis[t] & 1)))
                ++t;
            good = t < q.terms;
            if (!good) break;
            seen |= std::uint64_t{1} << q.axis[t];
            digits *= extents[q.axis[t]];
            if (digits == 0) return;
        }
    }
    for (std::size_t a = 0; a < extents.size(); ++a)
        good = good && ((seen >> a & 1) || extents.data()[a] == 1);
    if (!good && element_count(result) > 0)
        fail<ShapeError>(
            name,
            "the write does not give each element of the result one place: say what it is full of first", at);
}
WENGERT_INLINE void Index::demand_linear(bool affine) const
{
    bool sums = scanned == Scan::none || scanned == Scan::add, numbers = start == Start::fill && fill != 0;
    for (std::size_t r = 0; r < read_count; ++r) {
        const Read& read = reads[r];
        sums = sums && (read.how == Combine::assign || read.how == Combine::add);
        if (read.fill == 0) continue;
        numbers = numbers || read.operand == no_operand;
        for (const Position& p : read.at) numbers = numbers || p.rule == Position::Rule::masked;
    }
    if (!sums)
        throw ShapeError(
            "what is multiplied or compared is not linear: it has a pull and a push, or is flat");
    if (numbers && !affine) throw ShapeError("a number is added to what is linear: it is affine");
}
namespace detail {
/// The axes that are determined when q and those that are `known` are: digits of a number, the one of the least step first.
inline std::uint64_t determined_by(const Position& q, const SmallVector<std::int64_t, 8>& extents,
                                   std::uint64_t known)
{
    using Rule = Position::Rule;
    if (q.given || (q.rule != Rule::inside && q.rule != Rule::masked)) return known;
    std::uint64_t determined = known;
    for (std::int64_t below = 0;;) {
        std::int64_t least = 0;
        std::size_t axis = 0;
        for (std::size_t t = 0; t < q.terms; ++t) {
            const std::int64_t step = std::abs(q.step[t]);
            if (step == 0 || (determined >> q.axis[t] & 1) || (least && least <= step)) continue;
            least = step;
            axis = q.axis[t];
        }
        if (least == 0) return determined;
        if (least <= below) return known;
        below += least * (extents[axis] - 1);
        determined |= std::uint64_t{1} << axis;
    }
}
}  // namespace detail
WENGERT_INLINE bool Index::own_places(const Positions& at) const
{
    std::uint64_t known = 0, all = 0;
    for (std::size_t a = 0; a < extents.size(); ++a) {
        const std::uint64_t bit = std::uint64_t{1} << a;
        all |= bit;
        if (extents[a] <= 1) known |= bit;
    }
    for (std::uint64_t before = ~known; known != before;) {
        before = known;
        for (const Position& q : at) known = detail::determined_by(q, extents, known);
    }
    return known == all;
}
WENGERT_INLINE bool Index::reads_own_place(std::size_t operand) const noexcept
{
    if (read_count > 1 || start == Start::operand) return false;
    const auto same = [&](const Read& r) {
        if (r.operand != operand) return true;
        const Positions& w = writes[0];
        for (std::size_t d = 0; d < w.size(); ++d) {
            const Position &a = w.data()[d], &b = r.at.data()[d];
            if (!a.plain() || !b.plain() || a.offset != b.offset || a.terms != b.terms) return false;
            for (std::size_t t = 0; t < a.terms; ++t)
                if (a.axis[t] != b.axis[t] || a.step[t] != b.step[t]) return false;
        }
        return start == Start::nothing;
    };
    for (std::size_t k = 0; k < given_count; ++k)
        if (givens[k].operand == operand) return false;
    return same(reads[0]) && (!has_factor || same(factor));
}

}  // namespace wengert

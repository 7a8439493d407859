// What index programs are made of, behind index.hpp: positions, writes and reads, transposition.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "../index.hpp"
#include "../../../base/separate.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE void refuse_position(std::size_t i, std::size_t size)
{
    throw ShapeError("number " + std::to_string(i) + " of " + std::to_string(size));
}

/// Wraps: what overflowed is refused by check().
inline std::int64_t plus(std::int64_t a, std::int64_t b) noexcept
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t times(std::int64_t a, std::int64_t b) noexcept
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// The least and the greatest value of the affine part, false where they are too large to tell.
inline bool range_of(const Position& p, const SmallVector<std::int64_t, 8>& extents, std::int64_t& least,
                     std::int64_t& most)
{
    constexpr std::int64_t limit = std::int64_t{1} << 61;
    least = most = p.offset;
    for (std::size_t t = 0; t < p.terms; ++t) {
        std::int64_t way;
        if (__builtin_mul_overflow(p.step[t], extents[p.axis[t]] - 1, &way) ||
            __builtin_add_overflow(way < 0 ? least : most, way, way < 0 ? &least : &most))
            return false;
    }
    return least > -limit && most < limit;
}

/// "i0 + 2 i1 - 3"
inline std::string text_of(const Position& p)
{
    std::string s;
    for (std::size_t t = 0; t < p.terms; ++t) {
        const std::int64_t k = p.step[t];
        s += s.empty() ? (k < 0 ? "-" : "") : (k < 0 ? " - " : " + ");
        if (k != 1 && k != -1) s += std::to_string(k < 0 ? -k : k) + " ";
        s += "i" + std::to_string(p.axis[t]);
    }
    if (s.empty()) return std::to_string(p.offset);
    if (p.offset) s += (p.offset < 0 ? " - " : " + ") + std::to_string(p.offset < 0 ? -p.offset : p.offset);
    return s;
}

}  // namespace detail

WENGERT_INLINE Position operator+(const Position& a, const Position& b) noexcept
{
    Position sum = a;
    if (!a.plain() || !b.plain()) sum.rule = Position::Rule::invalid;
    sum.offset = detail::plus(a.offset, b.offset);
    for (std::size_t t = 0; t < b.terms; ++t) {
        std::size_t at = 0;
        while (at < sum.terms && sum.axis[at] != b.axis[t]) ++at;
        if (at < sum.terms) {
            sum.step[at] = detail::plus(sum.step[at], b.step[t]);
        } else if (at < Position::max_terms) {
            sum.axis[at] = b.axis[t];
            sum.step[at] = b.step[t];
            ++sum.terms;
        } else {
            sum.rule = Position::Rule::invalid;
        }
    }
    return sum;
}

WENGERT_INLINE Position operator*(const Position& a, std::int64_t by) noexcept
{
    Position p = a;
    if (!a.plain()) p.rule = Position::Rule::invalid;
    p.offset = detail::times(a.offset, by);
    for (std::size_t t = 0; t < p.terms; ++t) p.step[t] = detail::times(a.step[t], by);
    return p;
}

WENGERT_INLINE Position Index::axis(std::int64_t extent)
{
    if (extent < 0 || extents.size() == 64)
        throw ShapeError(extent < 0 ? "an axis of extent " + std::to_string(extent) : "more than 64 axes");
    Position p;
    p.step[0] = 1;
    p.axis[0] = static_cast<std::uint8_t>(extents.size());
    p.terms = 1;
    extents.push_back(extent);
    return p;
}
WENGERT_INLINE Positions Index::axes(const Shape& shape)
{
    Positions p;
    for (auto e : shape) p.push_back(axis(e));
    return p;
}
WENGERT_INLINE Position Index::element(std::size_t operand, const Positions& at, bool from_end)
{
    if (given_count == most_given) throw ShapeError("more than two elements used as positions");
    Given& g = givens[given_count++];
    g.at = at;
    g.operand = static_cast<std::uint8_t>(operand);
    g.from_end = from_end;
    Position p;
    p.given = static_cast<std::uint8_t>(given_count);
    return p;
}

WENGERT_INLINE void Index::write_as(const Positions& at, const Shape& shape, Start begin, double with,
                                    std::size_t operand)
{
    if (write_count == most_reads) throw ShapeError("more than three writes");
    const auto first = static_cast<std::uint8_t>(operand);
    if (write_count > 0 && (neutral || start != begin || base != first || !(result == shape) ||
                            std::memcmp(&fill, &with, sizeof with) != 0))
        throw ShapeError(
            "write " + std::to_string(write_count) +
            " says anew what the result begins with: all writes say the same, and fold() is the only one. "
            "Elements that meet what is there: combining(Combine::maximum), say, before they are read");
    writes[write_count++] = at;
    result = shape;
    start = begin;
    fill = with;
    base = first;
}
WENGERT_INLINE void Index::extents_of(const Positions& at, Shape& of) const
{
    of.resize(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) {
        if (at.data()[d].is_axis()) {
            of.data()[d] = extents.data()[at.data()[d].axis[0]];
            continue;
        }
        std::int64_t least, most;
        bool empty = false;
        for (std::size_t t = 0; t < at[d].terms; ++t) empty = empty || extents[at[d].axis[t]] == 0;
        if (!detail::range_of(at[d], extents, least, most)) throw ShapeError("too many elements");
        of[d] = empty ? 0 : most + 1;
    }
}
WENGERT_INLINE void Index::write(const Positions& at)
{
    if (write_count == 0) {  // of most programs the only one
        extents_of(at, result);
        writes[write_count++] = at;
        return;
    }
    Shape all;
    extents_of(at, all);
    write_as(at, all, Start::nothing, 0, 0);
}
WENGERT_INLINE void Index::write(const Positions& at, const Shape& to, double with)
{
    write_as(at, to, Start::fill, with, 0);
}
WENGERT_INLINE void Index::write_into(const Positions& at, std::size_t operand)
{
    write_as(at, shape(operand), Start::operand, 0, operand);
}
WENGERT_INLINE void Index::write_part(const Positions& at, const Shape& to)
{
    write_as(at, to, Start::nothing, 0, 0);
    partial = true;
}
WENGERT_INLINE void Index::arrange(const Shape& to)
{
    arrangement = to;
    arranged = true;
}
WENGERT_INLINE Positions Index::broadcast(const Positions& i, std::size_t operand) const
{
    const Shape& of = shape(operand);
    bool fits = of.size() <= i.size();
    Positions x;
    for (std::size_t d = 0; d < of.size() && fits; ++d) {
        const Position& p = i[i.size() - of.size() + d];
        fits = of[d] == 1 || !p.is_axis() || extents[p.axis[0]] == of[d];
        x.push_back(of[d] == 1 ? Position(0) : p);
    }
    if (!fits)
        throw ShapeError("operand " + std::to_string(operand) + " of shape " + to_string(of) +
                         " does not broadcast to its place");
    return x;
}
WENGERT_INLINE void Index::fold(const Positions& at, Combine how)
{
    if (how == Combine::assign)
        throw ShapeError("a fold combines elements: by add, multiply, maximum or minimum");
    for (const Position& p : at)
        if (p.given)
            throw ShapeError("a fold goes to axes, not to places that are elements of an operand: write(at, "
                             "shape, fill) or "
                             "write_into(at, operand), and combining() before the read");
    neutral = false;
    Shape to;
    extents_of(at, to);
    write_as(at, to, Start::fill,
             how == Combine::multiply  ? 1
             : how == Combine::maximum ? -HUGE_VAL
             : how == Combine::minimum ? HUGE_VAL
                                       : 0,
             0);
    neutral = true;
    how_ = how;
}
WENGERT_INLINE void Index::combining(Combine how)
{
    if (neutral && how != how_)
        throw ShapeError("a fold has said how its elements are combined: write(at, shape, fill) instead");
    how_ = how;
}
WENGERT_INLINE void Index::scan(const Position& axis, Scan what, bool from_end)
{
    if (axis.terms != 1 || axis.step[0] != 1 || axis.offset != 0 || !axis.plain())
        throw ShapeError("the scanned axis is no axis");
    scanned = what;
    scan_axis = axis.axis[0];
    reverse = from_end;
}
WENGERT_INLINE void Index::read_as(std::size_t operand, const Positions& at, double with, bool minus)
{
    if (read_count == most_reads || write_count == 0)
        throw ShapeError(write_count ? "more than three reads" : "a read before it is said where to");
    Read& r = reads[read_count++];
    r.at = at;
    r.fill = with;
    r.operand = static_cast<std::uint8_t>(operand);
    r.write = static_cast<std::uint8_t>(write_count - 1);
    r.how = read_count > 1 && how_ == Combine::assign ? Combine::add : how_;
    r.minus = minus;
}
WENGERT_INLINE void Index::put(double number) { read_as(no_operand, {}, number, false); }
WENGERT_INLINE void Index::coefficient(std::size_t operand, const Positions& at, double with)
{
    factor.at = at;
    factor.fill = with;
    factor.operand = static_cast<std::uint8_t>(operand);
    has_factor = true;
}

WENGERT_INLINE void Index::take_givens(const Index& inner, const std::uint8_t* numbers)
{
    extents = inner.extents;
    given_count = inner.given_count;
    for (std::size_t k = 0; k < given_count; ++k) {
        givens[k] = inner.givens[k];
        givens[k].operand = numbers[inner.givens[k].operand];
    }
    scanned = inner.scanned;
    scan_axis = inner.scan_axis;
    reverse = inner.reverse;
}
WENGERT_INLINE void Index::linear_part_of(const Index& inner, std::size_t k, const std::uint8_t* numbers)
{
    take_givens(inner, numbers);
    for (std::size_t r = 0; r < inner.read_count; ++r) {
        const Read& from = inner.reads[r];
        const bool other = from.operand != k;
        if (other && (inner.start != Start::operand || from.how != Combine::assign)) continue;
        Read& to = reads[read_count++];
        to = from;
        to.fill = 0;
        to.operand = other ? no_operand : 0;  // a number in place of elements: there the derivative is 0
        to.write = static_cast<std::uint8_t>(write_count);
        if (to.how == Combine::assign && read_count > 1) to.how = Combine::add;
        writes[write_count++] = inner.writes[from.write];
    }
    result = inner.result;
    arrangement = inner.arrangement;
    arranged = inner.arranged;
    start = inner.start == Start::nothing && inner.reads[0].operand != k ? Start::fill : inner.start;
}
WENGERT_INLINE void Index::added_transpose_of(const Index& inner)
{
    const std::uint8_t numbers[] = {0};
    transpose_of(inner, 0, numbers);
    if (inner.start == Start::operand) throw ShapeError("a sum in place is of what is written to zeros");
    start = Start::operand;
    base = 0;
    for (std::size_t r = 0; r < read_count; ++r) reads[r].operand = 1;
}
WENGERT_INLINE void Index::transpose_of(const Index& inner, std::size_t k, const std::uint8_t* numbers)
{
    if (inner.arranged) throw ShapeError("a result that is arranged needs a pull of its own");
    const bool into = inner.start == Start::operand;
    for (std::size_t r = 0; r < inner.read_count && inner.start != Start::nothing; ++r)
        if (inner.reads[r].how == Combine::assign &&
            (into || !inner.own_places(inner.writes[inner.reads[r].write])))
            throw ShapeError(
                "read " + std::to_string(r) +
                " is written over elements that are there: it has a pull of its own, or is added");
    take_givens(inner, numbers);
    reverse = !inner.reverse;
    for (std::size_t r = 0; r < inner.read_count; ++r) {
        const Read& from = inner.reads[r];
        if (from.operand != k) continue;
        Read& to = reads[read_count++];
        to.at = inner.writes[from.write];
        to.minus = from.minus;
        to.how = Combine::add;
        to.write = static_cast<std::uint8_t>(write_count);
        writes[write_count++] = from.at;
    }
    result = inner.shape(k);
    start = into ? Start::operand : Start::fill;
}

}  // namespace wengert

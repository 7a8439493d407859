// An index program read backwards, as text: from the place of an element of its result to the elements that are read for it. Programs that
// can be read so run in the groups of graphs (group_text.hpp).
#pragma once

#include "../graph/emit/typed_program.hpp"
#include "../graph/ir/index_program.hpp"

namespace wengert::detail::gpu {

/// The terms of a position that move.
struct Moving {
    std::int64_t step[Position::max_terms] = {};
    std::uint8_t axis[Position::max_terms] = {};
    std::size_t count = 0;

    Moving(const Index& p, const Position& q)
    {
        for (std::size_t t = 0; t < q.terms; ++t) {
            if (p.extents.data()[q.axis[t]] == 1 || q.step[t] == 0) continue;
            step[count] = q.step[t];
            axis[count++] = q.axis[t];
        }
    }
    /// The least and the greatest value.
    std::pair<std::int64_t, std::int64_t> range(const Index& p, const Position& q) const
    {
        std::int64_t least = q.offset, most = q.offset;
        for (std::size_t t = 0; t < count; ++t)
            (step[t] < 0 ? least : most) += step[t] * (p.extents.data()[axis[t]] - 1);
        return {least, most};
    }
};

/// Do the elements of a read go to places of their own, each of which tells whose it is?
inline bool tells_element(const Index& p, const Positions& write)
{
    using Rule = Position::Rule;
    std::uint64_t seen = 0;
    for (std::size_t d = 0; d < write.size(); ++d) {
        const Position& q = write.data()[d];
        const Moving m(p, q);
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

/// The text of places: statements go to `out`, of which each defines a whole number.
class PlaceText {
public:
    using Names = std::vector<std::string>;  ///< positions along axes

    PlaceText(std::string& out, const char* const& index) : out_(out), index_(index) {}

    std::string let(const std::string& type, const std::string& value)
    {
        const std::string name = filled("c$", count_++);
        out_ += filled("        const $ $ = $;\n", type, name, value);
        return name;
    }
    std::string let(const std::string& value) { return let(index_, value); }
    /// The place in memory of an element.
    template <class Steps> std::string place(const Names& at, const Steps& strides) const
    {
        std::string s;
        for (std::size_t d = 0; d < at.size(); ++d)
            if (strides[d] != 0 && at[d] != "0")
                s += (s.empty() ? "(" : " + (") + at[d] +
                     (strides[d] == 1 ? ")" : ") * (" + number(strides[d]) + ")");
        return s.empty() ? "0" : s;
    }
    /// The element of an array that has number `i` in order.
    Names split(const std::string& i, const Shape& shape)
    {
        Names at(shape.size(), "0");
        std::int64_t below = 1, all = static_cast<std::int64_t>(element_count(shape));
        for (std::size_t d = shape.size(); d-- > 0; below *= shape[d]) {
            if (shape[d] == 1) continue;
            const std::string high = below == 1 ? i : i + " / " + number(below);
            at[d] = let(below * shape[d] == all ? high : filled("$ % $", high, shape[d]));
        }
        return at;
    }
    /// The axes of a program where it writes element `r` of its result, and the condition that it does ("" where it always does).
    Names axes(const Index& p, const Positions& write, const Names& r, std::string& condition)
    {
        Names axis(p.extents.size(), "0");
        std::uint64_t known = 0;
        for (std::size_t d = 0; d < write.size(); ++d) {
            const Position& q = write.data()[d];
            const Moving m(p, q);
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
    /// Where a program reads, at these axes; `given(k)` is element number k of those that are positions.
    template <class Given>
    Names positions(const Index& p, const Positions& read, const Shape& array, const Names& axis,
                    const Given& given, std::string& condition)
    {
        Names at;
        for (std::size_t d = 0; d < read.size(); ++d) {
            const Position& q = read.data()[d];
            const std::string n = number(array[d]);
            if (!q.given) {
                at.push_back(ruled(p, q, n, array[d], axis, condition));
                continue;
            }
            const Index::Given& g = p.givens[q.given - 1];
            std::string v = given(g);
            if (g.from_end) v = let("wg_int", filled("$ < 0 ? $ + $ : $", v, v, n, v));
            both(condition, filled("$ >= 0 && $ < $", v, v, n));  // else it is an error, which is thrown
            at.push_back(filled("($)$", index_, v));
        }
        return at;
    }
    /// i0 * 2 + i1 - 3
    static std::string affine(const Index& p, const Position& q, const Names& axis)
    {
        const Moving m(p, q);
        std::string s;
        for (std::size_t t = 0; t < m.count; ++t)
            s += (s.empty() ? "" : " + ") + axis[m.axis[t]] +
                 (m.step[t] == 1 ? "" : filled(" * ($)", m.step[t]));
        if (s.empty()) return number(q.offset);
        return q.offset == 0 ? s : s + (q.offset < 0 ? " - " : " + ") + number(std::abs(q.offset));
    }

private:
    using Rule = Position::Rule;

    static std::string number(std::int64_t n) { return std::to_string(n); }
    static void both(std::string& condition, const std::string& more)
    {
        condition += (condition.empty() ? "" : " && ") + more;
    }
    /// The axis of which r is `q`.
    std::string turned(const Index& p, std::size_t d, const Position& q, const Moving& m,
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
    std::string ruled(const Index& p, const Position& q, const std::string& n, std::int64_t extent,
                      const Names& axis, std::string& condition)
    {
        const auto [least, most] = Moving(p, q).range(p, q);
        const std::string i = affine(p, q, axis);
        if (q.plain() || (least >= 0 && most < extent)) return i;
        const std::string at = let(i);
        if (q.rule == Rule::masked) {
            both(condition, filled("$ >= 0 && $ < $", at, at, n));
            return at;
        }
        if (q.rule == Rule::clamped) return let(filled("$ < 0 ? 0 : $ >= $ ? $ - 1 : $", at, at, n, n, at));
        if (q.rule == Rule::mirrored && extent == 1) return "0";
        const std::string period = q.rule == Rule::wrapped ? n : number(2 * (extent - 1));
        const std::string rest = let(filled("$ % $", at, period)),
                          up = let(filled("$ < 0 ? $ + $ : $", rest, rest, period, rest));
        return q.rule == Rule::wrapped ? up : let(filled("$ < $ ? $ : $ - $", up, n, up, period, up));
    }

    std::string& out_;
    const char* const& index_;  ///< the type of places
    std::size_t count_ = 0;
};

}  // namespace wengert::detail::gpu

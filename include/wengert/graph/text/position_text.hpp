// Positions of index programs (ops/index/index.hpp) as text: where an element that is read lies, from the axes that are run over.
#pragma once

#include <cstdlib>

#include "../ir/index_program.hpp"
#include "term_code.hpp"

namespace wengert::detail {

/// The terms of a position that move.
struct VaryingTerms {
    std::int64_t step[Position::max_terms] = {};
    std::uint8_t axis[Position::max_terms] = {};
    std::size_t count = 0;

    VaryingTerms(const Index& p, const Position& q)
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

/// What an element of the result becomes that is y, where v is read for it.
inline std::string met_text(DType d, const Index::Read& r, const std::string& y, const std::string& v)
{
    switch (r.how) {
    case Combine::add: return TermCode::of_numbers(r.minus ? TermKind::subtract : TermKind::add, d, y, v);
    case Combine::multiply: return TermCode::of_numbers(TermKind::multiply, d, y, v);
    case Combine::maximum: return TermCode::of_numbers(TermKind::maximum, d, v, y);
    case Combine::minimum: return TermCode::of_numbers(TermKind::minimum, d, v, y);
    default: return r.minus ? TermCode::of_numbers(TermKind::negative, d, v) : v;
    }
}

/// Statements go to `out`, of which each defines a whole number.
class PositionText {
public:
    using Names = std::vector<std::string>;  ///< positions along axes

    /// `index`: the type of places, which may be chosen later.
    PositionText(std::string& out, const char* const& index, std::string indent)
        : out_(out), index_(index), indent_(std::move(indent))
    {}

    std::string let(const std::string& type, const std::string& value)
    {
        const std::string name = filled("c$", count_++);
        out_ += indent_ + filled("const $ $ = $;\n", type, name, value);
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
    /// The position that a program reads at these axes, and the condition that this element exists ("" if it always does). `given`
    /// is the text of a position that is an element, along an axis of a given extent.
    template <class Given>
    Names positions(const Index& p, const Positions& read, const Shape& array, const Names& axis,
                    const Given& given, std::string& condition)
    {
        Names at;
        for (std::size_t d = 0; d < read.size(); ++d) {
            const Position& q = read.data()[d];
            at.push_back(q.given ? given(p.givens[q.given - 1], array[d])
                                 : ruled(p, q, array[d], axis, condition));
        }
        return at;
    }
    /// i0 * 2 + i1 - 3
    static std::string affine(const Index& p, const Position& q, const Names& axis)
    {
        const VaryingTerms m(p, q);
        std::string s;
        for (std::size_t t = 0; t < m.count; ++t)
            s += (s.empty() ? "" : " + ") + axis[m.axis[t]] +
                 (m.step[t] == 1 ? "" : filled(" * ($)", m.step[t]));
        if (s.empty()) return number(q.offset);
        return q.offset == 0 ? s : s + (q.offset < 0 ? " - " : " + ") + number(std::abs(q.offset));
    }
    /// A position that counts from the end of `n` where it is negative.
    std::string from_end(const std::string& type, const std::string& v, std::int64_t n)
    {
        return let(type, filled("$ < 0 ? $ + $ : $", v, v, n, v));
    }

    static void both(std::string& condition, const std::string& more)
    {
        condition += (condition.empty() ? "" : " && ") + more;
    }

protected:
    using Rule = Position::Rule;

    static std::string number(std::int64_t n) { return std::to_string(n); }

private:
    std::string ruled(const Index& p, const Position& q, std::int64_t n, const Names& axis,
                      std::string& condition)
    {
        const auto [least, most] = VaryingTerms(p, q).range(p, q);
        const std::string i = affine(p, q, axis);
        if (q.plain() || (least >= 0 && most < n)) return i;
        if (q.rule == Rule::mirrored && n == 1) return "0";
        const std::string at = let(i);
        if (q.rule == Rule::masked) {
            both(condition, filled("$ >= 0 && $ < $", at, at, n));
            return at;
        }
        if (q.rule == Rule::clamped) return let(filled("$ < 0 ? 0 : $ >= $ ? $ : $", at, at, n, n - 1, at));
        const std::int64_t period = q.rule == Rule::wrapped ? n : 2 * (n - 1);
        const std::string up = inside_period(at, least, most, period);
        return q.rule == Rule::wrapped ? up : let(filled("$ < $ ? $ : $ - $", up, n, up, period, up));
    }
    /// Modulo the period: a division where it is more than one period away.
    std::string inside_period(const std::string& at, std::int64_t least, std::int64_t most, std::int64_t n)
    {
        if (least < -n || most >= 2 * n) return from_end(index_, let(filled("$ % $", at, n)), n);
        const std::string low = most < n ? at : filled("$ < $ ? $ : $ - $", at, n, at, at, n);
        return let(least < 0 ? filled("$ < 0 ? $ + $ : ", at, at, n) + low : low);
    }

    std::string& out_;
    const char* const& index_;
    std::string indent_;
    std::size_t count_ = 0;
};

}  // namespace wengert::detail

// Index programs as loops of C, whatever they are called: the loops of ops/index/impl/run.ipp, in the order that
// ops/index/index.hpp states.
#pragma once

#include "cpp_writer.hpp"
#include "../text/position_text.hpp"

namespace wengert::detail {

class CppIndex {
public:
    CppIndex(CppWriter& w, ValueId v)
        : CppIndex(w, v, index_of(w.graph, w.graph.node(v)), w.graph.node(v).inputs)
    {}
    /// One of several programs, of these operands.
    CppIndex(CppWriter& w, ValueId v, const Index& p, std::span<const ValueId> operands)
        : w_(w), v_(v), n_(w.graph.node(v)), in_(operands), p_(p)
    {}

    /// `over`: the result lies where the operand does that it begins with.
    void write(bool over)
    {
        for (std::size_t k = 0; k < p_.write_count; ++k) check(p_.writes[k], p_.result);
        for (std::size_t k = 0; k < p_.read_count; ++k)
            if (!is_number(p_.reads[k])) check(p_.reads[k].at, shape(p_.reads[k].operand));
        if (p_.has_factor) check(p_.factor.at, shape(p_.factor.operand));
        begin(over);
        for (auto e : p_.extents)
            if (e == 0) return;
        for (std::size_t k = 0; k < p_.read_count; ++k)
            if (in_any_order(k))
                read_parts(k, 0);
            else
                read(p_.reads[k]);
    }

private:
    /// A compiler makes vectors of boxes, not of positions that wrap around: loops are cut where they do. Each cut doubles the text.
    static constexpr std::size_t most_cuts = 3;
    static constexpr std::int64_t least_cut = 16;

    bool in_any_order(std::size_t k) const
    {
        return p_.scanned == Scan::none && p_.given_count == 0 && p_.own_places(p_.writes[p_.reads[k].write]);
    }
    void read_parts(std::size_t k, std::size_t cuts)
    {
        const Index::Read& r = p_.reads[k];
        WrapPoint s;
        const bool cut = cuts < most_cuts && (wrap_point(p_, p_.writes[r.write], p_.result, s) ||
                                              (!is_number(r) && wrap_point(p_, r.at, shape(r.operand), s)));
        if (!cut) return read(r);
        const Index whole = p_;
        const std::int64_t n = whole.extents[s.axis];
        for (const auto& [begin, count] : {std::pair(std::int64_t(0), s.at), std::pair(s.at, n - s.at)}) {
            p_.extents[s.axis] = count;
            move(p_.writes[r.write], p_.result, s.axis, begin);
            if (!is_number(r)) move(p_.reads[k].at, shape(r.operand), s.axis, begin);
            read_parts(k, cuts + 1);
            p_ = whole;
        }
    }

    /// The first element along an axis whose position has wrapped around.
    struct WrapPoint {
        std::size_t axis = 0;
        std::int64_t at = 0;
    };
    /// How often the extent lies below `at`: wrapping takes it off so many times.
    static std::int64_t times(std::int64_t at, std::int64_t n) { return (at >= 0 ? at : at - (n - 1)) / n; }
    static bool wraps(const Position& q)
    {
        return q.rule == Position::Rule::wrapped && q.given == 0 && q.terms == 1 && std::abs(q.step[0]) == 1;
    }
    static bool wrap_point(const Index& p, const Positions& at, const Shape& array, WrapPoint& found)
    {
        for (std::size_t d = 0; d < at.size(); ++d) {
            const Position& q = at.data()[d];
            if (!wraps(q) || p.extents.data()[q.axis[0]] < least_cut) continue;
            const std::int64_t n = array[d], first = times(q.offset, n),
                               i = q.step[0] > 0 ? n * (first + 1) - q.offset : q.offset - n * first + 1;
            found = {q.axis[0], i};
            if (i < p.extents.data()[q.axis[0]]) return true;
        }
        return false;
    }
    /// Positions of the elements from `begin` on along an axis.
    static void move(Positions& at, const Shape& array, std::size_t axis, std::int64_t begin)
    {
        for (std::size_t d = 0; d < at.size(); ++d) {
            Position& q = at[d];
            q.offset += q.step_along(axis) * begin;
            if (wraps(q)) q.offset -= times(q.offset, array[d]) * array[d];
        }
    }
    const Shape& shape(std::size_t operand) const { return w_.graph.node(in_[operand]).shape; }
    static bool is_number(const Index::Read& r) { return r.operand == Index::no_operand; }
    static std::string number(std::int64_t n) { return std::to_string(n); }

    /// The number where a position is masked, or that the result is full of.
    static std::string constant(double value, DType d) { return literal_text(value, d); }
    /// Leaves the function where an element that is used as a position is none.
    void check(const Positions& at, const Shape& array)
    {
        for (std::size_t d = 0; d < at.size(); ++d) {
            const Position& q = at.data()[d];
            if (!q.given) continue;
            const Index::Given& g = p_.givens[q.given - 1];
            if (element_count(shape(g.operand)) == 0) continue;
            const CppOperand v = w_.operand(in_[g.operand]);
            w_.open("{");
            w_.declare("v", v, false);
            w_.open_loops(v.shape);
            const std::string e = "v[" + CppWriter::index(v.shape, v.strides) + "]";
            w_.line("if ($ < $ || $ >= $) $", e, g.from_end ? -array[d] : 0, e, array[d], w_.failure(v_));
            w_.close_loops(v.shape);
            w_.close();
        }
    }
    void begin(bool over)
    {
        if (element_count(n_.shape) == 0) return;
        if (p_.start == Index::Start::operand && !over) {
            const CppOperand x = w_.operand(in_[p_.base]);
            w_.copy(x, w_.pointer(v_), row_major(x.shape));
        } else if (p_.start == Index::Start::fill) {
            w_.fill(v_, constant(p_.fill, n_.dtype));
        }
    }

    /// An element of an array: where it is, and the condition that there is one ("" where there always is).
    struct IndexedElement {
        std::string element, condition;
    };
    static constexpr const char* index = "ptrdiff_t";

    /// Declares what the place in the array `name` needs.
    IndexedElement place(PositionText& text, const std::string& name, Positions at, const Shape& array,
                         const Strides& strides)
    {
        PositionText::Names axis;
        for (std::size_t a = 0; a < p_.extents.size(); ++a) axis.push_back(filled("i$", a));
        for (std::size_t d = 0; d < at.size(); ++d)
            if (strides[d] == 0 && at.data()[d].rule != Position::Rule::masked) at.data()[d] = Position(0);
        const auto given = [&](const Index::Given& g, std::int64_t n) {
            PositionText::Names in;
            for (std::size_t d = 0; d < g.at.size(); ++d)
                in.push_back(PositionText::affine(p_, g.at.data()[d], axis));
            const std::string e = text.let(filled("(ptrdiff_t)g$[$]", &g - p_.givens + 1,
                                                  text.place(in, w_.operand(in_[g.operand]).strides)));
            return g.from_end ? text.from_end(index, e, n) : e;
        };
        std::string condition;
        const PositionText::Names positions = text.positions(p_, at, array, axis, given, condition);
        return {filled("$[$]", name, text.place(positions, strides)), condition};
    }

    void read(const Index::Read& r)
    {
        const bool scans = p_.scanned != Scan::none;
        const CppOperand y = w_.operand(v_), x = is_number(r) ? y : w_.operand(in_[r.operand]);
        w_.open("{");
        if (!is_number(r)) w_.declare("x", x, false);
        w_.declare("y", y, true);
        if (p_.has_factor) w_.declare("c", w_.operand(in_[p_.factor.operand]), false);
        for (std::size_t k = 0; k < p_.given_count; ++k) {
            const std::string g = "g" + number(static_cast<std::int64_t>(k) + 1);
            w_.declare(g, w_.operand(in_[p_.givens[k].operand]), false);
            w_.line("(void)$;", g);
        }
        Shape box;
        for (std::size_t a = 0; a < p_.extents.size(); ++a)
            box.push_back(scans && a == p_.scan_axis ? 1 : p_.extents[a]);
        w_.open_loops(box);
        if (scans) open_scan(x.type);
        PositionText text(w_.body, index, w_.indent());
        const IndexedElement to = place(text, "y", p_.writes[r.write], p_.result, row_major(p_.result));
        const DType dtype = is_number(r) ? n_.dtype : w_.graph.node(in_[r.operand]).dtype;
        w_.line("const $ v = $;", x.type,
                is_number(r) ? constant(r.fill, dtype)
                             : guarded(place(text, "x", r.at, x.shape, x.strides), r.fill, dtype));
        const std::string value = scans ? scan_step(text, x.type) : "v";
        const std::string put = filled("$ = $;", to.element, met_text(n_.dtype, r, to.element, value));
        w_.line(to.condition.empty() ? put : "if (" + to.condition + ") " + put);
        if (scans) w_.close();
        w_.close_loops(box);
        w_.close();
    }
    static std::string guarded(const IndexedElement& p, double fill, DType d)
    {
        return p.condition.empty() ? p.element : p.condition + " ? " + p.element + " : " + constant(fill, d);
    }
    /// Opens the loop along the scanned axis, innermost.
    void open_scan(const std::string& type)
    {
        const std::int64_t n = p_.extents[p_.scan_axis];
        const std::string i = "i" + number(p_.scan_axis);
        w_.line("$ s = 0;", type);
        if (p_.scanned == Scan::first_maximum) w_.line("ptrdiff_t place = 0;");
        w_.open("for (ptrdiff_t j = 0; j < $; ++j) {", n);
        w_.line("const ptrdiff_t $ = $;", i, p_.reverse ? number(n - 1) + " - j" : "j");
        w_.line("(void)$;", i);
    }
    std::string scan_step(PositionText& text, const std::string& type)
    {
        const auto of = [&](TermKind kind, const char* a, const char* b) {
            return TermCode::of_numbers(kind, n_.dtype, a, b);
        };
        switch (p_.scanned) {
        case Scan::first_maximum:
            w_.line("if (j == 0 || ($)) s = v, place = i$;",
                    differentiable(w_.graph.node(in_[p_.reads[0].operand]).dtype)
                        ? "s == s && (v > s || v != v)"
                        : "v > s",
                    p_.scan_axis);
            return "place";
        case Scan::maximum: w_.line("s = j == 0 ? v : ($);", of(TermKind::maximum, "v", "s")); break;
        case Scan::recurrence: {
            const CppOperand c = w_.operand(in_[p_.factor.operand]);
            const IndexedElement by = place(text, "c", p_.factor.at, c.shape, c.strides);
            w_.line("const $ f = $;", type, guarded(by, p_.factor.fill, n_.dtype));
            w_.line("const $ m = $;", type, of(TermKind::multiply, "f", "s"));
            w_.line("s = j == 0 ? v : $;", of(TermKind::add, "v", "m"));
            break;
        }
        default:
            w_.line("s = j == 0 ? v : $;",
                    of(p_.scanned == Scan::multiply ? TermKind::multiply : TermKind::add, "s", "v"));
        }
        return "s";
    }

    CppWriter& w_;
    ValueId v_;
    const GraphNode& n_;
    std::span<const ValueId> in_;
    Index p_;
};

}  // namespace wengert::detail

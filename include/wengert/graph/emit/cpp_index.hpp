// Index programs as loops of C, whatever they are called: the loops of ops/index/run_source.hpp, in the order that
// ops/index/index.hpp states.
#pragma once

#include "../ir/index_program.hpp"
#include "cpp_writer.hpp"

namespace wengert::detail {

class CppIndex {
public:
    CppIndex(CppWriter& w, ValueId v)
        : CppIndex(w, v, index_of(w.graph, w.graph.node(v)), w.graph.node(v).inputs)
    {}
    /// One of several programs, of these operands.
    CppIndex(CppWriter& w, ValueId v, const Index& p, std::span<const ValueId> operands)
        : w_(w), v_(v), n_(w.graph.node(v)), in_(operands), p_(p), type_(w.type(v))
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
        for (std::size_t k = 0; k < p_.read_count; ++k) read(p_.reads[k]);
    }

private:
    using Rule = Position::Rule;
    const Shape& shape(std::size_t operand) const { return w_.graph.node(in_[operand]).shape; }
    static bool is_number(const Index::Read& r) { return r.operand == Index::no_operand; }
    static std::string number(std::int64_t n) { return std::to_string(n); }

    /// The number where a position is masked, or that the result is full of.
    static std::string constant(double value, DType d) { return literal_text(value, d); }
    std::string neutral() const
    {
        switch (p_.reads[0].how) {
        case Combine::multiply: return constant(1, n_.dtype);
        case Combine::maximum: return constant(-HUGE_VAL, n_.dtype);
        case Combine::minimum: return constant(HUGE_VAL, n_.dtype);
        default: return "0";
        }
    }

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
            w_.fill(v_, p_.neutral ? neutral() : constant(p_.fill, n_.dtype));
        }
    }

    /// Appends a position `by` times: i0 * 2 + i1 - 3.
    void terms(std::string& s, const Position& q, std::int64_t by) const
    {
        for (std::size_t t = 0; t < q.terms; ++t)
            if (p_.extents.data()[q.axis[t]] != 1 && q.step[t] * by != 0)
                term(s, q.step[t] * by, "i" + number(q.axis[t]));
        if (const std::int64_t offset = q.offset * by) term(s, offset < 0 ? -1 : 1, number(std::abs(offset)));
    }
    static void term(std::string& s, std::int64_t by, const std::string& what)
    {
        s += s.empty() ? (by < 0 ? "-" : "") : (by < 0 ? " - " : " + ");
        s += what;
        if (by != 1 && by != -1) s += " * " + number(by < 0 ? -by : by);
    }

    /// An element of an array: where it is, and the condition that there is one ("" where there always is).
    struct Place {
        std::string element, condition;
    };
    /// Declares what the place needs; `name` is the array, and begins the names of its positions.
    Place place(const std::string& name, const Positions& at, const Shape& array, const Strides& strides)
    {
        std::string index, condition;
        for (std::size_t d = 0; d < at.size(); ++d) {
            const Position& q = at.data()[d];
            const std::string p = name + number(static_cast<std::int64_t>(d));
            if (strides[d] == 0 && q.rule != Rule::masked) continue;
            if (q.plain()) {
                terms(index, q, strides[d]);
                continue;
            }
            w_.line("const ptrdiff_t $ = $;", p, position(q, array[d]));
            if (q.rule == Rule::masked)
                condition +=
                    (condition.empty() ? "" : " && ") + p + " >= 0 && " + p + " < " + number(array[d]);
            if (strides[d] != 0) term(index, strides[d], p);
        }
        return {name + "[" + (index.empty() ? "0" : index) + "]", condition};
    }
    std::string position(const Position& q, std::int64_t n)
    {
        if (q.given) {
            const Index::Given& g = p_.givens[q.given - 1];
            const CppOperand v = w_.operand(in_[g.operand]);
            std::string index;
            for (std::size_t d = 0; d < g.at.size(); ++d) terms(index, g.at.data()[d], v.strides[d]);
            const std::string e = "g" + number(q.given) + "[" + (index.empty() ? "0" : index) + "]";
            return "(ptrdiff_t)(" + (g.from_end ? e + " < 0 ? " + e + " + " + number(n) + " : " + e : e) +
                   ")";
        }
        std::string i;
        terms(i, q, 1);
        if (i.empty()) i = "0";
        const char* const f = q.rule == Rule::wrapped    ? "wrapped"
                              : q.rule == Rule::clamped  ? "clamped"
                              : q.rule == Rule::mirrored ? "mirrored"
                                                         : nullptr;
        return f ? filled("(ptrdiff_t)$($, $)", w_.helper(f, DType::int64), i, n) : i;
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
        const Place to = place("y", p_.writes[r.write], p_.result, row_major(p_.result));
        const DType dtype = is_number(r) ? n_.dtype : w_.graph.node(in_[r.operand]).dtype;
        w_.line("const $ v = $;", x.type,
                is_number(r) ? constant(r.fill, dtype)
                             : guarded(place("x", r.at, x.shape, x.strides), r.fill, dtype));
        const std::string value = scans ? scan_step(x.type) : "v";
        const std::string put = meet(to.element, value, r);
        w_.line(to.condition.empty() ? put : "if (" + to.condition + ") " + put);
        if (scans) w_.close();
        w_.close_loops(box);
        w_.close();
    }
    static std::string guarded(const Place& p, double fill, DType d)
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
    bool real() const { return differentiable(w_.graph.node(in_[p_.reads[0].operand]).dtype); }
    std::string scan_step(const std::string& type)
    {
        const std::string greater = real() ? "s == s && (v > s || v != v)" : "v > s";
        switch (p_.scanned) {
        case Scan::first_maximum:
            w_.line("if (j == 0 || ($)) s = v, place = i$;", greater, p_.scan_axis);
            return "place";
        case Scan::maximum: w_.line("s = j == 0 || ($) ? v : s;", greater); break;
        case Scan::recurrence: {
            const CppOperand c = w_.operand(in_[p_.factor.operand]);
            const Place by = place("c", p_.factor.at, c.shape, c.strides);
            w_.line("const $ f = $;", type, guarded(by, p_.factor.fill, n_.dtype));
            w_.line("const $ m = $;", type, arithmetic("f", "*", "s"));
            w_.line("s = j == 0 ? v : $;", arithmetic("v", "+", "m"));
            break;
        }
        default:
            w_.line("s = j == 0 ? v : $;", arithmetic("s", p_.scanned == Scan::multiply ? "*" : "+", "v"));
        }
        return "s";
    }
    /// Whole numbers wrap.
    std::string arithmetic(const std::string& a, const char* op, const std::string& b) const
    {
        if (differentiable(n_.dtype) || w_.module.native) return a + " " + op + " " + b;
        return "(" + type_ + ")((uint64_t)" + a + " " + op + " (uint64_t)" + b + ")";
    }
    std::string meet(const std::string& y, const std::string& value, const Index::Read& r) const
    {
        const std::string nan = differentiable(n_.dtype) ? " || v != v" : "",
                          number = differentiable(n_.dtype) ? y + " == " + y + " && " : "";
        switch (r.how) {
        case Combine::add: return y + " = " + arithmetic(y, r.minus ? "-" : "+", value) + ";";
        case Combine::multiply: return y + " = " + arithmetic(y, "*", value) + ";";
        case Combine::maximum: return "if (" + number + "(v > " + y + nan + ")) " + y + " = v;";
        case Combine::minimum: return "if (" + number + "(v < " + y + nan + ")) " + y + " = v;";
        default: return y + " = " + (r.minus ? negative(value) : value) + ";";
        }
    }
    std::string negative(const std::string& x) const
    {
        return differentiable(n_.dtype) ? "-" + x : arithmetic("0", "-", x);
    }

    CppWriter& w_;
    ValueId v_;
    const GraphNode& n_;
    std::span<const ValueId> in_;
    Index p_;
    std::string type_;
};

}  // namespace wengert::detail

// Operations that move elements (copies, parts, concatenations) and those that sum them up, as loops of C.
#pragma once

#include "../../ops/arg_reductions.hpp"
#include "../../ops/reduction_rules.hpp"
#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "../loops/loop.hpp"
#include "cpp_writer.hpp"

namespace wengert::detail {

/// The node at hand, and what only moves elements or sums them up.
class CppPieces {
public:
    explicit CppPieces(CppWriter& w) : w_(w) {}

protected:
    template <class Op> const Op& op() const { return *static_cast<const Op*>(n_->op.get()); }
    ValueId in(std::size_t i) const { return n_->inputs[i]; }
    CppOperand input(std::size_t i) { return w_.operand(in(i)); }
    CppOperand result() { return w_.operand(v_); }
    static std::string number(std::int64_t n) { return std::to_string(n); }
    bool real() const { return differentiable(n_->dtype); }
    std::string math(const char* f) const
    {
        return std::string(f) + (n_->dtype == DType::float32 ? "f" : "");
    }

    /// The value of input 0, unless it lies here already.
    void begin_with_first()
    {
        if (over_) return;
        const CppOperand x = input(0);
        w_.copy(x, w_.pointer(v_), row_major(x.shape));
    }
    /// Strides and place of a part of the result.
    struct Part {
        std::string pointer;
        Strides strides;
    };
    Part part_of(const Selection& s)
    {
        const Strides rows = row_major(s.of);
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < s.of.size(); ++i) offset += s.start[i] * rows[i];
        Part p{w_.pointer(v_) + (offset ? " + " + number(offset) : ""), Strides::filled(s.shape.size())};
        for (std::size_t k = 0; k < s.shape.size(); ++k)
            p.strides[k] = s.from[k] < 0 ? 0 : s.step[k] * rows[static_cast<std::size_t>(s.from[k])];
        return p;
    }
    void into_part(const Selection& s, std::size_t i, const char* how)
    {
        if (element_count(s.shape) == 0) return;
        const Part p = part_of(s);
        CppOperand x = input(i);
        x.strides = broadcast_strides(x.shape, x.strides, s.shape);
        x.shape = s.shape;
        w_.copy(x, p.pointer, p.strides, how);
    }

    bool moves(std::string_view name)
    {
        if (name == "copy" || name == "identity" || name == "transpose" || name == "view" ||
            name == "split" || name == "broadcast_to" || name == "reshape" || name == "expand_dims" ||
            name == "squeeze" || name == "stop_gradient") {
            const CppOperand x = input(0);
            if (x.shape == n_->shape || name == "reshape" ||
                element_count(x.shape) == element_count(n_->shape)) {
                if (name == "transpose") w_.refuse(v_, "a transpose that is no view");
                w_.copy(x, w_.pointer(v_), row_major(x.shape));
                return true;
            }
            w_.refuse(v_, "a view that cannot be one");
        }
        if (name == "embed" || name == "pad") {
            const Selection& s = name == "embed" ? op<Embed>().part : op<Pad>().inner;
            w_.fill(v_, name == "embed" ? "0" : literal_text(op<Pad>().constant, n_->dtype));
            into_part(s, 0, "=");
        } else if (name == "assign_view") {
            begin_with_first();
            into_part(op<AssignView>().part, 1, "=");
        } else if (name == "add_view") {
            begin_with_first();
            into_part(op<AddView<false>>().part, 1, "+=");
        } else if (name == "subtract_view") {
            begin_with_first();
            into_part(op<AddView<true>>().part, 1, "-=");
        } else if (name == "view.pull0" || name == "split.pull0") {
            begin_with_first();
            into_part(op<Select>().part, 1, "+=");
        } else if (name == "element.pull0") {
            begin_with_first();
            into_part(op<Element>().part(), 1, "+=");
        } else if (name == "element") {
            const CppOperand x = input(0);
            const Selection s = op<Element>().part();
            std::int64_t at = 0;
            for (std::size_t i = 0; i < s.of.size(); ++i) at += s.start[i] * x.strides[i];
            w_.line("*(" + w_.pointer(v_) + ") = (" + x.pointer + ")[" + number(at) + "];");
        } else if (name == "concatenate") {
            for (std::size_t i = 0; i < n_->inputs.size(); ++i) into_part(op<Concatenate>().part(i), i, "=");
        } else if (name == "stack") {
            for (std::size_t i = 0; i < n_->inputs.size(); ++i) into_part(op<Stack>().part(i), i, "=");
        } else if (name == "diagonal.pull0") {
            begin_with_first();
            on_diagonal(1, "+=");
        } else if (name == "embed_diagonal") {
            w_.fill(v_, "0");
            on_diagonal(0, "=");
        } else if (name == "pack") {
            w_.fill(v_, "0");
            packed(op<Pack>().offset, 0, "=");
        } else if (name == "unpack.pull0") {
            begin_with_first();
            packed(op<Unpack>().offset, 1, "+=");
        } else if (name == "unpack") {
            const std::size_t unit = size_of(w_.graph.node(in(0)).dtype);
            w_.line("memcpy(" + w_.pointer(v_) + ", (const char*)(" + input(0).pointer + ") + " +
                    number(op<Unpack>().offset * static_cast<std::int64_t>(unit)) + ", " +
                    std::to_string(w_.plan.bytes_of(v_)) + ");");
        } else if (name == "tril" || name == "triu") {
            triangle(name == "tril", static_cast<const Triangle*>(n_->op.get())->k);
        } else {
            return false;
        }
        return true;
    }
    void on_diagonal(std::size_t i, const char* how)
    {
        const CppOperand x = input(i);
        const Strides rows = row_major(n_->shape);
        Strides to(rows.data(), x.shape.size());
        to.back() = rows[rows.size() - 2] + rows.back();
        w_.copy(x, w_.pointer(v_), to, how);
    }
    void packed(std::int64_t offset, std::size_t i, const char* how)
    {
        const CppOperand x = input(i);
        if (element_count(x.shape) == 0) return;
        w_.copy(x, w_.pointer(v_) + " + " + number(offset), row_major(x.shape), how);
    }
    void triangle(bool lower, std::int64_t k)
    {
        const CppOperand x = input(0), y = result();
        const std::size_t r = x.shape.size();
        w_.open("{");
        w_.declare("x", x, false);
        w_.declare("y", y, true);
        w_.open_loops(x.shape);
        const auto axis = [&](std::size_t d) {
            return x.shape[d] == 1 ? std::string("0") : "i" + number(static_cast<std::int64_t>(d));
        };
        w_.line("y[" + w_.index(y.shape, y.strides) + "] = " + axis(r - 1) + " - " + axis(r - 2) +
                (lower ? " <= " : " >= ") + number(k) + " ? x[" + w_.index(x.shape, x.strides) + "] : 0;");
        w_.close_loops(x.shape);
        w_.close();
    }

    /// Shape with an extent of 1 in place of the axes, and only those.
    static std::pair<Shape, Shape> split_axes(const Shape& s, const Axes& axes)
    {
        Shape kept = s, reduced = Shape::filled(s.size(), 1);
        for (auto a : axes) {
            const auto i = static_cast<std::size_t>(a);
            reduced[i] = s[i];
            kept[i] = 1;
        }
        return {kept, reduced};
    }
    bool reduces(std::string_view name)
    {
        const auto along = [&](const Along& a) { reduction(name, a.axes); };
        if (name == "sum")
            reduction(name, op<Sum>().axes);
        else if (name == "mean")
            along(op<Mean>().along);
        else if (name == "amax" || name == "amin")
            along(op<Extremum<true>>().along);
        else if (name == "argmax" || name == "argmin")
            along(*static_cast<const Along*>(n_->op.get()));
        else if (name == "all" || name == "any")
            along(*static_cast<const Along*>(n_->op.get()));
        else if (name == "var")
            along(op<Var>().along);
        else if (name == "norm")
            along(op<Norm>().along);
        else if (name == "logsumexp")
            along(op<LogSumExp>().along);
        else if (name == "prod")
            reduction(name, Axes{1});
        else
            return false;
        return true;
    }
    /// For each element of the result, loops over the reduced axes.
    void reduction(std::string_view name, const Axes& axes)
    {
        const CppOperand x = input(0);
        const auto [kept, reduced] = split_axes(x.shape, axes);
        const std::int64_t count = static_cast<std::int64_t>(element_count(reduced));
        w_.open("{");
        w_.declare("x", x, false);
        w_.declare("y", result(), true);
        w_.open_loops(kept);
        w_.line("const " + x.type + "* const r = x + " + w_.index(kept, x.strides) + ";");
        const std::string to = "y[" + w_.index(kept, row_major(kept)) + "]";
        const auto over = [&](const std::string& statement) {
            w_.open_loops(reduced, 'k');
            w_.line(statement);
            w_.close_loops(reduced);
        };
        const std::string e = "r[" + w_.index(reduced, x.strides, 'k') + "]", T = w_.type(v_);
        if (name == "sum" || name == "mean" || name == "var") {
            std::string sum = total(x, reduced, e, T, over);
            if (name == "mean") sum += " / " + number(count);
            if (name != "var") {
                w_.line(to + " = " + sum + ";");
            } else {
                w_.line("const " + T + " mean = " + sum + " / " + number(count) + ";");
                w_.line(T + " v = 0;");
                over("v += (" + e + " - mean) * (" + e + " - mean);");
                w_.line(to + " = v / " +
                        number(std::max<std::int64_t>(0, count - static_cast<std::int64_t>(op<Var>().ddof))) +
                        ";");
            }
        } else {
            other(name, x, reduced, e, T, to, over);
        }
        w_.close_loops(kept);
        w_.close();
    }
    template <class Over>
    std::string total(const CppOperand& x, const Shape& reduced, const std::string& e, const std::string& T,
                      const Over& over)
    {
        std::int64_t stride = 0, n = 1;
        bool run = real();
        for (std::size_t d = reduced.size(); d-- > 0;) {
            if (reduced[d] == 1) continue;
            if (n == 1) stride = x.strides[d];
            run = run && x.strides[d] == stride * n;
            n *= reduced[d];
        }
        if (run && n > 1)
            return w_.helper("sum", n_->dtype) + "(r, " + number(n) + ", " + number(stride) + ")";
        w_.line(T + " s = 0;");
        over("s += " + e + ";");
        return "s";
    }
    template <class Over>
    void other(std::string_view name, const CppOperand& x, const Shape& reduced, const std::string& e,
               const std::string& T, const std::string& to, const Over& over)
    {
        const DType d = w_.graph.node(in(0)).dtype;
        const auto extreme = [&](bool largest) {
            w_.line(x.type + " m = *r;");
            over("m = " + w_.helper(largest ? "maximum" : "minimum", d) + "(m, " + e + ");");
        };
        if (name == "prod") {
            w_.line(T + " s = 1;");
            over("s *= " + e + ";");
            w_.line(to + " = s;");
        } else if (name == "all" || name == "any") {
            w_.line(std::string("int s = ") + (name == "all" ? "1;" : "0;"));
            over(std::string("s = s ") + (name == "all" ? "&& " : "|| ") + e + ";");
            w_.line(to + " = (unsigned char)s;");
        } else if (name == "amax" || name == "amin") {
            extreme(name == "amax");
            w_.line(to + " = m;");
        } else if (name == "argmax" || name == "argmin") {
            w_.line(x.type + " m = *r;");
            w_.line("int64_t best = 0, place = 0;");
            w_.open_loops(reduced, 'k');
            w_.line("const " + x.type + " now = " + e + ";");
            w_.line(std::string("if (now ") + (name == "argmax" ? ">" : "<") +
                    " m || (now != now && m == m)) m = now, best = place;");
            w_.line("++place;");
            w_.close_loops(reduced);
            w_.line(to + " = best;");
        } else if (name == "norm") {
            w_.line(T + " m = 0, s = 0;");
            over("m = " + w_.helper("maximum", d) + "(m, " + math("fabs") + "(" + e + "));");
            w_.open("if (m > 0 && m - m == 0) {");
            over("s += (" + e + " / m) * (" + e + " / m);");
            w_.close();
            w_.line(to + " = m > 0 && m - m == 0 ? m * " + math("sqrt") + "(s) : m;");
        } else {  // logsumexp
            extreme(true);
            w_.line(T + " s = 0;");
            w_.line("const " + T + " from = m - m == 0 ? m : 0;");
            over("s += " + math("exp") + "(" + e + " - from);");
            w_.line(to + " = from + " + math("log") + "(s);");
        }
    }

    CppWriter& w_;
    ValueId v_ = 0;
    const GraphNode* n_ = nullptr;
    bool over_ = false;
};

}  // namespace wengert::detail

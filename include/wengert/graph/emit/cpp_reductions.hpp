// Reductions as loops of C.
#pragma once

#include "../../ops/arg_reductions.hpp"
#include "../../ops/reduction_rules.hpp"
#include "cpp_pieces.hpp"

namespace wengert::detail {

class CppReductions : protected CppPieces {
public:
    using CppPieces::CppPieces;

protected:
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
        else if (name == "exclusive_product")
            exclusive_product();
        else
            return false;
        return true;
    }
    /// Sums over the last axes in native code: in the order of the kernels. False for other reductions.
    bool sums_rows(std::string_view name)
    {
        const ValueId x = in(0);
        if ((name != "sum" && name != "mean") || !real() || w_.graph.node(x).dtype != n_->dtype ||
            w_.plan.layouts[x].strided)
            return false;
        const Axes& axes = name == "sum" ? op<Sum>().axes : op<Mean>().along.axes;
        const auto [kept, reduced] = split_axes(w_.graph.node(x).shape, axes);
        bool last = true;
        for (std::size_t d = kept.size(), inside = 1; d-- > 0;) {
            if (kept[d] != 1) inside = 0;
            last = last && (inside || reduced[d] == 1);
        }
        const auto n = static_cast<std::int64_t>(element_count(reduced)),
                   rows = static_cast<std::int64_t>(element_count(kept));
        if (!last || n == 0) return false;
        w_.open("{");
        w_.declare("x", input(0), false);
        w_.declare("y", result(), true);
        w_.line("fold_rows<" + number(n) + ">(x, y, " + number(rows) + ");");
        if (name == "mean")
            w_.line("for (ptrdiff_t o = 0; o < " + number(rows) + "; ++o) y[o] /= " + real_number(n) + ";");
        w_.close();
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
            if (name == "mean") sum += " / " + real_number(count);
            if (name != "var") {
                w_.line(to + " = " + sum + ";");
            } else {
                // as kernels::var: of deviations from the first element, 0 for equal ones
                const std::string d = "((" + e + ") - " + (count > 0 ? "*r" : "0") + ")";
                sum_of(T, "mean", d, count, over);
                w_.line("mean /= " + real_number(count) + ";");
                sum_of(T, "v", "(" + d + " - mean) * (" + d + " - mean)", count, over);
                w_.line(to + " = v / " +
                        real_number(
                            std::max<std::int64_t>(0, count - static_cast<std::int64_t>(op<Var>().ddof))) +
                        ";");
            }
        } else {
            other(name, x, reduced, e, T, to, count, over);
        }
        w_.close_loops(kept);
        w_.close();
    }
    /// `name` = Σ e over the loops; the sum of many is one of sums of 1024.
    template <class Over>
    void sum_of(const std::string& T, const std::string& name, const std::string& e, std::int64_t count,
                const Over& over)
    {
        w_.line(T + " " + name + " = 0;");
        if (count <= 1024) return over(name + " += " + e + ";");
        const std::string part = name + "_part", i = name + "_count";
        w_.line(T + " " + part + " = 0;");
        w_.line("int " + i + " = 0;");
        over("{ " + part + " += " + e + "; if (++" + i + " == 1024) " + name + " += " + part + ", " + part +
             " = 0, " + i + " = 0; }");
        w_.line(name + " += " + part + ";");
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
        sum_of(T, "s", e, n, over);
        return "s";
    }
    template <class Over>
    void other(std::string_view name, const CppOperand& x, const Shape& reduced, const std::string& e,
               const std::string& T, const std::string& to, std::int64_t count, const Over& over)
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
            w_.line(T + " m = 0;");
            over("m = " + w_.helper("maximum", d) + "(m, " + math("fabs") + "(" + e + "));");
            w_.line("const " + T + " by = m > 0 && m - m == 0 ? m : 1;");
            sum_of(T, "s", "(" + e + " / by) * (" + e + " / by)", count, over);
            w_.line(to + " = m > 0 && m - m == 0 ? m * " + math("sqrt") + "(s) : m;");
        } else {  // logsumexp
            extreme(true);
            w_.line("const " + T + " from = m - m == 0 ? m : 0;");
            sum_of(T, "s", own("exp") + "(" + e + " - from)", count, over);
            w_.line(to + " = from + " + own("log") + "(s);");
        }
    }

    /// The products of all others along the middle axis, from both its ends.
    void exclusive_product()
    {
        const CppOperand x = input(0), y = result();
        const Shape lines = {x.shape[0], 1, x.shape[2]};
        w_.open("{");
        w_.declare("x", x, false);
        w_.declare("y", y, true);
        w_.open_loops(lines);
        w_.line("const " + x.type + "* const a = x + " + w_.index(lines, x.strides) + ";");
        w_.line(y.type + "* const b = y + " + w_.index(lines, y.strides) + ";");
        w_.line(y.type + " r = 1;");
        const std::string n = number(x.shape[1]), ak = "a[k * " + number(x.strides[1]) + "]",
                          bk = "b[k * " + number(y.strides[1]) + "]";
        w_.line("for (ptrdiff_t k = 0; k < " + n + "; ++k) " + bk + " = r, r *= " + ak + ";");
        w_.line("r = 1;");
        w_.line("for (ptrdiff_t k = " + n + "; k-- > 0;) " + bk + " *= r, r *= " + ak + ";");
        w_.close_loops(lines);
        w_.close();
    }
};

}  // namespace wengert::detail

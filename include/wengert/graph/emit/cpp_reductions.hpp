// Reductions as loops of C.
#pragma once

#include "cpp_folds.hpp"

namespace wengert::detail {

class CppReductions : protected CppFolds {
public:
    using CppFolds::CppFolds;

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
        Fold f;
        if (fold_of(*n_, f))
            fold(f);
        else if (name == "exclusive_product")
            exclusive_product();
        else
            return false;
        return true;
    }
    void fold(const Fold& f)
    {
        const FoldLines lines(w_.graph.node(in(0)).shape, f);
        if (!real()) return reduction(f);
        if (lines.n == 0) return w_.fill(v_, literal_text(of_nothing(f.what), n_->dtype));
        if (w_.module.native)
            native_fold(f, lines);
        else
            fold_lines(f, lines);
    }
    static double of_nothing(What what)
    {
        switch (what) {
        case What::sum:
        case What::norm: return 0;
        case What::product: return 1;
        case What::maximum:
        case What::log_sum_exp: return -HUGE_VAL;
        case What::minimum: return HUGE_VAL;
        default: return std::nan("");
        }
    }
    /// What axis_text has for it: <the first template arguments, whether it takes exp, and log>.
    struct AxisCall {
        const char* name;
        bool exp, log;
    };
    static AxisCall axis_call(What what)
    {
        switch (what) {
        case What::sum: return {"fold<Plus, AsIs, ", false, false};
        case What::mean: return {"mean<", false, false};
        case What::product: return {"fold<Times, AsIs, ", false, false};
        case What::maximum: return {"fold<Most, AsIs, ", false, false};
        case What::minimum: return {"fold<Least, AsIs, ", false, false};
        case What::variance: return {"var<", false, false};
        case What::norm: return {"norm<", false, false};
        case What::log_sum_exp: return {"log_sum_exp<", true, true};
        case What::softmax: return {"softmax<", true, false};
        case What::log_softmax: return {"log_softmax<", true, true};
        case What::softmax_pull: return {"softmax_pull<", false, false};
        case What::log_softmax_pull: return {"log_softmax_pull<", true, false};
        default: return {"", false, false};  // of no floats
        }
    }
    /// A fold of floats in native code: in the order of the kernels.
    void native_fold(const Fold& f, const FoldLines& lines)
    {
        const AxisCall call = axis_call(f.what);
        w_.open("{");
        std::string list;
        for (std::size_t i = 0; i < n_->inputs.size(); ++i) {
            w_.declare(name_of_input(i), lined_input(i, lines), false);
            list += name_of_input(i) + ", ";
        }
        w_.declare("y", result(), true);
        const auto function = [](const char* name) {
            return std::string(", [](auto v) __attribute__((always_inline)) { return ") + name + "(v); }";
        };
        w_.line("axis_" + std::string(call.name) + number(lines.n) + ", " + number(lines.inner) +
                (f.what == What::variance ? ", " + std::to_string(f.freedom) : "") + ">(" + list + "y, " +
                number(lines.outer) + (call.exp ? function("exp_") : "") +
                (call.log ? function("log_") : "") + ");");
        w_.close();
    }
    /// Of whole numbers and truth values, and places: in any order.
    void reduction(const Fold& f)
    {
        const CppOperand x = input(0);
        const auto [kept, reduced] = split_axes(x.shape, *f.axes);
        w_.open("{");
        w_.declare("x", x, false);
        w_.declare("y", result(), true);
        w_.open_loops(kept);
        w_.line("const " + x.type + "* const r = x + " + w_.index(kept, x.strides) + ";");
        if (element_count(reduced) == 0) w_.line("(void)r;");
        whole(f.what, reduced, x, "y[" + w_.index(kept, row_major(kept)) + "]");
        w_.close_loops(kept);
        w_.close();
    }
    void whole(What what, const Shape& reduced, const CppOperand& x, const std::string& to)
    {
        const std::string e = "r[" + w_.index(reduced, x.strides, 'k') + "]", T = w_.type(v_);
        const auto over = [&](const std::string& start, const std::string& statement) {
            w_.line(start);
            w_.open_loops(reduced, 'k');
            w_.line(statement);
            w_.close_loops(reduced);
        };
        switch (what) {
        case What::all:
        case What::any:
            over(std::string("int s = ") + (what == What::all ? "1;" : "0;"),
                 std::string("s = s ") + (what == What::all ? "&& " : "|| ") + e + ";");
            return w_.line(to + " = (unsigned char)s;");
        case What::maximum:
        case What::minimum:
            over(x.type + " m = *r;",
                 "m = " +
                     w_.helper(what == What::maximum ? "maximum" : "minimum", w_.graph.node(in(0)).dtype) +
                     "(m, " + e + ");");
            return w_.line(to + " = m;");
        case What::first_maximum:
        case What::first_minimum:
            w_.line("int64_t best = 0, place = 0;");
            over(x.type + " m = *r;",
                 "const " + x.type + " now = " + e + "; if (now " +
                     (what == What::first_maximum ? ">" : "<") + " m" +
                     (differentiable(w_.graph.node(in(0)).dtype) ? " || (now != now && m == m)" : "") +
                     ") m = now, best = place; ++place;");
            return w_.line(to + " = best;");
        default: {
            const bool product = what == What::product;
            const std::string wide = w_.module.native ? T : "uint64_t";  // whole numbers wrap
            over(wide + " s = " + (product ? "1;" : "0;"),
                 std::string("s ") + (product ? "*" : "+") + "= (" + wide + ")" + e + ";");
            return w_.line(to + " = (" + T + ")s;");
        }
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

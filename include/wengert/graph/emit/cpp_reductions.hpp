// Folds and what is made of them, by the formulas of kernels/cpu/reduce.hpp and rows.hpp.
#pragma once

#include "cpp_folds.hpp"

namespace wengert::detail {

class CppReductions : protected CppFolds {
public:
    using CppFolds::CppFolds;

protected:
    bool reduces()
    {
        Fold f;
        if (!fold_of(*n_, f)) return false;
        fold(f);
        return true;
    }
    /// The most of a line, 0 where that is infinite, and the sum of the exponentials beyond it, which b keeps if there is one.
    void shifted(const char* b = nullptr)
    {
        const Element x = element("a0");
        line(What::maximum, "m", x);
        w_.line("const $ shift = $($);", lanes(), own("finite_or_zero"), spread("m"));
        line(What::sum, "s", [&](const std::string& k, const std::string& c) {
            const std::string e = filled("$($ - shift)", own("exp"), x(k, c));
            if (!b) return e;
            const std::string at = place(k);
            return vectors() ? filled("put_as($ + $, $, $)", b, at, c, e) : filled("($[$] = $)", b, at, e);
        });
    }
    void softmax()
    {
        shifted("b");
        w_.line("const $ scale = $ / $;", lanes(), constant(1), spread("s"));
        each("b",
             [&](const std::string& k, const std::string& c) { return element("b")(k, c) + " * scale"; });
    }
    void begin_b()
    {
        w_.line("$* const b = y + o * $$;", type(), lines_->n * lines_->inner, rows() ? "" : " + j");
    }

private:
    void fold(const Fold& f)
    {
        const FoldLines lines(w_.graph.node(in(0)).shape, f);
        if (!real()) return whole_numbers(f);
        if (lines.n == 0) return w_.fill(v_, literal_text(of_nothing(f.what), n_->dtype));
        lines_ = &lines;
        w_.open("{");
        for (std::size_t i = 0; i < n_->inputs.size(); ++i)
            w_.declare("x" + std::to_string(i), lined_input(i, lines), false);
        w_.declare("y", result(), true);
        choose_lanes(rows() ? lines.n : lines.inner);
        if (f.what == What::norm)
            norm();
        else if (f.what == What::variance || f.what >= What::log_sum_exp)
            each_line(f);
        else
            whole(f.what == What::mean ? What::sum : f.what, false);
        if (f.what == What::mean)
            w_.line("for (ptrdiff_t i = 0; i < $; ++i) y[i] /= $;", lines.outer * lines.inner,
                    real_number(lines.n));
        w_.close();
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
    /// In row-major order with the folded axes beside one another: a copy behind the arena where it does not lie so.
    CppOperand lined_input(std::size_t i, const FoldLines& lines)
    {
        if (lines.adjacent) return contiguous_input(i);
        CppOperand x = input(i);
        const Shape shape = x.shape;
        const Strides strides = x.strides;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            x.shape[d] = shape[static_cast<std::size_t>(lines.order[d])];
            x.strides[d] = strides[static_cast<std::size_t>(lines.order[d])];
        }
        return copied(i, x);
    }

    void each_line(const Fold& f)
    {
        open_lines(n_->inputs.size());
        if (f.maps()) begin_b();
        switch (f.what) {
        case What::variance: variance(static_cast<std::int64_t>(f.freedom)); break;
        case What::log_sum_exp:
            shifted();
            store(filled("shift + $($)", own("log"), spread("s")), count());
            break;
        case What::softmax: softmax(); break;
        case What::log_softmax: log_softmax(); break;
        default: pull(f.what == What::softmax_pull);
        }
        close_lines();
    }
    void log_softmax()
    {
        shifted();
        w_.line("const $ l = $($);", lanes(), own("log"), spread("s"));
        each("b", [&](const std::string& k, const std::string& c) {
            return element("a0")(k, c) + " - shift - l";
        });
    }
    /// Of (g, y).
    void pull(bool softmax)
    {
        const Element g = element("a0"), y = element("a1");
        line(What::sum, "s", [&](const std::string& k, const std::string& c) {
            return softmax ? g(k, c) + " * " + y(k, c) : g(k, c);
        });
        w_.line("const $ sum = $;", lanes(), spread("s"));
        each("b", [&](const std::string& k, const std::string& c) {
            return softmax ? filled("$ * ($ - sum)", y(k, c), g(k, c))
                           : filled("$ - $($) * sum", g(k, c), own("exp"), y(k, c));
        });
    }
    void variance(std::int64_t freedom)
    {
        const Element x = element("a0");
        w_.line("const $ from = $;", lanes(), rows() ? spread("*a0") : x("0", count()));
        line(What::sum, "s", [&](const std::string& k, const std::string& c) { return x(k, c) + " - from"; });
        w_.line("const $ mean = $ / $;", lanes(), spread("s"), constant(static_cast<double>(lines_->n)));
        line(What::sum, "v", [&](const std::string& k, const std::string& c) {
            return filled("($ - from - mean) * ($ - from - mean)", x(k, c), x(k, c));
        });
        const auto left = static_cast<double>(std::max<std::int64_t>(0, lines_->n - freedom));
        store(spread("v") + " / " + constant(left), count());
    }
    /// Where the sum of squares is no normal number, by way of the largest.
    void norm()
    {
        const bool narrow = is_single(n_->dtype);
        whole(What::sum, true);
        w_.open("for (ptrdiff_t i = 0; i < $; ++i) {", lines_->outer * lines_->inner);
        w_.open("if (y[i] >= $ && y[i] - y[i] == 0) {",
                literal_text(narrow ? 0x1p-103 : 0x1p-970, n_->dtype));
        w_.line("y[i] = $(y[i]);", math("sqrt"));
        w_.line("continue;");
        w_.close();
        w_.line("const $* const a = x0 + i / $ * $ + i % $;", type(), lines_->inner,
                lines_->n * lines_->inner, lines_->inner);
        choose_lanes(lines_->n);
        const Element x = [&](const std::string& k, const std::string& c) {
            const std::string at = filled("a + ($) * $", k, lines_->inner);
            return vectors() ? filled("gather<X>($, $, $.value)", at, lines_->inner, c) : "*(" + at + ")";
        };
        row(
            What::maximum, "m",
            [&](const std::string& k, const std::string& c) {
                return (vectors() ? "abs_" : math("fabs")) + "(" + x(k, c) + ")";
            },
            !vectors());
        w_.line("y[i] = m > 0 || m != m ? m : 0;");
        w_.line("if (!(m > 0) || m - m != 0) continue;");
        row(
            What::sum, "q",
            [&](const std::string& k, const std::string& c) {
                return filled("($ / $) * ($ / $)", x(k, c), spread_number("m"), x(k, c), spread_number("m"));
            },
            !vectors());
        w_.line("y[i] = m * $(q);", math("sqrt"));
        w_.close();
    }
    std::string spread_number(const char* x) const { return vectors() ? filled("K<X>($)", x) : x; }

    /// Of whole numbers and truth values, and places: in any order.
    void whole_numbers(const Fold& f)
    {
        const CppOperand x = input(0);
        Shape kept = x.shape, folded = Shape::filled(kept.size(), 1);
        for (auto a : *f.axes)
            std::swap(kept[static_cast<std::size_t>(a)], folded[static_cast<std::size_t>(a)]);
        w_.open("{");
        w_.declare("x", x, false);
        w_.declare("y", result(), true);
        w_.open_loops(kept);
        w_.line("const $* const r = x + $;", x.type, w_.index(kept, x.strides));
        if (element_count(folded) == 0) w_.line("(void)r;");
        const std::string e = filled("r[$]", w_.index(folded, x.strides, 'k')), T = type();
        const bool logic = f.what == What::all || f.what == What::any, order = Fold::needs_elements(f.what);
        const std::string of = logic              ? "int"
                               : order            ? x.type
                               : w_.module.native ? T
                                                  : "uint64_t";  // whole numbers wrap
        const bool places = f.what >= What::first_maximum && order;
        if (places) w_.line("int64_t best = 0, place = 0;");
        w_.line("$ s = $;", of, order ? "*r" : f.what == What::all || f.what == What::product ? "1" : "0");
        w_.open_loops(folded, 'k');
        w_.line(meet(f.what, e, of));
        if (places) w_.line("++place;");
        w_.close_loops(folded);
        w_.line("y[$] = ($)$;", w_.index(kept, row_major(kept)), T, places ? "best" : "s");
        w_.close_loops(kept);
        w_.close();
    }
    std::string meet(What what, const std::string& e, const std::string& type)
    {
        const bool most = what == What::maximum || what == What::first_maximum;
        switch (what) {
        case What::all: return filled("s = s && $;", e);
        case What::any: return filled("s = s || $;", e);
        case What::maximum:
        case What::minimum:
            return filled("s = $(s, $);", w_.helper(most ? "maximum" : "minimum", w_.graph.node(in(0)).dtype),
                          e);
        case What::first_maximum:
        case What::first_minimum:
            return filled(
                "if ($ $ s$) s = $, best = place;", e, most ? ">" : "<",
                differentiable(w_.graph.node(in(0)).dtype) ? filled(" || ($ != $ && s == s)", e, e) : "", e);
        default: return filled("s $= ($)$;", what == What::product ? "*" : "+", type, e);
        }
    }
};

}  // namespace wengert::detail

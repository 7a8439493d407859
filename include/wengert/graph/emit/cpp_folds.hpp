// Folds of whole axes as loops of C: in the order of kernels/cpu/fold.hpp and by the formulas of reduce.hpp and rows.hpp, one
// line after the other, so that emitted headers have the library's bits.
#pragma once

#include <functional>

#include "../ir/fold_of.hpp"
#include "cpp_pieces.hpp"

namespace wengert::detail {

class CppFolds : protected CppPieces {
public:
    using CppPieces::CppPieces;

protected:
    using What = Fold::What;
    using Element = std::function<std::string(const std::string& k)>;

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
    static std::string for_each(std::int64_t n)
    {
        return "for (ptrdiff_t k = 0; k < " + number(n) + "; ++k) ";
    }
    static std::string name_of_input(std::size_t i) { return "x" + std::to_string(i); }

    /// A fold of floats, of one element at least.
    void fold_lines(const Fold& f, const FoldLines& lines)
    {
        lines_ = &lines;
        const Shape box{lines.outer, lines.inner};
        w_.open("{");
        for (std::size_t i = 0; i < n_->inputs.size(); ++i)
            w_.declare(name_of_input(i), lined_input(i, lines), false);
        w_.declare("y", result(), true);
        w_.open_loops(box);
        const std::string from = w_.index(box, Strides{lines.n * lines.inner, 1});
        for (std::size_t i = 0; i < n_->inputs.size(); ++i)
            w_.line("const " + type() + "* const a" + std::to_string(i) + " = " + name_of_input(i) + " + " +
                    from + ";");
        if (f.maps()) {
            w_.line(type() + "* const b = y + " + from + ";");
            map(f.what);
        } else {
            total(f, "y[" + w_.index(box, Strides{lines.inner, 1}) + "]");
        }
        w_.close_loops(box);
        w_.close();
    }

private:
    std::string type() const { return w_.type(v_); }
    std::string at(const char* name, const std::string& k) const
    {
        return std::string(name) + "[" + (lines_->inner == 1 ? k : "(" + k + ") * " + number(lines_->inner)) +
               "]";
    }
    std::string first(const std::string& k) const { return at("a0", k); }
    std::string second(const std::string& k) const { return at("a1", k); }
    void along(const std::string& statement) { w_.line(for_each(lines_->n) + statement); }

    void total(const Fold& f, const std::string& to)
    {
        const auto as_is = [&](const std::string& k) { return first(k); };
        switch (f.what) {
        case What::variance: return variance(f.freedom, to);
        case What::norm: return norm(to);
        case What::log_sum_exp: {
            shifted(false);
            return w_.line(to + " = shift + " + own("log") + "(s);");
        }
        case What::mean: {
            block(What::sum, "s", as_is);
            return w_.line(to + " = s / " + real_number(lines_->n) + ";");
        }
        default: block(f.what, "s", as_is); return w_.line(to + " = s;");
        }
    }
    /// The most of a line, 0 where that is infinite, and the sum of the exponentials beyond it, which are kept in b.
    void shifted(bool keeps)
    {
        line(What::maximum, "m", [&](const std::string& k) { return first(k); });
        w_.line("const " + type() + " shift = m - m == 0 || m != m ? m : 0;");
        line(What::sum, "s", [&](const std::string& k) {
            const std::string e = own("exp") + "(" + first(k) + " - shift)";
            return keeps ? "(" + at("b", k) + " = " + e + ")" : e;
        });
    }
    void map(What what)
    {
        const bool back = what == What::softmax_pull || what == What::log_softmax_pull;
        if (back)
            line(What::sum, "s", [&](const std::string& k) {
                return what == What::softmax_pull ? first(k) + " * " + second(k) : first(k);
            });
        else
            shifted(what == What::softmax);
        const std::string b = at("b", "k"), x = first("k");
        switch (what) {
        case What::softmax: w_.line("const " + type() + " scale = 1 / s;"); return along(b + " *= scale;");
        case What::log_softmax:
            w_.line("const " + type() + " l = " + own("log") + "(s);");
            return along(b + " = " + x + " - shift - l;");
        case What::softmax_pull: return along(b + " = " + second("k") + " * (" + x + " - s);");
        default: return along(b + " = " + x + " - " + own("exp") + "(" + second("k") + ") * s;");
        }
    }
    void variance(std::size_t freedom, const std::string& to)
    {
        const auto lost = static_cast<std::int64_t>(freedom);
        w_.line("const " + type() + " from = " + first("0") + ";");
        line(What::sum, "mean", [&](const std::string& k) { return first(k) + " - from"; });
        w_.line("mean /= " + real_number(lines_->n) + ";");
        line(What::sum, "v", [&](const std::string& k) {
            const std::string d = "(" + first(k) + " - from - mean)";
            return d + " * " + d;
        });
        w_.line(to + " = v / " + real_number(std::max<std::int64_t>(0, lines_->n - lost)) + ";");
    }
    /// Where the sum of squares is no normal number, by way of the largest, which the kernels do row by row.
    void norm(const std::string& to)
    {
        const bool narrow = n_->dtype == DType::float32;
        block(What::sum, "s", [&](const std::string& k) { return first(k) + " * " + first(k); });
        w_.open("if (s >= " + literal_text(narrow ? 0x1p-103 : 0x1p-970, n_->dtype) + " && s - s == 0) {");
        w_.line(to + " = " + math("sqrt") + "(s);");
        w_.close();
        w_.open("else {");
        row(What::maximum, "m", [&](const std::string& k) { return math("fabs") + "(" + first(k) + ")"; });
        w_.line("m = m > 0 || m != m ? m : 0;");
        w_.open("if (m > 0 && m - m == 0) {");
        row(What::sum, "q",
            [&](const std::string& k) { return "(" + first(k) + " / m) * (" + first(k) + " / m)"; });
        w_.line("m *= " + math("sqrt") + "(q);");
        w_.close();
        w_.line(to + " = m;");
        w_.close();
    }

    std::string with(What w, const std::string& a, const std::string& b)
    {
        if (w == What::maximum || w == What::minimum)
            return w_.helper(w == What::maximum ? "maximum" : "minimum", n_->dtype) + "(" + a + ", " + b +
                   ")";
        return a + (w == What::product ? " * " : " + ") + "(" + b + ")";
    }
    std::string none(What w) const
    {
        if (w == What::sum || w == What::product) return w == What::sum ? "0" : "1";
        return literal_text(w == What::maximum ? -HUGE_VAL : HUGE_VAL, n_->dtype);
    }
    static std::string finish(What w, const std::string& a) { return w == What::product ? a : a + " + 0"; }

    /// What sums and the like of a block do: rows of up to four elements by themselves, few columns in groups of rows.
    void block(What w, const std::string& name, const Element& e)
    {
        const std::int64_t n = lines_->n, rows = 64 / static_cast<std::int64_t>(size_of(n_->dtype));
        if (n == 1) return w_.line(type() + " " + name + " = " + e("0") + ";");
        if (lines_->inner == 1 || lines_->inner * rows > 256 || n < 2 * rows) return line(w, name, e);
        const std::string r = number(rows), whole = number(n / rows * rows);
        w_.line(type() + " " + name + ", group[" + r + "];");
        w_.open("for (ptrdiff_t g = 0; g < " + r + "; ++g) {");
        column(w, "part", n / rows, [&](const std::string& k) { return e("(" + k + ") * " + r + " + g"); });
        w_.line("group[g] = part;");
        w_.close();
        if (n % rows)
            w_.line("for (ptrdiff_t g = 0; g < " + number(n % rows) +
                    "; ++g) group[g] = " + with(w, "group[g]", e(whole + " + g")) + ";");
        w_.line(name + " = group[0];");
        w_.line("for (ptrdiff_t g = 1; g < " + r + "; ++g) " + name + " = " + with(w, name, "group[g]") +
                ";");
        w_.line(name + " = " + finish(w, name) + ";");
    }
    void line(What w, const std::string& name, const Element& e)
    {
        if (lines_->inner == 1) return row(w, name, e);
        column(w, name, lines_->n, e);
    }
    /// Four at a time, 256 after 256.
    void column(What w, const std::string& name, std::int64_t n, const Element& e)
    {
        const auto four = [&](const std::string& k) {
            return with(w, with(w, e(k), e(k + " + 1")), with(w, e(k + " + 2"), e(k + " + 3")));
        };
        w_.line(type() + " " + name + " = 0;");
        w_.open("for (ptrdiff_t f = 0; f < " + number(n) + "; f += 256) {");
        w_.line("const ptrdiff_t end = " + number(n) + " - f < 256 ? " + number(n) + " : f + 256;");
        w_.line("ptrdiff_t k = f + (end - f < 4 ? 1 : 4);");
        w_.line(type() + " t = " +
                (n < 4                          ? e("f")
                 : n % 256 == 0 || n % 256 >= 4 ? four("f")
                                                : "end - f < 4 ? " + e("f") + " : " + four("f")) +
                ";");
        w_.line("for (; k + 4 <= end; k += 4) t = " + with(w, "t", four("k")) + ";");
        w_.line("for (; k < end; ++k) t = " + with(w, "t", e("k")) + ";");
        w_.line(name + " = f ? " + with(w, name, "t") + " : t;");
        w_.close();
        if (n > 1) w_.line(name + " = " + finish(w, name) + ";");
    }
    /// 256 bytes of sums, folded in halves; blocks of 16 KiB are combined like the carries of a binary counter.
    void row(What w, const std::string& name, const Element& e)
    {
        const std::int64_t n = lines_->n, unit = static_cast<std::int64_t>(size_of(n_->dtype)),
                           most = 16384 / unit;
        if (n <= 4) {
            std::string s = n < 3 ? e("0") : with(w, e("0"), e("2"));
            if (n > 1) s = with(w, s, n == 4 ? with(w, e("1"), e("3")) : e("1"));
            return w_.line(type() + " " + name + " = " + finish(w, s) + ";");
        }
        std::int64_t lanes = 8;
        while (lanes < n && lanes * unit < 256) lanes *= 2;
        const std::string N = number(lanes), end = n <= most ? number(n) : "end";
        w_.line(type() + " " + name + ";");
        w_.open("{");
        w_.line(type() + " lane[" + N + "];");
        if (n > most) {
            w_.line(type() + " pending[64] = {0};");
            w_.line("int depth = 0;");
            w_.line("ptrdiff_t blocks = 0;");
            w_.open("for (ptrdiff_t f = 0; f < " + number(n) + "; f += " + number(most) + ") {");
            w_.line("const ptrdiff_t end = " + number(n) + " - f < " + number(most) + " ? " + number(n) +
                    " : f + " + number(most) + ";");
        }
        w_.line("ptrdiff_t k = " + std::string(n > most ? "f" : "0") + ";");
        w_.line("for (ptrdiff_t l = 0; l < " + N + "; ++l) lane[l] = " + none(w) + ";");
        w_.line("for (; k + " + N + " <= " + end + "; k += " + N + ")");
        w_.line("    for (ptrdiff_t l = 0; l < " + N + "; ++l) lane[l] = " + with(w, "lane[l]", e("k + l")) +
                ";");
        w_.line("for (ptrdiff_t l = 0; k + l < " + end +
                "; ++l) lane[l] = " + with(w, "lane[l]", e("k + l")) + ";");
        w_.line("for (ptrdiff_t h = " + number(lanes / 2) + "; h > 0; h /= 2)");
        w_.line("    for (ptrdiff_t l = 0; l < h; ++l) lane[l] = " + with(w, "lane[l]", "lane[l + h]") + ";");
        w_.line(name + " = " + finish(w, "lane[0]") + ";");
        if (n > most) {
            w_.line("for (ptrdiff_t c = ++blocks; c % 2 == 0; c /= 2) " + name + " = " +
                    with(w, "pending[--depth]", name) + ";");
            w_.line("pending[depth++] = " + name + ";");
            w_.close();
            w_.line(name + " = pending[--depth];");
            w_.line("while (depth > 0) " + name + " = " + with(w, "pending[--depth]", name) + ";");
        }
        w_.close();
    }

    const FoldLines* lines_ = nullptr;
};

}  // namespace wengert::detail

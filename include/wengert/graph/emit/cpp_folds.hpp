// The order of folds as text, over vectors for native code and over plain numbers for emitted headers: that of
// kernels/cpu/fold.hpp, so that the bits are the library's.
#pragma once

#include <functional>

#include "../ir/fold_of.hpp"
#include "cpp_pieces.hpp"

namespace wengert::detail {

/// Lines of (outer, n, inner). Over vectors a row lies along the lanes of X, and of lines beside one another there are as many as
/// X has lanes; a plain number is a vector of one lane.
class CppFolds : protected CppPieces {
public:
    using CppPieces::CppPieces;

protected:
    using What = Fold::What;
    /// The element at k of a line: so many lanes, or one number where `count` is empty.
    using Element = std::function<std::string(const std::string& k, const std::string& count)>;

    bool vectors() const { return w_.module.native; }
    bool rows() const { return lines_->inner == 1; }
    std::string type() const { return w_.type(v_); }
    std::string lanes() const { return vectors() ? "X" : type(); }
    /// Of a value that belongs to a line.
    std::string count() const { return !vectors() ? "" : rows() ? "Count<1>()" : "c"; }
    /// The fold of a row in all lanes.
    std::string spread(const std::string& x) const { return vectors() && rows() ? "K<X>(" + x + ")" : x; }
    std::string constant(double x) const
    {
        const std::string number = literal_text(x, n_->dtype);
        return vectors() ? "K<X>(" + number + ")" : number;
    }
    static std::string get(const char* line, const std::string& index, const std::string& count)
    {
        return filled(count.empty() ? "$[$]" : "get<X>($ + $, $)", line, index, count);
    }
    static std::string put(const char* line, const std::string& index, const std::string& count,
                           const std::string& value)
    {
        return count.empty() ? filled("$[$] = $;", line, index, value)
                             : filled("put($ + $, $, X($));", line, index, count, value);
    }
    /// Where element k of a line lies from its beginning on.
    std::string place(const std::string& k) const { return rows() ? k : filled("($) * $", k, lines_->inner); }
    Element element(const char* line) const
    {
        return [this, line](const std::string& k, const std::string& c) { return get(line, place(k), c); };
    }

    /// X, for lines of n elements or n of them.
    void choose_lanes(std::int64_t n)
    {
        if (vectors()) w_.line("enum { N = lanes_for<$>($) }; typedef V<$, N> X;", type(), n, type());
    }
    /// Opens a loop over n places, j, as many at a time as X has lanes.
    void open_across(std::int64_t n)
    {
        w_.open(vectors() ? "along<N, $>([&](ptrdiff_t j, auto c) __attribute__((always_inline)) {"
                          : "for (ptrdiff_t j = 0; j < $; ++j) {",
                n);
    }
    void close_across() { w_.close(vectors() ? "});" : "}"); }
    /// All lines: `a0`, `a1`, … begin those of the operands x0, x1, …
    void open_lines(std::size_t operands)
    {
        w_.open("for (ptrdiff_t o = 0; o < $; ++o) {", lines_->outer);
        if (!rows()) open_across(lines_->inner);
        for (std::size_t i = 0; i < operands; ++i)
            w_.line("const $* const a$ = x$ + o * $$;", type(), i, i, lines_->n * lines_->inner,
                    rows() ? "" : " + j");
    }
    void close_lines()
    {
        if (!rows()) close_across();
        w_.close();
    }
    /// y of the line: a number, or as many lanes as lines.
    void store(const std::string& value, const std::string& count)
    {
        w_.line(put("y", rows() ? "o" : filled("o * $ + j", lines_->inner), count, value));
    }
    /// The line's elements of an array become value(k, count).
    void each(const char* line, const Element& value)
    {
        const bool along = vectors() && rows();
        const std::string of = along ? "d" : count();
        w_.line(along ? "along_once<N, $>([&](ptrdiff_t k, auto d) __attribute__((always_inline)) { $ });"
                      : "for (ptrdiff_t k = 0; k < $; ++k) $",
                lines_->n, put(line, place("k"), of, value("k", of)));
    }

    /// y of each line is the fold of its elements, or of their squares.
    void whole(What w, bool squared)
    {
        const std::int64_t n = lines_->n, group = 64 / unit();
        const auto of = [squared](const std::string& x) { return squared ? x + " * " + x : x; };
        if (n == 1)
            return w_.line("for (ptrdiff_t i = 0; i < $; ++i) y[i] = $;", lines_->outer * lines_->inner,
                           of("x0[i]"));
        if (!rows() && lines_->inner * group <= 256 && n >= 2 * group) return few(w, of);
        if (vectors() && rows() && w == What::sum && !squared)
            return w_.line("fold_rows<$>(x0, y, $);", n, lines_->outer);
        open_lines(1);
        line(
            w, "s", [&](const std::string& k, const std::string& c) { return of(element("a0")(k, c)); },
            true);
        store("s", rows() ? "" : count());
        close_lines();
    }
    /// Declares the fold of a line: of a row a number. `numbers`: there are elements of one number.
    void line(What w, const std::string& name, const Element& e, bool numbers = false)
    {
        if (rows()) return row(w, name, e, numbers || !vectors());
        column(w, name, lines_->n, e);
    }
    /// 256 bytes of sums, folded in halves; blocks of 16 KiB are combined like the carries of a binary counter.
    void row(What w, const std::string& name, const Element& e, bool numbers)
    {
        const std::int64_t n = lines_->n, most = 16384 / unit();
        w_.line("$ $;", type(), name);
        if (n <= 4 && numbers) return w_.line("$ = $;", name, finish(w, short_row(w, n, e), type()));
        w_.open("{");
        w_.line("enum { R = $ };", vectors() ? filled("$ <= N ? 1 : 256 / sizeof(X)", n) : number(sums(n)));
        if (n <= most) {
            block(w, name, e, "0", number(n));
            return w_.close();
        }
        w_.line("$ pending[64];", type());
        w_.line("ptrdiff_t depth = 0, blocks = 0;");
        w_.open("for (ptrdiff_t f = 0; f < $; f += $) {", n, most);
        w_.line("const ptrdiff_t end = $ - f < $ ? $ : f + $;", n, most, n, most);
        block(w, name, e, "f", "end");
        w_.line("for (ptrdiff_t carry = ++blocks; carry % 2 == 0; carry /= 2) $ = $;", name,
                with(w, "pending[--depth]", name));
        w_.line("pending[depth++] = $;", name);
        w_.close();
        w_.line("$ = pending[--depth];", name);
        w_.line("while (depth > 0) $ = $;", name, with(w, "pending[--depth]", name));
        w_.close();
    }

private:
    std::int64_t unit() const { return static_cast<std::int64_t>(size_of(n_->dtype)); }
    /// How many numbers a row is folded to before these are folded in halves.
    std::int64_t sums(std::int64_t n) const
    {
        std::int64_t s = 8;
        while (s < n && s * unit() < 256) s *= 2;
        return s;
    }
    std::string with(What w, const std::string& a, const std::string& b)
    {
        if (w == What::maximum || w == What::minimum)
            return filled("$($, $)", own(w == What::maximum ? "maximum" : "minimum"), a, b);
        return a + (w == What::product ? " * " : " + ") + "(" + b + ")";
    }
    static double none(What w)
    {
        if (w == What::sum || w == What::product) return w == What::sum ? 0 : 1;
        return w == What::maximum ? -HUGE_VAL : HUGE_VAL;
    }
    /// Where the order would decide about the sign of 0, it is +.
    std::string finish(What w, const std::string& a, const std::string& of) const
    {
        return w == What::product ? a : a + (of == "X" ? " + X{}" : " + 0");
    }
    std::string short_row(What w, std::int64_t n, const Element& e)
    {
        const auto x = [&](const char* k) { return e(k, ""); };
        if (n == 0) return literal_text(none(w), n_->dtype);
        const std::string s = n < 3 ? x("0") : with(w, x("0"), x("2"));
        return n == 1 ? s : with(w, s, n == 4 ? with(w, x("1"), x("3")) : x("1"));
    }
    /// Elements [from, end) of a row, in R sums.
    void block(What w, const std::string& name, const Element& e, const char* from, const std::string& end)
    {
        const char *const at = vectors() ? "k + r * N" : "k + r", *const all = vectors() ? "R * N" : "R",
                          *const whole = vectors() ? "Count<N>()" : "";
        const std::string more = with(w, "acc[r]", e(at, whole));
        const auto unrolled = [&] {
            if (vectors()) w_.line("#pragma GCC unroll 16");
        };
        w_.line("ptrdiff_t k = $;", from);
        w_.line("$ acc[R];", lanes());
        w_.line("for (int r = 0; r < R; ++r) acc[r] = $;", constant(none(w)));
        w_.line("for (; k + $ <= $; k += $)", all, end, all);
        unrolled();
        w_.line("    for (int r = 0; r < R; ++r) acc[r] = $;", more);
        if (vectors())
            vector_rest(more, with(w, "acc[r]", rest(w, e)), end);
        else
            w_.line("for (int r = 0; k + r < $; ++r) acc[r] = $;", end, more);
        unrolled();
        w_.line("for (int h = R / 2; h > 0; h /= 2)");
        unrolled();
        w_.line("    for (int r = 0; r < h; ++r) acc[r] = $;", with(w, "acc[r]", "acc[r + h]"));
        w_.line("$ = $;", name,
                finish(w, vectors() ? filled("fold_lane<$>(acc[0])", functor(w)) : "acc[0]", type()));
    }
    /// The last elements of a row, which do not fill X.
    std::string rest(What w, const Element& e) const
    {
        return filled("first_or<$ % N>($, $, IndicesTo<N>())", lines_->n,
                      e("k + r * N", filled("Count<$ % N>()", lines_->n)), constant(none(w)));
    }
    void vector_rest(const std::string& more, const std::string& part, const std::string& end)
    {
        w_.line("#pragma GCC unroll 16");
        w_.open("for (int r = 0; r < R; ++r) {");
        w_.line("if (k + (r + 1) * N <= $) acc[r] = $;", end, more);
        w_.line("else if ($ % N != 0 && k + r * N < $) acc[r] = $;", lines_->n, end, part);
        w_.close();
    }
    static const char* functor(What w)
    {
        return w == What::sum ? "Plus" : w == What::product ? "Times" : w == What::maximum ? "Most" : "Least";
    }
    /// Four at a time, 256 after 256.
    void column(What w, const std::string& name, std::int64_t n, const Element& element)
    {
        const std::string c = vectors() ? "c" : "";
        const auto e = [&](const std::string& k) { return element(k, c); };
        const auto four = [&](const std::string& k) {
            return with(w, with(w, e(k), e(k + " + 1")), with(w, e(k + " + 2"), e(k + " + 3")));
        };
        w_.line("$ $ = $;", lanes(), name, vectors() ? "{}" : "0");
        w_.open("for (ptrdiff_t f = 0; f < $; f += 256) {", n);
        w_.line("const ptrdiff_t end = $ - f < 256 ? $ : f + 256;", n, n);
        w_.line("ptrdiff_t k = f + (end - f < 4 ? 1 : 4);");
        w_.line("$ t = $;", lanes(),
                n < 4                          ? e("f")
                : n % 256 == 0 || n % 256 >= 4 ? four("f")
                                               : filled("end - f < 4 ? $ : $", e("f"), four("f")));
        w_.line("for (; k + 4 <= end; k += 4) t = $;", with(w, "t", four("k")));
        w_.line("for (; k < end; ++k) t = $;", with(w, "t", e("k")));
        w_.line("$ = f ? $ : t;", name, with(w, name, "t"));
        w_.close();
        if (n > 1) w_.line("$ = $;", name, finish(w, name, lanes()));
    }
    /// Few columns: 64 bytes' worth of rows are read as one, whose groups are folded at the end.
    template <class Of> void few(What w, const Of& of)
    {
        const std::int64_t n = lines_->n, inner = lines_->inner, group = 64 / unit(), wide = group * inner;
        w_.open("for (ptrdiff_t o = 0; o < $; ++o) {", lines_->outer);
        w_.line("const $* const a0 = x0 + o * $;", type(), n * inner);
        w_.line("$ *const b = y + o * $, acc[$];", type(), inner, wide);
        w_.open("{");
        choose_lanes(wide);
        open_across(wide);
        column(w, "s", n / group, [&](const std::string& k, const std::string& c) {
            return of(get("a0", filled("($) * $ + j", k, wide), c));
        });
        w_.line(put("acc", "j", vectors() ? "c" : "", "s"));
        close_across();
        w_.close();
        if (n % group)
            w_.line("for (ptrdiff_t j = 0; j < $; ++j) acc[j] = $;", n % group * inner,
                    with(w, "acc[j]", of(filled("a0[$ + j]", n / group * wide))));
        w_.line("for (ptrdiff_t g = $; g < $; g += $)", inner, wide, inner);
        w_.line("    for (ptrdiff_t j = 0; j < $; ++j) acc[j] = $;", inner, with(w, "acc[j]", "acc[g + j]"));
        w_.line("for (ptrdiff_t j = 0; j < $; ++j) b[j] = $;", inner, finish(w, "acc[j]", type()));
        w_.close();
    }

protected:
    const FoldLines* lines_ = nullptr;
};

}  // namespace wengert::detail

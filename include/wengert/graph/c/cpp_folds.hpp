// The order of folds as text, over vectors for native code and over plain numbers for emitted headers: that of
// kernels/cpu/fold.hpp, so that the bits are the library's.
#pragma once

#include <functional>

#include "fold_formulas.hpp"

namespace wengert::detail {

/// Lines of (outer, n, inner). Over vectors a row lies along the lanes of X, and of lines beside one another there are as many as
/// X has lanes; a plain number is a vector of one lane.
class CppFolds : protected FoldFormulas {
public:
    using FoldFormulas::FoldFormulas;

protected:
    /// What is folded: one number, or several.
    using State = std::vector<std::string>;
    /// The element at k of a line: so many lanes, or one number where `count` is empty.
    using Element = std::function<std::string(const std::string& k, const std::string& count)>;
    using Elements = std::function<State(const std::string& k, const std::string& count)>;

    bool rows() const { return lines_->inner == 1; }
    std::string lanes() const { return vectors() ? "X" : type(); }
    /// Of a value that belongs to a line.
    std::string count() const { return !vectors() ? "" : rows() ? "Count<1>()" : "c"; }
    std::string spread(const std::string& x) const { return vectors() ? "K<X>(" + x + ")" : x; }
    std::string constant(double x, bool numbers = false) const
    {
        const std::string number = literal_text(x, n_->dtype);
        return numbers ? number : spread(number);
    }
    static std::string get(const std::string& line, const std::string& index, const std::string& count)
    {
        return filled(count.empty() ? "$[$]" : "get<X>($ + $, $)", line, index, count);
    }
    static std::string put(const std::string& line, const std::string& index, const std::string& count,
                           const std::string& value)
    {
        return count.empty() ? filled("$[$] = $;", line, index, value)
                             : filled("put($ + $, $, X($));", line, index, count, value);
    }
    /// The place of element k of a line, counted from the beginning of the line.
    std::string place(const std::string& k) const { return rows() ? k : filled("($) * $", k, lines_->inner); }

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
        for (std::size_t i = 0; i < operands; ++i) {
            w_.line("const $* const a$ = x$ + o * $$;", type(), i, i, lines_->n * lines_->inner,
                    rows() ? "" : " + j");
            if (lines_->n == 0) w_.line("(void)a$;", i);
        }
    }
    void close_lines()
    {
        if (!rows()) close_across();
        w_.close();
    }
    /// y of the line: a number, or as many lanes as lines.
    void store(const std::string& value)
    {
        w_.line(put("y", rows() ? "o" : filled("o * $ + j", lines_->inner), rows() ? "" : count(), value));
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

    /// y of each line is the fold of its elements, mapped.
    void whole(const std::function<std::string(const std::string& x, bool number)>& map, bool mapped)
    {
        const std::int64_t n = lines_->n, group = 64 / unit();
        if (n == 1)
            return w_.line("for (ptrdiff_t i = 0; i < $; ++i) y[i] = $;", lines_->outer * lines_->inner,
                           map("x0[i]", true));
        if (!rows() && lines_->inner * group <= 256 && n >= 2 * group) return few(map);
        if (vectors() && rows() && n_->primitive->fold->sums && !mapped)
            return w_.line("fold_rows<$>(x0, y, $);", n, lines_->outer);
        open_lines(1);
        line(
            "s",
            [&](const std::string& k, const std::string& c) {
                return State{map(get("a0", place(k), c), c.empty())};
            },
            true);
        store("s");
        close_lines();
    }
    /// Declares the fold of a line: of a row numbers. `numbers`: there are elements of one number.
    void line(const std::string& name, const Elements& e, bool numbers = false)
    {
        if (rows()) return row(name, e, numbers || !vectors());
        column(name, lines_->n, e);
    }
    /// 256 bytes of sums, folded in halves; blocks of 16 KiB are combined like the carries of a binary counter.
    void row(const std::string& name, const Elements& e, bool numbers)
    {
        const std::int64_t n = lines_->n, most = 16384 / unit();
        const State s = names(name), pending = names("pending"), popped = at(pending, "[depth]");
        declare(type(), s);
        if (n == 0) return assign(s, none(true), type());
        if (n <= 4 && numbers) return assign(s, finish(short_row(n, e), true), type());
        w_.open("{");
        w_.line("enum { R = $ };", vectors() ? filled("$ <= N ? 1 : 256 / sizeof(X)", n) : number(sums(n)));
        if (n <= most) {
            block(s, e, "0", number(n));
            return w_.close();
        }
        declare(type(), at(pending, "[64]"));
        w_.line("ptrdiff_t depth = 0, blocks = 0;");
        w_.open("for (ptrdiff_t f = 0; f < $; f += $) {", n, most);
        w_.line("const ptrdiff_t end = $ - f < $ ? $ : f + $;", n, most, n, most);
        block(s, e, "f", "end");
        w_.open("for (ptrdiff_t carry = ++blocks; carry % 2 == 0; carry /= 2) {");
        w_.line("--depth;");
        assign(s, with(popped, s, true), type());
        w_.close();
        assign(popped, s, type());
        w_.line("++depth;");
        w_.close();
        w_.line("--depth;");
        assign(s, popped, type());
        w_.open("while (depth > 0) {");
        w_.line("--depth;");
        assign(s, with(popped, s, true), type());
        w_.close();
        w_.close();
    }

    const FoldLines* lines_ = nullptr;
    const FoldPass* pass_ = nullptr;

    /// Names of the state's numbers.
    State names(const std::string& name) const
    {
        if (pass_->numbers() == 1) return {name};
        State s;
        for (std::size_t i = 0; i < pass_->numbers(); ++i)
            s.push_back(name + number(static_cast<std::int64_t>(i)));
        return s;
    }
    State with(const State& a, const State& b, bool numbers)
    {
        FoldInputs in;
        std::copy(a.begin(), a.end(), in.begin() + FoldInput::a);
        std::copy(b.begin(), b.end(), in.begin() + FoldInput::b);
        return values_of(pass_->combine, in, numbers);
    }
    State values_of(const FoldFormula& f, const FoldInputs& in, bool numbers)
    {
        State s;
        for (std::size_t i = 0; i < f.roots.size(); ++i) s.push_back(value_of(f, i, in, numbers));
        return s;
    }
    void assign(const State& to, const State& values, const std::string& of)
    {
        if (to.size() == 1) return w_.line("$ = $;", to[0], values[0]);
        std::string text = "{ const " + of + " ";
        for (std::size_t i = 0; i < to.size(); ++i) text += filled(i ? ", t$ = $" : "t$ = $", i, values[i]);
        for (std::size_t i = 0; i < to.size(); ++i) text += filled("; $ = t$", to[i], i);
        w_.line(text + "; }");
    }

private:
    static State at(const State& names, const std::string& index)
    {
        State s = names;
        for (std::string& x : s) x += index;
        return s;
    }
    void declare(const std::string& of, const State& names)
    {
        std::string list;
        for (const std::string& x : names) list += (list.empty() ? "" : ", ") + x;
        w_.line("$ $;", of, list);
    }
    std::int64_t unit() const { return static_cast<std::int64_t>(size_of(n_->dtype)); }
    /// How many numbers a row is folded to before these are folded in halves.
    std::int64_t sums(std::int64_t n) const
    {
        std::int64_t s = 8;
        while (s < n && s * unit() < 256) s *= 2;
        return s;
    }
    State none(bool numbers) const
    {
        State s;
        for (const double x : pass_->identity) s.push_back(constant(x, numbers));
        return s;
    }
    State finish(const State& a, bool numbers)
    {
        if (!pass_->finish) return a;
        FoldInputs in;
        std::copy(a.begin(), a.end(), in.begin() + FoldInput::a);
        return values_of(pass_->finish, in, numbers);
    }
    State short_row(std::int64_t n, const Elements& e)
    {
        const auto x = [&](const char* k) { return e(k, ""); };
        const State s = n < 3 ? x("0") : with(x("0"), x("2"), true);
        return n == 1 ? s : with(s, n == 4 ? with(x("1"), x("3"), true) : x("1"), true);
    }
    /// Elements [from, end) of a row, in R sums.
    void block(const State& to, const Elements& e, const char* from, const std::string& end)
    {
        const char *const place = vectors() ? "k + r * N" : "k + r", *const all = vectors() ? "R * N" : "R",
                          *const whole = vectors() ? "Count<N>()" : "";
        const State acc = names("acc"), one = at(acc, "[r]"), more = with(one, e(place, whole), !vectors());
        const auto unrolled = [&] {
            if (vectors()) w_.line("#pragma GCC unroll 16");
        };
        const auto each = [&](const char* loop, const State& values) {
            w_.open("for (int r = 0; $; ++r) {", loop);
            assign(one, values, lanes());
            w_.close();
        };
        w_.line("ptrdiff_t k = $;", from);
        declare(lanes(), at(acc, "[R]"));
        each("r < R", none(!vectors()));
        w_.open("for (; k + $ <= $; k += $) {", all, end, all);
        unrolled();
        each("r < R", more);
        w_.close();
        if (vectors())
            vector_rest(one, more, e, end);
        else
            each(("k + r < " + end).c_str(), more);
        unrolled();
        w_.open("for (int h = R / 2; h > 0; h /= 2) {");
        unrolled();
        each("r < h", with(one, at(acc, "[r + h]"), !vectors()));
        w_.close();
        if (!vectors()) return assign(to, finish(at(acc, "[0]"), true), type());
        if (to.size() == 1)
            return assign(to,
                          finish({filled("fold_lane(acc[0], []($ a, $ b) __attribute__((always_inline)) { "
                                         "return $; })",
                                         type(), type(), with({"a"}, {"b"}, true)[0])},
                                 true),
                          type());
        w_.open("for (int h = N / 2; h > 0; h /= 2) {");
        w_.open("for (int l = 0; l < h; ++l) {");
        assign(at(acc, "[0][l]"), with(at(acc, "[0][l]"), at(acc, "[0][l + h]"), true), type());
        w_.close();
        w_.close();
        assign(to, finish(at(acc, "[0][0]"), true), type());
    }
    /// The last elements of a row, which do not fill X.
    void vector_rest(const State& one, const State& more, const Elements& e, const std::string& end)
    {
        State last = e("k + r * N", filled("Count<$ % N>()", lines_->n)), nothing = none(false);
        for (std::size_t i = 0; i < last.size(); ++i)
            last[i] = filled("first_or<$ % N>($, $, IndicesTo<N>())", lines_->n, last[i], nothing[i]);
        w_.line("#pragma GCC unroll 16");
        w_.open("for (int r = 0; r < R; ++r) {");
        w_.open("if (k + (r + 1) * N <= $) {", end);
        assign(one, more, lanes());
        w_.close();
        w_.open("else if ($ % N != 0 && k + r * N < $) {", lines_->n, end);
        assign(one, with(one, last, false), lanes());
        w_.close();
        w_.close();
    }
    /// Four at a time, 256 after 256.
    void column(const std::string& name, std::int64_t n, const Elements& element)
    {
        const bool numbers = !vectors();
        const State s = names(name), t = names("t_" + name);
        const auto e = [&](const std::string& k) { return element(k, vectors() ? "c" : ""); };
        const auto four = [&](const std::string& k) {
            return with(with(e(k), e(k + " + 1"), numbers), with(e(k + " + 2"), e(k + " + 3"), numbers),
                        numbers);
        };
        declare(lanes(), s);
        assign(s, none(numbers), lanes());
        if (n == 0) return;
        w_.open("for (ptrdiff_t f = 0; f < $; f += 256) {", n);
        w_.line("const ptrdiff_t end = $ - f < 256 ? $ : f + 256;", n, n);
        w_.line("ptrdiff_t k = f + (end - f < 4 ? 1 : 4);");
        declare(lanes(), t);
        if (n >= 4 && n % 256 > 0 && n % 256 < 4) {
            w_.open("if (end - f < 4) {");
            assign(t, e("f"), lanes());
            w_.close("} else");
        }
        w_.open("{");
        assign(t, n < 4 ? e("f") : four("f"), lanes());
        w_.close();
        w_.open("for (; k + 4 <= end; k += 4) {");
        assign(t, with(t, four("k"), numbers), lanes());
        w_.close();
        w_.open("for (; k < end; ++k) {");
        assign(t, with(t, e("k"), numbers), lanes());
        w_.close();
        w_.open("if (f) {");
        assign(s, with(s, t, numbers), lanes());
        w_.close("} else {");
        assign(s, t, lanes());
        w_.line("}");
        w_.close();
        if (n > 1 && pass_->finish) assign(s, finish(s, numbers), lanes());
    }
    /// Few columns: 64 bytes' worth of rows are read as one, whose groups are folded at the end.
    template <class Map> void few(const Map& map)
    {
        const std::int64_t n = lines_->n, inner = lines_->inner, group = 64 / unit(), wide = group * inner;
        const auto meet = [&](const std::string& b) { return with({"acc[j]"}, {b}, true)[0]; };
        w_.open("for (ptrdiff_t o = 0; o < $; ++o) {", lines_->outer);
        w_.line("const $* const a0 = x0 + o * $;", type(), n * inner);
        w_.line("$ *const b = y + o * $, acc[$];", type(), inner, wide);
        w_.open("{");
        choose_lanes(wide);
        open_across(wide);
        column("s", n / group, [&](const std::string& k, const std::string& c) {
            return State{map(get("a0", filled("($) * $ + j", k, wide), c), c.empty())};
        });
        w_.line(put("acc", "j", vectors() ? "c" : "", "s"));
        close_across();
        w_.close();
        if (n % group)
            w_.line("for (ptrdiff_t j = 0; j < $; ++j) acc[j] = $;", n % group * inner,
                    meet(map(filled("a0[$ + j]", n / group * wide), true)));
        w_.line("for (ptrdiff_t g = $; g < $; g += $)", inner, wide, inner);
        w_.line("    for (ptrdiff_t j = 0; j < $; ++j) acc[j] = $;", inner, meet("acc[g + j]"));
        w_.line("for (ptrdiff_t j = 0; j < $; ++j) b[j] = $;", inner, finish({"acc[j]"}, true)[0]);
        w_.close();
    }
};

}  // namespace wengert::detail

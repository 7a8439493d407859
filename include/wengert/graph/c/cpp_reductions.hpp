// Folds and what is made of them, pass by pass, by the formulas of their descriptions (ops/describe/fold_terms.hpp).
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
        const FoldProgram p = n_->primitive->fold->write();
        state_type_ = n_->dtype;
        types_.fill(n_->dtype);
        if (real())
            fold(f, p);
        else
            whole_numbers(f, p.passes[0]);
        return true;
    }

private:
    void fold(const Fold& f, const FoldProgram& p)
    {
        const FoldLines lines(w_.graph.node(in(0)).shape, f);
        lines_ = &lines;
        w_.open("{");
        for (std::size_t i = 0; i < n_->inputs.size(); ++i)
            w_.declare("x" + std::to_string(i), lined_input(i, lines), false);
        w_.declare("y", result(), true);
        choose_lanes(rows() ? lines.n : lines.inner);
        for (const bool numbers : {false, true}) {
            FoldInputs& in = numbers ? numbers_ : lanes_;
            in = {};
            in[FoldInput::n] = constant(static_cast<double>(lines.n), numbers);
            in[FoldInput::number] = constant(f.number, numbers);
            in[FoldInput::least] = constant(row_of(n_->dtype).least, numbers);
        }
        if (p.whole && lines.n > 0)
            whole_lines(p);
        else
            each_line(f, p);
        w_.close();
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
    /// Is a number of a pass one number, as of rows? Of columns it has a lane for each.
    bool of_numbers() const { return rows() || !vectors(); }
    const FoldInputs& inputs(bool numbers) const { return numbers || !vectors() ? numbers_ : lanes_; }

    State mapped(const FoldPass& p, FoldInputs in, const State& elements, bool numbers)
    {
        if (!p.map) return elements;
        std::copy(elements.begin(), elements.end(), in.begin());
        return values_of(p.map, in, numbers);
    }
    std::string result_of(const FoldPass& p, FoldInputs in, const State& s, bool numbers)
    {
        if (!p.result) return s[0];
        std::copy(s.begin(), s.end(), in.begin() + FoldInput::a);
        return value_of(p.result, 0, in, numbers);
    }
    /// The result of pass q: `r` and its number, and what later formulas read.
    void note_result(std::size_t q, const std::string& value)
    {
        const std::string r = "r" + std::to_string(q);
        w_.line("const $ $ = $;", of_numbers() ? type() : lanes(), r, value);
        if (lines_->n == 0) w_.line("(void)$;", r);  // what would read it has no elements
        numbers_[FoldInput::r + q] = r;
        lanes_[FoldInput::r + q] = of_numbers() ? spread(r) : r;
    }

    /// One pass over elements alone; then the others, for lines of which that is not enough.
    void whole_lines(const FoldProgram& p)
    {
        const FoldPass& first = p.passes[0];
        pass_ = &first;
        whole([&](const std::string& x,
                  bool numbers) { return mapped(first, inputs(numbers), {x}, numbers)[0]; },
              static_cast<bool>(first.map));
        if (!first.result && !first.enough) return;
        w_.open("for (ptrdiff_t i = 0; i < $; ++i) {", lines_->outer * lines_->inner);
        const std::string last = result_of(first, numbers_, {first.enough ? "s" : "y[i]"}, true);
        if (first.enough) {
            FoldInputs in = numbers_;
            in[FoldInput::a] = "s";
            w_.line("const $ s = y[i];", type());
            w_.line("y[i] = $;", last);
            w_.line("if ($) continue;", value_of(first.enough, 0, in, true));
            again(p);
        } else
            w_.line("y[i] = $;", last);
        w_.close();
    }
    void again(const FoldProgram& p)
    {
        w_.line("const $* const a = x0 + i / $ * $ + i % $;", type(), lines_->inner,
                lines_->n * lines_->inner, lines_->inner);
        choose_lanes(lines_->n);
        numbers_[FoldInput::r] = "y[i]", lanes_[FoldInput::r] = spread("y[i]");
        for (std::size_t q = 1; q < p.passes.size(); ++q) {
            pass_ = &p.passes[q];
            const std::string r = "r" + std::to_string(q), s = "s" + std::to_string(q);
            row(
                s,
                [&](const std::string& k, const std::string& c) {
                    const std::string at = filled("a + ($) * $", k, lines_->inner);
                    return mapped(*pass_, inputs(c.empty()),
                                  {c.empty() ? "*(" + at + ")"
                                             : filled("gather<X>($, $, $.value)", at, lines_->inner, c)},
                                  c.empty());
                },
                !vectors());
            w_.line("const $ $ = $;", type(), r, result_of(*pass_, numbers_, names(s), true));
            numbers_[FoldInput::r + q] = r, lanes_[FoldInput::r + q] = spread(r);
        }
        w_.line("y[i] = r$;", p.passes.size() - 1);
    }

    void each_line(const Fold& f, const FoldProgram& p)
    {
        open_lines(n_->inputs.size());
        if (f.maps())
            w_.line("$* const b = y + o * $$;", type(), lines_->n * lines_->inner, rows() ? "" : " + j");
        const std::string first = lines_->n == 0 ? constant(0, of_numbers())
                                  : rows()       ? "*a0"
                                                 : get("a0", "0", count());
        numbers_[FoldInput::first] = first, lanes_[FoldInput::first] = rows() ? spread(first) : first;
        const Elements elements = [&](const std::string& k, const std::string& c) {
            State all;
            for (std::size_t i = 0; i < n_->inputs.size(); ++i)
                all.push_back(get("a" + std::to_string(i), place(k), c));
            return all;
        };
        for (std::size_t q = 0; q < p.passes.size(); ++q) {
            pass_ = &p.passes[q];
            line("s" + std::to_string(q), [&](const std::string& k, const std::string& c) {
                State e = mapped(*pass_, inputs(c.empty()), elements(k, c), c.empty());
                if (pass_->keeps)
                    e[0] = vectors() ? filled("put_as(b + $, $, $)", place(k), c, e[0])
                                     : filled("(b[$] = $)", place(k), e[0]);
                return e;
            });
            note_result(
                q, result_of(*pass_, inputs(of_numbers()), names("s" + std::to_string(q)), of_numbers()));
        }
        if (f.maps())
            each("b", [&](const std::string& k, const std::string& c) {
                FoldInputs in = inputs(c.empty());
                const State all = elements(k, c);
                std::copy(all.begin(), all.end(), in.begin());
                in[FoldInput::kept] = get("b", place(k), c);
                return value_of(p.each, 0, in, c.empty());
            });
        else
            store("r" + std::to_string(p.passes.size() - 1));
        close_lines();
    }

    /// Of whole numbers and truth values, and places: in any order.
    void whole_numbers(const Fold& f, const FoldPass& p)
    {
        const CppOperand x = input(0);
        Shape kept = x.shape, folded = Shape::filled(kept.size(), 1);
        for (auto a : *f.axes)
            std::swap(kept[static_cast<std::size_t>(a)], folded[static_cast<std::size_t>(a)]);
        pass_ = &p;
        if (p.places) types_[FoldInput::a] = types_[FoldInput::b] = state_type_ = w_.graph.node(in(0)).dtype;
        w_.open("{");
        w_.declare("x", x, false);
        w_.declare("y", result(), true);
        w_.open_loops(kept);
        w_.line("const $* const r = x + $;", x.type, w_.index(kept, x.strides));
        if (element_count(folded) == 0) w_.line("(void)r;");
        const std::string e = filled("r[$]", w_.index(folded, x.strides, 'k'));
        if (p.places)
            w_.line("$ s0 = *r; int64_t s1 = 0, place = 0;", x.type);
        else
            w_.line("$ s = $;", type(), literal_text(p.identity[0], n_->dtype));
        w_.open_loops(folded, 'k');
        if (p.places) {
            const State best = with({"s0", "s1"}, {e, "place"}, true);
            w_.line("{ const int64_t p = $; s0 = $; s1 = p; }", best[1], best[0]);
            w_.line("++place;");
        } else
            assign({"s"}, with({"s"}, mapped(p, {}, {filled("($)$", type(), e)}, true), true), type());
        w_.close_loops(folded);
        w_.line("y[$] = $;", w_.index(kept, row_major(kept)), p.places ? "s1" : "s");
        w_.close_loops(kept);
        w_.close();
    }
    FoldInputs numbers_, lanes_;
};

}  // namespace wengert::detail

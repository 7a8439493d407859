// Operations that are not elementwise, as loops of C: selections by index, softmax, and those of the headers below.
#pragma once

#include "../../ops/losses.hpp"
#include "../../ops/take.hpp"
#include "cpp_index.hpp"
#include "cpp_loop.hpp"
#include "cpp_random.hpp"
#include "cpp_scan_pull.hpp"

namespace wengert::detail {

class CppStructural : CppRandom {
public:
    using CppRandom::CppRandom;

    /// Writes node v; `over`: its result lies where input 0 does.
    void write(ValueId v, bool over)
    {
        v_ = v;
        n_ = &w_.graph.node(v);
        over_ = over;
        const std::string_view name = n_->primitive->ours ? n_->primitive->name : std::string_view();
        w_.line("/* $$ */", comment_text(n_->primitive->name),
                n_->at.line ? ", line " + std::to_string(n_->at.line) : "");
        if (is_described(*n_->primitive)) {
            each_program(w_.graph, *n_, [&](const Index& p, std::span<const ValueId> operands) {
                CppIndex(w_, v, p, operands).write(over);
                return true;
            });
            return;
        }
        if (const LoopParameters* p = loop_parameters(*n_))
            return p->kind == LoopParameters::Kind::scan_pull ? CppScanPull(w_, v).write()
                                                              : CppLoop(w_, v).write();
        if (n_->primitive->silences) return silence(n_->inputs.size() == 2);
        if (packs() || reduces(name) || has_labels(name)) return;
        if (w_.module.native) w_.refuse(v, "it is a call of the library");
        if (n_->primitive->product) return multiply();
        if (n_->primitive->draw) return draw(n_->primitive->draw(n_->op.get()));
        w_.refuse(v, "this operation has no form in emitted C++");
    }

private:
    /// A user's name may hold what ends a comment.
    static std::string comment_text(std::string_view name)
    {
        std::string text(name);
        std::replace(text.begin(), text.end(), '*', '.');
        return text;
    }
    /// (r, g) or (v, r, g): what r is not finite for becomes 0 when all of g is.
    void silence(bool own)
    {
        begin_with_first();
        const std::string r = own ? "y[i]" : "r[i]";
        w_.open("{");
        find_silent(n_->inputs.back());
        w_.declare("y", result(), true);
        if (!own) w_.declare("r", contiguous_input(1), false);
        w_.line("if (silent)");
        w_.line("    for (ptrdiff_t i = 0; i < $; ++i)", element_count(n_->shape));
        w_.line("        if ($ - $ != 0) y[i] = 0;", r, r);
        w_.close();
    }

    bool has_labels(std::string_view name)
    {
        if (name == "cross_entropy")
            cross_entropy();
        else if (name == "cross_entropy_pull")
            cross_entropy_pull();
        else
            return false;
        return true;
    }
    /// The logits as lines, x0, and the label of each, which leaves the function where it is none.
    FoldLines labelled(std::size_t logits)
    {
        const Shape& s = w_.graph.node(in(logits)).shape;
        FoldLines lines;
        lines.n = s.back();
        lines.outer = static_cast<std::int64_t>(element_count(w_.graph.node(in(logits + 1)).shape));
        w_.open("{");
        w_.declare("x0", contiguous_input(logits), false);
        w_.declare("label", contiguous_input(logits + 1), false);
        w_.line("for (ptrdiff_t o = 0; o < $; ++o)", lines.outer);
        w_.line("    if (label[o] < 0 || label[o] >= $) $", lines.n, w_.failure(v_));
        return lines;
    }
    /// ln Σ e^(x − m) − (x − m) of each line, and their mean.
    void cross_entropy()
    {
        const FoldLines lines = labelled(0);
        lines_ = &lines;
        w_.line("$* const y = ($*)($);", type(), type(),
                room(static_cast<std::size_t>(lines.outer) * size_of(n_->dtype)));
        w_.open("{");
        choose_lanes(lines.n);
        open_lines(1);
        shifted();
        store(filled("$($) - ($ - shift)", own("log"), spread("s"), spread("a0[label[o]]")), count());
        close_lines();
        w_.close();
        FoldLines all = lines;
        all.outer = 1, all.n = lines.outer;
        lines_ = &all;
        w_.open("{");
        w_.line("const $* const x0 = y;", type());
        w_.declare("y", result(), true);
        choose_lanes(all.n);
        if (all.n == 0)
            w_.line("(void)x0, *y = 0;");
        else
            whole(What::sum, false);
        w_.line("*y /= $;", real_number(all.n));
        w_.close();
        w_.close();
    }
    /// g / N (softmax(x) − one_hot)
    void cross_entropy_pull()
    {
        const FoldLines lines = labelled(1);
        lines_ = &lines;
        w_.declare("y", result(), true);
        w_.line("const $ by = *($) / $;", type(), w_.pointer(in(0)), real_number(lines.outer));
        choose_lanes(lines.n);
        open_lines(1);
        begin_b();
        softmax();
        w_.line("b[label[o]] -= 1;");
        w_.line("for (ptrdiff_t k = 0; k < $; ++k) b[k] *= by;", lines.n);
        close_lines();
        w_.close();
    }
};

}  // namespace wengert::detail

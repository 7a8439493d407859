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
        const bool described = is_described(*n_->primitive);
        w_.line("/* " + comment_text(n_->primitive->name) +
                (n_->at.line ? ", line " + std::to_string(n_->at.line) : "") + " */");
        if (described) {
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
        if (w_.module.native) {
            if (!(packs() || reduces(name))) w_.refuse(v, "it is a call of the library");
            return;
        }
        if (n_->primitive->product) return multiply();
        if (n_->primitive->draw) return draw(n_->primitive->draw(n_->op.get()));
        if (!(packs() || reduces(name) || normalizes(name)))
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
        const CppOperand g = w_.operand(n_->inputs.back());
        w_.open("{");
        w_.declare("g", g, false);
        w_.declare("y", result(), true);
        if (!own) w_.declare("r", contiguous_input(1), false);
        w_.line("int silent = 1;");
        w_.open_loops(g.shape);
        w_.line("silent = silent && g[" + w_.index(g.shape, g.strides) + "] == 0;");
        w_.close_loops(g.shape);
        const std::string r = own ? "y[i]" : "r[i]";
        w_.line("if (silent)");
        w_.line("    for (ptrdiff_t i = 0; i < " +
                number(static_cast<std::int64_t>(element_count(n_->shape))) + "; ++i)");
        w_.line("        if (" + r + " - " + r + " != 0) y[i] = 0;");
        w_.close();
    }

    bool normalizes(std::string_view name)
    {
        if (name == "cross_entropy")
            cross_entropy();
        else if (name == "cross_entropy_pull")
            cross_entropy_pull();
        else
            return false;
        return true;
    }
    void labelled_rows(std::int64_t classes, std::size_t labels)
    {
        w_.declare("label", contiguous_input(labels), false);
        w_.open("for (ptrdiff_t r = 0; r < " +
                number(static_cast<std::int64_t>(element_count(w_.graph.node(in(labels)).shape))) +
                "; ++r) {");
        w_.line("const " + w_.type(in(labels - 1)) + "* const a = x + r * " + number(classes) + ";");
        w_.line("if (label[r] < 0 || label[r] >= " + number(classes) + ") " + w_.failure(v_));
        w_.line(w_.type(v_) + " m = *a, s = 0;");
        w_.line(for_each(classes) + "m = " + w_.helper("maximum", n_->dtype) + "(m, a[k]);");
        w_.line(for_each(classes) + "s += " + own("exp") + "(a[k] - m);");
    }
    void cross_entropy()
    {
        const std::int64_t classes = w_.graph.node(in(0)).shape.back();
        const auto rows = static_cast<std::int64_t>(element_count(w_.graph.node(in(1)).shape));
        w_.open("{");
        w_.declare("x", contiguous_input(0), false);
        w_.line(w_.type(v_) + " total = 0, part = 0;");
        labelled_rows(classes, 1);
        w_.line("part += " + own("log") + "(s) - (a[label[r]] - m);");
        w_.line("if (r % 1024 == 1023) total += part, part = 0;");
        w_.close();
        w_.line("*(" + w_.pointer(v_) + ") = (total + part) / " + real_number(rows) + ";");
        w_.close();
    }
    void cross_entropy_pull()
    {
        const std::int64_t classes = n_->shape.back();
        const auto rows = static_cast<std::int64_t>(element_count(w_.graph.node(in(2)).shape));
        w_.open("{");
        w_.declare("x", contiguous_input(1), false);
        w_.declare("y", result(), true);
        w_.line("const " + w_.type(v_) + " scale = *(" + w_.pointer(in(0)) + ") / " + real_number(rows) +
                ";");
        labelled_rows(classes, 2);
        w_.line(for_each(classes) + "y[r * " + number(classes) + " + k] = (" + own("exp") +
                "(a[k] - m) / s - (k == label[r])) * scale;");
        w_.close();
        w_.close();
    }
};

}  // namespace wengert::detail

// Operations that are not elementwise, as loops of C: those of the headers below.
#pragma once

#include "cpp_index.hpp"
#include "cpp_loop.hpp"
#include "cpp_random.hpp"

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
        w_.line("/* $$ */", comment_text(n_->primitive->name),
                n_->at.line ? ", line " + std::to_string(n_->at.line) : "");
        if (is_described(*n_->primitive)) {
            each_program(w_.graph, *n_, [&](const Index& p, std::span<const ValueId> operands) {
                CppIndex(w_, v, p, operands).write(over);
                return true;
            });
            return;
        }
        if (loop_parameters(*n_)) return LoopSkeleton<CppLoop>(w_, v).go();
        if (n_->primitive->zero_rule) return zero_rule(n_->inputs.size() == 2);
        if (packs() || reduces()) return;
        if (w_.cpp.native) w_.refuse(v, "it is a call of the library");
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
    void zero_rule(bool own)
    {
        begin_with_first();
        const std::string r = own ? "y[i]" : "r[i]";
        w_.open("{");
        find_zero_cotangent(n_->inputs.back());
        w_.declare("y", result(), true);
        if (!own) w_.declare("r", contiguous_input(1), false);
        w_.line("if (no_cotangent)");
        w_.line("    for (ptrdiff_t i = 0; i < $; ++i)", element_count(n_->shape));
        w_.line("        if ($ - $ != 0) y[i] = 0;", r, r);
        w_.close();
    }
};

}  // namespace wengert::detail

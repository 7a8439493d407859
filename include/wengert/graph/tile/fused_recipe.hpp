// Recipes: what a primitive does, as operations of the arithmetic machine. Read off its rule (base/term.hpp), so that the
// user's own primitives and all derivatives have one, too, as far as the machine has the operations.
#pragma once

#include "../../base/term.hpp"
#include "fused_program.hpp"

namespace wengert::tiling::detail {

struct Recipe {
    /// An input of the primitive, the result of an earlier step, or a number.
    struct Operand {
        enum Kind : std::uint8_t { input, step, number } kind = input;
        std::uint32_t index = 0;
        double value = 0;
    };
    struct Step {
        Arith op = Arith::none;
        Operand left, right, third;
    };
    std::vector<Step> steps;  ///< none: the machine cannot do it
};

/// Writes a recipe from the steps of a rule.
class RecipeWriter {
public:
    static constexpr std::size_t most =
        6;  ///< steps: longer rules have kernels that keep all in registers anyhow

    explicit RecipeWriter(const Primitive& p)
    {
        if (!p.describe || p.arity > kernels::max_operands) return;
        {
            const TermScope scope(program_);
            Term in[kernels::max_operands];
            for (std::int32_t i = 0; i < p.arity; ++i) in[i] = Term::input(i);
            result_ = p.describe(in).id;
        }
        number_.assign(program_.steps.size(), -1);
        if (!write() || recipe.steps.size() > most) recipe.steps.clear();
    }
    Recipe recipe;

private:
    using Operand = Recipe::Operand;

    const TermStep& step(std::int32_t i) const { return program_.steps[static_cast<std::size_t>(i)]; }

    static Arith operation(TermKind kind)
    {
        switch (kind) {
        case TermKind::add: return Arith::add;
        case TermKind::subtract: return Arith::subtract;
        case TermKind::multiply:
        case TermKind::square:
        case TermKind::negative: return Arith::multiply;
        case TermKind::divide: return Arith::divide;
        case TermKind::maximum: return Arith::maximum;
        case TermKind::fma: return Arith::fma;
        default: return Arith::none;
        }
    }

    bool write()
    {
        const std::vector<bool> needed = needed_steps(program_.steps, result_);
        for (std::size_t k = 0; k < needed.size(); ++k)
            if (needed[k] && !append(static_cast<std::int32_t>(k))) return false;
        return !recipe.steps.empty();
    }
    /// False where the machine has no such operation.
    bool append(std::int32_t k)
    {
        const TermStep& s = step(k);
        if (s.kind == TermKind::input || s.kind == TermKind::constant) return true;
        Recipe::Step o;
        std::int32_t& number = number_[static_cast<std::size_t>(k)];
        if (const SilentStep rule = silent_step(program_.steps, s)) {
            if (scales(rule.g, rule.r)) {
                number = number_[static_cast<std::size_t>(rule.r)];
                return true;
            }
            o = {Arith::guard, operand(rule.r), operand(rule.g), {}};
        } else {
            o.op = operation(s.kind);
            if (o.op == Arith::none) return false;
            o.left = operand(s.a);
            o.right = s.kind == TermKind::square     ? o.left
                      : s.kind == TermKind::negative ? Operand{Operand::number, 0, -1}
                                                     : operand(s.b);
            if (o.op == Arith::fma) o.third = operand(s.c);
        }
        number = static_cast<std::int32_t>(recipe.steps.size());
        recipe.steps.push_back(o);
        return true;
    }
    /// The product just written, of g and something, gets the rule itself.
    bool scales(std::int32_t g, std::int32_t r)
    {
        const std::int32_t at = number_[static_cast<std::size_t>(r)];
        if (at < 0 || at + 1 != static_cast<std::int32_t>(recipe.steps.size())) return false;
        Recipe::Step& product = recipe.steps.back();
        if (step(r).kind != TermKind::multiply || step(r).a != g) return false;
        product.op = Arith::scale;
        return true;
    }
    Operand operand(std::int32_t i) const
    {
        const TermStep& s = step(i);
        if (s.kind == TermKind::input) return {Operand::input, static_cast<std::uint32_t>(s.a), 0};
        if (s.kind == TermKind::constant) return {Operand::number, 0, s.value};
        return {Operand::step, static_cast<std::uint32_t>(number_[static_cast<std::size_t>(i)]), 0};
    }

    TermProgram program_;
    std::int32_t result_ = -1;
    std::vector<std::int32_t> number_;  ///< of the recipe's steps
};

/// The machine works on floats of one size.
inline bool one_dtype(const Graph& g, const GraphNode& n)
{
    bool same = differentiable(n.dtype);
    for (ValueId i : n.inputs) same = same && g.node(i).dtype == n.dtype;
    return same;
}

}  // namespace wengert::tiling::detail

// Recipes: what a primitive does, as operations of the arithmetic machine. Read off its rule (base/term.hpp), so that the
// user's own primitives and all derivatives have one, too, as far as the machine has the operations.
#pragma once

#include "../../base/term.hpp"
#include "fused_program.hpp"

namespace wengert::tiling::detail {

/// Values that no graph has: numbers that recipes need, and what is between the steps of a recipe.
inline constexpr ValueId first_number = 0xf8000000, first_between = 0xf0000000,
                         first_extra = 0xe8000000;  ///< of a group's steps and streams
constexpr bool is_recipe_number(ValueId v) { return v >= first_number && v != no_value; }

/// An operation of the machine.
struct MachineNode {
    Arith op = Arith::none;
    ValueId value = no_value, left = no_value, right = no_value;
    bool wanted = false;  ///< its value is read outside of the segment
};

/// Value i is input i of the primitive, first_between + k the result of step k. Empty: the machine cannot do it.
using Recipe = std::vector<MachineNode>;

/// Writes a recipe from the steps of a rule. `Numbers`: the value that stands for a number.
template <class Numbers> class RecipeWriter {
public:
    static constexpr std::size_t most =
        6;  ///< steps: longer rules have kernels that keep all in registers anyhow

    RecipeWriter(const Primitive& p, const Numbers& numbers) : numbers_(numbers)
    {
        if (!p.describe || p.arity > kernels::max_operands) return;
        {
            const TermScope scope(program_);
            Term in[kernels::max_operands];
            for (std::int32_t i = 0; i < p.arity; ++i) in[i] = Term::input(i);
            result_ = p.describe(in).id;
        }
        number_.assign(program_.steps.size(), no_value);
        if (!write() || recipe.size() > most) recipe.clear();
    }
    Recipe recipe;

private:
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
        default: return Arith::none;
        }
    }

    bool write()
    {
        const std::vector<bool> needed = needed_steps(program_.steps, result_);
        for (std::size_t k = 0; k < needed.size(); ++k)
            if (needed[k] && !append(static_cast<std::int32_t>(k))) return false;
        return true;
    }
    /// False where the machine has no such operation.
    bool append(std::int32_t k)
    {
        const TermStep& s = step(k);
        if (s.kind == TermKind::input || s.kind == TermKind::constant) return true;
        MachineNode o;
        ValueId& number = number_[static_cast<std::size_t>(k)];
        if (const SilentStep rule = silent_step(program_.steps, s)) {
            if (scales(rule.g, rule.r)) {
                number = number_[static_cast<std::size_t>(rule.r)];
                return true;
            }
            o = {Arith::guard, no_value, operand(rule.r), operand(rule.g)};
        } else {
            o.op = operation(s.kind);
            if (o.op == Arith::none) return false;
            o.left = operand(s.a);
            o.right = s.kind == TermKind::square     ? o.left
                      : s.kind == TermKind::negative ? numbers_(-1)
                                                     : operand(s.b);
        }
        o.value = number = first_between + static_cast<ValueId>(recipe.size());
        recipe.push_back(o);
        return true;
    }
    /// The product just written, of g and something, gets the rule itself.
    bool scales(std::int32_t g, std::int32_t r)
    {
        const ValueId at = number_[static_cast<std::size_t>(r)];
        if (at == no_value || at != recipe.back().value) return false;
        if (step(r).kind != TermKind::multiply || step(r).a != g) return false;
        recipe.back().op = Arith::scale;
        return true;
    }
    ValueId operand(std::int32_t i) const
    {
        const TermStep& s = step(i);
        if (s.kind == TermKind::input) return static_cast<ValueId>(s.a);
        return s.kind == TermKind::constant ? numbers_(s.value) : number_[static_cast<std::size_t>(i)];
    }

    TermProgram program_;
    const Numbers& numbers_;
    std::int32_t result_ = -1;
    std::vector<ValueId> number_;  ///< of what the rule's steps make
};

/// The machine works on floats of one size.
inline bool one_dtype(const Graph& g, const GraphNode& n)
{
    bool same = differentiable(n.dtype);
    for (ValueId i : n.inputs) same = same && g.node(i).dtype == n.dtype;
    return same;
}

}  // namespace wengert::tiling::detail

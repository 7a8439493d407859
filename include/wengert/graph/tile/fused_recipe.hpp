// Recipes: what a primitive does, as operations of the arithmetic machine. Read off its rule (base/term.hpp), so that the
// user's own primitives and all derivatives have one, too, as far as the machine has the operations.
#pragma once

#include <algorithm>
#include <bit>

#include "../../base/term.hpp"
#include "fused_program.hpp"

namespace wengert::tiling::detail {

/// Values that no graph has: numbers that recipes need, and what is between the steps of a recipe.
inline constexpr ValueId first_number = 0xf8000000, first_between = 0xf0000000,
                         first_extra = 0xe8000000;  ///< of a group's steps and streams
constexpr bool is_recipe_number(ValueId v) { return v >= first_number && v != no_value; }

/// The numbers of some recipes: value first_number + k is the k-th.
struct RecipeNumbers {
    std::vector<double> all;

    double operator[](ValueId v) const { return all[v - first_number]; }
    ValueId value_of(double x)
    {
        const auto same = [x](double y) {
            return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
        };
        const auto at = std::find_if(all.begin(), all.end(), same) - all.begin();
        if (static_cast<std::size_t>(at) == all.size()) all.push_back(x);
        return first_number + static_cast<ValueId>(at);
    }
};

/// An operation of the machine.
struct MachineNode {
    Arith op = Arith::none;
    ValueId value = no_value, left = no_value, right = no_value, third = no_value;
    bool wanted = false;  ///< its value is read outside of the segment
};

/// Value i is input i of the primitive, first_between + k the result of step k. Empty: the machine cannot do it.
using Recipe = std::vector<MachineNode>;

/// Writes a recipe from the steps of a rule.
class RecipeWriter {
public:
    static constexpr std::size_t most =
        6;  ///< steps: longer rules have kernels that keep all in registers anyhow

    static Recipe write(const Primitive& p, RecipeNumbers& numbers)
    {
        if (!p.describe || p.arity > kernels::max_operands) return {};
        RecipeWriter writer(written_rule(static_cast<std::size_t>(p.arity), p.describe), numbers);
        return writer.write() && writer.recipe_.size() <= most ? std::move(writer.recipe_) : Recipe();
    }

private:
    RecipeWriter(std::vector<TermStep> steps, RecipeNumbers& numbers)
        : steps_(std::move(steps)), numbers_(numbers), number_(steps_.size(), no_value)
    {}
    const TermStep& step(std::int32_t i) const { return steps_[static_cast<std::size_t>(i)]; }

    static Arith operation(TermKind kind)
    {
        switch (kind) {
        case TermKind::add: return Arith::add;
        case TermKind::subtract: return Arith::subtract;
        case TermKind::multiply:
        case TermKind::square: return Arith::multiply;
        case TermKind::negative: return Arith::negative;
        case TermKind::divide: return Arith::divide;
        case TermKind::maximum: return Arith::maximum;
        case TermKind::fma: return Arith::fma;
        default: return Arith::none;
        }
    }

    bool write()
    {
        const std::vector<bool> needed = needed_steps(steps_, steps_.back().a);
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
        if (const SilentStep rule = silent_step(steps_, s)) {
            if (scales(rule.g, rule.r)) {
                number = number_[static_cast<std::size_t>(rule.r)];
                return true;
            }
            o = {Arith::guard, no_value, operand(rule.r), operand(rule.g)};
        } else {
            o.op = operation(s.kind);
            if (o.op == Arith::none) return false;
            o.left = operand(s.a);
            const bool alone = s.kind == TermKind::square || s.kind == TermKind::negative;
            o.right = alone ? o.left : operand(s.b);
            if (o.op == Arith::fma) o.third = operand(s.c);
        }
        o.value = number = first_between + static_cast<ValueId>(recipe_.size());
        recipe_.push_back(o);
        return true;
    }
    /// The product just written, of g and something, gets the rule itself.
    bool scales(std::int32_t g, std::int32_t r)
    {
        const ValueId at = number_[static_cast<std::size_t>(r)];
        if (at == no_value || at != recipe_.back().value) return false;
        if (step(r).kind != TermKind::multiply || step(r).a != g) return false;
        recipe_.back().op = Arith::scale;
        return true;
    }
    ValueId operand(std::int32_t i) const
    {
        const TermStep& s = step(i);
        if (s.kind == TermKind::input) return static_cast<ValueId>(s.a);
        return s.kind == TermKind::constant ? numbers_.value_of(s.value)
                                            : number_[static_cast<std::size_t>(i)];
    }

    std::vector<TermStep> steps_;  ///< the last one says which is the result
    RecipeNumbers& numbers_;
    std::vector<ValueId> number_;  ///< of what the rule's steps make
    Recipe recipe_;
};

}  // namespace wengert::tiling::detail

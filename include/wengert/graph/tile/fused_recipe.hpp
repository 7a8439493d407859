// Recipes: what a primitive does, as operations of the arithmetic machine. Read off its rule (functions/term.hpp), so that the
// user's own primitives and all derivatives have one, too, as far as the machine has the operations.
#pragma once

#include <algorithm>
#include <bit>

#include "../../functions/term.hpp"
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
    ValueId value_of(double x);
};

/// An operation of the machine.
struct MicroNode {
    Arith op = Arith::none;
    ValueId value = no_value, left = no_value, right = no_value, third = no_value;
    bool wanted = false;  ///< its value is read outside of the micro-program
};

/// Value i is input i of the primitive, first_between + k the result of step k. Empty: the machine cannot do it.
using Recipe = std::vector<MicroNode>;

/// Writes a recipe from the steps of a rule.
class RecipeWriter {
public:
    static constexpr std::size_t most =
        6;  ///< steps: longer rules have kernels that keep all in registers anyhow

    static Recipe write(const Primitive& p, RecipeNumbers& numbers);

private:
    RecipeWriter(std::vector<TermStep> steps, RecipeNumbers& numbers)
        : steps_(std::move(steps)), numbers_(numbers), number_(steps_.size(), no_value)
    {}
    const TermStep& step(std::int32_t i) const { return steps_[static_cast<std::size_t>(i)]; }

    static Arith operation(TermKind kind);

    bool write();
    /// False where the machine has no such operation.
    bool append(std::int32_t k);
    /// The product just written, of g and something, gets the rule itself.
    bool scales(std::int32_t g, std::int32_t r);
    ValueId operand(std::int32_t i) const;

    std::vector<TermStep> steps_;  ///< the last one says which is the result
    RecipeNumbers& numbers_;
    std::vector<ValueId> number_;  ///< of what the rule's steps make
    Recipe recipe_;
};

}  // namespace wengert::tiling::detail

#ifndef WENGERT_COMPILED
#include "impl/fused_recipe.ipp"
#endif

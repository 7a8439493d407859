// What fused_recipe.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fused_recipe.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE ValueId RecipeNumbers::value_of(double x)
{
    const auto same = [x](double y) {
        return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
    };
    const auto at = std::find_if(all.begin(), all.end(), same) - all.begin();
    if (static_cast<std::size_t>(at) == all.size()) all.push_back(x);
    return first_number + static_cast<ValueId>(at);
}

WENGERT_INLINE Recipe RecipeWriter::write(const Primitive& p, RecipeNumbers& numbers)
{
    if (!p.describe || p.arity > kernels::max_operands) return {};
    RecipeWriter writer(written_rule(static_cast<std::size_t>(p.arity), p.describe), numbers);
    return writer.write() && writer.recipe_.size() <= most ? std::move(writer.recipe_) : Recipe();
}

WENGERT_INLINE Arith RecipeWriter::operation(TermKind kind)
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

WENGERT_INLINE bool RecipeWriter::write()
{
    const std::vector<bool> needed = needed_steps(steps_, steps_.back().a);
    for (std::size_t k = 0; k < needed.size(); ++k)
        if (needed[k] && !append(static_cast<std::int32_t>(k))) return false;
    return true;
}

WENGERT_INLINE bool RecipeWriter::append(std::int32_t k)
{
    const TermStep& s = step(k);
    if (s.kind == TermKind::input || s.kind == TermKind::constant) return true;
    MicroNode o;
    ValueId& number = number_[static_cast<std::size_t>(k)];
    if (const ZeroRuleStep rule = zero_rule_step(steps_, s)) {
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

WENGERT_INLINE bool RecipeWriter::scales(std::int32_t g, std::int32_t r)
{
    const ValueId at = number_[static_cast<std::size_t>(r)];
    if (at == no_value || at != recipe_.back().value) return false;
    if (step(r).kind != TermKind::multiply || step(r).a != g) return false;
    recipe_.back().op = Arith::scale;
    return true;
}

WENGERT_INLINE ValueId RecipeWriter::operand(std::int32_t i) const
{
    const TermStep& s = step(i);
    if (s.kind == TermKind::input) return static_cast<ValueId>(s.a);
    return s.kind == TermKind::constant ? numbers_.value_of(s.value) : number_[static_cast<std::size_t>(i)];
}

}  // namespace wengert::tiling::detail

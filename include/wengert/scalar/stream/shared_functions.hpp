// The functions that scalar code shares with tensors: which rule (functions/rules/) an operation stands for. From it follow the
// derivative of a recorded number (rules.hpp) and the operation on arrays in a kernel (scalar/kernel/paths_on_tensors.hpp).
#pragma once

#include "../../base/enumerators.hpp"
#include "../../functions/rules/math.hpp"
#include "../../functions/rules/pairs.hpp"
#include "../../functions/rules/probability.hpp"
#include "../../functions/rules/special.hpp"
#include "../../functions/rules/trigonometry.hpp"
#include "entry.hpp"

namespace wengert::detail {

/// The position of an operation among those from `first` on; large where it is below.
constexpr std::size_t position_from(ScalarOp first, ScalarOp op) noexcept
{
    return static_cast<std::size_t>(op) - static_cast<std::size_t>(first);
}

/// visit(P()) for the rule P of a function of one number, other() where `op` is none that tensors have.
template <class Visit, class Other>
[[gnu::always_inline]] inline auto visit_function(ScalarOp op, const Visit& visit, const Other& other)
{
    if (op == ScalarOp::sqrt) return visit(Sqrt());
    return visit_position(
        RecordedFunctions(), position_from(ScalarOp::functions, op),
        visit, [&]() __attribute__((always_inline)) {
            return visit_position(WholeFunctions(), position_from(ScalarOp::whole, op), visit, other);
        });
}

/// The same of two numbers.
template <class Visit, class Other>
[[gnu::always_inline]] inline auto visit_pair(ScalarOp op, const Visit& visit, const Other& other)
{
    return visit_position(RecordedPairs(), position_from(ScalarOp::pairs, op), visit, other);
}

}  // namespace wengert::detail

namespace wengert {

inline std::string_view name_of(ScalarOp op)
{
    const auto name = []<class P>(P) { return P::name; };
    const auto other = [&] { return detail::enumerator_names<ScalarOp::link>[static_cast<std::size_t>(op)]; };
    return detail::visit_function(op, name, [&] { return detail::visit_pair(op, name, other); });
}

}  // namespace wengert

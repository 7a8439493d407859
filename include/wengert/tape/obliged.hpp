// Operations that other processes take part in. Each of them is called on every process that takes part, or on none: so it is
// recorded whatever its operands depend on, and a sweep passes it whoever used its result, with a cotangent of zeros where
// nobody did. In a trace it takes the operation with effects before it as its last operand, which keeps them in order.
#pragma once

#include "apply.hpp"

namespace wengert::detail {

/// The levels of transforms in flight: every process is in the same ones. To a trace those that were there before are constants.
inline std::uint64_t levels_of_transforms(const Tape& tape) noexcept
{
    std::uint64_t levels = tape.active & ~Tape::bit(0);
    const Recorder* const r = tape.thread().recorder;
    if (!r || r->start == 0) return levels;
    for (std::uint64_t rest = levels; rest; rest &= rest - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(rest));
        if (tape.level(l).start < r->start) levels &= ~Tape::bit(l);
    }
    return levels;
}

/// Sweeps of its levels pass n from now on.
inline void oblige(Tape& tape, const Ref<Node>& n)
{
    if (n->mask & ~tape.forward_levels) tape.obliged.push_back(n);
}

/// Records such an operation, whose value has been computed. `noted` are the parameters as a recorder is to see them. `variables`: at level 0 as well, where one of the operands of some
/// process depends on a variable.
AnyTensor record_obliged(const Primitive& p, const AnyTensor* const* in, std::size_t n, Ref<Block> value,
                         const void* op, const void* noted, const Site& at, bool variables);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/obliged.ipp"
#endif

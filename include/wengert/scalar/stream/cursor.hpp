// The newest entries of a stream of scalar operations, as an operation of the usual case is recorded.
#pragma once

#include <cstdint>

#include "entry.hpp"

namespace wengert {

/// What recording an operation looks at: operands of one span and one mask, all of whose levels record, are the usual case.
struct ScalarCursor {
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};  ///< no span's number
    // of types that no entry has: a store to an entry cannot change these, so they stay in registers
    using Count = long long;
    using Word = unsigned long long;

    ScalarEntry* entries = nullptr;  ///< of the newest chunk
    Count size = 1, capacity = 0;
    Word usual = Word{nothing} << 32;  ///< a handle of the span, but for its position
    Word levels = 0;                   ///< what an entry's word has of the mask

    /// Of operands of the usual case their positions; else a number of more than 32 bits. An operand twice counts as one.
    [[gnu::always_inline]] bool takes(std::uint64_t a, std::uint64_t b) const noexcept
    {
        return (a | b) >> 32 == 0 && size < capacity;
    }
    [[gnu::always_inline]] ScalarHandle append(ScalarOp op, ScalarForm form, std::uint64_t a,
                                               double y) noexcept
    {
        const Count at = size++;
        if (at < 1) __builtin_unreachable();  // so compilers need not ask whether the result is active
        entries[at].value = y;
        entries[at].word = levels | ScalarEntry::word_of(op, form) | a;
        return ScalarHandle(usual | static_cast<std::uint64_t>(at));
    }
    [[gnu::always_inline]] ScalarHandle append(ScalarOp op, std::uint64_t a, std::uint64_t b,
                                               double y) noexcept
    {
        entries[size].b = static_cast<std::uint32_t>(b);
        return append(op, ScalarForm::both, a, y);
    }
    [[gnu::always_inline]] ScalarHandle append(ScalarOp op, ScalarForm form, std::uint64_t a, double c,
                                               double y) noexcept
    {
        entries[size].c = c;
        return append(op, form, a, y);
    }
};
inline constinit ScalarCursor no_scalar_cursor{};  // takes nothing

}  // namespace wengert

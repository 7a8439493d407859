// The bodies of level.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../level.hpp"

namespace wengert::detail {

WENGERT_INLINE LevelScope::LevelScope(Tape& tape, bool forward)
    : tape_(tape), level_(tape.push_level(forward)), start_(tape.level(level_).start), forward_(forward)
{}

WENGERT_INLINE LevelScope::~LevelScope()
{
    close();
    if (forward_) tape_.drop_tangents(level_, start_);
}

WENGERT_INLINE void LevelScope::close() noexcept
{
    if (std::exchange(open_, false)) tape_.pop_level();
}

WENGERT_INLINE bool has_recorded(std::uint64_t start)
{
    const Tape& tape = Tape::current();
    const Node* n = tape.records_function() ? tape.last() : nullptr;
    while (n && (n->sequence >= start || !(tape.living_levels(*n) & tape.active))) n = n->previous;
    return n;
}

WENGERT_INLINE void demand_recorded(const AnyTensor& x, std::uint64_t start, std::string_view who,
                                    const Site& at)
{
    if (x.value->access.unrecorded && !x.node && has_recorded(start)) refuse_operand(who, *x.value, at);
}

}  // namespace wengert::detail

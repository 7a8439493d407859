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

}  // namespace wengert::detail

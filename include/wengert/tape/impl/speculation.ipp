// What speculation.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "../speculation.hpp"

namespace wengert::detail {

WENGERT_INLINE bool& Speculation::active()
{
    static thread_local bool on = false;
    return on;
}

}  // namespace wengert::detail

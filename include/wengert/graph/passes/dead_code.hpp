// Dead code: what no output, guard or effect needs is left out.
#pragma once

#include "rewrite.hpp"

namespace wengert::passes {

/// The graph without operations and constants that nothing needs. Inputs stay, needed or not. Exact.
inline constexpr Pass dead_code{"dead_code"};

}  // namespace wengert::passes

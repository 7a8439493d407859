// Dead code: what no output, guard or effect needs is left out.
#pragma once

#include "rewrite.hpp"

namespace wengert::passes {

/// The graph without operations and constants that nothing needs. Inputs stay, needed or not. Exact.
inline Graph dead_code(const Graph& g, const PassOptions& = {}) { return compacted(g); }

}  // namespace wengert::passes

// The compiler of graphs itself, behind the seam of compiler.hpp.
#pragma once

#include "../compiler.hpp"
#include "../../loops/program_body.hpp"
#include "../../loops/loop_trim.hpp"
#include "../../passes/memory_limit.hpp"
#include "../../passes/partial.hpp"
#include "../../passes/passes.hpp"
#include "../../passes/thin_parts.hpp"
#include "../../run/compile.hpp"

namespace wengert::detail {

inline Graph optimized_whole(const Graph& g, const PassOptions& options)
{
    Graph fast = trimmed_loops(optimize(g, options));
    const std::optional<Graph> thin = thin_parts(fast);
    return thin ? optimize(*thin, options) : fast;
}

/// Bodies of loops are optimized and compiled with it, too, from the first call on.
WENGERT_INLINE const GraphCompiler& graph_compiler()
{
    static constexpr BodyCompiler bodies{[](const Graph& g) { return optimized_whole(g, {}); },
                                         [](const std::shared_ptr<const Graph>& g, std::size_t states,
                                            std::size_t fixed) -> std::unique_ptr<BodyPlan> {
                                             return std::make_unique<ProgramBody>(g, states, fixed);
                                         }};
    static constexpr GraphCompiler whole{optimized_whole, compile_tile, rematerialise, passes::cut};
    body_compiler().store(&bodies, std::memory_order_release);
    return whole;
}

}  // namespace wengert::detail

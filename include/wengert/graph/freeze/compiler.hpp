// The seam between freezing and the compiler of graphs: all that a frozen function needs of passes and tiles is one table.
// The compiler is most of what there is to compile in this library. With WENGERT_COMPILED defined its headers stay out, and
// one source of the program (CMake's target wengert::compiled has it) includes separate_source.hpp.
#pragma once

#include <optional>

#include "../ir/executable.hpp"
#include "../../base/separate.hpp"
#include "../../ops/composed/tile.hpp"
#include "../passes/options.hpp"

namespace wengert {

namespace detail {

struct GraphCompiler {
    Graph (*optimize)(const Graph&, const PassOptions&);  ///< all passes, bodies of loops trimmed
    std::unique_ptr<Executable> (*tile)(const Graph&, const PlanOptions&);
    Graph (*rematerialise)(const Graph&, std::size_t limit_bytes, RematReport&, const CostModel&, Site);
    std::optional<CutGraph> (*cut)(const Graph&, std::size_t early_inputs, std::size_t early_outputs,
                                   const CostModel&);  ///< graph/passes/partial.hpp
};

WENGERT_INLINE const GraphCompiler& graph_compiler();

inline constexpr Backend tiles{
    "tile", [](const Graph& g, const PlanOptions& o) { return graph_compiler().tile(g, o); }};

}  // namespace detail

inline constexpr Tile::operator const Backend&() const noexcept { return detail::tiles; }

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/compiler.ipp"
#endif

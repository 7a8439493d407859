// The backend `native`: the loops and small products of a graph as C++ text, compiled by the system's compiler into a shared
// object; everything else runs as in the default executor, from which order, memory and library calls come (graph/run/).
//
// Results have the bits of interpret(): functions are written by the templates that the kernels are made of (function_text.hpp).
// Without a compiler, or where it fails, the graph runs as tiles and Executable::note says why.
#pragma once

#include "../ir/executable.hpp"
#include "../../base/separate.hpp"

namespace wengert {

/// The C++ text of a graph's loops, for whoever wants to read it.
WENGERT_INLINE std::string native_text(const Graph& g);

WENGERT_INLINE std::unique_ptr<Executable> compile_native(const Graph& g, const PlanOptions& options);

/// Several graphs as one shared object: the compiler starts once, and what all texts begin with is read once.
WENGERT_INLINE std::vector<std::unique_ptr<Executable>> compile_native_together(
    const std::vector<Graph>& graphs, const PlanOptions& options);

/// `freeze(f, {.backend = wengert::native})`: loops as machine code.
inline constexpr Backend native{"native", &compile_native};

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/native.ipp"
#endif

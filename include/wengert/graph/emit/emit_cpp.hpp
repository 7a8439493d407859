// emit_cpp: a graph as a header that stands alone, for programs in C, C++ and Fortran that know nothing of this library.
#pragma once

#include "../ir/graph.hpp"
#include "../ir/separate.hpp"

namespace wengert {

/// The graph as a C and C++ header without dependencies but the standard library and, for products, CBLAS:
///
///     int name(const T* in0, …, T* out0, …);                       works in a static arena, one for each thread
///     int name_with(const T* in0, …, T* out0, …, void* workspace);  in memory of the caller's
///     size_t name_workspace(void);                                  how much of that
///
/// For a derivative emit the graph of value_and_grad(f). Loops are loops; sums are taken in another order than the
/// library's, so results agree to rounding. Throws TapeError for an operation that has no form in C++ (random numbers,
/// callbacks, …) and for a graph with guards, naming the node and its line.
WENGERT_INLINE std::string emit_cpp(const Graph& g, std::string_view name);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "emit_cpp_source.hpp"
#endif

// emit_cpp: a graph as a header that stands alone, for programs in C, C++ and Fortran that know nothing of this library.
#pragma once

#include "../ir/graph.hpp"
#include "../../base/separate.hpp"

namespace wengert {

/// The graph as a C and C++ header without dependencies but the standard library and, for products, CBLAS:
///
///     int name(const T* in0, …, T* out0, …);                       works in a static arena, one for each thread
///     int name_with(const T* in0, …, T* out0, …, void* workspace);  in memory of the caller's
///     size_t name_workspace(void);                                  how much of that
///
/// For a derivative emit the graph of value_and_grad(f). Loops are loops, branches are branches. Results have the library's bits,
/// but for products of matrices, which are summed in another order. Both functions return
///
///     0    all is well
///     k    guard k − 1 of the graph, the first that does not hold: a branch or a number that the program reads is another
///          one than when it was traced
///     −v   node v met an index which is none (v: a loop, if its body did), or found no memory: the derivative of a
///          while_loop keeps its states in memory from malloc, as only the data tell how many they are
///
/// and where that is not 0, outputs hold nothing of use. Numbers that guards compare are compared to the bit. A key of random
/// numbers is an array of two, Key::secret and Key::stream; draws have the library's bits. Throws TapeError for an operation that has no form in C++ (permutation, callbacks, …),
/// naming the node and its line.
WENGERT_INLINE std::string emit_cpp(const Graph& g, std::string_view name);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/emit_cpp.ipp"
#endif

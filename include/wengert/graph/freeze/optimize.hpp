// From a trace to something that runs: passes, then a backend.
#pragma once

#include <algorithm>

#include "compiler.hpp"
#include "frozen.hpp"

namespace wengert::detail {

Graph optimized(const Graph& g, const FreezeOptions& options);

/// The bit of an input in what reaching_inputs() gives: those behind the 63rd share one.
inline std::uint64_t bit_of_input(std::size_t i) noexcept
{
    return std::uint64_t{1} << std::min<std::size_t>(i, 63);
}
/// For each output of a recorded graph the inputs from which a way without stop_gradient leads to it.
std::vector<std::uint64_t> reaching_inputs(const Graph& g);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/optimize.ipp"
#endif

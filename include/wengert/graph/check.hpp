// Comparing a graph with an eager run: what a replay that is checked does.
#pragma once

#include "frozen.hpp"

namespace wengert::detail {

/// Did the program do there what this graph says, and look at the same values with the same outcome?
bool same_trace(const Graph& a, const Graph& b);

/// f beside the graph: what it did, and its results. Throws TapeError.
void compare_calls(const FrozenPath& path, const std::vector<Ref<Block>>& outputs, const FrozenTrace& now,
                   const Site& at);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "check_source.hpp"
#endif

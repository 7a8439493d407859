// Results of loops that nobody reads: kept states that a derivative does without, slices that are not used. They are neither
// computed nor stored.
#pragma once

#include "loop_graphs.hpp"

namespace wengert {

namespace detail {

/// Which results of a loop are read, where only `unpack` reads it; empty otherwise.
struct LoopReaders {
    std::vector<std::vector<bool>> read;  ///< by value

    explicit LoopReaders(const Graph& g);
    /// Is there something to leave out?
    bool trims(ValueId v) const { return std::find(read[v].begin(), read[v].end(), false) != read[v].end(); }

private:
    void look(const Graph& g, const GraphNode& n, ValueId loop);
};

/// The loop without what is not read; `place` says for each old result which it is now.
std::shared_ptr<LoopParameters> trimmed(const LoopParameters& p, const std::vector<bool>& read,
                                        std::vector<std::size_t>& place);

}  // namespace detail

/// The graph with loops that leave out what nobody reads. Exact.
Graph trimmed_loops(Graph g);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/loop_trim.ipp"
#endif

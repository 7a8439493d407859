// Loops and branches as text: their graphs stand before the graph that holds them, as "graph @0" to "end", and what is
// between the braces of the operation names them:
//
//     {body @0 steps 10 states 1 xs 1 results (f64(3) at 0, f64(10, 3) at 3) size 33}          scan, perhaps backwards, kept 1
//     {body @0 test @1 states 2 results (f64() at 0, i64() at 1) size 2}                       while_loop
//     {body @0 else @1 results (f64(3) at 0) size 3}                                           cond
//     {body @0 test @1 pull @2 states 2 active (0) sums (1) results (f64() at 0, …) size 2}    while_pull
//     {body @0 pull @1 steps 9 states 1 xs 1 snapshots 3 active (0) sums (2) slices (1) results …}     scan_pull
//
// graph/loops/loop.hpp says what these are. A result that nobody wants has no place: "f64(3)".
#pragma once

#include <map>

#include "../loops/loop.hpp"
#include "elements.hpp"

namespace wengert::detail {

/// The parameters of a loop or a branch, null for other nodes. Without a call of what runs them.
const LoopParameters* loop_of(const GraphNode& n);
std::vector<const Graph*> graphs_of(const LoopParameters& p);

/// Numbers of the graphs of loops.
using GraphNumbers = std::map<const Graph*, std::size_t>;

/// Numbers the graphs of the loops in g, inner ones first, and calls fn(graph) for each new one. Deep as loops are nested.
template <class F> void number_graphs(const Graph& g, GraphNumbers& numbers, const F& fn)
{
    for (const GraphNode& n : g.nodes())
        if (const LoopParameters* p = loop_of(n))
            for (const Graph* inner : graphs_of(*p)) {
                if (numbers.contains(inner)) continue;
                number_graphs(*inner, numbers, fn);
                numbers.emplace(inner, numbers.size());
                fn(*inner);
            }
}

std::string positions_text(const std::vector<std::size_t>& positions);
std::string results_text(const LoopParameters& p);

/// What stands in the braces.
std::string loop_text(const LoopParameters& p, const GraphNumbers& numbers);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "loop_text_source.hpp"
#endif

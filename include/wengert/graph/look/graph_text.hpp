// Graphs as text, one line a node, for people: programs are edited, not texts. Only the library's tests read one back
// (tests/graph/reading/), so that it is known to say all that there is.
//
//     wengert graph 1                                              the format and its version
//     %0 = input : f32(64, 10)                                     inputs count in the order of their lines
//     %1 = constant splat 0 : f32(10)                              or 0.5, or [1, 2, 3], or base64 AACAPw==
//     %2 = add(%0, %1) : f32(64, 10)  # heat.cpp:34                result's type; the comment is the user's line
//     %3 = sum(%2) {(0, 1) false (64, 10)} : f32()                 in braces the parameters, as graph/ir/fields.hpp writes them
//     %4 = tanh(%3) : f32() segment 1                              not merged with other segments
//     %5 = "twice"(%4) : f32()                                     a primitive of the program's own
//     guard truth %4 = true                                        the graph is right where value %4 is this one
//     output %3                                                    in order
//     update 0 by 1                                                output 1 is the new value of input 0, a live tensor
//     end
//
// Each value is defined above the lines that use it. What follows a # is a comment. A loop's body is a graph of its own,
// "graph @0" to "end", before its first use as @0, and what is between the braces of the operation names it:
//
//     {body @0 steps 10 states 1 xs 1 results (f64(3) at 0, f64(10, 3) at 3) size 33}          scan, perhaps backwards, kept 1
//     {body @0 test @1 states 2 results (f64() at 0, i64() at 1) size 2}                       while_loop
//     {body @0 else @1 results (f64(3) at 0) size 3}                                           cond
//     {body @0 test @1 pull @2 states 2 active (0) sums (1) results (f64() at 0, …) size 2}    while_pull
//     {body @0 pull @1 steps 9 states 1 xs 1 snapshots 3 active (0) sums (2) slices (1) results …}     scan_pull
//
// graph/loops/loop.hpp says what these are. A result that nobody wants has no place: "f64(3)".
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace wengert {

class Graph;

inline constexpr int graph_text_version = 1;

/// What a plan knows about the nodes of a graph, for those who look at it. Filled in by the owner of a plan, by value id;
/// vectors may be shorter than the graph.
struct Annotations {
    std::vector<std::string> text;    ///< behind the node's line: "buffer 3 @ 1024, live 5-9"
    std::vector<std::int32_t> group;  ///< the fusion group that computes the node, -1 for none
    std::vector<std::string> group_name;
};

/// The text of a graph, with what a plan knows about it as comments.
std::string to_text(const Graph& g, const Annotations& notes = {});

std::ostream& operator<<(std::ostream& s, const Graph& g);

/// The graph in Graphviz' language: operations are boxes, fusion groups clusters. dot -Tsvg graph.dot > graph.svg
std::string to_dot(const Graph& g, const Annotations& notes = {});

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "text.hpp"
#endif

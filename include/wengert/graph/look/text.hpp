// Graphs as text, one line a node. graph/look/parse.hpp reads it back; the text may be edited in between.
//
//     wengert graph 1                                              the format and its version
//     %0 = input : f32(64, 10)                                     inputs count in the order of their lines
//     %1 = constant splat 0 : f32(10)                              or 0.5, or [1, 2, 3], or base64 AACAPw==
//     %2 = add(%0, %1) : f32(64, 10)  # heat.cpp:34                result's type; the comment is the user's line
//     %3 = sum(%2) {(0, 1) false (64, 10)} : f32()                 in braces the parameters, as graph/ir/fields.hpp writes them
//     %4 = tanh(%3) : f32() segment 1                              not merged with other segments
//     %5 = tanh(%3) : f32() again 1                                a second time, beside its readers (passes/recompute.hpp)
//     %6 = "twice"(%4) : f32()                                     a primitive of the program's own
//     guard truth %5 = true                                        the graph is right where value %5 is this one
//     output %3                                                    in order
//     update 0 by 1                                                output 1 is the new value of input 0, a live tensor
//     end
//
// Labels behind % are letters, digits and _, and each is defined before it is used. What follows a # is a comment; of
// those only a leading "file:line" is read. Types of operations may be left out where the operands decide them. A loop's
// body is a graph of its own, "graph @0" to "end", before its first use as @0.
#pragma once

#include <ostream>
#include <span>

#include "../ir/fields.hpp"
#include "annotations.hpp"
#include "elements.hpp"
#include "loop_text.hpp"

namespace wengert {

inline constexpr int graph_text_version = 1;

namespace detail {

inline constexpr std::string_view read_names[] = {"truth", "item", "elements"};

/// A name as it is where it is a plain word of the library, else in quotes: what a program calls its own primitives is never
/// taken for one of the library's.
std::string word_text(std::string_view name, bool ours);

std::string list_text(std::span<const ValueId> ids);

std::string comment_text(const Site& at, const std::string& note);

/// What stands between "%3 = " and the type.
std::string node_text(const GraphNode& n, std::size_t inlined = 32, const GraphNumbers& numbers = {});

std::string line_text(const GraphNode& n, ValueId v, const std::string& note,
                      const GraphNumbers& numbers = {});

/// Calls line(text) for each line of a graph up to its end.
template <class Line>
void write_one_graph(const Graph& g, const Annotations& notes, const GraphNumbers& numbers, const Line& line)
{
    for (ValueId v = 0; v < g.size(); ++v) line(line_text(g.node(v), v, annotation_text(notes, v), numbers));
    for (const Guard& guard : g.guards())
        line("guard " + std::string(read_names[static_cast<std::size_t>(guard.what)]) + " %" +
             std::to_string(guard.value) + " = " + elements_text(*guard.expected) +
             comment_text(guard.at, {}) + "\n");
    for (ValueId v : g.outputs()) line("output %" + std::to_string(v) + "\n");
    for (std::size_t i = 0; i < g.updates().size(); ++i)
        if (g.updates()[i] != no_value)
            line("update " + std::to_string(i) + " by " + std::to_string(g.updates()[i]) + "\n");
    line("end\n");
}
/// The same for all that is behind the head: the graphs of loops, then the graph itself.
template <class Line> void write_graph(const Graph& g, const Annotations& notes, const Line& line)
{
    GraphNumbers numbers;
    number_graphs(g, numbers, [&](const Graph& inner) {
        line("graph @" + std::to_string(numbers.at(&inner)) + "\n");
        write_one_graph(inner, {}, numbers, line);
    });
    write_one_graph(g, notes, numbers, line);
}
/// Throws ShapeError and DTypeError, in the name of `who`, where these are no inputs of g.
void check_inputs(std::string_view who, const Graph& g, const std::vector<Ref<Block>>& x, const Site& at);

inline std::string head_text() { return "wengert graph " + std::to_string(graph_text_version) + "\n"; }

}  // namespace detail

/// The text of a graph, with what a plan knows about it as comments.
std::string to_text(const Graph& g, const Annotations& notes = {});

std::ostream& operator<<(std::ostream& s, const Graph& g);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "text_source.hpp"
#endif

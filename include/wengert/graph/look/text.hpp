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

#include <map>
#include <ostream>
#include <span>

#include "../ir/fields.hpp"
#include "../loops/loop.hpp"

namespace wengert {

inline constexpr int graph_text_version = 1;

/// What a plan knows about the nodes of a graph, for those who look at it. Filled in by the owner of a plan, by value id;
/// vectors may be shorter than the graph.
struct Annotations {
    std::vector<std::string> text;    ///< behind the node's line: "buffer 3 @ 1024, live 5-9"
    std::vector<std::int32_t> group;  ///< the fusion group that computes the node, -1 for none
    std::vector<std::string> group_name;
};

namespace detail {

inline constexpr std::string_view read_names[] = {"truth", "item", "elements"};
inline constexpr std::string_view short_names[] = {"f32", "f64", "i32", "i64", "bool"};
inline constexpr char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// "f32(64, 10)"
std::string type_text(DType d, const Shape& shape);

/// "0.5" for rank 0, "splat 0", "[1, 2, 3]" in row-major order for up to `inlined` elements, else "base64 AACAPw==", whose
/// bytes are little-endian. It reads back to the same bits.
std::string elements_text(const Block& block, std::size_t inlined = 32);

/// fn(word, value, whether it is given) for all that a loop's braces hold, in order.
template <class Parameters, class F> void each_loop_word(Parameters& p, const F& fn)
{
    using LoopKind = LoopParameters::Kind;
    const bool scan = p.kind == LoopKind::scan || p.kind == LoopKind::scan_pull;
    const bool pulls = p.kind == LoopKind::while_pull || p.kind == LoopKind::scan_pull;
    fn("body", p.body, p.body != nullptr);
    fn(p.kind == LoopKind::cond ? "else" : "test", p.other, p.other != nullptr);
    fn("pull", p.pull, p.pull != nullptr);
    fn("steps", p.steps, scan);
    fn("backwards", p.backwards, p.backwards);
    fn("effects", p.effects, p.effects);
    fn("states", p.states, p.kind != LoopKind::cond);
    fn("xs", p.xs, scan);
    fn("ignored", p.ignored, p.ignored != 0);
    fn("kept", p.kept, p.kept != 0);
    fn("snapshots", p.snapshots, p.snapshots != 0);
    fn("guard", p.guard, p.guard != LoopParameters::npos);
    fn("active", p.active_states, pulls);
    fn("sums", p.active_constants, pulls);
    fn("slices", p.active_xs, p.kind == LoopKind::scan_pull);
    fn("results", p.results, true);
    fn("size", p.size, true);
}

std::vector<const Graph*> graphs_of(const LoopParameters& p);
/// Numbers of the graphs of loops.
using GraphNumbers = std::map<const Graph*, std::size_t>;

std::string list_text(std::span<const ValueId> ids);

/// What stands between "%3 = " and the type.
std::string node_text(const GraphNode& n, std::size_t inlined = 32, const GraphNumbers& numbers = {});

std::string line_text(const GraphNode& n, ValueId v, const std::string& note,
                      const GraphNumbers& numbers = {});

inline std::int32_t group_of(const Annotations& a, std::size_t v)
{
    return v < a.group.size() ? a.group[v] : -1;
}
/// "group 2 (softmax), buffer 3 @ 1024"
inline std::string annotation_text(const Annotations& a, std::size_t v)
{
    std::string text;
    if (const std::int32_t g = group_of(a, v); g >= 0) {
        text = "group " + std::to_string(g);
        if (static_cast<std::size_t>(g) < a.group_name.size())
            text += " (" + a.group_name[static_cast<std::size_t>(g)] + ")";
    }
    if (v < a.text.size() && !a.text[v].empty()) text += (text.empty() ? "" : ", ") + a.text[v];
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

/// "%3 tanh", "f32(64, 10)", "heat.cpp:34": the lines of a node where it is drawn.
std::vector<std::string> label_lines(const GraphNode& n, ValueId v);

}  // namespace detail

/// The text of a graph, with what a plan knows about it as comments.
std::string to_text(const Graph& g, const Annotations& notes = {});

std::ostream& operator<<(std::ostream& s, const Graph& g);

/// The graph in Graphviz' language: operations are boxes, fusion groups clusters. dot -Tsvg graph.dot > graph.svg
std::string to_dot(const Graph& g, const Annotations& notes = {});

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/text.ipp"
#endif

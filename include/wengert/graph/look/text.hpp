// The parts of which the text of a graph is made (graph_text.hpp).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "../ir/fields.hpp"
#include "../loops/loop.hpp"
#include "graph_text.hpp"

namespace wengert {

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

/// The text between "%3 = " and the type.
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

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/text.ipp"
#endif

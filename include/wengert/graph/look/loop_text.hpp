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
inline const LoopParameters* loop_of(const GraphNode& n)
{
    return n.primitive && n.primitive->fields == visit_loop
               ? static_cast<const Loop*>(n.op.get())->parameters.get()
               : nullptr;
}
inline std::vector<const Graph*> graphs_of(const LoopParameters& p)
{
    std::vector<const Graph*> out;
    for (const auto* g : {&p.body, &p.other, &p.pull})
        if (*g) out.push_back(g->get());
    return out;
}

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

inline std::string positions_text(const std::vector<std::size_t>& positions)
{
    std::string out = "(";
    for (std::size_t i = 0; i < positions.size(); ++i) out += (i ? ", " : "") + std::to_string(positions[i]);
    return out + ")";
}
inline std::string results_text(const LoopParameters& p)
{
    std::string out = "(";
    for (std::size_t i = 0; i < p.results.size(); ++i) {
        const auto& r = p.results[i];
        out += (i ? ", " : "") + type_text(r.dtype, r.shape);
        if (r.wanted()) out += " at " + std::to_string(r.offset);
    }
    return out + ")";
}

/// What stands in the braces.
inline std::string loop_text(const LoopParameters& p, const GraphNumbers& numbers)
{
    using LoopKind = LoopParameters::Kind;
    std::string out;
    const auto graph = [&](const char* name, const std::shared_ptr<const Graph>& g) {
        const auto at = numbers.find(g.get());
        if (g) out += name + (at == numbers.end() ? std::string("?") : std::to_string(at->second)) + " ";
    };
    const auto number = [&](const char* name, std::size_t n, bool given = true) {
        if (given) out += name + std::to_string(n) + " ";
    };
    graph("body @", p.body);
    graph(p.kind == LoopKind::cond ? "else @" : "test @", p.other);
    graph("pull @", p.pull);
    const bool scan = p.kind == LoopKind::scan || p.kind == LoopKind::scan_pull;
    number("steps ", static_cast<std::size_t>(p.steps), scan);
    if (p.backwards) out += "backwards ";
    if (p.effects) out += "effects ";
    number("states ", p.states, p.kind != LoopKind::cond);
    number("xs ", p.xs, scan);
    number("ignored ", p.ignored, p.ignored != 0);
    number("kept ", p.kept, p.kept != 0);
    number("snapshots ", static_cast<std::size_t>(p.snapshots), p.snapshots != 0);
    number("guard ", p.guard, p.guard != LoopParameters::npos);
    if (p.kind == LoopKind::while_pull || p.kind == LoopKind::scan_pull)
        out +=
            "active " + positions_text(p.active_states) + " sums " + positions_text(p.active_constants) + " ";
    if (p.kind == LoopKind::scan_pull) out += "slices " + positions_text(p.active_xs) + " ";
    return out + "results " + results_text(p) + " size " + std::to_string(p.size);
}

}  // namespace wengert::detail

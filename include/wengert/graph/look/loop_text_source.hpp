// What loop_text.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "loop_text.hpp"

namespace wengert::detail {

WENGERT_INLINE const LoopParameters* loop_of(const GraphNode& n) { return loop_parameters(n); }

WENGERT_INLINE std::vector<const Graph*> graphs_of(const LoopParameters& p)
{
    std::vector<const Graph*> out;
    for (const auto* g : {&p.body, &p.other, &p.pull})
        if (*g) out.push_back(g->get());
    return out;
}

WENGERT_INLINE std::string positions_text(const std::vector<std::size_t>& positions)
{
    std::string out = "(";
    for (std::size_t i = 0; i < positions.size(); ++i) out += (i ? ", " : "") + std::to_string(positions[i]);
    return out + ")";
}

WENGERT_INLINE std::string results_text(const LoopParameters& p)
{
    std::string out = "(";
    for (std::size_t i = 0; i < p.results.size(); ++i) {
        const auto& r = p.results[i];
        out += (i ? ", " : "") + type_text(r.dtype, r.shape);
        if (r.wanted()) out += " at " + std::to_string(r.offset);
    }
    return out + ")";
}

WENGERT_INLINE std::string loop_text(const LoopParameters& p, const GraphNumbers& numbers)
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

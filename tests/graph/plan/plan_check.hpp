/// What holds for the plan of any graph.
#pragma once

#include <wengert/graph/look/plan.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

#include "catch.hpp"

namespace look {

using namespace wengert;

/// Each operation that something needs is carried out once, by a kernel that comes after those of its operands.
inline void check_groups(const Graph& g, const GraphPlan& plan)
{
    std::vector<std::int32_t> made(g.size(), -1);
    for (std::size_t k = 0; k < plan.kernels.size(); ++k)
        for (ValueId v : plan.kernels[k].nodes) {
            REQUIRE(made[v] == -1);
            made[v] = static_cast<std::int32_t>(k);
        }
    REQUIRE(plan.notes.group == made);
    REQUIRE(plan.notes.group_name.size() == plan.kernels.size());
    std::vector<bool> needed(g.size(), false);
    for (ValueId v : g.outputs()) needed[v] = true;
    for (const Guard& guard : g.guards()) needed[guard.value] = true;
    for (auto v = static_cast<ValueId>(g.size()); v-- > 0;) {
        for (ValueId i : g.node(v).inputs) {
            needed[i] = needed[i] || needed[v];
            if (made[v] >= 0) REQUIRE(made[i] <= made[v]);
        }
        const bool view = plan.notes.text[v].starts_with("view of");
        if (needed[v] && g.node(v).kind == Graph::Kind::operation && !view) REQUIRE(made[v] >= 0);
    }
}

/// No block is outside of the arena, and none meets another while both are in use.
inline void check_memory(const GraphPlan& plan)
{
    for (const MemoryBlock& a : plan.memory) {
        REQUIRE(a.offset + a.bytes <= plan.arena_bytes);
        REQUIRE(a.first <= a.last);
        REQUIRE(a.last <= plan.kernels.size());
        bool alone = true;
        for (const MemoryBlock& b : plan.memory) {
            const bool together = a.first <= b.last && b.first <= a.last;
            const bool meet = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
            alone = alone && (&a == &b || !together || !meet);
        }
        REQUIRE(alone);
    }
}

/// Whose elements a value shows, following "view of %5".
inline ValueId owner(const GraphPlan& plan, ValueId v)
{
    const std::string& text = plan.notes.text[v];
    return text.starts_with("view of %") ? static_cast<ValueId>(std::stoul(text.substr(9))) : v;
}

/// The last kernel that reads a value or a view of it, -1 for none.
inline std::int32_t last_reader(const Graph& g, const GraphPlan& plan, ValueId v)
{
    std::int32_t reader = -1;
    for (ValueId u = 0; u < g.size(); ++u)
        for (ValueId i : g.node(u).inputs)
            if (owner(plan, i) == v) reader = std::max(reader, plan.notes.group[u]);
    return reader;
}

/// A value in a buffer is there from the kernel that makes it to the last that reads it, views included; what it says is what
/// the picture's rectangle says.
inline void check_lifetimes(const Graph& g, const GraphPlan& plan)
{
    std::map<std::size_t, const MemoryBlock*> blocks;  // by the value that begins in it
    for (const MemoryBlock& b : plan.memory) blocks[b.value] = &b;
    std::size_t seen = 0;
    for (ValueId v = 0; v < g.size(); ++v) {
        unsigned buffer = 0, first = 0, last = 0;
        unsigned long offset = 0;
        if (std::sscanf(plan.notes.text[v].c_str(), "buffer %u @ %lu, live %u-%u", &buffer, &offset, &first,
                        &last) != 4)
            continue;
        ++seen;
        if (plan.notes.group[v] >= 0) REQUIRE(first == static_cast<unsigned>(plan.notes.group[v]));
        REQUIRE(last_reader(g, plan, v) <= static_cast<std::int32_t>(last));
        for (ValueId o : g.outputs())
            if (owner(plan, o) == v) REQUIRE(last == plan.kernels.size());
        if (!blocks.count(v)) continue;
        REQUIRE(blocks[v]->offset == offset);
        REQUIRE(blocks[v]->first == first);
        REQUIRE(blocks[v]->last >= last);
        REQUIRE(blocks[v]->bytes == element_count(g.node(v).shape) * size_of(g.node(v).dtype));
    }
    REQUIRE(seen >= plan.memory.size());
}

inline void check_plan(const Graph& g, const GraphPlan& plan)
{
    check_groups(g, plan);
    check_memory(plan);
    check_lifetimes(g, plan);
}

}  // namespace look

// Stencils: results of which each element is made from elements at other places too, as rolls, parts, paddings and concatenations
// move them. What moves is not carried out: it is read where it lies, box by box of the result, in one pass (stencil_text.hpp).
#pragma once

#include <map>
#include <set>

#include "../fuse/fusion.hpp"
#include "../ir/box_reads.hpp"
#include "loop_text.hpp"

namespace wengert::detail {

/// Results of one shape, made in one pass, and what is computed on the way, element by element, where it is read.
struct Stencil {
    std::vector<ValueId> results, nodes;  ///< in the graph's order; the results are among the nodes
    Shape shape;
    std::vector<std::vector<std::int64_t>> edges;  ///< where boxes begin and end along each axis
};

/// The nodes of stencils, and how they read.
class Stencils {
public:
    static constexpr std::size_t most_nodes = 64, most_cells = 125, most_statements = 3000;
    /// Operations that are computed again, where several places read what they make. A value that is gathered from several places
    /// has a lower limit: where two steps of a stencil make one pass, the first step is computed once for each place.
    static constexpr std::size_t most_again = 64, most_gathered_again = 24;
    /// Elements of the last axis, from which on its boxes are worth a loop.
    static constexpr std::int64_t shortest_row = 3;

    Stencils(const Graph& g, const tiling::Layouts& layouts) : g_(g), layouts_(layouts) {}

    std::vector<Stencil> find()
    {
        if (!moves_any()) return {};
        find_uses();
        look_forward();
        for (int attempt = 0; attempt < 16; ++attempt) {
            look_back();
            if (assign()) break;
            if (attempt == 15) return {};
        }
        return made();
    }

    bool inner(ValueId v) const { return inner_[v]; }
    const BoxReads* moves(ValueId v) const { return reads_[v] ? &*reads_[v] : nullptr; }

private:
    static constexpr std::uint32_t none = ~0U;

    const GraphNode& node(ValueId v) const { return g_.node(v); }
    bool is_view(ValueId v) const { return layouts_[v].is_view(v); }

    bool moves_any()
    {
        reads_.resize(g_.size());
        bool any = false;
        for (ValueId v = 0; v < g_.size(); ++v) {
            reads_[v] = BoxReads::of(g_, node(v));
            any = any || (reads_[v] && !is_view(v));
        }
        return any;
    }
    void find_uses()
    {
        const std::vector<bool> needed = tiling::needed_values(g_, layouts_);
        uses_ = readers_of(g_);
        for (ValueId v = 0; v < g_.size(); ++v) {
            std::erase_if(uses_[v], [&](ValueId u) { return u != no_value && !needed[u]; });
            if (!needed[v]) reads_[v].reset();
        }
        needed_ = needed;
    }
    /// What each value costs where all that it is made from is computed with it, and whether something moves on the way.
    void look_forward()
    {
        const std::size_t n = g_.size();
        cost_.assign(n, 1), steps_.assign(n, 0), long_.assign(n, false), moved_.assign(n, false);
        forbidden_.assign(n, false), gathered_.assign(n, false);
        for (ValueId v = 0; v < n; ++v) {
            std::size_t most = 0, all = 0;
            bool moves = false;
            gathered_[v] = reads_[v] && !is_view(v);
            for (ValueId i : node(v).inputs) {
                const bool likely_made = moved_[i] && uses_[i].size() > 1;
                const std::size_t cost = likely_made ? 1 : cost_[i];
                gathered_[v] = gathered_[v] || (gathered_[i] && !likely_made);
                most = std::max(most, cost), all = std::min<std::size_t>(all + cost, 1000);
                moves = moves || (moved_[i] && (reads_[v] || node(i).shape == node(v).shape));
            }
            if (reads_[v]) {
                cost_[v] = reads_[v]->start == Index::Start::operand ? all : most;
                moved_[v] = !is_view(v) || moves;
            } else if (is_computable(v)) {
                cost_[v] = steps_[v] + all;
                moved_[v] = moves;
            }
        }
    }
    bool is_computable(ValueId v)
    {
        const GraphNode& n = node(v);
        if (n.kind != Graph::Kind::operation || !n.primitive->value || is_view(v) || !needed_[v])
            return false;
        const TypedProgram p = program_of(g_, layouts_, v);
        if (!p) return false;
        steps_[v] = std::max<std::size_t>(p.steps().size() - n.inputs.size(), 1);
        for (const TermStep& s : p.steps()) long_[v] = long_[v] || is_long(s.kind);
        return true;
    }
    bool may_be_inside(ValueId v, ValueId reader) const
    {
        if (reader == no_value || node(reader).segment != node(v).segment) return false;
        if (!inner_[reader] && !result_[reader]) return false;
        return reads_[reader] || node(reader).shape == node(v).shape;
    }
    /// From the results back: what all readers compute where they need it, and what is made.
    void look_back()
    {
        const std::size_t n = g_.size();
        inner_.assign(n, false), result_.assign(n, false);
        std::vector<std::size_t> times(n, 1);
        for (ValueId v = static_cast<ValueId>(n); v-- > 0;) {
            const bool computes = steps_[v] > 0;
            if (!computes && !reads_[v]) continue;
            bool inside = !uses_[v].empty() && !forbidden_[v];
            std::size_t along = 0, moving = 0;
            for (ValueId u : uses_[v]) {
                inside = inside && may_be_inside(v, u);
                if (!inside) break;
                if (reads_[u])
                    moving = std::min<std::size_t>(moving + times[u], 1000);
                else
                    along = std::max(along, times[u]);
            }
            times[v] = std::max<std::size_t>(along + moving, 1);
            const std::size_t again = gathered_[v] ? most_gathered_again : most_again;
            inner_[v] = inside && (times[v] - 1) * cost_[v] <= again && (!long_[v] || times[v] == 1);
            if (inner_[v]) continue;
            times[v] = 1;
            result_[v] = !is_view(v) && moved_[v] && !node(v).shape.empty();
        }
    }
    /// Every inner node gets the stencil of its readers. False where these differ: it is made then, next time.
    bool assign()
    {
        find_ranks();
        of_.assign(g_.size(), none);
        parent_.clear(), size_.clear(), first_.clear();
        bool good = true;
        for (ValueId v = static_cast<ValueId>(g_.size()); v-- > 0;) {
            if (result_[v]) {
                of_[v] = static_cast<std::uint32_t>(parent_.size());
                parent_.push_back(of_[v]);
                first_.push_back(v);
                size_.push_back(1);
            }
            if (!inner_[v]) continue;
            bool one = true;
            for (ValueId u : uses_[v]) {
                const std::uint32_t s = of_[u] == none ? none : root(of_[u]);
                one = one && s != none && (of_[v] == none || joined(root(of_[v]), s));
                if (one && of_[v] == none) of_[v] = s;
            }
            if (one && size_[root(of_[v])]++ < most_nodes) continue;
            forbidden_[v] = true;
            good = false;
        }
        return good;
    }
    /// How many values that are made lie before each: results of one rank do not need one another.
    void find_ranks()
    {
        rank_.assign(g_.size(), 0);
        for (ValueId v = 0; v < g_.size(); ++v)
            for (ValueId i : node(v).inputs)
                rank_[v] =
                    std::max(rank_[v], rank_[i] + (node(i).kind == Graph::Kind::operation && !inner_[i]));
    }
    std::uint32_t root(std::uint32_t s)
    {
        while (parent_[s] != s) s = parent_[s] = parent_[parent_[s]];
        return s;
    }
    bool joined(std::uint32_t a, std::uint32_t b)
    {
        if (a == b) return true;
        const ValueId x = first_[a], y = first_[b];
        if (rank_[x] != rank_[y] || !(node(x).shape == node(y).shape) || size_[a] + size_[b] > most_nodes)
            return false;
        parent_[b] = a;
        size_[a] += size_[b];
        return true;
    }
    std::vector<Stencil> made()
    {
        std::map<std::uint32_t, Stencil> all;
        for (ValueId v = 0; v < g_.size(); ++v) {
            if (of_[v] == none) continue;
            Stencil& s = all[root(of_[v])];
            s.nodes.push_back(v);
            if (result_[v]) s.results.push_back(v), s.shape = node(v).shape;
        }
        std::vector<Stencil> found;
        for (auto& [number, s] : all)
            if (is_worth_it(s) && find_edges(s)) found.push_back(std::move(s));
        return found;
    }
    bool is_worth_it(const Stencil& s) const
    {
        bool moves = false;
        for (ValueId v : s.nodes) moves = moves || (reads_[v] && !is_view(v));
        return moves && s.nodes.size() > 1 && s.shape.back() >= shortest_row;
    }

    bool find_edges(Stencil& s) const;

    const Graph& g_;
    const tiling::Layouts& layouts_;
    std::vector<std::optional<BoxReads>> reads_;
    std::vector<std::vector<ValueId>> uses_;
    std::vector<std::size_t> cost_, steps_;
    std::vector<bool> needed_, long_, moved_, gathered_, forbidden_, inner_, result_;
    std::vector<std::uint32_t> rank_, of_, parent_;  ///< of_: the stencil of a value, as a disjoint set
    std::vector<std::size_t> size_;
    std::vector<ValueId> first_;
};

/// The places of an operand of an elementwise operation whose elements are at `at`.
inline BoxPlaces places_of_operand(const BoxPlaces& at, const Shape& shape, const Shape& operand)
{
    BoxPlaces in(operand.size());
    const std::size_t lead = shape.size() - operand.size();
    for (std::size_t d = 0; d < operand.size(); ++d)
        if (operand[d] != 1 || shape[d + lead] == 1) in[d] = at[d + lead];
    return in;
}
/// The places of what is read, where the reader's elements are at `at`.
inline BoxPlaces places_of_read(const BoxPlaces& at, const BoxRead& r)
{
    BoxPlaces in = r.at;
    for (BoxPlace& p : in) {
        if (p.axis == BoxPlace::nowhere) continue;
        const BoxPlace& outer = at[p.axis];
        p = {p.step == 0 ? BoxPlace::nowhere : outer.axis, p.step * outer.step,
             p.first + p.step * outer.first};
    }
    return in;
}
/// Every element once.
inline BoxPlaces all_places(const Shape& shape)
{
    BoxPlaces at;
    for (std::size_t d = 0; d < shape.size(); ++d) at.push_back({static_cast<std::uint8_t>(d), 1, 0});
    return at;
}

/// [low, high) of a stencil's result.
struct StencilBox {
    std::vector<std::int64_t> low, high;
    auto operator<=>(const StencilBox&) const = default;

    /// The part in which a read's elements are, of a value that is read at `at`. False where there is none.
    bool cut(const BoxPlaces& at, const BoxRead& r)
    {
        for (std::size_t d = 0; d < at.size(); ++d) {
            const BoxPlace& p = at[d];
            if (p.axis == BoxPlace::nowhere || p.step == 0) {
                if (p.first < r.low[d] || p.first >= r.high[d]) return false;
                continue;
            }
            low[p.axis] = std::max(low[p.axis], r.low[d] - p.first);
            high[p.axis] = std::min(high[p.axis], r.high[d] - p.first);
            if (low[p.axis] >= high[p.axis]) return false;
        }
        return true;
    }
};

/// Where the boxes of a stencil begin and end.
class StencilEdges {
public:
    StencilEdges(const Graph& g, const Stencils& all, const Shape& shape)
        : g_(g), all_(all), at_(shape.size())
    {
        for (std::size_t d = 0; d < shape.size(); ++d) at_[d] = {0, shape[d]};
    }
    /// False where there are too many.
    bool look(ValueId v, const BoxPlaces& at, const StencilBox& box, bool result = false)
    {
        if (!result && !all_.inner(v)) return true;
        if (!seen_.insert({v, at, box}).second) return true;
        computed_.insert({v, at});
        if (seen_.size() > most_looks) return false;
        const GraphNode& n = g_.node(v);
        const BoxReads* const moves = all_.moves(v);
        if (!moves) {
            for (ValueId i : n.inputs)
                if (!look(i, places_of_operand(at, n.shape, g_.node(i).shape), box)) return false;
            return true;
        }
        if (moves->base != no_value && !look(moves->base, at, box)) return false;
        for (const BoxRead& r : moves->reads) {
            StencilBox part = box;
            if (!part.cut(at, r)) continue;
            for (std::size_t d = 0; d < at_.size(); ++d) at_[d].insert({part.low[d], part.high[d]});
            if (r.operand != no_value && !look(r.operand, places_of_read(at, r), part)) return false;
        }
        return true;
    }
    const std::vector<std::set<std::int64_t>>& edges() const { return at_; }
    /// Values that are computed, each as often as at other places.
    std::size_t computed() const { return computed_.size(); }

private:
    static constexpr std::size_t most_looks = 4000;
    const Graph& g_;
    const Stencils& all_;
    std::vector<std::set<std::int64_t>> at_;
    std::set<std::tuple<ValueId, BoxPlaces, StencilBox>> seen_;
    std::set<std::pair<ValueId, BoxPlaces>> computed_;
};

inline bool Stencils::find_edges(Stencil& s) const
{
    StencilEdges edges(g_, *this, s.shape);
    const StencilBox whole{std::vector<std::int64_t>(s.shape.size(), 0), {s.shape.begin(), s.shape.end()}};
    for (ValueId v : s.results)
        if (!edges.look(v, all_places(s.shape), whole, true)) return false;
    std::size_t cells = 1;
    for (const auto& at : edges.edges()) {
        s.edges.emplace_back(at.begin(), at.end());
        cells = std::min<std::size_t>(cells * (at.size() - 1), most_cells + 1);
    }
    return cells <= most_cells && cells * edges.computed() <= most_statements;
}

}  // namespace wengert::detail

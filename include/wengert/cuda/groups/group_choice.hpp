// The choice of what becomes one kernel on a device. It takes elementwise operations of one shape whose rules can be written, and
// index programs whose results have that shape. Values that only such a program reads are computed where it reads them.
#pragma once

#include "../../graph/text/loop_text.hpp"
#include "../../graph/fuse/fusion.hpp"
#include "../eager/elementwise_text.hpp"
#include "../eager/folds.hpp"
#include "place_text.hpp"

namespace wengert::detail::gpu {

/// Are elements of its operands positions?
inline bool uses_positions(const Graph& g, const GraphNode& n)
{
    return !each_program(g, n, [](const Index& p, std::span<const ValueId>) { return p.given_count == 0; });
}

/// Can the operation be told from the places of its result, element by element?
inline bool reads_backwards(const Graph& g, const tiling::Layouts& layouts, ValueId v)
{
    constexpr std::size_t most_parts = 8;
    const GraphNode& n = g.node(v);
    if (n.kind != Graph::Kind::operation || !is_described(*n.primitive) || layouts[v].is_view(v))
        return false;
    if (n.inputs.empty() || n.inputs.size() > most_parts || element_count(n.shape) == 0) return false;
    return each_program(g, n, [&](const Index& p, std::span<const ValueId> in) {
        bool good = reads_backwards(p, n.dtype);
        for (std::size_t k = 0; k < p.read_count && good; ++k)
            good = p.reads[k].operand == Index::no_operand || g.node(in[p.reads[k].operand]).dtype == n.dtype;
        return good;
    });
}

/// The operations whose elements are computed where another operation reads them.
class InlinedOperations {
public:
    InlinedOperations(const Graph& g, const tiling::Layouts& layouts)
        : g_(g), layouts_(layouts), by_(g.size(), no_value), entry_(g.size(), no_value), moves_(g.size()),
          steps_(g.size(), 0), times_(g.size(), 1), uses_(readers_of(g))
    {
        for (ValueId v = 0; v < g.size(); ++v) moves_[v] = gpu::reads_backwards(g, layouts, v);
        for (ValueId v = static_cast<ValueId>(g.size()); v-- > 0;) find(v);
        std::vector<std::size_t> lists(g.size(), none);
        for (ValueId v = 0; v < g.size(); ++v) {
            const ValueId host = by_[v];
            if (host == no_value) continue;
            if (lists[host] == none) lists[host] = lists_.size(), lists_.emplace_back();
            lists_[lists[host]].push_back(v);
        }
        for (ValueList& all : lists_) all.push_back(by_[all[0]]);
        list_of_.assign(g.size(), none);
        for (std::size_t k = 0; k < lists_.size(); ++k)
            for (ValueId v : lists_[k]) list_of_[v] = k;
    }
    bool moves(ValueId v) const { return moves_[v]; }
    bool contains(ValueId v) const { return by_[v] != no_value; }
    /// What is made with v, and the one that needs it as the last. Null for v alone.
    const ValueList* list(ValueId v) const { return list_of_[v] == none ? nullptr : &lists_[list_of_[v]]; }
    std::size_t steps(ValueId v) const { return steps_[v]; }

private:
    static constexpr std::size_t none = ~std::size_t{0};
    static constexpr std::size_t most_steps = 200;
    static constexpr double most_times = 2;  ///< a value is made, rather than kept

    void find(ValueId v)
    {
        const GraphNode& n = g_.node(v);
        if (n.kind != Graph::Kind::operation || uses_[v].empty() || uses_[v].back() == no_value ||
            layouts_[v].root != v)
            return;
        const TypedProgram p = n.primitive->value ? program_of(g_, layouts_, v) : TypedProgram();
        if (!p && !moves_[v]) return;
        const std::size_t steps = p ? p.steps().size() : 8 * n.inputs.size();
        const ValueId from = entry(v);
        if (from == no_value) return;
        const ValueId reader = uses_[v][0], host = by_[reader] == no_value ? reader : by_[reader];
        const double times = times_[reader] * (from == v ? repeats(reader, v) : 1);
        if (steps_[host] + steps > most_steps || times > most_times) return;
        steps_[host] += steps;
        by_[v] = host, entry_[v] = from, times_[v] = times;
    }
    /// The value that a program reads at places at which v is needed, no_value where v has to be there.
    ValueId entry(ValueId v) const
    {
        const GraphNode& n = g_.node(v);
        const ValueId first = uses_[v][0];
        if (g_.node(first).segment != n.segment) return no_value;
        if (moves_[first]) return uses_[v].size() == 1 && reads_once(first, v) ? v : no_value;
        for (ValueId u : uses_[v])
            if (entry_[u] == no_value || entry_[u] != entry_[first] || moves_[u] ||
                !(g_.node(u).shape == n.shape))
                return no_value;
        return entry_[first];
    }
    /// How often v asks for an element of i, at most or on average.
    double repeats(ValueId v, ValueId i) const
    {
        double times = 1;
        each_program(g_, g_.node(v), [&](const Index& p, std::span<const ValueId> in) {
            for (std::size_t k = 0; k < p.read_count; ++k) {
                const Index::Read& r = p.reads[k];
                if (r.operand == Index::no_operand || in[r.operand] != i || once_each(p, r)) continue;
                for (auto e : p.extents) times *= static_cast<double>(e);
                times = std::max(1.0, times / static_cast<double>(element_count(g_.node(i).shape)));
            }
            return true;
        });
        return times;
    }
    /// Does no element stand in two places?
    static bool once_each(const Index& p, const Index::Read& r)
    {
        std::uint64_t seen = 0;
        for (const Position& q : r.at) {
            const VaryingTerms m(p, q);
            const bool one = m.count <= 1 && (q.plain() || q.rule == Position::Rule::masked);
            if (one && m.count == 1) seen |= std::uint64_t{1} << m.axis[0];
        }
        for (std::size_t a = 0; a < p.extents.size(); ++a)
            if (p.extents.data()[a] > 1 && !(seen >> a & 1)) return false;
        return true;
    }
    /// An element of one read, and of nothing else.
    bool reads_once(ValueId v, ValueId i) const
    {
        std::size_t reads = 0;
        bool good = true;
        each_program(g_, g_.node(v), [&](const Index& p, std::span<const ValueId> in) {
            good = good && !(p.start == Index::Start::operand && in[p.base] == i);
            for (std::size_t k = 0; k < p.given_count; ++k) good = good && in[p.givens[k].operand] != i;
            for (std::size_t k = 0; k < p.read_count; ++k)
                reads += p.reads[k].operand != Index::no_operand && in[p.reads[k].operand] == i;
            return true;
        });
        return good && reads == 1;
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    std::vector<ValueId> by_;     ///< in whose kernel
    std::vector<ValueId> entry_;  ///< what is read at the places where it is made
    std::vector<bool> moves_;
    std::vector<std::size_t> steps_;  ///< of what is made with a value
    std::vector<double> times_;       ///< that an element is made
    std::vector<std::vector<ValueId>> uses_;
    std::vector<ValueList> lists_;
    std::vector<std::size_t> list_of_;
};

class GroupPreferences final : public tiling::Preferences {
public:
    GroupPreferences(const Graph& g, const tiling::Layouts& layouts)
        : g_(g), layouts_(layouts), in_place_(g, layouts), steps_(g.size(), 0), again_(g.size(), 0),
          row_folds_(g.size())
    {
        unrelated = moves = rows = true;
    }
    bool fuses(ValueId v) override
    {
        const TypedProgram p = program_of(g_, layouts_, v);
        again_[v] = AtOnce::cost(p.steps());
        if (in_place_.contains(v)) return false;
        if (p) steps_[v] = p.steps().size();
        if (in_place_.moves(v)) steps_[v] = again_[v] = 8 * g_.node(v).inputs.size() + in_place_.steps(v);
        return p || in_place_.moves(v);
    }
    /// Those that one block of threads folds, in rows of more than one element.
    tiling::RowRole row(ValueId v) override
    {
        const GraphNode& n = g_.node(v);
        Fold f;
        if (!fold_of(n, f)) return {};
        const GraphNode& x = g_.node(n.inputs[0]);
        if (!ends_in(x.shape, f)) return {};
        const FoldProgram& program = formulas_of(*n.primitive->fold);
        const FoldTypes types(program, x.dtype, n.dtype);
        for (ValueId i : n.inputs)
            if (!(g_.node(i).shape == x.shape) || g_.node(i).dtype != x.dtype) return {};
        if ((!types.plain && types.element != types.result) || !FoldText(program, types, n.inputs.size()))
            return {};
        if (FoldLines(x.shape, f).n > types.part()) {
            long_rows_.push_back(v);
            return {};
        }
        row_folds_[v] = {program.passes.size(), types.plain ? 0 : types.lanes()};
        count_steps(v, program);
        return {true, !f.maps(), tiling::RowRole::Joins::any};
    }
    bool has_room(const tiling::Group& group, ValueId v) const override
    {
        std::size_t steps = steps_[v], passes = row_folds_[v].passes, again = again_[v];
        for (ValueId u : group.nodes) {
            steps += steps_[u], passes += row_folds_[u].passes, again += again_[u];
            if (ends(u) && (looks_again(u) || !same_elements(group, v))) return false;
            const long long mine = row_folds_[v].lanes, others = row_folds_[u].lanes;
            if (mine && others && mine != others) return false;
            const bool folds = row_folds_[v].passes || row_folds_[u].passes || in_place_.contains(u);
            if (!folds && count(u) == count(v) && !(g_.node(u).shape == g_.node(v).shape)) return false;
        }
        return steps <= most_steps && passes * again <= most_again_in_rows &&
               group.nodes.size() < limits_.nodes && group.operands.size() < limits_.operands;
    }
    /// One fold of the elements as they come. Where it looks at them more than once, they are made again, which must cost little.
    bool adds_up(const tiling::Group& group, ValueId v) const override
    {
        const GraphNode& n = g_.node(v);
        Fold f;
        if (!fold_of(n, f) || n.inputs.size() != 1 || in_rows(group)) return false;
        const GraphNode& x = g_.node(n.inputs[0]);
        const FoldProgram& program = formulas_of(*n.primitive->fold);
        const FoldTypes types(program, x.dtype, n.dtype);
        if (!FoldLines(x.shape, f).adjacent || (!types.plain && types.element != types.result)) return false;
        std::size_t steps = 0;
        for (ValueId u : group.nodes) {
            if (g_.node(u).primitive->fold) return false;
            steps += again_[u];
        }
        return (!looks_again(v) || steps <= most_again) && FoldText(program, types, 1);
    }
    /// The fold at the end of a group of elements, or no_value.
    ValueId last_fold(const tiling::Group& group) const
    {
        const auto found =
            std::find_if(group.nodes.begin(), group.nodes.end(), [&](ValueId v) { return ends(v); });
        return found == group.nodes.end() ? no_value : *found;
    }
    /// Is it made row by row (row_text.hpp)?
    bool in_rows(const tiling::Group& group) const
    {
        return std::any_of(group.nodes.begin(), group.nodes.end(), [&](ValueId v) {
            return row_folds_[v].passes > 0 ||
                   (!ends(v) && !in_place_.contains(v) && count(v) != element_count(rows_of(group)));
        });
    }
    /// The shape of the elements of such rows.
    const Shape& rows_of(const tiling::Group& group) const
    {
        const Shape* most = nullptr;
        for (ValueId v : group.nodes) {
            if (row_folds_[v].passes > 0) return g_.node(g_.node(v).inputs[0]).shape;
            if (!ends(v) && !in_place_.contains(v) && (!most || count(v) > element_count(*most)))
                most = &g_.node(v).shape;
        }
        return *most;
    }
    /// Folds that would be made so if their rows were shorter, and whose results are read along them: "" or a sentence.
    std::string long_rows() const
    {
        std::string said;
        for (ValueId v : long_rows_) {
            const GraphNode &n = g_.node(v), &x = g_.node(n.inputs[0]);
            bool along = n.shape == x.shape;
            for (const GraphNode& reader : g_.nodes())
                for (ValueId i : reader.inputs) along = along || (i == v && reader.shape == x.shape);
            if (!along) continue;
            said += (said.empty() ? "" : ", ") + std::string(n.primitive->name) +
                    (n.at.line ? " at " + to_string(n.at) : "");
        }
        return said.empty() ? said : said + ": several blocks fold rows so long, in launches of their own";
    }
    /// What it costs to make an element of each value of a group (AtOnce).
    std::size_t cost(const tiling::Group& group) const
    {
        std::size_t all = 0;
        for (ValueId v : group.nodes) all += again_[v];
        return all;
    }
    const ValueList* whole_step(ValueId v) const override { return in_place_.list(v); }
    /// The result begins with it.
    bool in_step(ValueId i, ValueId v) const override { return begins_with(g_, g_.node(v), i); }

private:
    /// More of them take registers from other threads, and the compiler long.
    static constexpr std::size_t most_steps = 400;
    static constexpr std::size_t most_again = 16;
    /// Elements are made again in each pass over a row.
    static constexpr std::size_t most_again_in_rows = 512;

    struct RowFold {
        std::size_t passes = 0;
        long long lanes = 0;  ///< 0 where the order of elements matters to nobody
    };
    /// Are these the last axes, of which one has more than one element?
    static bool ends_in(const Shape& shape, const Fold& f)
    {
        const FoldLines lines(shape, f);
        std::int64_t last = 1;
        for (auto e : shape) last = e == 1 ? last : e;
        return lines.adjacent && lines.inner == 1 && lines.n > 1 && lines.n == last && lines.outer > 0;
    }
    void count_steps(ValueId v, const FoldProgram& p)
    {
        steps_[v] = p.each.program.steps.size(), again_[v] = AtOnce::cost(p.each.program.steps);
        for (const FoldPass& pass : p.passes) {
            steps_[v] += pass.map.program.steps.size();
            again_[v] += AtOnce::cost(pass.map.program.steps);
        }
    }
    std::size_t count(ValueId v) const { return element_count(g_.node(v).shape); }
    /// A fold that is none of rows.
    bool ends(ValueId v) const { return g_.node(v).primitive->fold && row_folds_[v].passes == 0; }
    bool same_elements(const tiling::Group& group, ValueId v) const
    {
        return row_folds_[v].passes == 0 && g_.node(v).shape == rows_of(group);
    }
    bool looks_again(ValueId v) const
    {
        const Primitive& p = *g_.node(v).primitive;
        if (!p.fold) return false;
        const FoldProgram& program = formulas_of(*p.fold);
        return program.passes.size() > 1 || program.each;
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    InlinedOperations in_place_;
    std::vector<std::size_t> steps_;  ///< of the programs of what fuses
    std::vector<std::size_t> again_;  ///< what it costs to make them again
    std::vector<RowFold> row_folds_;
    ValueList long_rows_;
    tiling::GroupLimits limits_;
};

}  // namespace wengert::detail::gpu

// Numbers of a long loop that are computed four at a time: the same operations, whose results lie side by side in an array. Packs grow
// from such results to their operands (Larsen and Amarasinghe 2000, Exploiting superword level parallelism with multimedia
// instruction sets). Each lane has the operations that its number has alone, so all bits stay.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <set>
#include <span>
#include <vector>

#include "loop_text.hpp"
#include "result_roots.hpp"

namespace wengert::detail {

class NumberPacks {
public:
    static constexpr std::size_t lanes = 4;
    static constexpr DType number = dtype_of<double>();  ///< of each lane
    using Pack = std::array<ValueId, lanes>;

    NumberPacks(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group,
                const ResultRoots& results)
        : g_(g), layouts_(layouts), inside_(g.size(), false), pack_(g.size(), none)
    {
        if (element_count(g.node(group.nodes[0]).shape) != 1) return;
        for (ValueId v : group.nodes) inside_[v] = true;
        ValueList seeds;
        for (ValueId v : group.results)
            if (results.in_array(v)) seeds.push_back(v);
        std::sort(seeds.begin(), seeds.end(), [&](ValueId a, ValueId b) {
            return std::pair(layouts[a].root, results.offset(a)) <
                   std::pair(layouts[b].root, results.offset(b));
        });
        for (std::size_t begin = 0, end = 0; begin < seeds.size(); begin = end) {
            for (end = begin + 1; end < seeds.size() && results.side_by_side(seeds[end - 1], seeds[end]);)
                ++end;
            pack_run(std::span(seeds).subspan(begin, end - begin));
        }
        drop_poor();
        pack_functions(group);
    }
    const std::vector<Pack>& all() const noexcept { return packs_; }
    bool has(ValueId v) const { return pack_[v] != none; }
    /// The pack that v is a lane of.
    const Pack& of(ValueId v) const { return packs_[pack_[v]]; }
    std::size_t lane(ValueId v) const
    {
        return static_cast<std::size_t>(std::find(of(v).begin(), of(v).end(), v) - of(v).begin());
    }
    bool is_pack(const Pack& x) const { return has(x[0]) && of(x[0]) == x; }
    /// Is it in one register already, or the same number in all lanes?
    bool is_together(const Pack& x) const { return is_shared(x) || is_pack(x); }
    static bool is_shared(const Pack& x)
    {
        return std::all_of(x.begin(), x.end(), [&](ValueId v) { return v == x[0]; });
    }
    /// Operand k of each lane.
    Pack operand(const Pack& x, std::size_t k) const
    {
        Pack out;
        for (std::size_t l = 0; l < lanes; ++l) out[l] = g_.node(x[l]).inputs[k];
        return out;
    }
    /// Its lanes are numbers by themselves from now on.
    void dissolve(const Pack& x)
    {
        const std::uint32_t at = pack_[x[0]];
        for (ValueId v : Pack(packs_[at])) pack_[v] = none;
        if (at + 1 != packs_.size()) {
            packs_[at] = packs_.back();
            for (ValueId v : packs_[at]) pack_[v] = at;
        }
        packs_.pop_back();
    }

private:
    static constexpr std::uint32_t none = ~0U;
    /// What putting four numbers into one register costs, in operations; a pack saves three for each of its own.
    static constexpr int gathering = 4, saved = 3;
    /// Packs that are looked at before one is made: beyond them all are taken to go on.
    static constexpr std::size_t most_tried = 48;

    /// From each place that of the next four packs which gains most; numbers between them stay alone.
    void pack_run(std::span<const ValueId> run)
    {
        const auto at = [&](std::size_t k) { return Pack{run[k], run[k + 1], run[k + 2], run[k + 3]}; };
        for (std::size_t k = 0; k + lanes <= run.size();) {
            std::size_t best = k;
            int most = 0;
            for (std::size_t i = k; i < k + lanes && i + lanes <= run.size(); ++i)
                if (const int gain = gain_of(at(i)); gain > most) most = gain, best = i;
            if (most > 0) make(at(best));
            k = most > 0 ? best + lanes : k + 1;
        }
    }
    /// May it become a pack: one operation of four numbers that are in none?
    bool is_fresh(const Pack& x) const
    {
        const GraphNode& first = g_.node(x[0]);
        for (std::size_t l = 0; l < lanes; ++l) {
            const GraphNode& n = g_.node(x[l]);
            if (!inside_[x[l]] || has(x[l]) || n.primitive != first.primitive ||
                n.inputs.size() != first.inputs.size() || n.dtype != number ||
                std::count(x.begin(), x.end(), x[l]) != 1)
                return false;
            for (std::size_t k = 0; k < n.inputs.size(); ++k)
                if (!goes_with(n.inputs[k], first.inputs[k]) || std::count(x.begin(), x.end(), n.inputs[k]))
                    return false;  // a lane that waits for another one is none
        }
        return true;
    }
    /// Numbers in the text are the same in all lanes: the operation may be another one because of them.
    bool goes_with(ValueId x, ValueId first) const
    {
        const bool literal = is_literal(g_, layouts_, first);
        return g_.node(x).dtype == number && (literal ? x == first : !is_literal(g_, layouts_, x));
    }
    int gain_of(const Pack& seed) const
    {
        int gain = 0;
        std::vector<Pack> seen{seed};
        for (std::size_t i = 0; i < seen.size() && i < most_tried; ++i) {
            const Pack x = seen[i];
            if (is_together(x)) continue;
            if (!is_fresh(x)) {
                gain -= gathering;
                continue;
            }
            gain += saved;
            for (std::size_t k = 0; k < g_.node(x[0]).inputs.size(); ++k)
                if (const Pack o = operand(x, k); std::find(seen.begin(), seen.end(), o) == seen.end())
                    seen.push_back(o);
        }
        return gain;
    }
    void make(const Pack& seed)
    {
        std::vector<Pack> left{seed};
        while (!left.empty()) {
            const Pack x = left.back();
            left.pop_back();
            if (!is_fresh(x)) continue;
            for (ValueId v : x) pack_[v] = static_cast<std::uint32_t>(packs_.size());
            packs_.push_back(x);
            for (std::size_t k = 0; k < g_.node(x[0]).inputs.size(); ++k) left.push_back(operand(x, k));
        }
    }
    /// Long functions of what the loop reads, in their order.
    void pack_functions(const tiling::Group& group)
    {
        std::map<const Primitive*, ValueList> waiting;
        for (ValueId v : group.nodes) {
            const GraphNode& n = g_.node(v);
            if (has(v) || n.inputs.size() != 1 || inside_[n.inputs[0]] || !is_long_function(v)) continue;
            ValueList& list = waiting[n.primitive];
            list.push_back(v);
            if (list.size() < lanes) continue;
            make({list[0], list[1], list[2], list[3]});
            list.clear();
        }
    }
    bool is_long_function(ValueId v) const
    {
        const TypedProgram p = program_of(g_, layouts_, v);
        return std::any_of(p.steps().begin(), p.steps().end(),
                           [](const TermStep& s) { return is_long(s.kind); });
    }
    /// Packs of which two operands would be put together first. Operands come before what is made from them.
    void drop_poor()
    {
        std::vector<Pack> in_order = packs_;
        std::sort(in_order.begin(), in_order.end());
        for (const Pack& x : in_order) {
            std::set<Pack> apart;
            for (std::size_t k = 0; k < g_.node(x[0]).inputs.size(); ++k)
                if (const Pack o = operand(x, k); !is_together(o)) apart.insert(o);
            if (apart.size() > 1) dissolve(x);
        }
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    std::vector<bool> inside_;
    std::vector<std::uint32_t> pack_;  ///< by value
    std::vector<Pack> packs_;
};

/// The statements of a long loop in an order in which they can run. Single numbers and packs take turns, as few as it goes.
class PackOrder {
public:
    using Pack = NumberPacks::Pack;

    /// Packs that wait for each other are dissolved, and those between them.
    PackOrder(const Graph& g, const tiling::Group& group, NumberPacks& packs) : g_(g), packs_(packs)
    {
        while (!put(group))
            for (const Pack& x : in_circles()) packs_.dissolve(x);
    }
    /// A number by itself is the first lane alone.
    static Pack alone(ValueId v) { return {v, no_value, no_value, no_value}; }
    static bool is_alone(const Pack& x) { return x[1] == no_value; }
    /// f of each operand of each lane, as often as it is one.
    template <class F> static void each_operand(const Graph& g, const Pack& x, const F& f)
    {
        for (ValueId v : x)
            if (v != no_value)
                for (ValueId i : g.node(v).inputs) f(i);
    }

    std::vector<Pack> list;

private:
    using Ready = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;

    bool put(const tiling::Group& group)
    {
        list.clear(), all_.clear();
        number(group);
        count_operands();
        Ready ready[2];
        for (std::uint32_t s = 0; s < all_.size(); ++s)
            if (missing_[s] == 0) ready[!is_alone(all_[s])].push(s);
        for (bool packs = false; !ready[0].empty() || !ready[1].empty();) {
            if (ready[packs].empty()) packs = !packs;
            const std::uint32_t s = ready[packs].top();
            ready[packs].pop();
            list.push_back(all_[s]);
            for (const std::uint32_t u : readers_[s])
                if (--missing_[u] == 0) ready[!is_alone(all_[u])].push(u);
        }
        return list.size() == all_.size();
    }
    /// Statements have the order of their last lanes.
    void number(const tiling::Group& group)
    {
        at_.assign(g_.size(), none);
        std::vector<std::size_t> left(g_.size(), 0);
        for (ValueId v : group.nodes) {
            if (packs_.has(v) && ++left[packs_.of(v)[0]] < NumberPacks::lanes) continue;
            const Pack x = packs_.has(v) ? packs_.of(v) : alone(v);
            for (ValueId lane : x)
                if (lane != no_value) at_[lane] = static_cast<std::uint32_t>(all_.size());
            all_.push_back(x);
        }
    }
    void count_operands()
    {
        missing_.assign(all_.size(), 0);
        readers_.assign(all_.size(), {});
        for (std::uint32_t s = 0; s < all_.size(); ++s)
            each_operand(g_, all_[s], [&](ValueId i) {
                if (at_[i] != none) ++missing_[s], readers_[at_[i]].push_back(s);
            });
    }
    /// Packs that wait for others and have others wait for them. Those that none waits for are taken away from the end.
    std::vector<Pack> in_circles() const
    {
        std::vector<std::uint32_t> waiting(all_.size(), 0), last;
        for (std::uint32_t s = 0; s < all_.size(); ++s)
            if (missing_[s] > 0) {
                waiting[s] = static_cast<std::uint32_t>(readers_[s].size());
                if (waiting[s] == 0) last.push_back(s);
            }
        std::vector<bool> taken(all_.size(), false);
        while (!last.empty()) {
            const std::uint32_t s = last.back();
            last.pop_back();
            taken[s] = true;
            each_operand(g_, all_[s], [&](ValueId i) {
                const std::uint32_t of = at_[i];
                if (of != none && missing_[of] > 0 && --waiting[of] == 0) last.push_back(of);
            });
        }
        std::vector<Pack> out;
        for (std::size_t s = 0; s < all_.size(); ++s)
            if (missing_[s] > 0 && !taken[s] && !is_alone(all_[s])) out.push_back(all_[s]);
        return out;
    }

    static constexpr std::uint32_t none = ~0U;
    const Graph& g_;
    NumberPacks& packs_;
    std::vector<Pack> all_;
    std::vector<std::uint32_t> at_;       ///< by value: its statement
    std::vector<std::uint32_t> missing_;  ///< by statement: operands that are not there yet
    std::vector<std::vector<std::uint32_t>> readers_;
};

}  // namespace wengert::detail

// May a graph's replay be captured and done as one thing (cuda/driver/capture.hpp), and what is another one in each?
#pragma once

#include "host_transfers.hpp"
#include "../groups/group_text.hpp"

namespace wengert::detail::gpu {

/// Arguments and results that launches of groups alone touch have other addresses each time, which stand in a table. Those that others
/// touch lie in one place, to which they are copied, or from which; where that is much, their addresses are a part of what is written
/// down.
class Capturable {
public:
    /// Memory that nobody else has; where there is more to do than that, launches are the least of it.
    static constexpr std::size_t most_kept = std::size_t{64} << 20;

    Capturable(const Graph& g, const tiling::Plan& plan, const GroupPreferences& wants,
               const std::vector<ReplayStep>& steps)
        : g_(g), plan_(plan), wants_(wants), by_table_(g.size(), true), whole_(plan.stores.size(), true)
    {
        if (plan.arena.bytes > most_kept) refuse("it works in more than 64 MiB");
        for (std::size_t t = 0; t < steps.size(); ++t)
            if (const tiling::Group& group = plan.tasks[t].group; group.fused)
                look_into(group);
            else
                look_at(group, steps[t]);
        if (plan.tasks.size() < 2 && !loops_) refuse("it is one step");
        for (std::size_t k = 0; k < g.outputs().size(); ++k)
            if (!passes_on(k) && !lands(k)) by_table_[plan.root(g.outputs()[k])] = false;
        for (const Guard& guard : g.guards()) by_table_[plan.root(guard.value)] = false;
        find_stores();
        find_ways();
    }
    explicit operator bool() const noexcept { return why_.empty(); }
    /// Why not.
    const std::string& why() const noexcept { return why_; }
    /// Has it loops or branches that the device decides about?
    bool has_conditions() const noexcept { return loops_; }
    /// Does it move elements as an index program says, of any number of axes?
    static bool moves(const Graph& g, const GraphNode& n)
    {
        return is_described(*n.primitive) &&
               each_program(g, n, [](const Index&, std::span<const ValueId>) { return true; });
    }
    /// Are there arguments whose elements are positions?
    bool asks() const noexcept { return asks_; }
    /// Does its address stand in the table, of a value that is no view?
    bool by_table(ValueId v) const { return by_table_[v]; }
    /// Is its address a part of what is captured, of an argument, or of a result that is made where it is handed out?
    bool in_place(ValueId v) const
    {
        return in_place_ && !by_table_[v] &&
               (g_.node(v).kind == Graph::Kind::input || plan_.values[v].home == tiling::Home::output);
    }
    /// Is output k such a result?
    bool result_in_place(std::size_t k) const
    {
        return !passes_on(k) && in_place(plan_.root(g_.outputs()[k])) && lands(k);
    }
    /// Is output k an argument or a constant, or the same as one before?
    bool passes_on(std::size_t k) const
    {
        const ValueId v = g_.outputs()[k];
        const auto same = std::find(g_.outputs().begin(), g_.outputs().end(), v) - g_.outputs().begin();
        return static_cast<std::size_t>(same) < k ||
               (plan_.root(v) == v && g_.node(v).kind != Graph::Kind::operation);
    }

private:
    /// A copy beyond that costs more than launches.
    static constexpr std::size_t most_copied = std::size_t{1} << 20;
    void refuse(std::string why)
    {
        if (why_.empty()) why_ = std::move(why);
    }
    void refuse(const GraphNode& n)
    {
        refuse(std::string(n.primitive->name) + (n.at.line ? " at " + to_string(n.at) : "") +
               " is not captured");
    }
    /// Positions can be asked about before all else: they are arguments, or constants.
    bool described(const GraphNode& n)
    {
        return is_described(*n.primitive) &&
               each_program(g_, n, [&](const Index& p, std::span<const ValueId> in) {
                   bool there = true;
                   for (std::size_t k = 0; k < p.given_count; ++k)
                       there = there &&
                               g_.node(plan_.root(in[p.givens[k].operand])).kind != Graph::Kind::operation;
                   asks_ = asks_ || p.given_count > 0;
                   return there && (p.given_count == 0 || g_.guards().empty());
               });
    }
    void look_into(const tiling::Group& group)
    {
        for (ValueId v : group.nodes) {
            const Primitive& p = *g_.node(v).primitive;
            if (!p.value && !p.fold && !described(g_.node(v))) refuse(g_.node(v));
        }
        if (const ValueId v = wants_.last_fold(group); v != no_value) by_table_[v] = false;
    }
    void look_at(const tiling::Group& group, const ReplayStep& s)
    {
        const GraphNode& n = g_.node(group.nodes[0]);
        if (s.loop)
            look_at(*s.loop);
        else if (!s.part && (n.primitive->effects || !can_write(n)))
            refuse(n);
        for (const auto* list : {&group.operands, &group.results})
            for (ValueId v : *list) by_table_[plan_.root(v)] = false;
    }
    bool can_write(const GraphNode& n)
    {
        const Primitive& p = *n.primitive;
        return p.fold || p.product || p.launches || p.zero_rule || HostTransfers::draws(n) || described(n);
    }
    /// Where a guard fails, a loop after it might not end.
    void look_at(const DeviceLoop& loop)
    {
        loops_ = true;
        refuse(loop.stays_outside());
        if (!g_.guards().empty()) refuse("guards are looked at before it");
    }
    /// Is output k written where it is handed out?
    bool lands(std::size_t k) const
    {
        const tiling::Placed& p = plan_.values[plan_.root(g_.outputs()[k])];
        return p.home == tiling::Home::output && plan_.stores[p.store].output == k;
    }
    void find_stores()
    {
        const auto in_output = [&](ValueId v) { return plan_.values[v].home == tiling::Home::output; };
        for (ValueId v = 0; v < g_.size(); ++v)
            if (in_output(v) && !by_table_[v]) whole_[plan_.values[v].store] = false;
        for (ValueId v = 0; v < g_.size(); ++v)
            by_table_[v] = by_table_[v] && (g_.node(v).kind == Graph::Kind::input ||
                                            (in_output(v) && whole_[plan_.values[v].store]));
    }
    void find_ways()
    {
        in_place_ =
            !loops_ && copied() > most_copied;  // nothing becomes of a graph with loops but another one
        if (copied() > most_kept) refuse("it has large arguments or results");
    }
    std::size_t copied() const
    {
        std::size_t bytes = 0;
        for (ValueId v : g_.inputs()) bytes += by_table_[v] || in_place(v) ? 0 : plan_.bytes_of(v);
        for (std::size_t k = 0; k < g_.outputs().size(); ++k)
            if (const ValueId v = g_.outputs()[k];
                !passes_on(k) && !by_table_[plan_.root(v)] && !result_in_place(k))
                bytes += plan_.bytes_of(v);
        return bytes;
    }

    const Graph& g_;
    const tiling::Plan& plan_;
    const GroupPreferences& wants_;
    std::vector<bool> by_table_, whole_;  ///< by value; by store
    std::string why_;
    bool asks_ = false, loops_ = false, in_place_ = false;
};

/// What launches look up that were captured: addresses, and behind them keys, of which random numbers are drawn.
class CapturedTable {
public:
    CapturedTable() = default;
    /// Of so many addresses at most.
    CapturedTable(std::size_t addresses, Ref<Block> there) : keys_from_(addresses), there_(std::move(there))
    {}
    std::uintptr_t address(ValueId v)
    {
        addresses_.push_back(v);
        return address_at(there_->data + 8 * (addresses_.size() - 1));
    }
    const std::byte* key(ValueId v)
    {
        keys_.push_back(v);
        return there_->data + 8 * (keys_from_ + 2 * (keys_.size() - 1));
    }
    bool has_keys() const noexcept { return !keys_.empty(); }
    const Ref<Block>& there() const noexcept { return there_; }
    /// `address(v)` and `block(v)`, on the host, are those of this run.
    template <class Address, class Key> void bring(Gpu& gpu, const Address& address, const Key& block) const
    {
        std::vector<std::uintptr_t> all;
        for (ValueId v : addresses_) all.push_back(reinterpret_cast<std::uintptr_t>(address(v)));
        if (has_keys()) all.resize(keys_from_);
        for (ValueId v : keys_) {
            const Ref<Block> key = contiguous(block(v));
            for (int k = 0; k < 2; ++k)
                all.push_back(static_cast<std::uintptr_t>(key->template as<std::int64_t>()[k]));
        }
        gpu.from_host(there_->data, all.data(), 8 * all.size());
    }

private:
    std::vector<ValueId> addresses_, keys_;
    std::size_t keys_from_ = 0;
    Ref<Block> there_;
};

}  // namespace wengert::detail::gpu

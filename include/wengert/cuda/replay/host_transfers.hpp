// What a graph on a device exchanges with the host: arguments and results, keys, values that the host computes, guards.
#pragma once

#include "../../graph/ir/guard_check.hpp"
#include "../../graph/plan/plan.hpp"
#include "../groups/loops.hpp"

namespace wengert::detail::gpu {

/// Which values of a graph are on the host while it runs on a device, and which are moved between the two.
class HostTransfers {
public:
    HostTransfers(const Graph& g, const tiling::Plan& plan)
        : g_(g), near_(g.size(), false), needed_(g.size(), false), helped_(g.size(), false), moved_(g.size())
    {
        find_keys();
        for (ValueId v = 0; v < g.size(); ++v) needed_[v] = plan.values[v].last > 0;
        for (const Guard& guard : g.guards()) needed_[plan.root(guard.value)] = true;
        for (ValueId v : g.inputs())
            if (!near_[v] && needed_[v]) move(v, "to the device");
        for (const tiling::Task& t : plan.tasks)
            if (const ValueId v = t.group.nodes[0]; !t.group.fused && helps(v)) made_on_host(t.group);
        for (ValueId v : g.outputs()) move(v, "back to where the arguments lie");
        for (const Guard& guard : g.guards()) move(guard.value, "to the host as a guard");
    }
    /// Notes that the host computes this operation. True where that is new.
    bool made_on_host(const tiling::Group& group)
    {
        const ValueId v = group.nodes[0];
        if (helped_[v]) return false;
        helped_[v] = true;
        for (ValueId i : group.operands)
            move(i, "to the host for " + std::string(g_.node(v).primitive->name));
        move(v, "made on the host");
        return true;
    }
    /// Is v a key that only random draws read? It stays on the host, and launches are given its two numbers.
    bool stays(ValueId v) const { return near_[v]; }
    /// Does anything read the value?
    bool needs(ValueId v) const { return needed_[v]; }
    const std::vector<std::string>& notes() const noexcept { return moved_; }
    std::size_t count = 0, bytes = 0;

    /// Does it make keys or random numbers of one?
    static bool draws(const GraphNode& n)
    {
        return n.primitive && (n.primitive->random || n.primitive->draw);
    }

private:
    void find_keys()
    {
        for (ValueId v = 0; v < g_.size(); ++v) {
            const GraphNode& n = g_.node(v);
            near_[v] = n.dtype == DType::int64 && n.shape == Shape{2} &&
                       (n.kind == Graph::Kind::input || (draws(n) && !n.primitive->random));
        }
        for (ValueId v : g_.outputs()) near_[v] = false;
        for (const Guard& guard : g_.guards()) near_[guard.value] = false;
        for (ValueId v = static_cast<ValueId>(g_.size()); v-- > 0;)
            for (ValueId i : g_.node(v).inputs)
                near_[i] = near_[i] && draws(g_.node(v)) && (g_.node(v).primitive->random || near_[v]);
        std::vector<bool> read(g_.size(), false);
        for (const GraphNode& n : g_.nodes())
            for (ValueId i : n.inputs) read[i] = true;
        for (ValueId v = 0; v < g_.size(); ++v) near_[v] = near_[v] && read[v];
    }
    /// Does the host compute it: code of the user's, or a rule without a text? Of anything else the device says so when it runs.
    bool helps(ValueId v) const
    {
        const GraphNode& n = g_.node(v);
        const LoopParameters* const loop = loop_parameters(n);
        return loop ? !DeviceLoop::can(*loop)
                    : n.primitive->effects || is_host_call(*n.primitive) || n.primitive->value;
    }
    void move(ValueId v, const std::string& how)
    {
        const GraphNode& n = g_.node(v);
        ++count, bytes += element_count(n.shape) * size_of(n.dtype);
        moved_[v] += (moved_[v].empty() ? "" : ", ") + how;
    }

    const Graph& g_;
    std::vector<bool> near_, needed_, helped_;
    std::vector<std::string> moved_;
};

/// The guards of a graph. Each value is copied aside when it has been computed. They are checked together, as late as possible: before
/// an operation that may throw or has effects, and after the last of them. There alone the host waits.
class ReplayGuards {
public:
    ReplayGuards(const Graph& g, const tiling::Plan& plan, std::uint8_t device)
        : graph_(g), device_(device), made_(plan.tasks.size() + 1), looked_at_(plan.tasks.size() + 1)
    {
        const std::vector<Guard>& all = g.guards();
        for (std::uint32_t k = 0; k < all.size(); ++k)
            made_[plan.values[plan.root(all[k].value)].first].push_back(k);
        std::size_t left = all.size();
        for (std::size_t t = 0; t < made_.size(); ++t) {
            left -= made_[t].size();
            looked_at_[t] = left == 0 || (t < plan.tasks.size() && plan.tasks[t].throws);
        }
        for (const Guard& guard : all) bytes_ += guard.expected->bytes();
    }
    /// Copies the values that the tasks before task t have made.
    template <class Values> void keep(std::size_t t, const Values& block)
    {
        for (const std::uint32_t k : made_[t]) {
            if (!there_)
                there_ = make_elsewhere(current_thread(), device_, DType::boolean,
                                        {static_cast<std::int64_t>(bytes_)}, bytes_);
            const Guard& guard = graph_.guards()[k];
            const Ref<Block> to = make_borrowed_elsewhere(device_, guard.expected->dtype,
                                                          guard.expected->shape, there_->data + end_);
            device_table(device_).copy(*block(guard.value), *to);
            waiting_.push_back(k);
            end_ += to->bytes();
        }
    }
    /// The first guard that fails of those that are checked before task t, or the number of all guards.
    std::size_t failing(std::size_t t)
    {
        if (waiting_.empty() || !looked_at_[t]) return graph_.guards().size();
        const std::size_t failed = first_wrong(there_->data + begin_, end_ - begin_, waiting_);
        if (failed < graph_.guards().size()) return failed;
        waiting_.clear();
        begin_ = end_;
        return failed;
    }
    /// The memory of the copies, for a run that is captured.
    Ref<Block> write()
    {
        written_ = waiting_;
        return there_;
    }
    /// The first guard that fails there, after such a run.
    std::size_t failing(const Block& there) const { return first_wrong(there.data, bytes_, written_); }
    void end() noexcept
    {
        waiting_.clear();
        begin_ = end_ = 0;
        there_ = {};
    }

private:
    std::size_t first_wrong(const std::byte* from, std::size_t bytes,
                            const std::vector<std::uint32_t>& which) const
    {
        std::vector<std::byte> here(bytes);
        device_table(device_).to_host(here.data(), from, bytes);
        device_table(device_).counts->to_host.fetch_add(1, std::memory_order_relaxed);
        std::size_t at = 0;
        for (const std::uint32_t k : which) {
            const Block& expected = *graph_.guards()[k].expected;
            if (!wengert::detail::meets(*make_borrowed(expected.dtype, expected.shape, here.data() + at),
                                        expected))
                return k;
            at += expected.bytes();
        }
        return graph_.guards().size();
    }

    const Graph& graph_;
    std::uint8_t device_;
    std::vector<std::vector<std::uint32_t>> made_;  ///< by the number of tasks before
    std::vector<bool> looked_at_;
    std::size_t bytes_ = 0;
    std::vector<std::uint32_t> written_;
    // of a run
    Ref<Block> there_;
    std::vector<std::uint32_t> waiting_;
    std::size_t begin_ = 0, end_ = 0;
};

}  // namespace wengert::detail::gpu

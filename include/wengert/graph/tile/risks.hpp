// Risks: what may fail runs before anything of the caller's is written. Updates of the caller's memory that nothing else
// waits for go behind the last task that may throw or whose result is guarded.
#pragma once

#include "planned.hpp"

namespace wengert::tiling {

namespace detail {

class Risks {
public:
    Risks(const Graph& g, const Layouts& layouts, std::vector<Task>& tasks)
        : graph_(g), layouts_(layouts), tasks_(tasks), blocked_(risks_of(g, layouts, tasks))
    {
        for (std::size_t t = 0; t < tasks.size(); ++t)
            if (blocked_[t]) last_ = static_cast<ValueId>(t);
    }
    /// By value: a guard looks at it.
    static std::vector<bool> guarded_values(const Graph& g, const Layouts& layouts)
    {
        std::vector<bool> guarded(g.size(), false);
        for (const Guard& guard : g.guards()) guarded[layouts[guard.value].root] = true;
        return guarded;
    }
    static std::vector<bool> risks_of(const Graph& g, const Layouts& layouts, const std::vector<Task>& tasks)
    {
        const auto guarded = guarded_values(g, layouts);
        std::vector<bool> risky(tasks.size(), false);
        for (std::size_t t = 0; t < tasks.size(); ++t) {
            risky[t] = tasks[t].throws;
            for (ValueId r : tasks[t].group.results) risky[t] = risky[t] || guarded[r];
        }
        return risky;
    }
    /// Moves the updates. The last task that is a risk, or no_value.
    ValueId sink_updates()
    {
        bool any = false;
        for (ValueId k : graph_.updates()) any = any || k != no_value;
        if (!any || last_ == no_value) return last_;
        const std::vector<bool> moved = behind_the_risks();
        std::vector<Task> order;
        order.reserve(tasks_.size());
        for (std::size_t t = 0; t <= last_; ++t)
            if (!moved[t]) order.push_back(std::move(tasks_[t]));
        const auto kept = static_cast<ValueId>(order.size());
        for (std::size_t t = 0; t < tasks_.size(); ++t)
            if (t > last_ || moved[t]) order.push_back(std::move(tasks_[t]));
        tasks_ = std::move(order);
        return kept - 1;
    }

private:
    ValueId root(ValueId v) const { return layouts_[v].root; }

    /// Tasks that make updates and that no risk waits for, and those that wait for them.
    std::vector<bool> behind_the_risks()
    {
        const auto maker = makers();
        for (std::size_t t = tasks_.size(); t-- > 0;)
            if (blocked_[t])
                for (ValueId o : tasks_[t].group.operands)
                    if (maker[root(o)] != no_value) blocked_[maker[root(o)]] = true;
        std::vector<bool> moved(tasks_.size(), false);
        for (ValueId k : graph_.updates()) {
            if (k == no_value) continue;
            const ValueId t = maker[root(graph_.outputs()[k])];
            if (t != no_value && !blocked_[t]) moved[t] = true;
        }
        for (std::size_t t = 0; t < tasks_.size(); ++t)
            for (ValueId o : tasks_[t].group.operands)
                if (const ValueId m = maker[root(o)]; m != no_value && moved[m]) moved[t] = true;
        return moved;
    }
    /// The task that makes each value.
    std::vector<ValueId> makers() const
    {
        std::vector<ValueId> maker(graph_.size(), no_value);
        for (std::size_t t = 0; t < tasks_.size(); ++t)
            for (ValueId r : tasks_[t].group.results) maker[r] = static_cast<ValueId>(t);
        return maker;
    }

    const Graph& graph_;
    const Layouts& layouts_;
    std::vector<Task>& tasks_;
    std::vector<bool> blocked_;  ///< risks; then also what they wait for
    ValueId last_ = no_value;
};

}  // namespace detail

}  // namespace wengert::tiling

// The bodies of frozen.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <limits>
#include <ostream>

#include "../../../base/separate.hpp"
#include "../../../ops/update.hpp"
#include "../compiler.hpp"
#include "../frozen_families.hpp"

namespace wengert {

WENGERT_INLINE std::ostream& operator<<(std::ostream& out, const FreezeStats& s)
{
    out << s.traces << " traces, " << s.specialised << " specialised, " << s.replays << " replays ("
        << s.checks << " checked), " << s.eager_calls << " eager calls, " << s.inlined << " inlined, "
        << s.evictions << " evictions, " << s.guard_failures << " guard failures; " << s.recorded_ops
        << " operations in " << s.kernels << " kernels on " << s.threads
        << (s.threads == 1 ? " thread, arena " : " threads, arena ") << s.arena_bytes << " bytes (at least "
        << s.arena_lower_bound << "), constants " << s.constant_bytes << " bytes";
    if (s.uncompiled) out << "; " << s.uncompiled << " of the kernels are not compiled";
    if (s.uncompiled_loops) out << ", " << s.uncompiled_loops << " of them loops that run step by step";
    if (s.host_conditions) out << "; the host decides about " << s.host_conditions << " loops and branches";
    if (s.transfers) out << "; " << s.transfers << " transfers of " << s.transfer_bytes << " bytes";
    for (const auto& f : s.failures)
        out << "\n  guard at " << to_string(f.at) << " failed " << f.count << " times";
    return out;
}
namespace detail {

WENGERT_INLINE FrozenCore::FrozenCore(FreezeOptions o) : options(std::move(o))
{
    static_cast<void>(graph_compiler());  // from now on bodies of loops are compiled, also while f is traced
}
WENGERT_INLINE FrozenCore::~FrozenCore() = default;
WENGERT_INLINE std::shared_ptr<FrozenCore> FrozenCore::make(FreezeOptions o)
{
    return std::make_shared<FrozenCore>(std::move(o));
}

WENGERT_INLINE FrozenEntry& FrozenCore::entry(const Words& signature)
{
    ++clock_;
    for (auto& e : entries_)
        if (e->signature == signature) {
            e->used = clock_;
            return *e;
        }
    if (entries_.size() >= std::max<std::size_t>(options.shapes, 1)) evict();
    reason = entries_.empty() ? "this was the first call"
                              : "no graph has these shapes, dtypes and numbers as arguments";
    entries_.push_back(std::make_unique<FrozenEntry>());
    entries_.back()->signature = signature;
    entries_.back()->used = clock_;
    return *entries_.back();
}

WENGERT_INLINE void FrozenCore::demand_dynamic(std::size_t arguments, const Site& at) const
{
    const std::size_t most = *std::max_element(options.dynamic.begin(), options.dynamic.end());
    if (most >= arguments)
        fail<OptionError>("freeze",
                          ".dynamic names argument " + std::to_string(most) + " of a function of " +
                              std::to_string(arguments) + ", counted from 0",
                          at);
}

WENGERT_INLINE void FrozenCore::begin_argument(CallArguments& a, std::size_t n) const
{
    const std::vector<std::size_t>& d = options.dynamic;
    a.families = !d.empty();
    a.dynamic = a.families && std::find(d.begin(), d.end(), n) != d.end();
}
WENGERT_INLINE void FrozenCore::end_arguments(CallArguments& a, std::uintptr_t word) const
{
    a.families = !options.dynamic.empty();
    a.dynamic = false;
    for (const AnyTensor* t : live) {
        if (!t->value) refuse_empty("freeze", *t, {});
        a.tensor(*t);
    }
    a.number(word);
}

WENGERT_INLINE std::uint64_t variables_among(const std::vector<Ref<Block>>& constants) noexcept
{
    std::uint64_t sum = 0;
    for (const Ref<Block>& c : constants)
        sum += std::atomic_ref(c->variables).load(std::memory_order_relaxed);
    return sum;
}
WENGERT_INLINE void note_variables(FrozenPath& p) noexcept
{
    p.variables_made = variables_made.load(std::memory_order_relaxed);
    p.variables = variables_among(p.constants);
}
WENGERT_INLINE bool has_new_variable(FrozenPath& p) noexcept
{
    const std::uint64_t made = variables_made.load(std::memory_order_relaxed);
    if (p.variables_made == made) return false;
    if (variables_among(p.constants) != p.variables) return true;
    p.variables_made = made;
    return false;
}

WENGERT_INLINE bool FrozenCore::has_empty_live() noexcept
{
    const bool empty = std::any_of(live.begin(), live.end(), [](const AnyTensor* t) { return !t->value; });
    if (empty) reason = "a live tensor is empty: it runs eagerly until that has a value";
    return empty;
}

WENGERT_INLINE FrozenPath* FrozenCore::replay(FrozenEntry& e, std::vector<Ref<Block>>& inputs,
                                              std::vector<Ref<Block>>& outputs, bool& check)
{
    for (std::size_t k = 0; k < e.paths.size(); ++k) {
        FrozenPath& p = *e.paths[k];
        if (!p.confirmed) continue;
        check = is_checked(p) && !p.effects;
        std::size_t failed = 0;
        try {
            failed = run(p, inputs, outputs, check);
        } catch (const MemoryError&) {
            throw;                      // to trace again would take more, when there is least
        } catch (const Error& error) {  // f itself says whether that is so, or would not have come here
            if (p.effects) throw;       // it has begun to do what f would do again
            reason = std::string("the graph threw: ") + error.what();
            continue;
        }
        if (failed < p.optimized.guards().size()) {
            note_failure(p.optimized.guards()[failed]);
            continue;
        }
        if (k > 0)
            std::rotate(e.paths.begin(), e.paths.begin() + static_cast<std::ptrdiff_t>(k),
                        e.paths.begin() + static_cast<std::ptrdiff_t>(k) + 1);
        ++p.replays;
        ++stats.replays;
        if (p.executable->stats_changed) [[unlikely]]
            note_plan(p);
        return &p;
    }
    return nullptr;
}

WENGERT_INLINE bool FrozenCore::may_trace(FrozenEntry& e)
{
    if (e.eager) {
        reason = e.why;
        return false;
    }
    if (e.paths.size() < std::max<std::size_t>(options.paths, 1)) return true;
    e.eager = true;
    e.why = "it has more paths than options.paths allows: it runs eagerly where none of them fits";
    for (const auto& p : e.paths)
        for (const Guard& g : p->recorded.guards())
            if (g.what != Read::truth) {
                e.why =
                    "a value that changes escapes to plain C++ at " + to_string(g.at) + ": it runs eagerly";
                stats.evictions += e.paths.size();
                e.paths.clear();
                reason = e.why;
                return false;
            }
    reason = e.why;
    return false;
}

WENGERT_INLINE void FrozenCore::report_retraces(const Site& at)
{
    constexpr std::size_t many = 8;
    if (signatures_ < many || stats.replays >= signatures_ || std::exchange(reported_retraces_, true)) return;
    report("[freeze] this function has been traced for " + std::to_string(signatures_) +
               " sets of arguments and replayed " + std::to_string(stats.replays) +
               " times. Shapes are compared, and plain numbers by value: what changes is to be a tensor",
           at);
}

WENGERT_INLINE PlanOptions FrozenCore::plan_options() const
{
    PlanOptions plan{options.allow_reassociation, options.threads, options.callback};
    if (options.memory_limit) plan.wake_cost = std::numeric_limits<double>::infinity();
    return plan;
}

WENGERT_INLINE void FrozenCore::commit(const FrozenPath& p, std::vector<Ref<Block>>& outputs)
{
    if (outputs.size() == p.results) return;
    for (std::size_t k = 0; k < p.live.size(); ++k) {
        AnyTensor& t = *live[p.live[k]];
        t.value = std::move(outputs[p.results + k]);
        if (t.node && !is_variable(t)) [[unlikely]]
            t.node = {};
    }
    outputs.resize(p.results);
}

WENGERT_INLINE void FrozenCore::evict()
{
    last_ = nullptr;
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const auto& a, const auto& b) { return a->used < b->used; });
    stats.evictions += (*oldest)->paths.size();
    entries_.erase(oldest);
}

WENGERT_INLINE void FrozenCore::note_failure(const Guard& g)
{
    ++stats.guard_failures;
    reason = std::string(g.what == Read::truth ? "the branch" : "the value read") + " at " + to_string(g.at) +
             " was another one";
    for (auto& f : stats.failures)
        if (f.at.line == g.at.line && f.at.file == g.at.file) {
            ++f.count;
            return;
        }
    stats.failures.push_back({g.at, 1});
}

WENGERT_INLINE std::size_t FrozenCore::run(FrozenPath& p, std::vector<Ref<Block>>& inputs,
                                           std::vector<Ref<Block>>& outputs, bool check)
{
    if (check || p.live.empty() || p.effects)  // callbacks may look at them
        return p.executable->run(inputs, outputs);
    const std::size_t first = inputs.size() - live.size();
    std::vector<Ref<Block>> strided(p.live.size());  // what the input is only a copy of
    for (std::size_t k = 0; k < p.live.size(); ++k) {
        Ref<Block> lent = std::exchange(live[p.live[k]]->value, {});
        if (lent.get() != inputs[first + p.live[k]].get()) strided[k] = std::move(lent);
    }
    const auto give_back = [&] {
        for (std::size_t k = 0; k < p.live.size(); ++k)
            live[p.live[k]]->value = strided[k] ? std::move(strided[k]) : inputs[first + p.live[k]];
    };
    try {
        const std::size_t failed = p.executable->run(inputs, outputs);
        if (failed < p.optimized.guards().size()) give_back();
        return failed;
    } catch (...) {
        give_back();
        throw;
    }
}

}  // namespace detail
}  // namespace wengert

// What loop_code.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../loop_code.hpp"

namespace wengert::detail {

WENGERT_INLINE std::size_t LoopPlans::carried(const LoopParameters& p)
{
    return p.active_states.size() + p.active_constants.size();
}

WENGERT_INLINE std::size_t LoopPlans::given(const LoopParameters& p)
{
    return p.kind == Kind::scan_pull ? p.body->outputs().size() - p.states : 0;
}

WENGERT_INLINE std::shared_ptr<const Graph> LoopPlans::body_of(const LoopParameters& p)
{
    if (p.kind != Kind::scan_pull || given(p) == 0) return p.body;
    return std::make_shared<const Graph>(compacted(with_outputs(*p.body, all_of(0, p.states))));
}

WENGERT_INLINE std::size_t LoopPlans::same_from(const LoopParameters& p, std::size_t constants)
{
    return p.kind == Kind::cond ? LoopParameters::npos : constants;
}

WENGERT_INLINE std::unique_ptr<BodyPlan> LoopPlans::plan(std::shared_ptr<const Graph> g, std::size_t states,
                                                         std::size_t fixed, MakeStep make)
{
    if (!g) return nullptr;
    const BodyCompiler* const c = body_compiler().load();
    if (!c) return std::make_unique<InterpretedBody>(std::move(g), states);
    return (make ? make : c->step)(std::make_shared<const Graph>(c->optimize(*g)), states, fixed);
}

WENGERT_INLINE LoopOperands::LoopOperands(const LoopParameters& p, std::size_t n)
    : constant(p.kind == Kind::cond ? 1 : p.states + p.xs),
      cotangents(n - p.active_states.size() - LoopPlans::given(p))
{
    kept = cotangents - (p.kind == Kind::scan_pull ? p.states : 0);
    constants = kept - constant;
}

WENGERT_INLINE std::vector<LoopSpan> parts_of(const LoopParameters& p)
{
    return schedule({0, static_cast<std::uint64_t>(p.steps), static_cast<std::uint64_t>(p.snapshots)});
}

WENGERT_INLINE bool has_gaps(const LoopParameters& p)
{
    std::int64_t written = 0;
    for (const auto& r : p.results)
        if (differentiable(r.dtype) && r.wanted())
            written += static_cast<std::int64_t>(element_count(r.shape));
    return written < p.size || p.guard != LoopParameters::npos;
}

WENGERT_INLINE std::unique_ptr<LoopPlans> LoopCode::take(const LoopParameters& p)
{
    MakeStep make;
    {
        const std::lock_guard lock(mutex_);
        make = make_;
        for (auto& plans : free_)
            if (plans->owner == this_thread) {
                std::swap(plans, free_.back());
                auto mine = std::move(free_.back());
                free_.pop_back();
                return mine;
            }
    }
    const Restore<PlannedResult> nowhere(current_thread().planned, {});  // that is for the loop's result
    return std::make_unique<LoopPlans>(p, make);
}

WENGERT_INLINE void LoopCode::make_steps_by(MakeStep make)
{
    const std::lock_guard lock(mutex_);
    if (std::exchange(make_, make) != make) free_.clear();
}

WENGERT_INLINE std::string LoopCode::prepare(const LoopParameters& p)
{
    auto plans = take(p);
    std::string note;
    for (const BodyPlan* b : {plans->body.get(), plans->other.get(), plans->pull.get()})
        if (note.empty() && b) note = b->note;
    give(std::move(plans));
    return note;
}

WENGERT_INLINE void LoopCode::give(std::unique_ptr<LoopPlans> plans)
{
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(plans));
}

}  // namespace wengert::detail

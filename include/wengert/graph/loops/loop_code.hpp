// What runs of loops share: graphs made ready once for each thread, and which operand is what.
#pragma once

#include "interpreted_step.hpp"
#include "loop_graphs.hpp"
#include "loop_schedule.hpp"

namespace wengert::detail {

/// The graphs of a loop, ready to run.
struct LoopPlans {
    Thread* owner;
    std::unique_ptr<BodyPlan> body, other, pull;
    explicit LoopPlans(const LoopParameters& p)
        : owner(&current_thread()), body(plan(body_of(p), p.states, same_from(p, p.states + p.xs))),
          other(plan(p.other, 0, same_from(p, p.states))),
          pull(plan(p.pull, carried(p), carried(p) + p.states + p.xs + given(p)))
    {}
    /// Cotangents and sums that a step of the derivative hands to the next one.
    static std::size_t carried(const LoopParameters& p)
    {
        return p.active_states.size() + p.active_constants.size();
    }
    /// Results of a scan_pull's body that have cotangents.
    static std::size_t given(const LoopParameters& p)
    {
        return p.kind == Kind::scan_pull ? p.body->outputs().size() - p.states : 0;
    }
    /// Steps that run again make states only.
    static std::shared_ptr<const Graph> body_of(const LoopParameters& p)
    {
        if (p.kind != Kind::scan_pull || given(p) == 0) return p.body;
        return std::make_shared<const Graph>(compacted(with_outputs(*p.body, all_of(0, p.states))));
    }
    /// A branch runs once.
    static std::size_t same_from(const LoopParameters& p, std::size_t constants)
    {
        return p.kind == Kind::cond ? LoopParameters::npos : constants;
    }
    static std::unique_ptr<BodyPlan> plan(std::shared_ptr<const Graph> g, std::size_t states,
                                          std::size_t fixed)
    {
        if (!g) return nullptr;
        const BodyCompiler* const c = body_compiler().load();
        if (!c) return std::make_unique<InterpretedStep>(std::move(g), states);
        return c->step(std::make_shared<const Graph>(c->optimize(*g)), states, fixed);
    }
};

/// Which operands of a loop are what (LoopParameters has their order): the first constant, how many there are, the first of the
/// states before some steps, of the cotangents.
struct LoopOperands {
    std::size_t constant, constants, kept, cotangents;
    LoopOperands(const LoopParameters& p, std::size_t n)
        : constant(p.kind == Kind::cond ? 1 : p.states + p.xs),
          cotangents(n - p.active_states.size() - LoopPlans::given(p))
    {
        kept = cotangents - (p.kind == Kind::scan_pull ? p.states : 0);
        constants = kept - constant;
    }
};

/// The steps of a scan, cut where a state is kept.
inline std::vector<LoopSpan> parts_of(const LoopParameters& p)
{
    return schedule({0, static_cast<std::uint64_t>(p.steps), static_cast<std::uint64_t>(p.snapshots)});
}

/// Are there elements of the packed block that nothing is written to?
inline bool has_gaps(const LoopParameters& p)
{
    std::int64_t written = 0;
    for (const auto& r : p.results)
        if (differentiable(r.dtype) && r.wanted())
            written += static_cast<std::int64_t>(element_count(r.shape));
    return written < p.size || p.guard != LoopParameters::npos;
}

/// Plans that nobody uses at present. A loop that runs inside itself, or on two threads, has several.
class LoopCode {
public:
    std::unique_ptr<LoopPlans> take(const LoopParameters& p)
    {
        {
            const std::lock_guard lock(mutex_);
            for (auto& plans : free_)
                if (plans->owner == this_thread) {
                    std::swap(plans, free_.back());
                    auto mine = std::move(free_.back());
                    free_.pop_back();
                    return mine;
                }
        }
        const Restore<Place> nowhere(current_thread().place, {});  // that is for the loop's result
        return std::make_unique<LoopPlans>(p);
    }
    void give(std::unique_ptr<LoopPlans> plans)
    {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(plans));
    }
    /// Steps made by the run that ended last: forwards, and by the derivative.
    std::atomic<std::uint64_t> forward{0}, recorded{0};

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<LoopPlans>> free_;
};

}  // namespace wengert::detail

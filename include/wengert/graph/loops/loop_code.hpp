// What runs of loops share: graphs made ready once for each thread, and which operand is what.
#pragma once

#include "interpreted_body.hpp"
#include "loop_graphs.hpp"
#include "loop_schedule.hpp"

namespace wengert::detail {

/// The graphs of a loop, ready to run.
struct LoopPlans {
    Thread* owner;
    std::unique_ptr<BodyPlan> body, other, pull;
    LoopPlans(const LoopParameters& p, MakeStep make)
        : owner(&current_thread()), body(plan(body_of(p), p.states, same_from(p, p.states + p.xs), make)),
          other(plan(p.other, 0, same_from(p, p.states), make)),
          pull(plan(p.pull, carried(p), carried(p) + p.states + p.xs + given(p), make))
    {}
    /// Cotangents and sums that a step of the derivative hands to the next one.
    static std::size_t carried(const LoopParameters& p);
    /// Results of a scan_pull's body that have cotangents.
    static std::size_t given(const LoopParameters& p);
    /// Steps that run again make states only.
    static std::shared_ptr<const Graph> body_of(const LoopParameters& p);
    /// A branch runs once.
    static std::size_t same_from(const LoopParameters& p, std::size_t constants);
    static std::unique_ptr<BodyPlan> plan(std::shared_ptr<const Graph> g, std::size_t states,
                                          std::size_t fixed, MakeStep make);
};

/// Which operands of a loop are what (LoopParameters has their order): the first constant, how many there are, the first of the
/// states before some steps, of the cotangents.
struct LoopOperands {
    std::size_t constant, constants, kept, cotangents;
    LoopOperands(const LoopParameters& p, std::size_t n);
};

/// The steps of a scan, cut where a state is kept.
std::vector<LoopSpan> parts_of(const LoopParameters& p);

/// Are there elements of the packed block that nothing is written to?
bool has_gaps(const LoopParameters& p);

/// Plans that nobody uses at present. A loop that runs inside itself, or on two threads, has several.
class LoopCode {
public:
    std::unique_ptr<LoopPlans> take(const LoopParameters& p);
    void give(std::unique_ptr<LoopPlans> plans);
    /// A backend's own way to make steps ready, from now on.
    void make_steps_by(MakeStep make);
    /// Makes them ready now: why they are not what the backend makes of graphs, or "".
    std::string prepare(const LoopParameters& p);
    /// Steps made by the run that ended last: forwards, and by the derivative.
    std::atomic<std::uint64_t> forward{0}, recorded{0};

private:
    std::mutex mutex_;
    MakeStep make_ = nullptr;
    std::vector<std::unique_ptr<LoopPlans>> free_;
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/loop_code.ipp"
#endif

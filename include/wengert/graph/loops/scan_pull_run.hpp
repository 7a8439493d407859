// The derivative of a scan with memory for few of its states: those that are not there are made again, by the binomial
// schedule, each step's just before it is pulled through.
#pragma once

#include "loop_code.hpp"

namespace wengert::detail {

class ScanPullRun : LoopMemory {
public:
    ScanPullRun(const LoopParameters& p, LoopPlans& plans, const Ref<Block>* in, std::size_t n)
        : LoopMemory(p, in, n), body_(*plans.body), pull_(*plans.pull), carried_(LoopPlans::carried(p)),
          results_(*this, pull_, carried_, p.steps), xs_(*this), pulled_(*this)
    {}
    Ref<Block> run()
    {
        const auto steps = static_cast<std::uint64_t>(p_.steps);
        const std::size_t shown = carried_ + p_.states, given = LoopPlans::given(p_);
        load_states(body_);
        load_cotangents(pull_, -0.0);
        xs_.add(body_, p_.states, p_.states, p_.xs);
        pulled_.add(pull_, shown, p_.states, p_.xs);
        pulled_.add(pull_, shown + p_.xs, at_.cotangents + p_.active_states.size(), given);
        begin(body_, p_.states + p_.xs);
        begin(pull_, shown + p_.xs + given);
        std::size_t state = 0;
        for (const LoopSpan& part : schedule({0, steps, static_cast<std::uint64_t>(p_.snapshots)}))
            waiting_.push_back({part, state++});
        while (!waiting_.empty()) {
            const Waiting last = waiting_.back();
            waiting_.pop_back();
            reverse(last);
        }
        put_carried(pull_, carried_);
        p_.code->forward = forward_;
        p_.code->recorded = steps;
        return std::move(packed_);
    }

private:
    /// Steps that are still to be reversed, and which of the states kept is that before them: 0 the initial one, then those
    /// of the pass forward, then those made here, the last of which is the first that is not needed any more.
    struct Waiting {
        LoopSpan steps;
        std::size_t state;
    };

    void reverse(const Waiting& last)
    {
        const std::vector<LoopSpan> parts = schedule(last.steps);
        std::size_t state = last.state, fresh = std::max(state + 1, given_states());
        if (parts.size() > 1)
            for (std::size_t i = 0; i < p_.states; ++i) body_.load(i, kept(state, i));
        for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
            waiting_.push_back({parts[part], state});
            advance(parts[part]);
            if (part + 2 < parts.size()) keep(state = fresh++);
        }
        for (std::size_t i = 0; i < p_.states; ++i)
            pull_.bind(carried_ + i, parts.size() > 1 ? body_.input(i).data : kept(state, i));
        pull(parts.back().begin);
    }
    void advance(const LoopSpan& part)
    {
        for (std::uint64_t step = part.begin; step < part.end; ++step) {
            xs_.bind(body_, slice(step));
            body_.run();
            body_.advance();
        }
        forward_ += part.end - part.begin;
    }
    /// One step back.
    void pull(std::uint64_t step)
    {
        const std::size_t k = slice(step);
        pulled_.bind(pull_, k);
        results_.before(k);
        pull_.run();
        results_.after(k);
        pull_.advance();
    }

    std::size_t given_states() const { return 1 + static_cast<std::size_t>(p_.snapshots); }
    std::byte* kept(std::size_t state, std::size_t i) const
    {
        if (state == 0) return in_[i]->data;
        if (state < given_states()) return in_[at_.kept + i]->data + (state - 1) * in_[i]->bytes();
        return made_[state - given_states()][i]->data;
    }
    /// The body's present state, until its steps are reversed.
    void keep(std::size_t state)
    {
        if (state - given_states() == made_.size()) {
            made_.emplace_back();
            for (std::size_t i = 0; i < p_.states; ++i)
                made_.back().push_back(make_block(in_[i]->dtype, in_[i]->shape));
        }
        for (std::size_t i = 0; i < p_.states; ++i)
            std::memcpy(kept(state, i), body_.input(i).data, in_[i]->bytes());
    }

    BodyPlan &body_, &pull_;
    std::size_t carried_;
    Rows results_;
    Slices xs_, pulled_;  ///< of the steps forward and back
    std::vector<Waiting> waiting_;
    std::vector<std::vector<Ref<Block>>> made_;
    std::uint64_t forward_ = 0;
};

}  // namespace wengert::detail

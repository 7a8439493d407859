// Running loops and branches: the graphs of a loop are made ready once for each thread and then serve all steps.
#pragma once

#include "../ir/trace.hpp"
#include "scan_pull_run.hpp"
#include "speculation.hpp"

namespace wengert::detail {

/// One run of a loop.
class LoopRun : LoopMemory {
public:
    LoopRun(const LoopParameters& p, LoopPlans& plans, const Ref<Block>* in, std::size_t n)
        : LoopMemory(p, in, n), plans_(plans)
    {}
    Ref<Block> run()
    {
        if (p_.kind == Kind::scan)
            scan();
        else if (p_.kind == Kind::while_loop)
            repeat(false);
        else if (p_.kind == Kind::cond)
            branch();
        else
            pull_back();
        return std::move(packed_);
    }

private:
    void scan()
    {
        BodyPlan& body = *plans_.body;
        const Rows all(*this, body, p_.states, p_.steps),
            kept(*this, body, p_.states, p_.snapshots ? p_.snapshots : Rows::none);
        const auto steps = static_cast<std::uint64_t>(p_.steps);
        std::vector<LoopSpan> parts;
        if (p_.snapshots) parts = schedule({0, steps, static_cast<std::uint64_t>(p_.snapshots)});
        load_states(body);
        Slices slices(*this);
        slices.add(body, p_.states, p_.states, p_.xs);
        begin(body, at_.constant);
        std::size_t row = 0;
        for (std::uint64_t step = 0; step < steps; ++step) {
            const std::size_t k = slice(step);
            const bool keeps = row + 1 < parts.size() && parts[row + 1].begin == step;
            slices.bind(body, k);
            all.before(k);
            if (keeps) kept.before(row);
            body.run();
            all.after(k);
            if (keeps) kept.after(row++);
            body.advance();
            if (stopped()) break;
        }
        put_carried(body, p_.states);
        p_.code->forward = steps;
    }
    bool stopped() const
    {
        return p_.guard != LoopParameters::npos && !*plans_.body->input(p_.guard).as<bool>();
    }

    /// A while_loop, whose final states are results unless their history is wanted.
    void repeat(bool history)
    {
        BodyPlan &body = *plans_.body, &test = *plans_.other;
        load_states(body);
        begin(body, p_.states);
        begin(test, p_.states);
        for (;;) {
            for (std::size_t i = 0; i < p_.states; ++i) test.bind(i, body.input(i).data);
            test.run();
            if (!*test.output(0).as<bool>()) break;
            if (history) remember();
            body.run();
            body.advance();
            if (stopped()) break;
        }
        if (!history) put_carried(body, p_.states);
    }

    void branch()
    {
        const bool taken = *in_[0]->as<bool>();
        BodyPlan& plan = taken ? *plans_.body : *plans_.other;
        begin(plan, 0);
        plan.run();
        for (std::size_t k = 0; k < p_.results.size(); ++k) put(plan.output(k), k);
    }

    /// Bytes of a state in the history, where all of them are aligned.
    static std::size_t padded(const Block& b) { return (b.bytes() + 15) / 16 * 16; }
    void remember()
    {
        for (std::size_t i = 0; i < p_.states; ++i) {
            const Block& s = plans_.body->input(i);
            const std::size_t at = history_.size();
            history_.resize(at + padded(s));
            std::memcpy(history_.data() + at, s.data, s.bytes());
        }
    }
    /// The derivative of a while_loop: forwards with all states kept, then back.
    void pull_back()
    {
        BodyPlan& pull = *plans_.pull;
        const std::size_t carried = LoopPlans::carried(p_);
        repeat(true);
        load_cotangents(pull, history_.empty() ? 0.0 : -0.0);
        begin(pull, carried + p_.states);
        for (std::size_t end = history_.size(); end > 0;) {
            for (std::size_t i = p_.states; i-- > 0;) {
                end -= padded(plans_.body->input(i));
                pull.bind(carried + i, history_.data() + end);
            }
            pull.run();
            pull.advance();
        }
        put_carried(pull, carried);
    }

    LoopPlans& plans_;
    std::vector<std::byte> history_;
};

/// The example of a result: the initial states, and zeros.
inline Ref<Block> packed_example(const LoopParameters& p, const Ref<Block>* in)
{
    auto packed = zeros_block(p.dtype, Shape{p.size});
    if (p.kind == Kind::scan || p.kind == Kind::while_loop)
        for (std::size_t i = 0; i < p.states; ++i)
            if (p.results[i].wanted())
                pack_result(*in[i],
                            packed->data + static_cast<std::size_t>(p.results[i].offset) * size_of(p.dtype),
                            p.dtype);
    if (p.kind == Kind::cond && p.guard != LoopParameters::npos)
        packed->data[static_cast<std::size_t>(p.results[p.guard].offset) * size_of(p.dtype)] = std::byte{1};
    return packed;
}

}  // namespace wengert::detail

// Running loops and branches: the graphs of a loop are made ready once for each thread and then serve all steps.
#pragma once

#include "loop.hpp"
#include "compiled_step.hpp"
#include "../ir/trace.hpp"

namespace wengert::detail {

/// While it lives, loops and branches compute nothing and the host is not called: what is traced is an example whose values
/// nobody reads, and a loop might not end on them.
class Speculation {
public:
    explicit Speculation(bool on = true) : before_(active(), active() || on) {}
    static bool& active()
    {
        static thread_local bool on = false;
        return on;
    }

private:
    Restore<bool> before_;
};

/// The graphs of a loop, ready to run.
struct LoopPlans {
    Thread* owner;
    std::unique_ptr<BodyPlan> body, other, pull;
    explicit LoopPlans(const LoopParameters& p)
        : owner(&current_thread()), body(plan(p.body, p.states, p.states + p.xs)),
          other(plan(p.other, 0, p.kind == LoopParameters::Kind::cond ? 0 : p.states)),
          pull(plan(p.pull, p.active_states.size() + p.active_constants.size(),
                    p.active_states.size() + p.active_constants.size() + p.states))
    {}
    static std::unique_ptr<BodyPlan> plan(std::shared_ptr<const Graph> g, std::size_t states,
                                          std::size_t fixed)
    {
        if (!g) return nullptr;
        if (const BodyCompiler* c = body_compiler().load())
            g = std::make_shared<const Graph>(c->optimize(*g));
        if (CompiledStep::worthwhile(*g)) return std::make_unique<CompiledStep>(std::move(g), states);
        return std::make_unique<StepPlan>(std::move(g), states, fixed);
    }
};

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
        return std::make_unique<LoopPlans>(p);
    }
    void give(std::unique_ptr<LoopPlans> plans)
    {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(plans));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<LoopPlans>> free_;
};

/// One run of a loop.
class LoopRun {
public:
    LoopRun(const LoopParameters& p, LoopPlans& plans, const Ref<Block>* in, std::size_t n)
        : p_(p), plans_(plans), packed_(make_block(p.dtype, Shape{p.size})), unit_(size_of(p.dtype))
    {
        for (std::size_t i = 0; i < n; ++i) in_.push_back(contiguous(in[i]));
    }
    Ref<Block> run()
    {
        using Kind = LoopParameters::Kind;
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
    /// Writes a result, or `skip` bytes into it, unless nobody wants it.
    void put(const Block& from, std::size_t result, std::size_t skip = 0) const
    {
        const auto& r = p_.results[result];
        if (r.wanted())
            pack_result(from, packed_->data + static_cast<std::size_t>(r.offset) * unit_ + skip, p_.dtype);
    }
    void bind_constants(BodyPlan& plan, std::size_t to, std::size_t from, std::size_t n) const
    {
        for (std::size_t i = 0; i < n; ++i) plan.bind(to + i, in_[from + i]->data);
    }
    void load_states(BodyPlan& plan) const
    {
        for (std::size_t i = 0; i < p_.states; ++i) std::memcpy(plan.own(i), in_[i]->data, in_[i]->bytes());
    }

    void scan()
    {
        BodyPlan& body = *plans_.body;
        const std::size_t ys = p_.results.size() - p_.states;
        std::vector<std::size_t> strides(ys);  // bytes from one step's result to the next one's
        std::vector<std::size_t> early, late;
        for (std::size_t j = 0; j < ys; ++j) {
            LoopParameters::Result one{p_.results[p_.states + j].dtype, body.output(p_.states + j).shape, 0};
            strides[j] = differentiable(one.dtype) ? element_count(one.shape) * unit_
                                                   : element_count(one.shape) * size_of(one.dtype);
            (body.known_before(p_.states + j) ? early : late).push_back(j);
        }
        if (has_gaps()) std::memset(packed_->data, 0, packed_->bytes());
        load_states(body);
        bind_constants(body, p_.states + p_.xs, p_.states + p_.xs, in_.size() - p_.states - p_.xs);
        body.begin();
        const auto keep = [&](const std::vector<std::size_t>& which, std::size_t k) {
            for (std::size_t j : which) put(body.output(p_.states + j), p_.states + j, k * strides[j]);
        };
        for (std::int64_t step = 0; step < p_.steps; ++step) {
            const auto k = static_cast<std::size_t>(p_.backwards ? p_.steps - 1 - step : step);
            for (std::size_t i = p_.states; i < p_.states + p_.xs; ++i)
                body.bind(i, in_[i]->data + k * body.input(i).bytes());
            keep(early, k);
            body.run();
            keep(late, k);
            body.advance();
            if (stopped()) break;
        }
        for (std::size_t i = 0; i < p_.states; ++i) put(body.input(i), i);
    }
    /// Are there elements that nothing is written to?
    bool has_gaps() const
    {
        std::int64_t written = 0;
        for (const auto& r : p_.results)
            written +=
                differentiable(r.dtype) && r.wanted() ? static_cast<std::int64_t>(element_count(r.shape)) : 0;
        return written < p_.size || p_.guard != LoopParameters::npos;
    }
    bool stopped() const
    {
        return p_.guard != LoopParameters::npos && !*plans_.body->input(p_.guard).as<bool>();
    }

    /// A while_loop, whose final states are results unless their history is wanted.
    void repeat(bool history)
    {
        BodyPlan &body = *plans_.body, &test = *plans_.other;
        const std::size_t constants = in_.size() - p_.states - (history ? p_.active_states.size() : 0);
        if (!history && has_gaps()) std::memset(packed_->data, 0, packed_->bytes());
        load_states(body);
        bind_constants(body, p_.states, p_.states, constants);
        bind_constants(test, p_.states, p_.states, constants);
        body.begin();
        test.begin();
        for (;;) {
            for (std::size_t i = 0; i < p_.states; ++i) test.bind(i, body.input(i).data);
            test.run();
            if (!*test.output(0).as<bool>()) break;
            if (history) remember();
            body.run();
            body.advance();
            if (stopped()) break;
        }
        for (std::size_t i = 0; i < p_.states && !history; ++i) put(body.input(i), i);
    }

    void branch()
    {
        if (has_gaps()) std::memset(packed_->data, 0, packed_->bytes());
        const bool taken = *in_[0]->as<bool>();
        BodyPlan& plan = taken ? *plans_.body : *plans_.other;
        bind_constants(plan, 0, 1, in_.size() - 1);
        plan.begin();
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
        const std::size_t states = p_.active_states.size(), sums = p_.active_constants.size();
        const std::size_t constants = in_.size() - p_.states - states;
        repeat(true);
        const bool none = history_.empty();
        for (std::size_t i = 0; i < states; ++i) {
            const Block& g = *in_[p_.states + constants + i];
            std::memcpy(pull.own(i), g.data, g.bytes());
        }
        for (std::size_t i = states; i < states + sums; ++i)
            fill(pull.own(i), pull.input(i), none ? 0.0 : -0.0);
        bind_constants(pull, states + sums + p_.states, p_.states, constants);
        pull.begin();
        for (std::size_t end = history_.size(); end > 0;) {
            for (std::size_t i = p_.states; i-- > 0;) {
                end -= padded(plans_.body->input(i));
                pull.bind(states + sums + i, history_.data() + end);
            }
            pull.run();
            pull.advance();
        }
        for (std::size_t i = 0; i < states + sums; ++i) put(pull.input(i), i);
    }
    /// A sum that begins with −0 has the bits of one that begins with its first term.
    static void fill(std::byte* to, const Block& like, double v)
    {
        if (like.dtype == DType::float32)
            std::fill_n(reinterpret_cast<float*>(to), like.count, static_cast<float>(v));
        else
            std::fill_n(reinterpret_cast<double*>(to), like.count, v);
    }

    const LoopParameters& p_;
    LoopPlans& plans_;
    std::vector<Ref<Block>> in_;
    Ref<Block> packed_;
    std::size_t unit_;
    std::vector<std::byte> history_;
};

/// The example of a result: the initial states, and zeros.
inline Ref<Block> packed_example(const LoopParameters& p, const Ref<Block>* in)
{
    auto packed = zeros_block(p.dtype, Shape{p.size});
    using Kind = LoopParameters::Kind;
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

inline Ref<Block> run_loop(const void* op, const Ref<Block>* in, std::size_t n, const Site&)
{
    const LoopParameters& p = *static_cast<const Loop*>(op)->parameters;
    if (Speculation::active()) return packed_example(p, in);
    const Untraced untraced;
    const NoGrad unrecorded;
    auto plans = p.code->take(p);
    auto packed = LoopRun(p, *plans, in, n - p.ignored).run();
    p.code->give(std::move(plans));
    return packed;
}

}  // namespace wengert::detail

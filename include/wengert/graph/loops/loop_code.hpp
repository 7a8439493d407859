// What runs of loops share: graphs made ready once for each thread, operands, and where results are written.
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

/// What runs of all kinds of loops have: operands, and the packed block that results are written to.
class LoopMemory {
protected:
    LoopMemory(const LoopParameters& p, const Ref<Block>* in, std::size_t n)
        : p_(p), at_(p, n), packed_(make_block(p.dtype, Shape{p.size})), unit_(size_of(p.dtype))
    {
        for (std::size_t i = 0; i < n; ++i) in_.push_back(contiguous(in[i]));
        if (has_gaps(p)) std::memset(packed_->data, 0, packed_->bytes());
    }
    /// Writes a result, unless nobody wants it.
    void put(const Block& from, std::size_t result) const
    {
        const auto& r = p_.results[result];
        if (r.wanted())
            pack_result(from, packed_->data + static_cast<std::size_t>(r.offset) * unit_, p_.dtype);
    }
    /// Constants, which are the inputs from number `to` on, in their places: what they alone decide is worked out.
    void begin(BodyPlan& plan, std::size_t to) const
    {
        for (std::size_t i = 0; i < at_.constants; ++i) plan.bind(to + i, in_[at_.constant + i]->data);
        plan.begin();
    }
    void load_states(BodyPlan& plan) const
    {
        for (std::size_t i = 0; i < p_.states; ++i) plan.load(i, in_[i]->data);
    }
    /// The cotangents of final states, and sums of which there is nothing yet: a sum that begins with −0 has the bits of one that
    /// begins with its first term.
    void load_cotangents(BodyPlan& plan, double nothing) const
    {
        const std::size_t states = p_.active_states.size();
        for (std::size_t i = 0; i < states; ++i) plan.load(i, in_[at_.cotangents + i]->data);
        for (std::size_t i = states; i < LoopPlans::carried(p_); ++i)
            with_real(plan.input(i).dtype, [&]<class T>() {
                std::fill_n(reinterpret_cast<T*>(plan.own(i)), plan.input(i).count, static_cast<T>(nothing));
            });
    }
    /// Final states, or the cotangents of first ones and the sums.
    void put_carried(const BodyPlan& plan, std::size_t n) const
    {
        for (std::size_t i = 0; i < n; ++i) put(plan.input(i), i);
    }
    /// The slice of xs and of stacked results that a step of a scan, counted as it runs, has to do with.
    std::size_t slice(std::uint64_t step) const
    {
        const auto steps = static_cast<std::uint64_t>(p_.steps);
        return static_cast<std::size_t>(p_.backwards ? steps - 1 - step : step);
    }
    /// Inputs that show a row each of operands.
    class Slices {
    public:
        explicit Slices(const LoopMemory& m) : in_(m.in_) {}
        /// Inputs `to` … of the plan as rows of `n` operands from `first` on.
        void add(const BodyPlan& plan, std::size_t to, std::size_t first, std::size_t n)
        {
            for (std::size_t i = 0; i < n; ++i)
                all_.push_back({to + i, in_[first + i]->data, plan.input(to + i).bytes()});
        }
        void bind(BodyPlan& plan, std::size_t k) const
        {
            for (const Slice& s : all_) plan.bind(s.input, s.first + k * s.stride);
        }

    private:
        struct Slice {
            std::size_t input;
            std::byte* first;    ///< row
            std::size_t stride;  ///< bytes
        };
        const std::vector<Ref<Block>>& in_;
        std::vector<Slice> all_;
    };
    /// The outputs of a plan from `first` on whose results have `rows` rows. What shows an input is written before the step.
    class Rows {
    public:
        static constexpr std::int64_t none = -1;
        Rows(const LoopMemory& m, const BodyPlan& plan, std::size_t first, std::int64_t rows)
            : packed_(m.p_.dtype)
        {
            const auto& results = m.p_.results;
            for (std::size_t j = first; j < results.size(); ++j) {
                if (results[j].shape[0] != rows || !results[j].wanted()) continue;
                const Block& one = plan.output(j);
                const std::size_t stride = differentiable(one.dtype) ? one.count * m.unit_ : one.bytes();
                std::byte* const to = m.packed_->data + static_cast<std::size_t>(results[j].offset) * m.unit_;
                (plan.known_before(j) ? early_ : late_)
                    .push_back({&one, to, stride, !one.strided && stride == one.bytes()});
            }
        }
        void before(std::size_t k) const { put(early_, k); }
        void after(std::size_t k) const { put(late_, k); }

    private:
        struct Stacked {
            const Block* from;
            std::byte* to;
            std::size_t stride;  ///< bytes from one row to the next one
            bool plain;          ///< the same bytes in the same order
        };
        void put(const std::vector<Stacked>& which, std::size_t k) const
        {
            for (const Stacked& s : which) {
                std::byte* const to = s.to + k * s.stride;
                if (s.plain && s.stride == 8)
                    std::memcpy(to, s.from->data, 8);
                else if (s.plain)
                    std::memcpy(to, s.from->data, s.stride);
                else
                    pack_result(*s.from, to, packed_);
            }
        }
        DType packed_;
        std::vector<Stacked> early_, late_;
    };

    const LoopParameters& p_;
    LoopOperands at_;
    std::vector<Ref<Block>> in_;
    Ref<Block> packed_;
    std::size_t unit_;
};

}  // namespace wengert::detail

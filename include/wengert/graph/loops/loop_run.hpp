// Running loops and branches on the host: the graphs of a loop are made ready once for each thread and then serve all steps.
#pragma once

#include "../ir/trace.hpp"
#include "loop_code.hpp"
#include "loop_course.hpp"
#include "speculation.hpp"

namespace wengert::detail {

/// One run of a loop (loop_course.hpp): operands, states, and the packed block that results are written to.
class LoopRun {
public:
    LoopRun(const LoopParameters& p, LoopPlans& plans, const Ref<Block>* in, std::size_t n)
        : p_(p), plans_(plans), at_(p, n), packed_(make_block(p.dtype, Shape{p.size})),
          unit_(size_of(p.dtype))
    {
        for (std::size_t i = 0; i < n; ++i) in_.push_back(contiguous(in[i]));
        if (has_gaps(p)) std::memset(packed_->data, 0, packed_->bytes());
    }
    Ref<Block> result() { return std::move(packed_); }

protected:
    /// An output that is a row of a result.
    struct Row {
        const Block* from;
        std::byte* to;
        std::size_t stride;  ///< bytes from one row to the next one
        bool plain;          ///< the same bytes in the same order
        bool early;          ///< it shows an input, so that it is written before the step
        bool kept;           ///< of some steps only
    };
    /// An input that shows a row of an operand.
    struct Slice {
        std::size_t input;
        std::byte* first;    ///< row
        std::size_t stride;  ///< bytes
    };
    /// A graph that runs step after step: the inputs that are carried from one to the next, those that are rows, the results.
    struct Body {
        BodyPlan& plan;
        std::size_t carried = 0;
        std::vector<Slice> slices = {};
        std::vector<Row> rows = {};
    };

    /// Its states are the first operands.
    Body body()
    {
        Body b{*plans_.body, p_.states};
        if (p_.kind == Kind::scan) add_rows(b);
        if (p_.kind == Kind::scan && p_.snapshots) parts_ = parts_of(p_);
        for (std::size_t i = 0; i < p_.states; ++i) b.plan.load(i, in_[i]->data);
        add_slices(b, p_.states, p_.states, p_.xs);
        begin(b.plan, p_.states + p_.xs);
        return b;
    }
    /// One step of the derivative, with the cotangents of final states, and sums of which there is nothing yet: a sum that begins
    /// with −0 has the bits of one that begins with its first term.
    Body pull()
    {
        Body b{*plans_.pull, LoopPlans::carried(p_)};
        const std::size_t states = p_.active_states.size(), shown = b.carried + p_.states,
                          given = LoopPlans::given(p_);
        const double nothing = p_.kind == Kind::while_pull && history_.empty() ? 0.0 : -0.0;
        add_rows(b);
        for (std::size_t i = 0; i < states; ++i) b.plan.load(i, in_[at_.cotangents + i]->data);
        for (std::size_t i = states; i < b.carried; ++i)
            with_real(b.plan.input(i).dtype, [&]<class T>() {
                std::fill_n(reinterpret_cast<T*>(b.plan.own(i)), b.plan.input(i).count,
                            static_cast<T>(nothing));
            });
        add_slices(b, shown, p_.states, p_.xs);
        add_slices(b, shown + p_.xs, at_.cotangents + states, given);
        begin(b.plan, shown + p_.xs + given);
        return b;
    }
    Body test()
    {
        begin(*plans_.other, p_.states);
        return {*plans_.other};
    }
    void step(const Body& b, std::uint64_t step = 0)
    {
        const std::size_t k = slice(step);
        const bool keeps = row_ + 1 < parts_.size() && parts_[row_ + 1].begin == step;
        for (const Slice& s : b.slices) b.plan.bind(s.input, s.first + k * s.stride);
        put_rows(b, true, k, keeps);
        b.plan.run();
        put_rows(b, false, k, keeps);
        row_ += keeps;
        b.plan.advance();
    }
    void branch()
    {
        BodyPlan& plan = *in_[0]->as<bool>() ? *plans_.body : *plans_.other;
        begin(plan, 0);
        plan.run();
        for (std::size_t k = 0; k < p_.results.size(); ++k) put(plan.output(k), k);
    }
    /// Final states, or the cotangents of first ones and the sums.
    void put_carried(const Body& b) const
    {
        for (std::size_t i = 0; i < b.carried; ++i) put(b.plan.input(i), i);
    }

    template <class F> void each_step(std::int64_t first, std::int64_t last, const F& f)
    {
        forward_ += static_cast<std::uint64_t>(last - first);
        for (std::int64_t step = first; step < last && f(static_cast<std::uint64_t>(step)); ++step) {}
    }
    template <class F> static void forever(const F& f)
    {
        while (f()) {}
    }
    bool goes_on(const Body& b) const
    {
        return p_.guard == LoopParameters::npos || *b.plan.input(p_.guard).as<bool>();
    }
    bool holds(const Body& test, const Body& body) const
    {
        for (std::size_t i = 0; i < p_.states; ++i) test.plan.bind(i, body.plan.input(i).data);
        test.plan.run();
        return *test.plan.output(0).as<bool>();
    }

    void remember(const Body& body)
    {
        for (std::size_t i = 0; i < p_.states; ++i) {
            const Block& s = body.plan.input(i);
            const std::size_t at = history_.size();
            history_.resize(at + padded(s));
            if (s.count > 0) std::memcpy(history_.data() + at, s.data, s.bytes());
        }
    }
    /// The last state first.
    template <class F> void each_remembered(const Body& pull, const F& f)
    {
        for (std::size_t end = history_.size(); end > 0;) {
            for (std::size_t i = p_.states; i-- > 0;) {
                end -= padded(plans_.body->input(i));
                pull.plan.bind(pull.carried + i, history_.data() + end);
            }
            f();
        }
    }

    /// Steps that are still to be reversed, and which of the states kept is that before them: 0 the initial one, then those
    /// of the pass forward, then those made here, the last of which is the first that is not needed any more.
    template <class Again, class Back>
    void each_part(const Body& body, const Body& pull, const Again& again, const Back& back)
    {
        std::vector<std::pair<LoopSpan, std::size_t>> waiting;
        for (const LoopSpan& part : parts_of(p_)) waiting.emplace_back(part, waiting.size());
        while (!waiting.empty()) {
            auto [steps, state] = waiting.back();
            waiting.pop_back();
            std::size_t fresh = std::max(state + 1, given_states());
            const std::vector<LoopSpan> cut = schedule(steps);
            for (std::size_t i = 0; cut.size() > 1 && i < p_.states; ++i) body.plan.load(i, kept(state, i));
            for (std::size_t k = 0; k + 1 < cut.size(); ++k) {
                waiting.emplace_back(cut[k], state);
                again(static_cast<std::int64_t>(cut[k].begin), static_cast<std::int64_t>(cut[k].end));
                if (k + 2 < cut.size()) keep(body, state = fresh++);
            }
            for (std::size_t i = 0; i < p_.states; ++i)
                pull.plan.bind(pull.carried + i, cut.size() > 1 ? body.plan.input(i).data : kept(state, i));
            back(cut.back().begin);
        }
    }
    /// Notes how many steps were made.
    void end() const
    {
        if (p_.kind != Kind::scan && p_.kind != Kind::scan_pull) return;
        p_.code->forward = forward_;
        if (p_.kind == Kind::scan_pull) p_.code->recorded = static_cast<std::uint64_t>(p_.steps);
    }

    const LoopParameters& p_;

private:
    std::byte* place(const LoopParameters::Result& r) const
    {
        return packed_->data + static_cast<std::size_t>(r.offset) * unit_;
    }
    /// Writes a result, unless nobody wants it.
    void put(const Block& from, std::size_t result) const
    {
        if (const auto& r = p_.results[result]; r.wanted()) pack_result(from, place(r), p_.dtype);
    }
    /// Constants, which are the inputs from number `to` on, in their places: what they alone decide is worked out.
    void begin(BodyPlan& plan, std::size_t to) const
    {
        for (std::size_t i = 0; i < at_.constants; ++i) plan.bind(to + i, in_[at_.constant + i]->data);
        plan.begin();
    }
    /// Inputs `to` … as rows of `n` operands from `first` on.
    void add_slices(Body& b, std::size_t to, std::size_t first, std::size_t n) const
    {
        for (std::size_t i = 0; i < n; ++i)
            b.slices.push_back({to + i, in_[first + i]->data, b.plan.input(to + i).bytes()});
    }
    /// The results behind those that are carried, where they are stacked.
    void add_rows(Body& b) const
    {
        for (std::size_t j = b.carried; j < p_.results.size(); ++j) {
            const LoopParameters::Result& r = p_.results[j];
            const bool all = r.shape[0] == p_.steps;
            if (!r.wanted() || !(all || r.shape[0] == p_.snapshots)) continue;
            const Block& one = b.plan.output(j);
            const std::size_t stride = differentiable(one.dtype) ? one.count * unit_ : one.bytes();
            b.rows.push_back({&one, place(r), stride, !one.strided && stride == one.bytes(),
                              b.plan.known_before(j), !all});
        }
    }
    void put_rows(const Body& b, bool early, std::size_t k, bool keeps) const
    {
        for (const Row& row : b.rows) {
            if (row.early != early || (row.kept && !keeps)) continue;
            std::byte* const to = row.to + (row.kept ? row_ : k) * row.stride;
            if (row.plain && row.stride == 8)
                std::memcpy(to, row.from->data, 8);
            else if (row.plain)
                std::memcpy(to, row.from->data, row.stride);
            else
                pack_result(*row.from, to, p_.dtype);
        }
    }
    /// The slice of xs and of stacked results that a step of a scan, counted as it runs, has to do with.
    std::size_t slice(std::uint64_t step) const
    {
        const auto steps = static_cast<std::uint64_t>(p_.steps);
        return static_cast<std::size_t>(p_.backwards ? steps - 1 - step : step);
    }
    /// Bytes of a state in the history, where all of them are aligned.
    static std::size_t padded(const Block& b) { return (b.bytes() + 15) / 16 * 16; }
    std::size_t given_states() const { return 1 + static_cast<std::size_t>(p_.snapshots); }
    std::byte* kept(std::size_t state, std::size_t i) const
    {
        if (state == 0) return in_[i]->data;
        if (state < given_states()) return in_[at_.kept + i]->data + (state - 1) * in_[i]->bytes();
        return made_[state - given_states()][i]->data;
    }
    /// The body's present state, until its steps are reversed.
    void keep(const Body& body, std::size_t state)
    {
        if (state - given_states() == made_.size()) {
            made_.emplace_back();
            for (std::size_t i = 0; i < p_.states; ++i)
                made_.back().push_back(make_block(in_[i]->dtype, in_[i]->shape));
        }
        for (std::size_t i = 0; i < p_.states; ++i)
            if (in_[i]->count > 0) std::memcpy(kept(state, i), body.plan.input(i).data, in_[i]->bytes());
    }

    LoopPlans& plans_;
    LoopOperands at_;
    std::vector<Ref<Block>> in_;
    Ref<Block> packed_;
    std::size_t unit_;
    std::vector<LoopSpan> parts_;  ///< of a scan that keeps the states before them
    std::size_t row_ = 0;          ///< how many of these are kept
    std::vector<std::byte> history_;
    std::vector<std::vector<Ref<Block>>> made_;
    std::uint64_t forward_ = 0;
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

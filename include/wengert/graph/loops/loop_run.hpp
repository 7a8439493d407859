// Running loops and branches on the host: the graphs of a loop are made ready once for each thread and then serve all steps.
#pragma once

#include "../ir/trace.hpp"
#include "loop_code.hpp"
#include "loop_skeleton.hpp"
#include "../../tape/speculation.hpp"

namespace wengert::detail {

/// One run of a loop (loop_skeleton.hpp): operands, states, and the packed block that results are written to.
class LoopRun {
public:
    LoopRun(const LoopParameters& p, LoopPlans& plans, const Ref<Block>* in, std::size_t n);
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
    Body body();
    /// One step of the derivative, with the cotangents of final states, and sums of which there is nothing yet: a sum that begins
    /// with −0 has the bits of one that begins with its first term.
    Body pull();
    Body test();
    void step(const Body& b, std::uint64_t step = 0);
    void branch();
    /// Final states, or the cotangents of first ones and the sums.
    void put_carried(const Body& b) const;

    template <class F> void each_step(std::int64_t first, std::int64_t last, const F& f)
    {
        forward_ += static_cast<std::uint64_t>(last - first);
        for (std::int64_t step = first; step < last && f(static_cast<std::uint64_t>(step)); ++step) {}
    }
    template <class F> static void forever(const F& f)
    {
        while (f()) {}
    }
    bool goes_on(const Body& b) const;
    bool holds(const Body& test, const Body& body) const;

    void remember(const Body& body);
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

    /// The steps that are still to be reversed, each with the number of the kept state before it. State 0 is the initial one. Then
    /// come those of the forward pass, then those made here. The last of these is the first that is no longer needed.
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
    void end() const;

    const LoopParameters& p_;

private:
    inline std::byte* place(const LoopParameters::Result& r) const;
    /// Writes a result, unless it is unused.
    inline void put(const Block& from, std::size_t result) const;
    /// Constants, which are the inputs from number `to` on, in their places: what they alone decide is worked out.
    inline void begin(BodyPlan& plan, std::size_t to) const;
    /// Inputs `to` … as rows of `n` operands from `first` on.
    inline void add_slices(Body& b, std::size_t to, std::size_t first, std::size_t n) const;
    /// The results behind those that are carried, where they are stacked.
    inline void add_rows(Body& b) const;
    inline void put_rows(const Body& b, bool early, std::size_t k, bool keeps) const;
    /// The slice of xs and of stacked results that a step of a scan, counted as it runs, has to do with.
    inline std::size_t slice(std::uint64_t step) const;
    /// Bytes of a state in the history, where all of them are aligned.
    static std::size_t padded(const Block& b) { return (b.bytes() + 15) / 16 * 16; }
    std::size_t given_states() const { return 1 + static_cast<std::size_t>(p_.snapshots); }
    inline std::byte* kept(std::size_t state, std::size_t i) const;
    /// The body's present state, until its steps are reversed.
    inline void keep(const Body& body, std::size_t state);

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
Ref<Block> packed_example(const LoopParameters& p, const Ref<Block>* in);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/loop_run.ipp"
#endif

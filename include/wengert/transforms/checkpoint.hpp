// checkpoint(f): f's inputs are kept, everything inside is dropped and computed again when the backward pass needs it
// (Griewank & Walther 2008, chapter 12; Chen et al. 2016).
#pragma once

#include "../tape/run_log.hpp"
#include "section.hpp"

namespace wengert {

namespace detail {

/// The tensors of some arguments taken out, and others put in their place.
template <class X> void take_out_all(X& x)
{
    tree::for_each([](auto& t) { take_out(t.any_unchecked()); }, x);
}
template <class X> void put_back_into(X& x, const AnyTensor* next)
{
    tree::for_each(
        [&](auto& t) {
            if (!was_empty(t.any_unchecked())) t.any_unchecked() = *next++;
        },
        x);
}

/// Work of a trace that is to be done again keeps apart from what was done before: common subexpressions are not merged.
class RecomputedSegment {
public:
    RecomputedSegment() : recorder_(recorder())
    {
        if (recorder_) before_ = std::exchange(recorder_->segment, next());
    }
    RecomputedSegment(const RecomputedSegment&) = delete;
    RecomputedSegment& operator=(const RecomputedSegment&) = delete;
    ~RecomputedSegment()
    {
        if (recorder_) recorder_->segment = before_;
    }

private:
    /// Never 0, which is what runs for the first time.
    static std::uint16_t next()
    {
        static thread_local std::uint16_t n = 0;
        return n = static_cast<std::uint16_t>(n == 0xffff ? 1 : n + 1);
    }
    Recorder* recorder_;
    std::uint16_t before_ = 0;
};

/// Is something to sweep back through? Forward mode keeps nothing anyway. A trace is the same in whatever mode its frozen
/// function is called: there a forward level counts only where f depends on it.
template <class Inputs> bool is_kept(const Tape& tape, const Inputs& inputs)
{
    const std::uint64_t forward = tape.active & tape.forward_levels;
    if ((tape.active & ~forward) == 0) return false;
    const bool traced = recorder() && recorder()->trace_of_loops();
    const auto is_pushed = [&](const AnyTensor& t) { return t.node && tape.depends(*t.node, forward); };
    return !forward || (traced && std::none_of(inputs.begin(), inputs.end(), is_pushed));
}

/// Under hooks the second run is given other tensors than the first.
template <class X> void give_arguments(RunRecorder& run, X& x, const Site& at)
{
    each_tensor(
        [&](AnyTensor& t) {
            if (t.value) t.value = run.argument(t, at);
        },
        x);
}

/// Plain numbers may decide what F gives, and a RunLog does not see them: its results are compared number by number.
template <class F> inline constexpr bool compares_results = false;
template <class F>
    requires(F::compares_results)
inline constexpr bool compares_results<F> = true;

template <class F, class Arguments> class CheckpointRule : public SectionRule {
public:
    CheckpointRule(std::shared_ptr<F> f, const Arguments& arguments, RunLog log, FirstResults results,
                   Captured beside)
        : SectionRule("checkpoint", rerun_function, std::move(beside)), function_(std::move(f)),
          shell_(tree::detail::copied(arguments)), log_(std::move(log)), results_(std::move(results)),
          hooks_(Tape::current().hooks != nullptr)
    {
        take_out_all(shell_);
    }

private:
    static std::vector<AnyTensor> rerun_function(const SectionRule& rule,
                                                 const std::vector<AnyTensor>& inputs, const Site& at)
    {
        return static_cast<const CheckpointRule&>(rule).again(inputs, at);
    }
    std::vector<AnyTensor> again(const std::vector<AnyTensor>& inputs, const Site& at) const
    {
        const RecomputedSegment segment;
        RunRecorder run(log_, name);
        Arguments x = shell_;
        put_back_into(x, inputs.data());
        if (hooks_) give_arguments(run, x, at);
        auto y = Argument<decltype(apply_at(*function_, at, x))>(apply_at(*function_, at, x));
        run.finish(at);
        std::vector<AnyTensor> leaves = leaves_of(y);
        results_.demand_same(leaves, inputs, name, at);
        return leaves;
    }

    std::shared_ptr<F> function_;
    Arguments shell_;
    RunLog log_;
    FirstResults results_;
    bool hooks_;  ///< were there some in the first run?
};

template <class F> class Checkpoint : public Closure<Checkpoint<F>> {
public:
    Checkpoint(F f, const Site& made)
        : Closure<Checkpoint>(made), function_(std::make_shared<F>(std::move(f)))
    {}
    Checkpoint(const Checkpoint&) = default;  // a handle: one that is moved stays what it is
    Checkpoint& operator=(const Checkpoint&) = default;
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        using Arguments = std::tuple<Argument<X>...>;
        if constexpr (of_numbers<decltype(apply_at(*function_, at, std::declval<Arguments&>())),
                                 Argument<X>...>)
            return ByTensors<Argument<X>...>::template section<detail::Checkpoint>(function_, at,
                                                                                   argument(x)...);
        else
            return run(at, Arguments(argument(x)...));
    }

private:
    template <class Arguments> auto run(const Site& at, Arguments x) const
    {
        using Y = Argument<decltype(apply_at(*function_, at, x))>;
        Tape& tape = Tape::current();
        std::vector<AnyTensor> inputs = leaves_of(x);
        // audit looks at each operation inside
        if (tape.save_all || !is_kept(tape, inputs)) return Y(apply_at(*function_, at, x));
        RunLog log;
        Captured captured;
        const std::uint64_t communications = tape.communications;
        Y y = first_run<Y>(x, log, captured, at);
        captured.levels &= tape.active;
        if (captured.levels & tape.forward_levels) return Y(apply_at(*function_, at, x));
        log.close();
        std::vector<Ref<Block>> values;
        each_tensor([&](AnyTensor& t) { values.push_back(t.value = as_result(std::move(t.value))); }, y);
        FirstResults results;
        if (!tape.hooks) results = FirstResults(values, compares_results<F>);
        auto rule = std::make_shared<CheckpointRule<F, Arguments>>(function_, x, std::move(log),
                                                                   std::move(results), std::move(captured));
        const auto recorded = record_section(inputs, values, std::move(rule), part_primitive, at,
                                             tape.communications != communications);
        std::size_t k = 0;
        each_tensor(
            [&](AnyTensor& t) {
                if (!t.node) t = recorded[k];  // else it has been handed through
                ++k;
            },
            y);
        return y;
    }
    template <class Y, class Arguments>
    Y first_run(Arguments x, RunLog& log, Captured& captured, const Site& at) const
    {
        const std::uint64_t recorded = Tape::current().active;
        const bool refuses = has_recorded();
        const detail::Unrecorded nothing_recorded;
        RunRecorder run(log, recorded, refuses);
        if (Tape::current().hooks) give_arguments(run, x, at);
        Y y(apply_at(*function_, at, x));
        each_tensor([&](AnyTensor& t) { run.demand_own(t, at); }, y);
        captured = run.captured();
        return y;
    }

    std::shared_ptr<F> function_;
};

}  // namespace detail

/// checkpoint(f)(x…) = f(x…), with memory for x… alone: what happens inside is computed again in the backward pass. f is
/// moved in; gradients reach the tensors that it captures. The second run must do what the first did: a value from outside
/// that has changed, or another branch, throws a TapeError that names it. Under forward mode f simply runs.
template <class F> auto checkpoint(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Checkpoint<F>(std::move(f), at);
}

}  // namespace wengert

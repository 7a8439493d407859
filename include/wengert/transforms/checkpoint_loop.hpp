// checkpoint_loop: a loop of many steps with memory for few.
#pragma once

#include <optional>
#include <variant>

#include "../ops/shape.hpp"
#include "checkpoint.hpp"
#include "loop_sections.hpp"

namespace wengert {

/// How a loop with checkpoints runs. State is the type of its state.
template <class State> struct LoopOptions {
    std::uint64_t steps = 0;      ///< with `while_`: at most so many. 0: all parts of xs, without xs no bound
    std::uint64_t snapshots = 0;  ///< states kept in memory, the initial one included
    std::uint64_t memory = 0;     ///< bytes for them, in place of their number
    std::function<bool(const State&)> while_ = {};  ///< go on? The number of steps need not be known then
    std::string folder = {};                        ///< keeps states at every `chunk` steps on disk, here
    std::uint64_t chunk = 0;                        ///< 0: √(steps · snapshots) or so
    LoopReport* report = nullptr;
};

namespace detail {

template <class Xs> auto part_of_step(const Xs& xs, std::uint64_t i)
{
    if constexpr (tree::contains_number<Xs>)
        return xs.at(i);
    else
        return tree::map(
            [&]<class T, class D>(const Tensor<T, D>& t) {
                return Tensor<T, D>(t(static_cast<std::int64_t>(i), Site{}));
            },
            xs);
}

/// What step(state, …) is given: the state, then the step's part of xs if there are any, then its number if it wants it.
template <class F, class State, class Xs> auto call_step(F& f, const State& s, const Xs& xs, std::uint64_t i)
{
    if constexpr (std::is_same_v<Xs, std::monostate>) {
        if constexpr (std::is_invocable_v<F&, const State&, std::uint64_t>)
            return f(s, i);
        else
            return f(s);
    } else {
        const auto x = part_of_step(xs, i);
        if constexpr (std::is_invocable_v<F&, const State&, decltype(x), std::uint64_t>)
            return f(s, x, i);
        else
            return f(s, x);
    }
}

/// A state as the loop keeps it, and back.
template <class State> LoopState loop_state(State s)
{
    AnyTensors tensors = leaves_of(s);
    take_out_all(s);
    return {std::move(tensors), std::make_shared<const State>(std::move(s))};
}
template <class State> State filled(const LoopState& from)
{
    State s = *static_cast<const State*>(from.plain.get());
    put_back_into(s, from.data());
    return s;
}

/// The outputs of all steps, each stacked along a new first axis.
template <class Y> Y stacked(const Y& like, const AnyTensor* outputs, std::size_t steps, const Site& at)
{
    Y y = like;
    const std::size_t width = tree::count(like);
    std::size_t k = 0;
    tree::for_each(
        [&]<class T, class D>(Tensor<T, D>& t) {
            std::vector<Tensor<T, D>> parts;
            for (std::size_t i = 0; i < steps; ++i) parts.push_back(Tensor<T, D>(outputs[i * width + k]));
            t = parts.empty() ? Tensor<T, D>(AnyTensor{made<D>(zeros_block(dtype_of<T>(), Shape{0})), {}})
                              : stack(parts, 0, at);
            ++k;
        },
        y);
    return y;
}

/// The second of what a step returns, if it is a pair.
template <class Result, bool plain> struct StepOutput {
    using type = std::monostate;
};
template <class Result> struct StepOutput<Result, false> {
    using type = std::remove_cvref_t<decltype(std::declval<Result>().second)>;
};

template <class F, class State, class Xs> class CheckpointedLoop {
public:
    using Result =
        Argument<decltype(call_step(std::declval<F&>(), std::declval<State&>(), std::declval<Xs&>(), 0U))>;
    static constexpr bool plain = std::is_convertible_v<Result, State>;
    using Output = typename StepOutput<Result, plain>::type;

    CheckpointedLoop(F f, const State& state, Xs xs, LoopOptions<State> o, const Site& at)
        : state_(tree::detail::copied(state)), options_(std::move(o)), at_(at)
    {
        auto function = std::make_shared<F>(std::move(f));
        steps_ = std::make_shared<LoopSteps>();
        steps_->step = [function, xs = std::move(xs), like = like_, at](std::uint64_t i,
                                                                        const LoopState& now) {
            Result r(call_step(*function, filled<State>(now), xs, i));
            if constexpr (plain)
                return checked(now, std::move(r), std::monostate{}, at);
            else {
                if (!*like) {
                    like->emplace(tree::detail::copied(r.second));
                    each_tensor([](AnyTensor& t) { t = {}; }, **like);
                }
                if (tree::count(r.second) != tree::count(**like))
                    fail<ShapeError>("checkpoint_loop",
                                     "a step must return outputs of the same form every time", at);
                return checked(now, std::move(r.first), r.second, at);
            }
        };
        steps_->state_size = leaves_of(state).size();
        steps_->report = options_.report;
        if (!options_.folder.empty())
            steps_->disk = std::make_shared<SnapshotStore>(options_.folder, "checkpoint_loop", at);
        steps_->at = at;
    }

    auto run()
    {
        const Tape& tape = Tape::current();
        const LoopState state = loop_state(state_);
        std::uint64_t n = options_.steps;
        if (options_.report) *options_.report = {};
        if (!is_kept(tape, state)) return run_plainly(state);
        for (const AnyTensor& t : state) demand_recorded(t, "checkpoint_loop", at_);
        steps_->active = tape.active;
        const std::uint64_t s = snapshots(state);
        LoopState all = options_.while_
                            ? extend_while(
                                  steps_, state, [&](const LoopState& t) { return more(t); }, s, most(), n)
                        : is_on_disk() ? extend_on_disk(steps_, state, n, chunk(n, s), s)
                                       : extend_loop(steps_, state, 0, n, s);
        if (steps_->captured.levels & tape.forward_levels) return run_plainly(state);
        if (options_.report) {
            options_.report->steps = n;
            options_.report->planned = revolve::forward_steps(n, s);
        }
        return finish(std::move(all), n);
    }

private:
    /// A graph keeps its values in memory: what came back from a file would be a constant of it.
    bool is_on_disk() const
    {
        return !options_.folder.empty() && !(recorder() && recorder()->trace_of_loops());
    }
    /// The leaves of what a step returned. Throws ShapeError when the state has changed its form.
    template <class Y> static LoopState checked(const LoopState& before, State after, Y y, const Site& at)
    {
        LoopState out = loop_state(std::move(after));
        const std::string rule = "a step must return a state of the same shapes as it is given: ";
        if (out.size() != before.size())
            fail<ShapeError>("checkpoint_loop",
                             rule + std::to_string(out.size()) + " tensors where there were " +
                                 std::to_string(before.size()),
                             at);
        for (std::size_t i = 0; i < out.size(); ++i)
            if (const Shape &now = out[i].value->shape, &old = before[i].value->shape; !(now == old))
                fail<ShapeError>("checkpoint_loop",
                                 rule + "tensor " + std::to_string(i) + " has shape " + to_string(now) +
                                     " where it had " + to_string(old),
                                 at);
        tree::for_each([&](const auto& t) { out.push_back(t.any("checkpoint_loop", at)); }, y);
        return out;
    }
    bool more(const LoopState& t) const
    {
        if (!options_.while_) return true;
        const detail::Unrecorded looking;
        return options_.while_(filled<State>(t));
    }
    std::uint64_t most() const { return options_.steps ? options_.steps : ~std::uint64_t{0}; }
    std::uint64_t snapshots(const AnyTensors& state) const
    {
        std::uint64_t bytes = 0;
        for (const AnyTensor& t : state) bytes += t.value->bytes();
        if (options_.snapshots) return options_.snapshots;
        if (!options_.memory)
            fail<Error>("checkpoint_loop",
                        "give .snapshots, the states to keep, or .memory, the bytes for them", at_);
        if (options_.memory < bytes)
            fail<MemoryError>("checkpoint_loop",
                              ".memory of " + std::to_string(options_.memory) +
                                  " bytes is less than one state of " + std::to_string(bytes),
                              at_);
        return std::max<std::uint64_t>(options_.memory / std::max<std::uint64_t>(bytes, 1), 1);
    }
    std::uint64_t chunk(std::uint64_t n, std::uint64_t s) const
    {
        if (options_.chunk) return options_.chunk;
        std::uint64_t c = 1;
        while (c * c < n * s) ++c;
        return c;
    }
    /// Without snapshots. The number of steps is known when the loop has ended.
    auto run_plainly(LoopState state) const
    {
        AnyTensors outputs;
        std::uint64_t i = 0;
        for (; i < (options_.while_ ? most() : options_.steps) && more(state); ++i) {
            LoopState next = steps_->make(i, state, &LoopReport::forward);
            const auto end = next.begin() + static_cast<std::ptrdiff_t>(steps_->state_size);
            outputs.insert(outputs.end(), end, next.end());
            next.erase(end, next.end());
            state = std::move(next);
        }
        state.insert(state.end(), outputs.begin(), outputs.end());
        return finish(state, i);
    }
    auto finish(const LoopState& all, std::uint64_t n) const
    {
        State s = filled<State>(all);
        if constexpr (plain) {
            static_cast<void>(n);
            return s;
        } else {
            return std::pair(std::move(s), outputs(all.data() + steps_->state_size, n));
        }
    }

    Output outputs(const AnyTensor* all, std::uint64_t n) const
    {
        if (*like_) return stacked(**like_, all, n, at_);
        if constexpr (std::is_default_constructible_v<Output>)
            return Output{};
        else
            fail<ShapeError>("checkpoint_loop", "a loop of no steps has no output to tell its form", at_);
    }

    State state_;
    std::shared_ptr<std::optional<Output>> like_ =
        std::make_shared<std::optional<Output>>();  ///< without tensors
    LoopOptions<State> options_;
    Site at_;
    std::shared_ptr<LoopSteps> steps_;
};

/// How many steps there are parts for, nothing where no tensor says so. Throws ShapeError where the tensors of xs do not agree.
template <class Xs> std::optional<std::uint64_t> parts_for_steps(const Xs& xs, const Site& at)
{
    std::optional<std::uint64_t> n;
    if constexpr (tree::contains_number<Xs>) {
        n = xs.size();
    } else {
        tree::for_each(
            [&](const auto& t) {
                const Shape& s = t.shape("checkpoint_loop", at);
                if (s.empty() || (n && *n != static_cast<std::uint64_t>(s[0])))
                    fail<ShapeError>("checkpoint_loop",
                                     "xs has a tensor of shape " + to_string(s) + " where " +
                                         (n ? std::to_string(*n) : "some") + " parts are expected",
                                     at);
                n = static_cast<std::uint64_t>(s[0]);
            },
            xs);
    }
    return n;
}
/// As many steps as there are parts, or as the options say.
template <class State, class Xs> void bound_steps(LoopOptions<State>& options, const Xs& xs, const Site& at)
{
    const std::optional<std::uint64_t> parts = parts_for_steps(xs, at);
    if (!parts) return;
    if (options.steps > *parts)
        fail<ShapeError>(
            "checkpoint_loop",
            std::to_string(options.steps) + " steps where xs has " + std::to_string(*parts) + " parts", at);
    if (options.steps == 0) options.steps = *parts;
    if (*parts == 0) options.while_ = {};  // with which 0 is no bound
}

template <class F, class State, class Xs>
auto loop_at(F step, const State& state, const Xs& xs, LoopOptions<State> options, const Site& at)
{
    if constexpr (!std::is_same_v<Xs, std::monostate>) bound_steps(options, xs, at);
    if constexpr (of_numbers<typename CheckpointedLoop<F, State, Xs>::Result, State, Xs>)
        return ByTensors<State, Xs>::loop(std::move(step), std::move(options), at, state, xs);
    else
        return CheckpointedLoop<F, State, Xs>(std::move(step), state, xs, std::move(options), at).run();
}

}  // namespace detail

/// The state after options.steps times state = step(state), with memory for options.snapshots states: the backward pass
/// computes the others again, by the binomial schedule, in the least number of forward steps. step(state) or
/// step(state, number) returns the new state, or a pair (state, output) whose outputs come back stacked; gradients reach what
/// it captures. The state may be any struct of tensors, numbers and keys; its shapes stay as they are. Throws ShapeError when
/// they do not.
template <class F, class S>
auto checkpoint_loop(F step, const S& state, LoopOptions<detail::Argument<S>> options,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::loop_at(std::move(step), detail::argument(state), std::monostate{}, std::move(options),
                           at);
}

/// The same with something for each step, a forcing, controls, keys' data: step(state, x) or step(state, x, number) is given
/// the part of xs (tensors with a first axis for the steps) that belongs to its step. Of reals xs is a std::vector, with an
/// element for each step, and outputs come back as one.
template <class F, class S, class Xs>
    requires(tree::contains_leaf<Xs>)
auto checkpoint_loop(F step, const S& state, const Xs& xs, LoopOptions<detail::Argument<S>> options,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::loop_at(std::move(step), detail::argument(state), detail::argument(xs), std::move(options),
                           at);
}

}  // namespace wengert

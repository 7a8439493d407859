// checkpoint_loop over a state of reals: the loop over the tensors that hold them.
#pragma once

#include "../../transforms/checkpoint_loop.hpp"
#include "transforms.hpp"

namespace wengert::detail {

/// The outputs of all steps, which arrive stacked.
template <class Y> std::vector<Y> parted(const Packed<Y>& all, const Site& at)
{
    std::vector<Y> out;
    const std::int64_t steps = !all.doubles.empty()  ? all.doubles[0].shape()[0]
                               : !all.floats.empty() ? all.floats[0].shape()[0]
                                                     : 0;
    for (std::int64_t i = 0; i < steps; ++i) {
        Packed<Y> p{all.shell, {}, {}};
        for (const auto& t : all.doubles) p.doubles.push_back(t(i, at));
        for (const auto& t : all.floats) p.floats.push_back(t(i, at));
        out.push_back(unpack<Y>(p, at));
    }
    return out;
}
template <class Y> const Y& parted(const Y& all, const Site&) { return all; }

/// The options of a loop over what is packed.
template <class State> LoopOptions<packed_t<State>> packed_options(LoopOptions<State> o, const Site& at)
{
    LoopOptions<packed_t<State>> out{o.steps, o.snapshots, o.memory, {}, std::move(o.folder),
                                     o.chunk, o.report};
    if (o.while_)
        out.while_ = [more = std::move(o.while_), at](const packed_t<State>& p) {
            return more(unpack<State>(p, at));
        };
    return out;
}

/// Gives states to a step in the memory of the state before, if a state is nothing but reals. The system would take as long to give
/// a large state memory of its own as the step takes.
template <class State> class Unpacked {
public:
    template <class Fn> auto with(const packed_t<State>& p, const Site& at, const Fn& fn)
    {
        if constexpr (!tree::contains_number<State>) {
            return fn(p);
        } else if constexpr (!only_reals_in<State>()) {
            return fn(unpack<State>(p, at));
        } else {
            auto [shell, state] = std::exchange(last_, {});  // a step may call the step
            if (shell != p.shell) state.emplace(*(shell = p.shell));
            unpack_into(*state, p, at);
            auto result = fn(std::as_const(*state));
            last_ = {std::move(shell), std::move(state)};
            return result;
        }
    }

private:
    std::pair<std::shared_ptr<const State>, std::optional<State>> last_;
};

/// step(state, its part of xs, number) as a step of packed states. States of one form share their shell.
template <class F, class Options, class State, class Xs>
auto loop_of_reals(F step, Options options, const Site& at, const State& state, const Xs& xs)
{
    using Result = std::remove_cvref_t<decltype(call_step(step, state, xs, 0U))>;
    const packed_t<State> first = pack(state, at);
    std::shared_ptr<const State> shell;
    if constexpr (tree::contains_number<State>) shell = first.shell;
    auto packed_step = [step = std::move(step), unpacked = Unpacked<State>(), xs, shell,
                        at](const packed_t<State>& p, std::uint64_t i) mutable {
        Result r = unpacked.with(p, at, [&](const State& s) { return Result(call_step(step, s, xs, i)); });
        if constexpr (std::is_convertible_v<Result, State>)
            return pack<State>(r, at, shell);
        else
            return std::pair(pack<State>(r.first, at, shell), pack(r.second, at));
    };
    const auto result =
        CheckpointedLoop<decltype(packed_step), packed_t<State>, std::monostate>(
            std::move(packed_step), first, {}, packed_options<State>(std::move(options), at), at)
            .run();
    if constexpr (std::is_convertible_v<Result, State>)
        return unpack<State>(result, at);
    else
        return std::pair(unpack<State>(result.first, at), parted(result.second, at));
}

}  // namespace wengert::detail

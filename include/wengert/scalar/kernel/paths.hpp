// The paths through a scalar function, as kernels have met them: programs of its operations, joined where they part at a
// comparison. Recorded by running the function on reals of a tape of their own.
#pragma once

#include <memory>
#include <span>

#include "../../transforms/tree.hpp"
#include "../transforms/packed.hpp"

namespace wengert::detail {

/// A number of a program: that of a step, or where `step` is 0 a constant.
struct PathValue {
    std::uint32_t step = 0;
    double constant = 0;
};

struct Path;

/// A loop: its state as steps before it, and the paths through one test and body. The paths begin after the numbers of the state.
/// They end with 1 if the loop continues and 0 if it does not, and with the next state.
struct PathLoop {
    std::uint32_t begin = 1;  ///< number of the first of the state's numbers
    std::vector<PathValue> state;
    std::shared_ptr<const Path> paths;
};

/// A span of operations up to a comparison, a loop, or the end. Steps are numbered along the path from the first one.
struct Path {
    std::vector<ScalarEntry> steps;
    std::uint32_t begin = 1;  ///< number of the first of them
    bool parts = false;       ///< at a comparison:
    ScalarGuard guard{};
    std::shared_ptr<Path>
        next[2];  ///< where it is false, where it is true; null as long as no cell went there
    std::shared_ptr<const PathLoop> loop;  ///< or null; next[1] comes after it
    std::vector<PathValue> results;        ///< at the end
};

struct PathRunLoop;
/// One run of the function.
struct PathRun {
    std::uint32_t begin = 1;  ///< number of the first step
    std::vector<ScalarEntry> steps;
    std::vector<ScalarGuard> guards;
    std::vector<PathValue> results;
    std::vector<PathRunLoop> loops;
    bool repeats = false;  ///< it was compared with known paths and is one of them; its steps are not kept
};
struct PathRunLoop {
    std::uint32_t begin = 1;
    std::vector<PathValue> state;
    std::vector<PathRun> runs;  ///< steps that took different paths
};

/// The outcomes of one cell's comparisons by operations on arrays. Do they end on a known path?
struct PathOutcomes {
    std::vector<bool> each;
    bool known = false;
};

/// Has a run with these steps done what one of the paths says? Values of steps follow from that and from the cell.
bool is_known(const Path* paths, const PathRun& run, std::span<const ScalarEntry> steps);
/// The paths together with that of a run. If it is not a new one, the same object is returned. What others hold is not changed.
std::shared_ptr<const Path> with_run(const std::shared_ptr<const Path>& paths, const PathRun& run);

/// The numbers of a struct at the end of a recording.
template <class Y> void note_results(const ScalarStream& s, const Y& y, std::vector<PathValue>& out)
{
    tree::for_each(
        [&](const auto& r) {
            const bool active = s.dependence(r.handle(), "kernel") != 0;
            out.push_back({active ? r.handle().index() : 0, static_cast<double>(r.plain())});
        },
        y);
}

/// Calls an F; where that would change it a copy, so that all calls begin alike.
template <class F, class... X> auto call_cell(const void* function, const X&... x)
{
    const F& f = *static_cast<const F*>(function);
    if constexpr (std::is_invocable_v<const F&, const X&...>)
        return f(x...);
    else
        return F(f)(x...);
}

/// The end of a recording: keeps its steps, or compares them with these paths if there are any. The stream's first entry is none; what
/// the cell has got from a tensor is a copy of what that was made of.
void keep_steps(const ScalarStream& s, std::span<const CellTensors::Entered> entered, const Path* known,
                PathRun& run);

/// Records call(numbers, run) once on a tape of its own: what it did with the numbers, `most` operations or less. Its first
/// comparisons have these outcomes. `at` is the call. See PathRun::repeats for `known`.
template <class T, class Call>
PathRun recorded_run(std::string_view who, std::span<const T> cell, const std::vector<bool>& outcomes,
                     std::size_t most, const Site& at, const Call& call, const Path* known = nullptr)
{
    const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
    const Restore<Site> within(enclosing_call, at);
    const bool anomaly = Tape::current().anomaly;
    TapeScope scope;
    const Restore<bool> births(scope.tape().anomaly, anomaly);
    ScalarStream& stream = ScalarStream::of(scope.tape());
    stream.set_budget({most * sizeof(ScalarEntry), {}});
    Tensor<T> x(Shape{cell.size()}, cell);
    x.requires_grad(true, at);
    const std::vector<Real<T>> in = elements(x, at);
    PathRun run;
    const Restore<std::vector<ScalarGuard>*> guards(stream.guards, &run.guards);
    const Restore<PathRun*> recording(stream.run, &run);
    ScalarOutcomes first{outcomes};
    const Restore<ScalarOutcomes*> decided(stream.outcomes, &first);
    CellTensors cell_tensors(who, stream);
    const Restore<CellTensors*> moving(stream.cell_tensors, &cell_tensors);
    const Restore<Recorder*> looking(current_thread().recorder, &cell_tensors);
    call(in, run);
    if (stream.chunk() != 0)
        fail<MemoryError>(who, "a cell does more than 2^31 operations: no kernel, scalar code",
                          line_of_user());
    keep_steps(stream, cell_tensors.entered, known, run);
    return run;
}

/// Runs f once on the numbers of a cell. Results of f are a Real or a struct of them.
template <class T, std::size_t n, class F>
PathRun run_once(const void* function, const T* cell, const std::vector<bool>& outcomes, std::size_t most,
                 const Site& at, const Path* known)
{
    const auto call = [&](const std::vector<Real<T>>& in, PathRun& run) {
        const auto y = [&]<std::size_t... k>(std::index_sequence<k...>) {
            return call_cell<F>(function, in[k]...);
        }(std::make_index_sequence<n>());
        note_results(*ScalarStream::current(), y, run.results);
    };
    return recorded_run<T>("kernel", {cell, n}, outcomes, most, at, call, known);
}

/// What is recorded from an index on. A stream of constants alone has no entries, not even that of index 0.
inline std::span<const ScalarEntry> steps_from(const ScalarStream& s, std::uint32_t begin)
{
    if (!s.entries()) return {};
    return std::span(s.entries(), s.size()).subspan(begin);
}

/// The state as numbers that a recording begins with.
template <class State> void enter_state(ScalarStream& s, State& state)
{
    tree::for_each([&]<class R>(R& r) { r = R(r.plain(), s.enter_number(static_cast<double>(r.plain()))); },
                   state);
}

/// A loop inside of a kernel: each of its steps is recorded, and of those that went alike one is kept.
template <class Test, class Body, class State>
State record_loop(ScalarStream& s, Test& test, Body& body, State state)
{
    if constexpr (!only_reals_in<State>())
        fail<TapeError>(s.cell_tensors->who,
                        "the state of a while_loop or for_each has members that are no Reals: in a kernel "
                        "they would be constants, so make Reals of them",
                        line_of_user());
    PathRunLoop loop;
    loop.begin = s.size();
    note_results(s, state, loop.state);
    std::shared_ptr<const Path> met;
    for (bool more = true; more;) {
        enter_state(s, state);
        PathRun one;
        one.begin = s.size();
        const Restore<std::vector<ScalarGuard>*> guards(s.guards, &one.guards);
        const Restore<PathRun*> recording(s.run, &one);
        const std::size_t moved = s.cell_tensors->entered.size();
        more = test(std::as_const(state));
        if (more) state = body(std::as_const(state));
        if (s.cell_tensors->entered.size() != moved)
            fail<TapeError>(s.cell_tensors->who,
                            "a derivative is taken inside of a while_loop or for_each of a cell's: take "
                            "it outside of the loop, or write the loop as a plain one",
                            line_of_user());
        one.results.push_back({0, more ? 1.0 : 0.0});
        note_results(s, state, one.results);
        const std::span<const ScalarEntry> steps = steps_from(s, one.begin);
        one.steps.assign(steps.begin(), steps.end());
        s.take_back(loop.begin);
        if (auto grown = with_run(met, one); grown != met) {
            met = std::move(grown);
            loop.runs.push_back(std::move(one));
        } else if (!is_known(met.get(), one, one.steps)) {
            fail<TapeError>(s.cell_tensors->who,
                            "steps of a while_loop or for_each differ though their comparisons go alike: it "
                            "goes by something that is not in its state",
                            line_of_user());
        }
    }
    s.guards->push_back({ScalarGuard::Kind::loop, true, loop.begin,
                         static_cast<std::uint32_t>(s.run->loops.size()), 0, 0, 0});
    s.run->loops.push_back(std::move(loop));
    enter_state(s, state);
    return state;
}

}  // namespace wengert::detail

namespace wengert {

/// state = body(state) for as long as test(state), a bool, holds: state is a Real, a number or a struct of Reals, and all that the body
/// changes. In a kernel it stays a loop, also of the kernel's derivatives; elsewhere, and where the cell's function takes its derivative
/// itself, it is a plain one.
template <class Test, class Body, class State>
    requires(std::is_same_v<std::invoke_result_t<Test&, const State&>, bool>)
State while_loop(Test&& test, Body&& body, const State& state, Site = {__builtin_FILE(), __builtin_LINE()})
{
    State now = state;
    if constexpr (tree::contains_number<State>) {
        ScalarStream* const s = ScalarStream::current();
        const bool derived = s && s->tape().depth() > 1;  // by a transform inside of the cell's function
        if (s && s->run && !derived && this_thread->tape == &s->tape())
            return detail::record_loop(*s, test, body, now);
    }
    while (test(std::as_const(now))) now = body(std::as_const(now));
    return now;
}

/// state = body(state, i) for i = 0, 1, … as long as i < count, where `count` is a number or a Real, and i a Real. While it lasts body
/// changes nothing else. A loop as while_loop is: in a kernel each cell has its own count.
template <class Count, class Body, class State>
    requires(
        tree::contains_number<State> &&
        std::is_convertible_v<
            std::invoke_result_t<Body&, const State&, const Real<typename detail::first_real<State>::type>&>,
            State>)
State for_each(const Count& count, Body&& body, const State& state,
               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using Number = Real<typename detail::first_real<State>::type>;
    using Counting = std::pair<Number, State>;
    return while_loop([&](const Counting& now) { return now.first < count; },
                      [&](const Counting& now) {
                          return Counting(now.first + Number(1), body(now.second, now.first));
                      },
                      Counting(Number(0), state), at)
        .second;
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/paths.ipp"
#endif

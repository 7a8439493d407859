// freeze(f): f traced once, replayed as an optimized graph for as long as its assumptions hold. docs/freezing.md tells what
// is assumed; graph/ir/trace.hpp records, graph/freeze/frozen.hpp keeps the paths, graph/run/ runs them.
#pragma once

#include "../../tape/obliged.hpp"
#include "../../transforms/closure.hpp"
#include "compiler.hpp"
#include "frozen_rule.hpp"
#include "into.hpp"
#include "frozen_lock.hpp"
#include "traced_call.hpp"

namespace wengert {

namespace detail {

/// Calls of a function whatever its type: what depends on the types of arguments and results alone, compiled once for all
/// functions of such types.
class FrozenCalls {
protected:
    /// Calls the function.
    template <class Y, class... X> using Run = Y (*)(void* function, const Site& at, std::tuple<X...>& x);

    FrozenCalls(std::shared_ptr<void> function, FreezeOptions options)
        : function_(std::move(function)), core_(FrozenCore::make(std::move(options)))
    {}

    template <class... X> CallArguments arguments(const X&... x) const
    {
        CallArguments a;
        read_arguments(a, x...);
        return a;
    }
    template <class... X> void read_arguments(CallArguments& a, const X&... x) const
    {
        std::size_t number = 0;
        ((core_->begin_argument(a, number++), visit_argument(a, x)), ...);
        core_->end_arguments(a, word_of_call<X...>(Tape::current()));
    }
    /// What f captures may be a variable; arguments of other types may consist of the same numbers.
    template <class... X> static std::uintptr_t word_of_call(const Tape& tape) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(&types<X...>) | (tape.active != 0) |
               static_cast<std::uintptr_t>(tape.allow_nan) << 1;
    }
    /// Does this call run f as part of what surrounds it, instead of a graph?
    template <class... X> bool is_inlined(const Tape& tape, const X&... x) const
    {
        const auto is_looked_into = [&](Recorder& r) { return !r.seen(nullptr) || !core_->live.empty(); };
        return tape.anomaly || tape.save_all || tape.hooks || (recorder() && is_looked_into(*recorder())) ||
               (tape.forward_levels && !core_->live.empty() &&
                (arguments(x...).mask & tape.active & tape.forward_levels));
    }

    template <class Y, class... X> Y call(Run<Y, X...> run, const Site& at, const X&... x) const
    {
        FrozenCore& core = *core_;
        Tape& tape = Tape::current();
        if (!core.options.dynamic.empty()) [[unlikely]]
            core.demand_dynamic(sizeof...(X), at);
        if (is_inlined(tape, x...)) [[unlikely]] {
            ++core.stats.inlined;
            if (core.live.empty()) return run_function(run, at, x...);
            FrozenLock alone(core);
            alone.wait_for_live();
            return run_function(run, at, x...);
        }
        FrozenLock occupied(core);
        if (!occupied) [[unlikely]]
            occupied.wait_for_live();
        if (!occupied)
            return run_eagerly(run, at, x...);  // called by itself, or by another thread at the same time
        Ref<Block> plain[KnownArguments::most_results];
        const auto nothing_given = [](const FrozenPath&, const KnownArguments&) { return true; };
        if (const FrozenPath* p = plain_call(tape, at, plain, nothing_given, x...)) [[likely]]
            return filled<Y>(*p, plain);
        if (core.has_empty_live()) [[unlikely]]
            return run_eagerly(run, at, x...);  // no input of a graph yet: f may give it its first value
        const CallCleanup noted{core.call};
        auto& [a, outputs] = core.call;
        core.expect_last(a);
        read_arguments(a, x...);
        std::uint64_t levels = 0;
        if (a.mask && (tape.active || a.mask > 1)) [[unlikely]] {
            const auto found = recorded_levels(a, core.live.size(), at);
            if (!found) return run_eagerly(run, at, x...);
            levels = *found;
        }
        FrozenEntry& entry = core.entry(a);
        if (entry.paths.empty() && a.extent >= 0) core.specialise(entry, a.family, a.extent);
        if (levels && derivative_calls_host(entry)) return run_eagerly(run, at, x...);
        if (communicates_under_transforms(core, entry)) return run_eagerly(run, at, x...);
        const bool looked = recorder() && !entry.paths.empty();
        if (looked && entry.paths.front()->effects) return run_function(run, at, x...);
        if (levels && tape.pull_follows && !recorder())
            if (auto cut = run_before_pull(core, entry, a, levels, outputs))
                return recorded_result<Y>(entry.paths.front(), a, outputs, at, std::move(cut));
        std::vector<Ref<Block>> kept;
        if (levels) kept = a.inputs;  // a derivative reads them: nothing is written there
        bool check = false;
        FrozenPath* const path = core.replay(entry, a.inputs, outputs, check);
        if (looked && path && !check && !recorder()->seen(path)) {
            ++core.stats.inlined;
            return run_function(run, at, x...);
        }
        if ((looked || a.unrecorded) && path && !check) {
            const std::uint64_t variables = tell_of_call(a, at);
            for (std::size_t k = 0; k < outputs.size(); ++k) mark_result(path, variables, k, outputs[k]);
        }
        if (path && !check && !levels) [[likely]]
            return result<Y>(*path, outputs);
        const std::shared_ptr<FrozenPath> shared = path ? entry.paths.front() : nullptr;
        if (path && !check) return recorded_result<Y>(shared, a, outputs, at);
        return function_call(run, entry, shared, levels != 0, at, x...);
    }

    /// The path that has answered a call of constants like those of the last one, or null. give(path, arguments) may put blocks
    /// where outputs are to lie.
    template <class Give, class... X>
    const FrozenPath* plain_call(Tape& tape, const Site& at, Ref<Block>* outputs, const Give& give,
                                 const X&... x) const
    {
        FrozenPath* const p = recorder() ? nullptr : core_->plain_path();
        if (!p) return nullptr;
        KnownArguments known(core_->last_words(), tape, at);
        (visit_argument(known, x), ...);
        known.number(word_of_call<X...>(tape));
        return known.all_known() && give(*p, known) && core_->replay_plain(*p, known, outputs) ? p : nullptr;
    }
    template <class Y, class... X>
    void call_into(Run<Y, X...> run, const Buffers& to, const Site& at, const X&... x) const
    {
        to.check(at);
        Tape& tape = Tape::current();
        if (!is_inlined(tape, x...)) {
            const FrozenLock occupied(*core_);
            Ref<Block> outputs[KnownArguments::most_results];
            const auto lend = [&](const FrozenPath& p, const KnownArguments& a) {
                return to.lend(p.optimized, a, outputs, at);
            };
            if (occupied && plain_call(tape, at, outputs, lend, x...)) return;
        }
        const Y y = call(run, at, x...);
        to.take(read_tree(nullptr, y), at);
    }

    /// A call in which f runs, as a check of `path`, or to be traced, or because it has to.
    template <class Y, class... X>
    Y function_call(Run<Y, X...> run, FrozenEntry& entry, std::shared_ptr<FrozenPath> path, bool recorded,
                    const Site& at, const X&... x) const
    {
        FrozenCore& core = *core_;
        const CallArguments& a = core.call.arguments;
        if (!path && !core.may_trace(entry)) return run_eagerly(run, at, x...);
        if (path) ++core.stats.checks;
        FrozenTrace t;
        t.at = at;
        t.first = !path && core.options.check;
        std::optional<TracedInputs> live;
        Tape& tape = Tape::current();
        const std::size_t obliged = tape.obliged.size();
        Y y = traced(run, a, t, live, at, x...);
        tape.obliged.resize(
            std::min(obliged, tape.obliged.size()));  // of constants: it runs again, or nothing is swept
        drop_refuted(entry, path, t);
        std::vector<Ref<Block>> values;
        // what depends on a variable that f captures is swept later, when no trace looks on
        const bool again = recorded || (t.depends && !path);
        if (take_trace(core, entry, path, std::move(t), again, values, at)) live->end();
        live.reset();
        if (!again) {
            values.clear();
            if (recorder() || a.unrecorded) {
                const FrozenPath* const p = entry.paths.empty() ? nullptr : entry.paths.front().get();
                auto mark = [&, variables = tell_of_call(a, at), k = std::size_t{0}](AnyTensor& r) mutable {
                    mark_result(p, variables, k++, r.value);
                };
                each_tensor(mark, y);
            }
            return y;
        }
        if (!path || derivative_calls_host(entry))
            return run_function(run, at, x...);  // it has seen constants; live tensors are as before
        return recorded_result<Y>(path, a, values, at);
    }

    /// The result around these values.
    template <class Y> Y result(const FrozenPath& path, std::vector<Ref<Block>>& values) const
    {
        core_->commit(path, values);  // before anything that may throw: the live tensors have been lent
        return filled<Y>(path, values.data());
    }
    template <class Y> static Y filled(const FrozenPath& path, Ref<Block>* values)
    {
        Y y = *static_cast<const Y*>(path.shell.get());
        fill_shell(y, values);
        return y;
    }
    /// The same, recorded as one section, whose results are also the new values of live tensors. What the host has returned
    /// is among its inputs, a derivative does not ask again; so is what `cut` hands over.
    template <class Y>
    Y recorded_result(const std::shared_ptr<FrozenPath>& path, const CallArguments& a,
                      std::vector<Ref<Block>>& values, const Site& at,
                      std::shared_ptr<const FrozenCut> cut = {}) const
    {
        Y y = *static_cast<const Y*>(path->shell.get());
        std::vector<AnyTensor> in = section_inputs(a);
        const auto own = values.begin() + static_cast<std::ptrdiff_t>(path->results + path->live.size());
        for (auto given = own; given != values.end(); ++given) in.push_back({std::move(*given), {}});
        values.erase(own, values.end());
        std::vector<AnyTensor> tensors = record_path(core_, path, in, values, std::move(cut), at);
        for (std::size_t k = 0; k < path->live.size(); ++k)
            *core_->live[path->live[k]] = std::move(tensors[path->results + k]);
        fill_shell(y, tensors.data());
        return y;
    }

    template <class Y, class... X> Y run_function(Run<Y, X...> run, const Site& at, const X&... x) const
    {
        std::tuple<X...> copy(x...);
        return run(function_.get(), at, copy);
    }
    template <class Y, class... X> Y run_eagerly(Run<Y, X...> run, const Site& at, const X&... x) const
    {
        ++core_->stats.eager_calls;
        return run_function(run, at, x...);
    }

    /// f's result, and in t what it did while it ran. Live tensors keep what f assigned to them while `live` lives, and longer
    /// where it is told so.
    template <class Y, class... X>
    Y traced(Run<Y, X...> run, const CallArguments& a, FrozenTrace& t, std::optional<TracedInputs>& live,
             const Site& at, const X&... x) const
    {
        std::tuple<X...> copy(tree::detail::copied(x)...);
        live.emplace(a.inputs, core_->live, t.first, at);
        TreeWriter writer{&live->recorder(), live->all().data()};
        visit_arguments(writer, copy);
        Y y = run(function_.get(), at, copy);
        HeldBlocks held;
        visit_argument(held, y);
        visit_arguments(held, copy);
        finish_trace(t, *live, read_tree(&live->recorder(), y), std::move(held), at);
        auto shell = std::make_shared<Y>(tree::detail::copied(y));
        ResultShell empty;
        visit_argument(empty, *shell);
        t.shell = std::move(shell);
        return y;
    }

    template <class Y, class... X> const FrozenPath& path(Run<Y, X...> run, const X&... x) const
    {
        CallArguments a = arguments(x...);
        const FrozenPath* p = fitting_path(core_->entry(a), a.inputs);
        if (!p) {
            const LiveRestore kept(core_->live);
            static_cast<void>(call(run, Site{}, x...));
            p = fitting_path(core_->entry(a), a.inputs);
        }
        if (!p) fail<Error>("freeze", "there is no graph for these arguments: " + core_->reason, {});
        return *p;
    }
    /// Its address stands for the types of the arguments, and so for that of the result.
    template <class... X> alignas(8) inline static char types = 0;

    std::shared_ptr<void> function_;
    std::shared_ptr<FrozenCore> core_;
};

#ifdef WENGERT_COMPILED  // in impl/tile.ipp: functions of one tensor are the most common
template <class T> using RunOfOne = Tensor<T> (*)(void*, const Site&, std::tuple<Tensor<T>>&);
extern template Tensor<float> FrozenCalls::call(RunOfOne<float>, const Site&, const Tensor<float>&) const;
extern template Tensor<double> FrozenCalls::call(RunOfOne<double>, const Site&, const Tensor<double>&) const;
#endif

/// Of functions of reals (scalar/frozen.hpp).
template <class F, class Y, class... X> struct FrozenReals;

template <class F> class Frozen : public Closure<Frozen<F>>, private FrozenCalls {
public:
    Frozen(F f, FreezeOptions options, const Site& made)
        : Closure<Frozen>(made), FrozenCalls(std::make_shared<F>(std::move(f)), std::move(options))
    {}
    /// Handles on one function and its graphs; moved ones too stay what they are.
    Frozen(const Frozen&) = default;
    Frozen& operator=(const Frozen&) = default;
    ~Frozen() = default;
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }

    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        const auto called = [&](auto f, const auto&... a) { return call(f, at, a...); };
        if constexpr (of_numbers<Result<X...>, Argument<X>...>) {
            if (!core_->live.empty())
                fail<TapeError>("freeze", "a function of Reals has no live tensors: pass them as arguments",
                                at);
            using Reals = FrozenReals<F, Result<X...>, Argument<X>...>;
            if (Reals::is_inlined()) {
                ++core_->stats.inlined;
                return run_function(run_of<X...>(), at, argument(x)...);
            }
            return Reals::result(by_tensors(called, at, x...), at);
        } else {
            return by_tensors(called, at, x...);
        }
    }

    /// Tensors outside of f that it reads, and may assign to: each call uses what they hold then, and replays assign to them
    /// as f does. They are referred to, so they must stay where they are.
    template <class... Tree> Frozen& live(Tree&... trees)
    {
        const auto add = [&]<class T, class D>(Tensor<T, D>& t) {
            core_->live.push_back(&t.any_unchecked());
        };
        (tree::for_each(add, trees), ...);
        return *this;
    }
    /// A function that writes the results into these tensors, in order, in place of returning them: without an allocation or a copy
    /// where a graph answers the call, has no guards, and no argument lies in a buffer; else they are copied there. They are
    /// referred to, so they must stay where they are. A call throws ShapeError or DTypeError where a buffer has another form than
    /// its result, and TapeError where it is empty, shares its elements, or its result depends on a variable. After an error inside
    /// of the function the elements may be anything.
    template <class... Tree> auto into(Tree&... trees) const
    {
        Buffers to;
        (tree::for_each([&]<class T, class D>(Tensor<T, D>& t) { to.add(t); }, trees), ...);
        return Into<Frozen>(*this, std::move(to), Site{});
    }
    /// What it has done so far. Another thread's call that is under way ends first.
    FreezeStats stats() const { return stats_of(*core_); }
    /// Why the last call that was traced, or ran eagerly, did so. Waits as stats().
    std::string explain() const { return reason_of(*core_); }
    /// The optimized graph that answers these arguments; traces f when there is none, which leaves live tensors as they are.
    /// Valid until its path is evicted.
    template <class... X> const Graph& graph(const X&... x) const { return path_of(x...).optimized; }
    /// The same as it was recorded.
    template <class... X> const Graph& recorded(const X&... x) const { return path_of(x...).recorded; }
    /// The inputs of that graph: the arguments' tensors and keys, and live tensors.
    template <class... X> std::vector<Ref<Block>> inputs(const X&... x) const
    {
        return by_tensors([&](auto, const auto&... a) { return arguments(a...).inputs; }, Site{}, x...);
    }
    /// The backend that runs its graphs, and the options of their plans.
    const Backend& backend() const noexcept { return core_->backend(); }
    PlanOptions plan_options() const { return core_->plan_options(); }

private:
    template <class> friend class Into;
    template <class... X>
    using Result =
        Argument<decltype(call_at(std::declval<F&>(), std::declval<const Site&>(), std::declval<X&>()...))>;

    template <class... X> const FrozenPath& path_of(const X&... x) const
    {
        return *by_tensors([&](auto f, const auto&... a) { return &path(f, a...); }, Site{}, x...);
    }
    /// use(what to run, arguments…): of a function of reals those that stand for them.
    template <class Use, class... X> static auto by_tensors(const Use& use, const Site& at, const X&... x)
    {
        if constexpr (of_numbers<Result<X...>, Argument<X>...>)
            return FrozenReals<F, Result<X...>, Argument<X>...>::with(at, use, argument(x)...);
        else
            return use(run_of<X...>(), argument(x)...);
    }
    template <class... X> static Result<X...> run(void* f, const Site& at, std::tuple<X...>& x)
    {
        return Result<X...>(apply_at(*static_cast<F*>(f), at, x));
    }
    /// The same for arguments of which some become others: views and numbers become tensors.
    template <class... X> static constexpr Run<Result<Argument<X>...>, Argument<X>...> run_of()
    {
        return &run<Argument<X>...>;
    }
    template <class... X> void call_into(const Buffers& to, const Site& at, const X&... x) const
    {
        FrozenCalls::call_into(run_of<X...>(), to, at, x...);
    }
};

}  // namespace detail

/// A function that does what f does, several times faster: its first call with arguments of new shapes records f (gradients
/// included: freeze(value_and_grad(f))), later calls run the graph. Branches and values that f takes from tensors to plain
/// C++ are checked on each call, and f runs again where they differ; plain numbers among the arguments are compared;
/// captured tensors are constants unless given to live(). Arguments and results: tensors, keys, numbers, strings, containers
/// and aggregates of them; or Reals in place of tensors (docs/scalars.md). Throws TapeError when a check finds that f depends on something that a graph cannot see.
template <class F>
auto freeze(F f, FreezeOptions options = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Frozen<F>(std::move(f), std::move(options), at);
}

}  // namespace wengert

// freeze of functions of reals: what f does with its numbers is recorded once, as of a kernel's cell, and is then a graph of operations on
// tensors of rank 0.
#pragma once

#include "../graph/ir/arguments.hpp"
#include "../ops/indexing.hpp"
#include "transforms/custom.hpp"
#include "kernel/cells.hpp"

namespace wengert::detail {

/// All of the arguments that is not numbers, for comparison.
struct FormWords : WordWriter<FormWords> {
    Words words;
    void word(std::uint64_t w) { words.push_back(w); }
    template <class R> void real(const R&) {}
    template <class T, class D> void tensor(const Tensor<T, D>& t)
    {
        const Ref<Block>& b = t.any().value;
        word(word_of_type(*b));
        for (const std::int64_t e : b->shape) number(e);
        if constexpr (!is_differentiable<T>) {
            const Ref<Block> host = readable(on<cpu>(t).any().value);
            for (std::size_t k = 0; k < host->count; ++k) number(host->template as<T>()[k]);
        }
    }
    void key(const Key&)
    {
        fail<TapeError>("freeze",
                        "a function of Reals takes no random key: draw before, and pass the numbers", {});
    }
};

/// The arguments of a call without their numbers. They stay where they are meanwhile.
template <class... X> struct FrozenForm {
    Words words;
    const std::tuple<const X&...>* arguments = nullptr;
    auto fields() { return std::tie(words); }
};
/// The result: its numbers, and what to put them into.
template <class T, class Y> struct FrozenNumbers {
    Tensor<T> numbers;
    std::shared_ptr<const Y> form;
    auto fields() { return std::tie(numbers); }
};

/// The same arguments made of numbers that are being recorded.
template <class T, class X>
X of_recorded(const X& x, const std::vector<Real<T>>& in, std::size_t& next, const Site& at)
{
    X out = tree::detail::copied(x);
    tree::for_each(
        [&]<class L>(L& leaf) {
            if constexpr (is_real<L>) {
                leaf = in[next++];
            } else if constexpr (is_differentiable<typename L::value_type>) {
                if (!leaf.defined()) return;
                const std::size_t n = leaf.size();
                leaf = L(gathered(in.data() + next, n, leaf.shape(), at));
                next += n;
            }
        },
        out);
    return out;
}

/// Notes the positions of a result's numbers, including those of its tensors, which were stacked.
template <class T, class Y>
void note_numbers(const ScalarStream& s, const Y& y, std::vector<PathValue>& out, const Site& at)
{
    tree::for_each(
        [&]<class L>(const L& leaf) {
            if constexpr (is_real<L>) {
                note_results(s, leaf, out);
            } else if constexpr (is_differentiable<typename L::value_type>) {
                if (!leaf.defined()) return;
                const CellTensors::Gathered* const from =
                    cells_numbers(s.tape(), leaf.any(), s.tape().active != 0 && leaf.any().node, at);
                const Ref<Block> b = readable(leaf.any().value);
                for (std::size_t k = 0; k < b->count; ++k)
                    out.push_back({from ? static_cast<std::uint32_t>(from->positions[k]) : 0,
                                   static_cast<double>(b->template as<T>()[k])});
            }
        },
        y);
}

/// A frozen function F of X… with reals among them or in its result Y.
template <class F, class Y, class... X> struct FrozenReals {
    using T = typename first_real<std::tuple<X..., Y>>::type;
    using Form = FrozenForm<X...>;
    using Result = FrozenNumbers<T, Y>;
    static constexpr std::size_t most_operations = 100'000;

    /// In what a kernel or another such function records f's operations are recorded as well.
    static bool is_inlined() { return in_kernel(); }
    /// Calls frozen(run, numbers, form), which answers with a Result.
    template <class Call> static auto with(const Site& at, const Call& frozen, const X&... x)
    {
        const std::tuple<const X&...> all(x...);
        FormWords words;
        (visit_argument(words, x), ...);
        return frozen(&run, numbers_of<T>(std::tuple<X...>(x...), at), Form{std::move(words.words), &all});
    }
    static Y result(const Result& r, const Site& at) { return with_numbers(*r.form, r.numbers, at); }

private:
    static Result run(void* f, const Site& at, std::tuple<Tensor<T>, Form>& call)
    {
        const auto& [numbers, form] = call;
        std::vector<T> values;
        {
            const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
            const Ref<Block> b = readable(numbers.any().value);
            values.assign(b->template as<T>(), b->template as<T>() + b->count);
        }
        Result out;
        const auto path = path_of(values, at, [&](const std::vector<Real<T>>& in, PathRun& r) {
            std::size_t next = 0;
            auto x = std::apply(
                [&](const X&... each) { return std::tuple<X...>{of_recorded<T>(each, in, next, at)...}; },
                *form.arguments);
            const Y y(apply_at(*static_cast<F*>(f), at, x));
            note_numbers<T>(ScalarStream::of(Tape::current()), y, r.results, at);
            out.form = std::make_shared<const Y>(as_constants(y));
        });
        const Restore<Site> within(enclosing_call, at);  // the line of its branches
        std::vector<Tensor<T>> in;
        for (std::size_t k = 0; k < values.size(); ++k)
            in.push_back(numbers(static_cast<std::int64_t>(k), at));
        const auto results = run_on_tensors<T>(*path, in);
        out.numbers = results.empty() ? zeros<T>(Shape{0}) : stack(results, 0, at);
        return out;
    }
    /// The path of call(numbers, run) that tensors take, too: where they differ from numbers in the last bits, their comparisons
    /// decide.
    template <class Call>
    static std::shared_ptr<const Path> path_of(const std::vector<T>& numbers, const Site& at,
                                               const Call& call)
    {
        for (PathOutcomes o;;) {
            const auto path =
                with_run(nullptr, recorded_run<T>("freeze", numbers, o.each, most_operations, at, call));
            o = outcomes_of<T>(*path, numbers);
            if (o.known) return path;
        }
    }
    /// The result with constants in place of its numbers, for use as a form.
    static Y as_constants(const Y& y)
    {
        return tree::map(
            []<class L>(const L& leaf) {
                if constexpr (is_real<L>)
                    return L(leaf.plain());
                else
                    return L(AnyTensor{leaf.any_unchecked().value, {}});
            },
            y);
    }
};

}  // namespace wengert::detail

// preaccumulate(f): a section of few inputs and results kept as its local Jacobian (Griewank & Walther 2008, section 10.2).
#pragma once

#include "checkpoint.hpp"
#include "derivatives.hpp"

namespace wengert {

namespace detail {

/// x̄ᵢ = Σₖ Jₖᵢᵀ ȳₖ, with the Jacobian of every result for every input, shapes (result…, input…).
/// A template, so that programs without it do not compile it.
template <class = void> class JacobianRule : public SectionRule {
public:
    std::vector<std::vector<AnyTensor>> jacobians;  ///< [result][input], empty where there is none
    JacobianRule() : SectionRule("preaccumulate", pull_jacobians) {}

private:
    static std::vector<AnyTensor> pull_jacobians(const SectionRule& rule,
                                                 const std::vector<AnyTensor>& inputs,
                                                 const std::vector<AnyTensor>& cotangents,
                                                 const std::vector<bool>& wanted, const Site& at);
};

#ifdef WENGERT_COMPILED
extern template class JacobianRule<>;
#endif

template <class F> class Preaccumulate : public Closure<Preaccumulate<F>> {
public:
    Preaccumulate(F f, const Site& made)
        : Closure<Preaccumulate>(made), function_(std::make_shared<F>(std::move(f)))
    {}
    Preaccumulate(const Preaccumulate&) = default;  // a handle: one that is moved stays what it is
    Preaccumulate& operator=(const Preaccumulate&) = default;
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        using Arguments = std::tuple<Argument<X>...>;
        if constexpr (of_numbers<decltype(apply_at(*function_, at, std::declval<Arguments&>())),
                                 Argument<X>...>)
            return ByTensors<Argument<X>...>::template section<detail::Preaccumulate>(function_, at,
                                                                                      argument(x)...);
        else
            return run(at, Arguments(argument(x)...));
    }

private:
    template <class Arguments> auto run(const Site& at, Arguments x) const
    {
        using Y = Argument<decltype(apply_at(*function_, at, x))>;
        Tape& tape = Tape::current();
        const std::vector<AnyTensor> inputs = leaves_of(x);
        if (!kept_as_jacobian(tape, inputs, at)) return Y(apply_at(*function_, at, x));
        auto rule = std::make_shared<JacobianRule<>>();
        Y y = local<Y>(tape, x, inputs, *rule, at);
        std::vector<Ref<Block>> values;
        each_tensor([&](AnyTensor& t) { values.push_back(t.value); }, y);
        const auto recorded = record_section(inputs, values, std::move(rule), part_primitive, at);
        std::size_t k = 0;
        each_tensor(
            [&](AnyTensor& t) {
                if (!t.node) t = recorded[k];  // else f captures it, and returns it untouched
                ++k;
            },
            y);
        return y;
    }
    /// One reverse level alone is what a Jacobian serves; derivatives of derivatives and tangents need f itself.
    static bool kept_as_jacobian(Tape& tape, const std::vector<AnyTensor>& inputs, const Site& at)
    {
        std::vector<const AnyTensor*> operands;
        for (const AnyTensor& t : inputs) operands.push_back(&t);
        const std::uint64_t mask = tape.dependence(operands.data(), operands.size(), "preaccumulate", at);
        return mask != 0 && (mask & (mask - 1)) == 0 && !(mask & tape.forward_levels) && !recorder() &&
               !tape.save_all;
    }
    /// f's value and its Jacobian: f recorded once on a level of its own, swept once for each element of its results.
    template <class Y, class Arguments>
    Y local(Tape& tape, Arguments x, const std::vector<AnyTensor>& inputs, JacobianRule<>& rule,
            const Site& at) const
    {
        const Restore<ActiveLevels> only_here(tape.active, 0);
        LevelScope scope(tape, false);
        std::vector<AnyTensor> variables = inputs;
        for (AnyTensor& t : variables)
            t = differentiable(t.value->dtype) ? lift_any({t.value, {}}, scope.level(), "preaccumulate", at)
                                               : AnyTensor{t.value, {}};
        Y y = watched<Y>(x, variables, scope.level(), at);
        report_lost(tape, scope.level(), "preaccumulate", at, y);
        each_tensor(
            [&](AnyTensor& t) {
                const bool ours = t.node && tape.is_of(*t.node, scope.level());
                rule.jacobians.push_back(ours ? jacobian_of(tape, scope, t, variables)
                                              : std::vector<AnyTensor>(variables.size()));
                if (ours) t.node = {};
            },
            y);
        return y;
    }
    /// f on its variables. f may capture nothing that depends on a variable.
    template <class Y, class Arguments>
    Y watched(Arguments x, const std::vector<AnyTensor>& variables, std::size_t level, const Site& at) const
    {
        const MaskRecorder run("preaccumulate");
        std::size_t i = 0;
        each_tensor([&](AnyTensor& t) { t = variables[i++]; }, x);
        Y y(apply_at(*function_, at, x));
        if (run.captured().levels & Tape::below(level))  // levels above are those of derivatives inside
            fail<TapeError>(
                "preaccumulate",
                "the function captures a variable: pass it as an argument, so that its Jacobian is kept", at);
        return y;
    }
    static std::vector<AnyTensor> jacobian_of(Tape& tape, const LevelScope& scope, const AnyTensor& y,
                                              const std::vector<AnyTensor>& variables)
    {
        std::vector<AnyTensor> out(variables.size());
        for (std::size_t i = 0; i < variables.size(); ++i)
            if (variables[i].node)
                out[i].value = zeros_beside(*y.value, variables[i].value->dtype,
                                            joined(y.value->shape, variables[i].value->shape));
        for (std::size_t e = 0; e < y.value->count; ++e) {
            Walk walk(tape, scope.level(), scope.start(), 0, true);
            if (!walk.reaches(y.node.get())) return out;
            walk.run(y.node, {unit_block(*y.value, e), {}});
            for (std::size_t i = 0; i < variables.size(); ++i)
                if (variables[i].node && variables[i].node->cotangent.value) {
                    const Block& g = *variables[i].node->cotangent.value;
                    copy_elements(g, *make_view(out[i].value, g.shape, nullptr,
                                                static_cast<std::int64_t>(e * g.count)));
                }
        }
        return out;
    }
    static Ref<Block> unit_block(const Block& like, std::size_t e)
    {
        auto b = zeros_block(like.dtype, like.shape);
        with_real(like.dtype, [&]<class T>() { b->as<T>()[e] = 1; });
        return placed(std::move(b), like.device());
    }

    std::shared_ptr<F> function_;
};

}  // namespace detail

/// preaccumulate(f)(x…) = f(x…), recorded as the Jacobian of f alone: memory |f(x)|·|x| in place of what happens inside, and
/// one sweep of f for each element of its result, at once. For sections with few inputs and results and much work between.
/// Under forward mode, and where a derivative of a derivative is taken, f is recorded as it is. All of what f depends on must
/// be among its arguments: a captured variable that it computes with throws a TapeError.
template <class F> auto preaccumulate(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Preaccumulate<F>(std::move(f), at);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/preaccumulate.ipp"
#endif

// The library's rules as lists of operations on tensors, and the walk through one. See elementwise/tensor_rule.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "../every_primitive.hpp"

#ifdef WENGERT_COMPILED  // with headers alone rules are functions of tensors
namespace wengert::detail {

/// The operation on tensors of T that a step stands for; null: no rule of the library has such a step. greater is less the other
/// way round.
template <class T> const Primitive* operation_of(TermKind kind)
{
    const auto of = []<class P, class Out, class... In>(List<P>, List<Out>, List<In...>) {
        return &library_elementwise<P, xsimd::default_arch, Out, In...>();
    };
    const auto unary = [&]<class P>(List<P> p) { return of(p, List<T>(), List<T>()); };
    const auto binary = [&]<class P>(List<P> p) { return of(p, List<T>(), List<T, T>()); };
    const auto compared = [&]<class P>(List<P> p) { return of(p, List<bool>(), List<T, T>()); };
    const auto function = [&]<class P>(P) -> const Primitive* {
        if constexpr (is_in<P, ApproximatedOfTwo>)
            return binary(List<P>());
        else
            return unary(List<P>());
    };
    if (is_function(kind))
        return visit_position(ApproximatedFunctions(),
                              static_cast<std::size_t>(kind) - static_cast<std::size_t>(TermKind::functions),
                              function, []() -> const Primitive* { return nullptr; });
    switch (kind) {
    case TermKind::negative: return unary(List<Negative>());
    case TermKind::square: return unary(List<Square>());
    case TermKind::sqrt: return unary(List<Sqrt>());
    case TermKind::abs: return unary(List<Abs>());
    case TermKind::sign: return unary(List<Sign>());
    case TermKind::round_even: return unary(List<Round>());
    case TermKind::add: return binary(List<Add>());
    case TermKind::subtract: return binary(List<Subtract>());
    case TermKind::multiply: return binary(List<Multiply>());
    case TermKind::divide: return binary(List<Divide>());
    case TermKind::maximum: return binary(List<Maximum>());
    case TermKind::minimum: return binary(List<Minimum>());
    case TermKind::less:
    case TermKind::greater: return compared(List<Less>());
    case TermKind::less_equal:
    case TermKind::greater_equal: return compared(List<LessEqual>());
    case TermKind::equal: return compared(List<Equal>());
    case TermKind::not_equal: return compared(List<NotEqual>());
    case TermKind::is_finite: return of(List<IsFinite>(), List<bool>(), List<T>());
    case TermKind::where: return of(List<Where>(), List<T>(), List<bool, T, T>());
    case TermKind::logical_not: return of(List<LogicalNot>(), List<bool>(), List<bool>());
    case TermKind::logical_and: return of(List<LogicalAnd>(), List<bool>(), List<bool, bool>());
    case TermKind::logical_or: return of(List<LogicalOr>(), List<bool>(), List<bool, bool>());
    default: return nullptr;
    }
}

/// Operations in the order in which the rule writes them. A value that nobody reads any more leaves its place to another.
class TensorRule {
public:
    TensorRule(const WalkedRule& rule, std::size_t inputs) : dtype_(rule.dtype), inputs_(inputs)
    {
        const std::vector<TermStep> steps = written_rule(inputs, rule.describe);
        const auto whole = static_cast<std::size_t>(steps.back().a);
        const ZeroRuleStep guard = zero_rule_step(steps, steps[whole]);
        guarded_ = static_cast<bool>(guard);
        write(steps, guard ? static_cast<std::size_t>(guard.r) : whole);
    }

    AnyTensor operator()(const AnyTensor* in) const
    {
        AnyTensor near[few];
        std::vector<AnyTensor> far(places_ > few ? places_ : 0);
        AnyTensor* const values = places_ > few ? far.data() : near;
        for (const Step& s : steps_)
            values[s.result] = s.operation ? applied(s, in, values) : number_of(s.number);
        const AnyTensor& r = at(result_, in, values);
        if (!guarded_ || Tape::current().allow_nan) return r;
        const AnyTensor* const operands[] = {in, &r};  // the zero-cotangent rule, itself recorded
        return apply_elementwise(*operation<ZeroWhereUndefined>(), operands, Site{});
    }

private:
    static constexpr std::size_t few = 8;
    struct Step {
        const Primitive* operation = nullptr;  ///< null: a number
        double number = 0;
        std::uint8_t operands[3] = {};  ///< the inputs, then the places of values
        std::uint8_t arity = 0, result = 0;
        std::uint8_t ends = 0;         ///< bit k: operand k is a value that is read for the last time
        std::uint8_t temporaries = 0;  ///< the same, of operators, whose result may use its memory
    };

    const AnyTensor& at(std::size_t operand, const AnyTensor* in, const AnyTensor* values) const
    {
        return operand < inputs_ ? in[operand] : values[operand - inputs_];
    }
    AnyTensor applied(const Step& s, const AnyTensor* in, AnyTensor* values) const
    {
        const AnyTensor* operands[3];
        for (std::size_t k = 0; k < s.arity; ++k) operands[k] = &at(s.operands[k], in, values);
        AnyTensor r = apply_elementwise(*s.operation, operands, Site{}, s.temporaries);
        for (std::size_t k = 0; k < s.arity; ++k)
            if (s.ends >> k & 1) values[s.operands[k] - inputs_] = {};
        return r;
    }
    AnyTensor number_of(double x) const
    {
        return with_real(dtype_, [&]<class T>() { return AnyTensor{number_block(static_cast<T>(x)), {}}; });
    }
    template <class P> const Primitive* operation() const
    {
        return with_real(dtype_, [&]<class T>() -> const Primitive* {
            return &library_elementwise<P, xsimd::default_arch, T, T, T>();
        });
    }

    /// The steps that `root` is made from.
    void write(const std::vector<TermStep>& steps, std::size_t root)
    {
        const std::vector<bool> needed = needed_steps(steps, static_cast<std::int32_t>(root));
        std::vector<std::size_t> last(root + 1), place(root + 1);
        std::vector<bool> taken;
        for (std::size_t i = 0; i <= root; ++i)
            for (const std::int32_t k : {steps[i].a, steps[i].b, steps[i].c})
                if (needed[i] && steps[i].kind != TermKind::input && k >= 0)
                    last[static_cast<std::size_t>(k)] = i;
        last[root] = root + 1;
        for (std::size_t i = 0; i <= root; ++i) {
            if (!needed[i]) continue;
            if (steps[i].kind == TermKind::input)
                place[i] = static_cast<std::size_t>(steps[i].a);
            else
                place[i] = append(steps[i], i, last, place, taken);
        }
        places_ = taken.size();
        result_ = place[root];
    }
    /// The place of the step's value.
    std::size_t append(const TermStep& t, std::size_t i, const std::vector<std::size_t>& last,
                       const std::vector<std::size_t>& place, std::vector<bool>& taken)
    {
        Step s;
        s.number = t.value;
        if (t.kind != TermKind::constant) {
            s.operation = with_real(dtype_, [&]<class T>() { return operation_of<T>(t.kind); });
            if (!s.operation)
                fail<Error>("gradient", "a rule of the library has a step that is no operation on tensors",
                            {});
        }
        for (const std::int32_t k : {t.a, t.b, t.c}) {
            if (k < 0) continue;
            const std::size_t from = place[static_cast<std::size_t>(k)];
            if (from >= inputs_ && last[static_cast<std::size_t>(k)] == i)
                s.ends = static_cast<std::uint8_t>(s.ends | 1U << s.arity), taken[from - inputs_] = false;
            s.operands[s.arity++] = static_cast<std::uint8_t>(from);
        }
        if (t.kind == TermKind::greater || t.kind == TermKind::greater_equal) {
            std::swap(s.operands[0], s.operands[1]);
            s.ends = static_cast<std::uint8_t>((s.ends & 1) << 1 | s.ends >> 1);
        }
        if (t.kind >= TermKind::add && t.kind <= TermKind::divide) s.temporaries = s.ends;
        const auto free = std::find(taken.begin(), taken.end(), false);
        const auto result = static_cast<std::size_t>(free - taken.begin());
        if (free == taken.end()) taken.push_back(true);
        taken[result] = true;
        s.result = static_cast<std::uint8_t>(result);
        steps_.push_back(s);
        return inputs_ + result;
    }

    DType dtype_;
    std::size_t inputs_, places_ = 0, result_ = 0;
    bool guarded_ = false;
    std::vector<Step> steps_;
};

AnyTensor walk_rule(WalkedRule& rule, const AnyTensor* in, std::size_t n)
{
    const TensorRule* written = rule.written.load(std::memory_order_acquire);
    if (!written) [[unlikely]] {
        auto made = std::make_unique<const TensorRule>(rule, n);
        if (rule.written.compare_exchange_strong(written, made.get(), std::memory_order_acq_rel))
            written = made.release();  // for the program's life
    }
    return (*written)(in);
}

}  // namespace wengert::detail
#endif

// Arithmetic on arrays of a register or two, as small graphs and the bodies of loops are full of: one call of a few instructions
// for each register, the formulas and so the bits of the kernels.
#pragma once

#include "../../ops/arithmetic.hpp"

namespace wengert::tiling {

/// One register: out = a op b. What is returned is handed to the next step, for which it is still in a register: its store
/// would be waited for.
struct RegisterStep {
    void (
        *run)();  ///< a RegisterSteps::Run: nvcc refuses vectors of structs that name a type with a register in it
    const void *a, *b;
    void* out;
};

template <class T, class A = xsimd::default_arch> struct RegisterSteps {
    using V = Lane<T, A>;
    using Run = V (*)(const RegisterStep& s, V before);
    static constexpr std::size_t bytes = V::width * sizeof(T);
    /// An operation, according to which operand is the result of the step before.
    struct Rule {
        Run neither, first, second;
        bool repeats = false;  ///< a is one element
    };

    /// `before`: the step before, or null.
    static RegisterStep step(const Rule& rule, const void* a, const void* b, void* out,
                             const RegisterStep* before)
    {
        const void* known = before ? before->out : nullptr;
        const bool first = known && a == known, second = known && b == known;
        const Run run = first ? rule.first : second ? rule.second : rule.neither;
        return {reinterpret_cast<void (*)()>(run), a, b, out};
    }
    static void run(const RegisterStep* s, std::size_t count)
    {
        V now(T(0));
        for (const RegisterStep* const end = s + count; s != end; ++s)
            now = reinterpret_cast<Run>(s->run)(*s, now);
    }

    /// How a primitive's rule is carried out in registers, null for those that are called as ever. Its operands are of T, too.
    static const Rule* rule_of(const Primitive& p)
    {
        if (!p.describe || p.dtype != dtype_of<T>() || p.arity == 0 || p.arity > 2) return nullptr;
        const auto program = written_rule(p.arity, p.describe);
        for (const Known& k : known())
            if (k.arity == p.arity && same_rule(k.program, program)) return static_cast<const Rule*>(k.rule);
        return nullptr;
    }

private:
    /// g b, with the zero-cotangent rule (PullOf::guarded).
    struct PullMultiply {
        static V value(const V& g, const V& b)
        {
            const V r = g * b;
            const auto silent = g == V(static_cast<T>(kernels::zero_cotangent));
            return any(silent) ? where(silent & !is_finite(r), V(T(0)), r) : r;
        }
    };
    struct Known {
        std::size_t arity;
        std::vector<TermStep> program;
        const void* rule;  ///< a Rule, as in RegisterStep
    };
    static const std::vector<Known>& known()
    {
        using X = const Term*;
        static const auto* const table = [] {  // for the program's life
            const auto two = [](auto f, const Rule* r) { return Known{2, written_rule(2, f), r}; };
            return new std::vector<Known>{
                two([](X x) { return Add::value(x[0], x[1]); }, &rule<Add>),
                two([](X x) { return Subtract::value(x[0], x[1]); }, &rule<Subtract>),
                two([](X x) { return Multiply::value(x[0], x[1]); }, &rule<Multiply>),
                two([](X x) { return Divide::value(x[0], x[1]); }, &rule<Divide>),
                two([](X x) { return wengert::detail::describe_pull<Multiply, 0, 0, 1, 2>(x); },
                    &rule<PullMultiply>),
                {1, written_rule(1, [](X x) { return Negative::value(x[0]); }), &rule<Negative>}};
        }();
        return *table;
    }
    template <class F, std::size_t last> static V apply(const RegisterStep& s, V before)
    {
        const V a = last == 1 ? before : V::load(static_cast<const T*>(s.a));
        V y;
        if constexpr (requires { F::value(a); })
            y = F::value(a);
        else
            y = F::value(a, last == 2 ? before : V::load(static_cast<const T*>(s.b)));
        y.store(static_cast<T*>(s.out));
        return y;
    }
    static V fill(const RegisterStep& s, V)
    {
        const V y(*static_cast<const T*>(s.a));
        y.store(static_cast<T*>(s.out));
        return y;
    }
    template <class F> static constexpr Rule rule{apply<F, 0>, apply<F, 1>, apply<F, 2>};

public:
    static constexpr Rule repeat{fill, fill, fill, true};
};

}  // namespace wengert::tiling

// Arithmetic on arrays of a register or two, as a loop's body is full of: one call of a few instructions for each register,
// the formulas and so the bits of the kernels.
#pragma once

#include "../../ops/arithmetic.hpp"

namespace wengert::detail {

template <class T, class A = xsimd::default_arch> struct RegisterSteps {
    using V = Lane<T, A>;

    /// One register: out = a op b. What is returned is handed to the next step, for which it is still in a register: its
    /// store would be waited for.
    struct Step {
        V (*run)(const Step& s, V before);
        const T *a, *b;
        T* out;
    };
    /// An operation, according to which operand is the result of the step before.
    struct Rule {
        decltype(Step::run) neither, first, second;
        bool repeats = false;  ///< a is one element
    };

    /// `before`: the step before, or null.
    static Step step(const Rule& rule, const T* a, const T* b, T* out, const Step* before)
    {
        const T* known = before ? before->out : nullptr;
        const bool first = known && a == known, second = known && b == known;
        return {first ? rule.first : second ? rule.second : rule.neither, a, b, out};
    }
    static void run(const Step* s, const Step* end)
    {
        V now(T(0));
        for (; s != end; ++s) now = s->run(*s, now);
    }

    /// What a kernel computes, null for those that are called as ever.
    static const Rule* rule_of(TileKernel kernel)
    {
        constexpr auto& multiply = elementwise_primitive<Multiply, A, T, T, T>;
        constexpr auto& subtract = elementwise_primitive<Subtract, A, T, T, T>;
        if (kernel == elementwise_primitive<Add, A, T, T, T>.value) return &rule<Add>;
        if (kernel == subtract.value) return &rule<Subtract>;
        if (kernel == multiply.value) return &rule<Multiply>;
        if (kernel == elementwise_primitive<Divide, A, T, T, T>.value) return &rule<Divide>;
        if (kernel == elementwise_primitive<Negative, A, T, T>.value) return &rule<Negative>;
        if (kernel == subtract.pull[1].primitive->value) return &rule<Negative>;
        if (kernel == multiply.pull[0].primitive->value || kernel == multiply.pull[1].primitive->value)
            return &rule<PullMultiply>;
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
    template <class F, std::size_t last> static V apply(const Step& s, V before)
    {
        const V a = last == 1 ? before : V::load(s.a);
        V y;
        if constexpr (requires { F::value(a); })
            y = F::value(a);
        else
            y = F::value(a, last == 2 ? before : V::load(s.b));
        y.store(s.out);
        return y;
    }
    static V fill(const Step& s, V)
    {
        const V y(*s.a);
        y.store(s.out);
        return y;
    }
    template <class F> static constexpr Rule rule{apply<F, 0>, apply<F, 1>, apply<F, 2>};

public:
    static constexpr Rule repeat{fill, fill, fill, true};
};

}  // namespace wengert::detail

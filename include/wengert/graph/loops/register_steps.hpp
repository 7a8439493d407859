// Arithmetic on arrays of a register or two, as a loop's body is full of: no call for each of them, the formulas and so the
// bits of the kernels.
#pragma once

#include "../../ops/arithmetic.hpp"

namespace wengert::detail {

template <class T, class A = xsimd::default_arch> struct RegisterSteps {
    using V = Lane<T, A>;
    enum class Kind : std::uint8_t { none, add, subtract, multiply, divide, negative, pull_multiply, repeat };
    /// One register: out = a op b. Of repeat a is one element, of negative there is no b.
    struct Step {
        Kind kind;
        const T *a, *b;
        T* out;
    };

    /// What a kernel computes, `none` where it is called.
    static Kind kind_of(TileKernel kernel)
    {
        const auto is = [&]<class P, class... In>(P, In...) {
            return kernel == elementwise_primitive<P, A, T, In...>.value;
        };
        constexpr auto& multiply = elementwise_primitive<Multiply, A, T, T, T>;
        if (is(Add{}, T(), T())) return Kind::add;
        if (is(Subtract{}, T(), T())) return Kind::subtract;
        if (is(Multiply{}, T(), T())) return Kind::multiply;
        if (is(Divide{}, T(), T())) return Kind::divide;
        if (is(Negative{}, T())) return Kind::negative;
        if (kernel == elementwise_primitive<Subtract, A, T, T, T>.pull[1].primitive->value)
            return Kind::negative;
        for (std::size_t i = 0; i < 2; ++i)
            if (kernel == multiply.pull[i].primitive->value) return Kind::pull_multiply;
        return Kind::none;
    }

    static void run(const Step* s, const Step* end)
    {
        const V zero_cotangent(static_cast<T>(kernels::zero_cotangent));
        for (; s != end; ++s) {
            const V a = s->kind == Kind::repeat ? V(*s->a) : V::load(s->a);
            switch (s->kind) {
            case Kind::add: Add::value(a, V::load(s->b)).store(s->out); break;
            case Kind::subtract: Subtract::value(a, V::load(s->b)).store(s->out); break;
            case Kind::multiply: Multiply::value(a, V::load(s->b)).store(s->out); break;
            case Kind::divide: Divide::value(a, V::load(s->b)).store(s->out); break;
            case Kind::negative: Negative::value(a).store(s->out); break;
            case Kind::pull_multiply: {
                const V r = a * V::load(s->b);
                const auto silent = a == zero_cotangent;
                (any(silent) ? where(silent & !is_finite(r), V(T(0)), r) : r).store(s->out);
                break;
            }
            default: a.store(s->out);
            }
        }
    }
};

}  // namespace wengert::detail

// Arithmetic on arrays of a register or two, which fill small graphs and the bodies of loops. It is one call of a few instructions
// for each register. The operations are those of the arithmetic machine, and so are the bits.
#pragma once

#include <utility>

#include "../tile/fused_micro.hpp"

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

    /// With `none` the element at a, everywhere. `before`: the step before, or null.
    static RegisterStep step(Arith op, const void* a, const void* b, void* out, const RegisterStep* before)
    {
        const void* const known = before ? before->out : nullptr;
        if (known && b == known && a != known && turned(op) != Arith::none) std::swap(a, b), op = turned(op);
        const Run run = run_of(static_cast<std::size_t>(op), known && a == known && op != Arith::none,
                               std::make_index_sequence<static_cast<std::size_t>(Arith::none) + 1>());
        return {reinterpret_cast<void (*)()>(run), a, b, out};
    }
    static void run(const RegisterStep* s, std::size_t count)
    {
        V now(T(0));
        for (const RegisterStep* const end = s + count; s != end; ++s)
            now = reinterpret_cast<Run>(s->run)(*s, now);
    }

private:
    template <Arith op, bool known> static V apply(const RegisterStep& s, V before)
    {
        const V a = op == Arith::none ? V(*static_cast<const T*>(s.a))
                    : known           ? before
                                      : V::load(static_cast<const T*>(s.a));
        V y = a;
        if constexpr (op != Arith::none)
            y = arith<op>(a, V::load(static_cast<const T*>(s.b)),
                          V(is_guarded(op) ? static_cast<T>(kernels::zero_cotangent) : T(0)));
        y.store(static_cast<T*>(s.out));
        return y;
    }
    /// Of each operation there are two: a is in memory, or what the step before has made.
    template <std::size_t... op> static Run run_of(std::size_t k, bool known, std::index_sequence<op...>)
    {
        static constexpr Run all[][2] = {
            {apply<static_cast<Arith>(op), false>, apply<static_cast<Arith>(op), true>}...};
        return all[k][known];
    }
};

}  // namespace wengert::tiling

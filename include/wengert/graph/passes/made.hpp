// The operations that passes write. Passes recognise an operation by what it computes. Only here do they name one.
#pragma once

#include "../../ops/gemm.hpp"
#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "moves.hpp"

namespace wengert::passes::detail {

// [&] in these functions: nvcc warns of a template of lambdas that are pointers to functions (445-D).

/// Without derivatives: graphs that passes write only run.
template <class Op, class Out, class... In> const Primitive* structural_call()
{
    return &wengert::detail::structural_of<Op, Out, In...>(std::false_type());
}
template <class Op> const Primitive* moving(DType d)
{
    return with_dtype(d, [&]<class T>() { return structural_call<Op, T, T>(); });
}
template <class P, std::size_t n> const Primitive* computing(DType d)
{
    return with_real(d, [&]<class T>() -> const Primitive* {
        using A = xsimd::default_arch;
        if constexpr (n == 1)
            return &wengert::detail::elementwise_of<P, A, T, T>(std::false_type());
        else
            return &wengert::detail::elementwise_of<P, A, T, T, T>(std::false_type());
    });
}
/// Of two operands, not for truth values.
template <class Op> const Primitive* of_numbers(DType d)
{
    return with_dtype(d, [&]<class T>() -> const Primitive* {
        if constexpr (std::is_same_v<T, bool>)
            return nullptr;
        else
            return structural_call<Op, T, T, T>();
    });
}

/// The library's operation of that function; arithmetic and sums with products on floating-point numbers alone.
const Primitive& primitive_of(Fn fn, DType d);

}  // namespace wengert::passes::detail

#ifndef WENGERT_COMPILED
#include "impl/made.ipp"
#endif

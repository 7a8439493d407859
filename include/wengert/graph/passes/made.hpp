// The operations that passes write. What they find they know by what it computes; here alone they name one.
#pragma once

#include "../../ops/gemm.hpp"
#include "../../ops/shape_rules.hpp"
#include "moves.hpp"

namespace wengert::passes::detail {

/// Without derivatives: what passes write only runs.
template <class Op> const Primitive* moving(DType d)
{
    return with_dtype(
        d, []<class T>() -> const Primitive* { return &wengert::detail::structural_call<Op, T, T>; });
}
template <class P, std::size_t n> const Primitive* computing(DType d)
{
    return with_real(d, []<class T>() -> const Primitive* {
        if constexpr (n == 1)
            return &wengert::detail::elementwise_call<P, T, T>;
        else
            return &wengert::detail::elementwise_call<P, T, T, T>;
    });
}
template <class T> const Primitive* multiplying()
{
    if constexpr (std::is_same_v<T, bool>)
        return nullptr;
    else
        return &wengert::detail::structural_call<MatMul, T, T, T>;
}

/// The library's operation of that function; arithmetic and sums with products on floating-point numbers alone.
inline const Primitive& primitive_of(Fn fn, DType d)
{
    const Primitive* p = nullptr;
    switch (fn) {
    case Fn::add: p = computing<Add, 2>(d); break;
    case Fn::subtract: p = computing<Subtract, 2>(d); break;
    case Fn::multiply: p = computing<Multiply, 2>(d); break;
    case Fn::divide: p = computing<Divide, 2>(d); break;
    case Fn::negative: p = computing<Negative, 1>(d); break;
    case Fn::reshape: p = moving<Reshape>(d); break;
    case Fn::transpose: p = moving<Transpose>(d); break;
    case Fn::broadcast_to: p = moving<BroadcastTo>(d); break;
    case Fn::select: p = moving<Select>(d); break;
    case Fn::embed: p = moving<Embed>(d); break;
    case Fn::product: with_dtype(d, [&]<class T>() { p = multiplying<T>(); }); break;
    case Fn::product_sum:
        with_real(d, [&]<class T>() { p = &wengert::detail::structural_call<Gemm, T, T, T, T, T>; });
        break;
    default: break;
    }
    if (!p) fail<Error>("optimize", "there is no such operation to write", {});
    return *p;
}

}  // namespace wengert::passes::detail

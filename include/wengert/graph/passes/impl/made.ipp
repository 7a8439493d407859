// What made.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../made.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE const Primitive& primitive_of(Fn fn, DType d)
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
    case Fn::add_part: p = of_numbers<AddView<false>>(d); break;
    case Fn::assign_part:
        p = with_dtype(d, [&]<class T>() { return structural_call<AssignView, T, T, T>(); });
        break;
    case Fn::join:
        p = with_dtype(d,
                       [&]<class T>() { return &variadic_primitive<Concatenate, xsimd::default_arch, T>; });
        break;
    case Fn::product: p = of_numbers<MatMul>(d); break;
    case Fn::sum: p = with_real(d, [&]<class T>() { return structural_call<Sum, T, T>(); }); break;
    case Fn::product_sum:
        p = with_real(d, [&]<class T>() { return structural_call<Gemm, T, T, T, T, T>(); });
        break;
    default: break;
    }
    if (!p) fail<Error>("optimize", "there is no such operation to write", {});
    return *p;
}

}  // namespace wengert::passes::detail

// Casts. Between float and double they are differentiable: the cotangent is cast back.
#pragma once

#include "arithmetic.hpp"

namespace wengert {

namespace detail {

template <class U, class T> void cast_vjp(const Node&, const AnyTensor& g, Cotangents& out)
{
    if (out.wanted(0)) out.add(0, cast<T>(Tensor<U>(g), Site{}).any());
}

template <class U, class T>
AnyTensor cast_jvp(const void*, const AnyTensor*, const AnyTensor* tangents, std::size_t, const AnyTensor&)
{
    return cast<U>(Tensor<T>(tangents[0]), Site{}).any();
}

/// Not marked elementwise: backward kernels have one dtype, this has two, so its vjp runs.
template <class A, class U, class T> constexpr Primitive make_cast()
{
    Primitive p = make_elementwise<Cast<U>, A, U, T>();
    if constexpr (is_differentiable<U> && is_differentiable<T>) {
        p.elementwise = false;
        p.differentiable = true;
        p.vjp = cast_vjp<U, T>;
        p.jvp = cast_jvp<U, T>;
        p.add = add_any<U>;
        p.sum_to = sum_to_any<U>;
        p.compute = [](const void*, const Ref<Block>* x, std::size_t, const Site& at) {
            return cast<U>(Tensor<T>(AnyTensor{x[0], {}}), at).any().value;
        };
        p.clone = [](const void*) -> void* { return nullptr; };
    }
    return p;
}

template <class A, class U, class T> inline constexpr Primitive cast_primitive = make_cast<A, U, T>();

}  // namespace detail

template <class U, class T, class D> Tensor<U, D> cast(const Tensor<T, D>& x, Site at)
{
    if constexpr (std::is_same_v<U, T>) {
        return x;
    } else {
        const AnyTensor* const in[] = {&x.any("cast", at)};
        return Tensor<U, D>(apply_elementwise(detail::cast_primitive<xsimd::default_arch, U, T>, in, at));
    }
}

namespace detail {

/// x in another real type; itself where it is of that type.
AnyTensor converted(const AnyTensor& x, DType to, const Site& at);

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/cast.ipp"
#endif

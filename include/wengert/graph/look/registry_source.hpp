// The lists behind registry.hpp.
#pragma once

#include "registry.hpp"
#include "../../ops/activations.hpp"
#include "../../ops/cast.hpp"
#include "../../ops/choices.hpp"
#include "../../ops/index/run_source.hpp"
#include "../../ops/pairs.hpp"
#include "../../ops/scans.hpp"

namespace wengert {

namespace detail {

#ifdef WENGERT_COMPILED
// Not inlined: programs call them.
template <class P, class A, class Out, class... In>
[[gnu::noinline, gnu::used]] const Primitive& library_elementwise() noexcept
{
    return elementwise_primitive<P, A, Out, In...>;
}
template <class Op, class A, class Out, class... In>
[[gnu::noinline, gnu::used]] const Primitive& library_structural() noexcept
{
    return structural_primitive<Op, A, Out, In...>;
}
#endif

/// add.operator()<P>() for each of them.
template <class... P, class F> void each_of(List<P...>, const F& add) { (add.template operator()<P>(), ...); }

template <class T> void add_elementwise_primitives(Registry& r)
{
    each_of(Comparisons(), [&]<class P>() { r.add_elementwise<P, bool, T, T>(); });
    r.add_elementwise<IsFinite, bool, T>();
    r.add_elementwise<Where, T, bool, T, T>();
    r.add_elementwise<StopGradient, T, T>();
    if constexpr (!std::is_same_v<T, bool>) {
        each_of(NumberUnary(), [&]<class P>() { r.add_elementwise<P, T, T>(); });
        each_of(NumberBinary(), [&]<class P>() { r.add_elementwise<P, T, T, T>(); });
        r.add_elementwise<Clip, T, T, T, T>();
    }
    if constexpr (is_differentiable<T>) {
        each_of(FloatUnary(), [&]<class P>() { r.add_elementwise<P, T, T>(); });
        each_of(FloatBinary(), [&]<class P>() { r.add_elementwise<P, T, T, T>(); });
        r.add_elementwise<WeighByExp, T, T, T, T>();
    }
}

/// On elements of any type.
template <class T> void add_moves(Registry& r)
{
    each_of(Moves(), [&]<class P>() { r.add_structural<P, T, T>(); });
    r.add_structural<AssignView, T, T, T>();
    r.add_structural<Take, T, T, std::int64_t>();
    r.add_structural<OneHot, T, std::int64_t>();
    r.add_structural<TakeAlong, T, T, std::int64_t>();
    r.add_structural<PutAlong, T, T, std::int64_t, T>();
    r.add_variadic<Concatenate, T>();
    r.add_variadic<Stack, T>();
    r.add_structural<Sum, Total<T>, T>();
}
template <class T> void add_sums(Registry& r)
{
    each_of(NumberMoves(), [&]<class P>() { r.add_structural<P, T, T>(); });
    r.add_structural<CumArgMax, std::int64_t, T>();
    r.add_structural<SegmentSum, T, T, std::int64_t>();
    r.add_structural<AddView<false>, T, T, T>();
    r.add_structural<AddView<true>, T, T, T>();
    r.add_structural<ScatterAdd, T, T, std::int64_t, T>();
    r.add_structural<MatMul, T, T, T>();
    r.add_structural<Extremum<true>, T, T>();
    r.add_structural<Extremum<false>, T, T>();
    r.add_structural<ArgExtremum<true>, std::int64_t, T>();
    r.add_structural<ArgExtremum<false>, std::int64_t, T>();
}
template <class T> void add_float_operations(Registry& r)
{
    // the linear parts of index programs, and their transposes
    each_of(List<Roll, Flip, Repeat, Windows, Pad, Difference, CumSum>(), [&]<class P>() {
        r.add_structural<LinearPart<P, 0, 0, 1, false>, T, T>();
        r.add_structural<LinearPart<P, 0, 0, 1, true>, T, T>();
    });
    r.add_structural<AtLabels, T, T, std::int64_t>();
    each_of(List<TakeAlong, SegmentSum, AtLabels>(), [&]<class P>() {
        r.add_structural<LinearPart<P, 0, 0b10, 2, false>, T, T, std::int64_t>();
        r.add_structural<LinearPart<P, 0, 0b10, 2, true>, T, T, std::int64_t>();
    });
    r.add_structural<Recurrence, T, T, T>();
    each_of(FloatReductions(), [&]<class P>() { r.add_structural<P, T, T>(); });
    each_of(FloatPulls(), [&]<class P>() { r.add_structural<P, T, T, T>(); });
    r.add_structural<Gemm, T, T, T, T, T>();
    r.add_structural<CrossEntropy, T, T, std::int64_t>();
    r.add_structural<CrossEntropyPull, T, T, T, std::int64_t>();
    r.add_structural<ZeroWhereOther, T, T, T, T>();
    r.add_structural<Draw<NormalFill>, T, std::int64_t>();
    r.add_structural<Draw<UniformFill<T>>, T, std::int64_t>();
    r.add_structural<Draw<DropoutFill>, T, std::int64_t>();
}
inline void add_decisions(Registry& r)
{
    r.add_elementwise<LogicalAnd, bool, bool, bool>();
    r.add_elementwise<LogicalOr, bool, bool, bool>();
    r.add_elementwise<LogicalNot, bool, bool>();
    r.add_structural<Quantifier<true>, bool, bool>();
    r.add_structural<Quantifier<false>, bool, bool>();
    r.add_structural<KeyChild, std::int64_t, std::int64_t>();
    r.add_structural<Draw<BernoulliFill>, bool, std::int64_t>();
    r.add_structural<Draw<RandintFill<std::int32_t>>, std::int32_t, std::int64_t>();
    r.add_structural<Draw<RandintFill<std::int64_t>>, std::int64_t, std::int64_t>();
    r.add_structural<Draw<PermutationFill>, std::int64_t, std::int64_t>();
}

/// Results of loops in packed blocks of T.
template <class T, class... U> void add_unpacks(Registry& r)
{
    const auto rule = [](const auto& type) -> ShapeRule {
        using Result = std::remove_cvref_t<decltype(type)>;
        return [](const void* op, ValueTypes x) {
            constexpr auto packed = structural_primitive<Unpack, xsimd::default_arch, Result, T>.packed;
            return unpacked_shape(packed(const_cast<void*>(op)), sizeof(Result), x);
        };
    };
    r.add_structural<Pack, T, T>();
    (r.add(structural_primitive<Unpack, xsimd::default_arch, U, T>, {dtype_of<T>()}, rule(U())), ...);
}

template <class... T> void add_for(Registry& r, List<T...> types)
{
    (add_elementwise_primitives<T>(r), ...);
    const auto casts = [&]<class From>() {
        each_of(types, [&]<class To>() {
            if constexpr (!std::is_same_v<From, To>)
                r.add(cast_primitive<xsimd::default_arch, To, From>, {dtype_of<From>()});
        });
    };
    each_of(types, casts);
    (add_moves<T>(r), ...);
    const auto number = [&]<class U>() {
        if constexpr (!std::is_same_v<U, bool>) {
            add_sums<U>(r);
            r.add_structural<Prod, Total<U>, U>();
            if constexpr (std::is_same_v<Total<U>, U>)
                each_of(Accumulations(), [&]<class P>() { r.add_structural<P, U, U>(); });
        }
        if constexpr (is_differentiable<U>) add_float_operations<U>(r);
    };
    each_of(types, number);
}

/// One for each instruction set, as its descriptors are.
template <class A> Registry make_registry()
{
    Registry r;
    add_for(r, List<float, double, std::int32_t, std::int64_t, bool>{});
    add_decisions(r);
    add_unpacks<float, float, std::int32_t, std::int64_t, bool>(r);
    add_unpacks<double, double, std::int32_t, std::int64_t, bool>(r);
    add_unpacks<std::int64_t, std::int64_t, std::int32_t, bool>(r);
    return r;
}

}  // namespace detail

#ifdef WENGERT_COMPILED
namespace detail {
template Registry make_registry<xsimd::default_arch>();
}
#endif

}  // namespace wengert

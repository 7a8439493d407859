// Every primitive of the library, on each list of types that it is for. Three want them all: wengert::compiled, which holds the code of
// many (impl/library.ipp), the kernels that are compiled ahead (cuda/write_ahead.hpp), and the tests.
//
//     struct Taker {
//         template <class P, class Out, class... In> void add_elementwise();
//         template <class Op, class Out, class... In> void add_structural();
//         template <class Op, class T> void add_variadic();
//         template <class To, class From> void add_cast();
//     };
//     each_primitive(taker);
#pragma once

#include "elementwise/activations.hpp"
#include "arg_reductions.hpp"
#include "elementwise/cast.hpp"
#include "elementwise/choices.hpp"
#include "creation.hpp"
#include "gemm.hpp"
#include "losses.hpp"
#include "elementwise/pairs.hpp"
#include "elementwise/probability.hpp"
#include "random.hpp"
#include "scans.hpp"
#include "shape.hpp"
#include "elementwise/special.hpp"
#include "take.hpp"
#include "view.hpp"

namespace wengert::detail {

/// f.operator()<P>() for each of them.
template <class... P, class F> void each_of(List<P...>, const F& f) { (f.template operator()<P>(), ...); }

template <class T, class Taker> void each_elementwise(Taker& to)
{
    each_of(Comparisons(), [&]<class P>() { to.template add_elementwise<P, bool, T, T>(); });
    to.template add_elementwise<IsFinite, bool, T>();
    to.template add_elementwise<IsNan, bool, T>();
    to.template add_elementwise<Where, T, bool, T, T>();
    to.template add_elementwise<StopGradient, T, T>();
    if constexpr (!std::is_same_v<T, bool>) {
        each_of(NumberUnary(), [&]<class P>() { to.template add_elementwise<P, T, T>(); });
        each_of(NumberBinary(), [&]<class P>() { to.template add_elementwise<P, T, T, T>(); });
        to.template add_elementwise<Clip, T, T, T, T>();
    }
    if constexpr (is_differentiable<T>) {
        each_of(FloatUnary(), [&]<class P>() { to.template add_elementwise<P, T, T>(); });
        each_of(FloatBinary(), [&]<class P>() { to.template add_elementwise<P, T, T, T>(); });
        to.template add_elementwise<WeighByExp, T, T, T, T>();
    }
}

/// On elements of any type.
template <class T, class Taker> void each_move(Taker& to)
{
    each_of(Moves(), [&]<class P>() { to.template add_structural<P, T, T>(); });
    to.template add_structural<AssignView, T, T, T>();
    to.template add_structural<Take, T, T, std::int64_t>();
    to.template add_structural<OneHot, T, std::int64_t>();
    to.template add_structural<TakeAlong, T, T, std::int64_t>();
    to.template add_structural<PutAlong, T, T, std::int64_t, T>();
    to.template add_variadic<Concatenate, T>();
    to.template add_variadic<Stack, T>();
    to.template add_structural<Sum, Total<T>, T>();
}
template <class T, class Taker> void each_on_numbers(Taker& to)
{
    each_of(NumberMoves(), [&]<class P>() { to.template add_structural<P, T, T>(); });
    to.template add_structural<CumArgMax, std::int64_t, T>();
    to.template add_structural<SegmentSum, T, T, std::int64_t>();
    to.template add_structural<AddView<false>, T, T, T>();
    to.template add_structural<AddView<true>, T, T, T>();
    to.template add_structural<ScatterAdd, T, T, std::int64_t, T>();
    to.template add_structural<MatMul, T, T, T>();
    to.template add_structural<Extremum<true>, T, T>();
    to.template add_structural<Extremum<false>, T, T>();
    to.template add_structural<ArgExtremum<true>, std::int64_t, T>();
    to.template add_structural<ArgExtremum<false>, std::int64_t, T>();
    to.template add_structural<Prod, Total<T>, T>();
    if constexpr (std::is_same_v<Total<T>, T>)
        each_of(Accumulations(), [&]<class P>() { to.template add_structural<P, T, T>(); });
}
template <class T, class Taker> void each_on_floats(Taker& to)
{
    // the linear parts of index programs, and their transposes
    each_of(List<Roll, Flip, Repeat, Windows, Pad, Difference, CumSum>(), [&]<class P>() {
        to.template add_structural<LinearPart<P, 0, 0, 1, false>, T, T>();
        to.template add_structural<LinearPart<P, 0, 0, 1, true>, T, T>();
    });
    to.template add_structural<AtLabels, T, T, std::int64_t>();
    each_of(List<TakeAlong, SegmentSum, AtLabels>(), [&]<class P>() {
        to.template add_structural<LinearPart<P, 0, 0b10, 2, false>, T, T, std::int64_t>();
        to.template add_structural<LinearPart<P, 0, 0b10, 2, true>, T, T, std::int64_t>();
    });
    to.template add_structural<Recurrence, T, T, T>();
    each_of(FloatReductions(), [&]<class P>() { to.template add_structural<P, T, T>(); });
    each_of(FloatPulls(), [&]<class P>() { to.template add_structural<P, T, T, T>(); });
    to.template add_structural<Gemm, T, T, T, T, T>();
    to.template add_structural<CrossEntropy, T, T, std::int64_t>();
    to.template add_structural<CrossEntropyPull, T, T, T, std::int64_t>();
    to.template add_structural<ZeroWhereOther, T, T, T, T>();
    to.template add_structural<Draw<NormalFill>, T, std::int64_t>();
    to.template add_structural<Draw<UniformFill<T>>, T, std::int64_t>();
    to.template add_structural<Draw<DropoutFill>, T, std::int64_t>();
}
/// On truth values alone, and what makes whole numbers of keys.
template <class Taker> void each_decision(Taker& to)
{
    to.template add_elementwise<LogicalAnd, bool, bool, bool>();
    to.template add_elementwise<LogicalOr, bool, bool, bool>();
    to.template add_elementwise<LogicalNot, bool, bool>();
    to.template add_structural<Quantifier<true>, bool, bool>();
    to.template add_structural<Quantifier<false>, bool, bool>();
    to.template add_structural<KeyChild, std::int64_t, std::int64_t>();
    to.template add_structural<Draw<BernoulliFill>, bool, std::int64_t>();
    to.template add_structural<Draw<RandintFill<std::int32_t>>, std::int32_t, std::int64_t>();
    to.template add_structural<Draw<RandintFill<std::int64_t>>, std::int64_t, std::int64_t>();
    to.template add_structural<Draw<PermutationFill>, std::int64_t, std::int64_t>();
}

template <class Taker> void each_primitive(Taker& to)
{
    const List<float, double, std::int32_t, std::int64_t, bool> types;
    each_of(types, [&]<class T>() {
        each_elementwise<T>(to);
        each_of(types, [&]<class To>() {
            if constexpr (!std::is_same_v<T, To>) to.template add_cast<To, T>();
        });
        each_move<T>(to);
        if constexpr (!std::is_same_v<T, bool>) each_on_numbers<T>(to);
        if constexpr (is_differentiable<T>) each_on_floats<T>(to);
    });
    each_decision(to);
}

/// The dtypes that p.pull[i].primitive takes: the cotangent's, and those of the values that it reads.
inline std::vector<DType> dtypes_of_pull(const Primitive& p, const std::vector<DType>& operands,
                                         std::size_t i)
{
    std::vector<DType> types{p.dtype};
    for (std::size_t k = 0; k <= operands.size(); ++k)
        if (p.pull[i].uses >> k & 1) types.push_back(k < operands.size() ? operands[k] : p.dtype);
    return types;
}

}  // namespace wengert::detail

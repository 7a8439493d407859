// The library's own primitives by kind (ops/every_primitive.hpp has them all), and those whose code wengert::compiled holds.
//
// A program that is built with WENGERT_COMPILED calls a function of that library for the description of one of these, so
// kernels, rules and all that they reach are compiled once, optimized, and not again in every source: at -O0 they would be
// slow there, and the linker would take the slow copies for the library's, too. What is not listed (a user's primitive, a
// dtype that no list has) is compiled where it is used.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../functions/list.hpp"
#include "../../tape/primitive.hpp"

namespace wengert {

// clang-format off
struct Sqrt; struct Square; struct Abs; struct Sign; struct RootFlatAtZero; struct Divide; struct SameValue; struct QuotientOrZero;
struct ZeroWhereUndefined; struct Negative; struct Add; struct Subtract; struct Multiply; struct Maximum; struct Minimum;
struct Less; struct LessEqual; struct Equal; struct NotEqual;
struct IsFinite; struct IsNan; struct Where; struct StopGradient; struct Clip; struct WeighByExp;
struct LogicalAnd; struct LogicalOr; struct LogicalNot;
struct BroadcastTo; struct Reshape; struct Transpose; struct ExpandDims; struct Squeeze; struct Select; struct Split;
struct Embed; struct Pad; struct Tril; struct Triu; struct Diagonal; struct EmbedDiagonal; struct Element; struct Copy;
struct Roll; struct Flip; struct Repeat; struct Windows; struct Difference; struct CumSum; struct CumProd; struct CumMax;
struct AssignView; struct Take; struct OneHot; struct ScatterAdd; struct MatMul; struct Sum; struct Prod;
template <bool minus> struct AddView;
template <bool largest> struct Extremum;
template <bool largest> struct ArgExtremum;
template <bool every> struct Quantifier;
struct Mean; struct Var; struct Norm; struct LogSumExp; struct ExclusiveProduct; struct Gemm; struct Softmax;
struct SoftmaxPull; struct LogSoftmax; struct LogSoftmaxPull; struct CrossEntropy; struct CrossEntropyPull;

namespace detail {

struct ZeroWhereNoCotangent;
struct ZeroWhereOther;

// Functions of numbers are those of functions/list.hpp.
using FloatUnary = Joined<List<Sqrt, RootFlatAtZero>, ApproximatedOfOne, ComposedFunctions, ComposedTensorFunctions, WholeFunctions>;
using FloatBinary = Joined<List<Divide, SameValue, QuotientOrZero, ZeroWhereUndefined>, PairFunctions, ComposedPairs>;
using NumberUnary = List<Negative, Square, Abs, Sign>;
using NumberBinary = Joined<List<Add, Subtract, Multiply, Maximum, Minimum>, PowerFunctions>;
using Comparisons = List<Less, LessEqual, Equal, NotEqual>;
/// Structural ones from elements of any type to the same type.
using Moves = List<BroadcastTo, Reshape, Transpose, ExpandDims, Squeeze, Select, Split, Embed, Pad, Tril, Triu, Diagonal,
                   EmbedDiagonal, Element, Copy, Roll, Flip, Repeat, Windows>;
using NumberMoves = List<Difference, CumMax>;
using Accumulations = List<CumSum, CumProd>;
using FloatReductions = List<Mean, Var, Norm, LogSumExp, ExclusiveProduct, Softmax, LogSoftmax>;
using FloatPulls = List<SoftmaxPull, LogSoftmaxPull, ZeroWhereNoCotangent>;
// clang-format on

template <class P, class... Q> constexpr bool is_one_of(List<Q...>) { return (std::is_same_v<P, Q> || ...); }

#ifdef WENGERT_COMPILED
template <class T> inline constexpr bool is_number = !std::is_same_v<T, bool>;

template <class P, class T> constexpr bool is_library_elementwise(List<T>, List<T>)
{
    return (std::is_floating_point_v<T> && is_one_of<P>(FloatUnary())) ||
           is_one_of<P>(List<StopGradient>()) || (is_number<T> && is_one_of<P>(NumberUnary()));
}
template <class P, class T> constexpr bool is_library_elementwise(List<T>, List<T, T>)
{
    return (std::is_floating_point_v<T> && is_one_of<P>(FloatBinary())) ||
           (is_number<T> && is_one_of<P>(NumberBinary())) ||
           (std::is_same_v<T, bool> &&
            (is_one_of<P>(Comparisons()) || is_one_of<P>(List<LogicalAnd, LogicalOr>())));
}
template <class P, class T>
    requires is_number<T>
constexpr bool is_library_elementwise(List<bool>, List<T>)
{
    return is_one_of<P>(List<IsFinite, IsNan>());
}
template <class P, class T>
    requires is_number<T>
constexpr bool is_library_elementwise(List<bool>, List<T, T>)
{
    return is_one_of<P>(Comparisons());
}
template <class P, class T> constexpr bool is_library_elementwise(List<T>, List<T, T, T>)
{
    return (is_number<T> && is_one_of<P>(List<Clip>())) ||
           (std::is_floating_point_v<T> && is_one_of<P>(List<WeighByExp>()));
}
template <class P, class T>
    requires is_number<T>
constexpr bool is_library_elementwise(List<T>, List<bool, T, T>)
{
    return is_one_of<P>(List<Where>());
}
template <class P> constexpr bool is_library_elementwise(...) { return false; }

template <class Op, class T> constexpr bool is_library_structural(List<T>, List<T>)
{
    const bool reduces = is_number<T> && (is_one_of<Op>(List<Extremum<true>, Extremum<false>>()) ||
                                          is_one_of<Op>(NumberMoves()));
    return is_one_of<Op>(Moves()) || reduces ||
           (std::is_floating_point_v<T> && is_one_of<Op>(FloatReductions())) ||
           ((std::is_floating_point_v<T> || std::is_same_v<T, std::int64_t>)&&(
               is_one_of<Op>(List<Sum, Prod>()) || is_one_of<Op>(Accumulations()))) ||
           (std::is_same_v<T, bool> && is_one_of<Op>(List<Quantifier<true>, Quantifier<false>>()));
}
template <class Op, class T> constexpr bool is_library_structural(List<T>, List<T, T>)
{
    return is_one_of<Op>(List<AssignView>()) ||
           (is_number<T> && is_one_of<Op>(List<MatMul, AddView<true>, AddView<false>>())) ||
           (std::is_floating_point_v<T> && is_one_of<Op>(FloatPulls()));
}
template <class Op, class T> constexpr bool is_library_structural(List<T>, List<T, T, T, T>)
{
    return std::is_floating_point_v<T> && std::is_same_v<Op, Gemm>;
}
template <class Op> constexpr bool is_library_structural(...) { return false; }

/// Defined in wengert::compiled (impl/library.ipp).
template <class P, class A, class Out, class... In>
[[gnu::noinline]] const Primitive& library_elementwise() noexcept;
template <class Op, class A, class Out, class... In>
[[gnu::noinline]] const Primitive& library_structural() noexcept;
#endif

}  // namespace detail
}  // namespace wengert

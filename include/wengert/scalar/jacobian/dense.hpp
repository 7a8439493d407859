// jacobian of functions of reals: several rows or columns in one sweep where f did nothing but operations on reals, and
// otherwise that of a function of tensors that hold the reals.
#pragma once

#include "../../transforms/derivatives.hpp"
#include "../transforms/custom.hpp"
#include "../transforms/transforms.hpp"

namespace wengert::detail {

/// All numbers of x, of its tensors as well, as one tensor: of rank 0 for a number, a tensor itself, else of rank 1.
template <class T, class X> Tensor<T> flattened(const X& x, const Site& at)
{
    if constexpr (is_real<X>)
        return tensor(x, at);
    else if constexpr (is_tensor<X>)
        return on<cpu>(x);
    else
        return numbers_of<T>(x, at);
}
template <class T, class X> X unflattened(const X& like, const Tensor<T>& x, const Site& at)
{
    if constexpr (is_tensor<X>)
        return on<typename X::device_type>(x);
    else
        return with_numbers(like, x, at);
}

/// J, m × n, of the operations from `first` on, where the n inputs are: eight rows by cotangents in one sweep, or eight columns by
/// tangents where those are fewer. Results of 0 depend on nothing.
std::vector<double> jacobian_of_operations(const ScalarStream& s, std::uint32_t first, std::size_t inputs,
                                           const std::vector<std::uint32_t>& results);

/// Places of y's reals from `first` on, 0 for others; false where f did more than operations on x's reals at this level alone.
template <class T, class Y>
bool only_reals(Tape& tape, const LevelScope& scope, const AnyTensor& variable, const Y& y,
                std::uint32_t first, std::vector<std::uint32_t>& positions, std::string_view transform,
                const Site& at)
{
    if (!tape.extension) return false;
    const auto& stream = static_cast<const ScalarStream&>(*tape.extension);
    for (const ScalarSpan* s : stream.spans()) {
        if (s->node->sequence < scope.start()) continue;
        if (s->node->mask != Tape::bit(scope.level()) || !s->older.empty() || s->previous) return false;
        if (s->chunk != stream.chunk()) return false;
        for (const auto& e : s->entered)
            if (e.tensor.node.get() != variable.node.get()) return false;
    }
    tree::for_each(
        [&](const Real<T>& r) {
            const bool depends =
                stream.dependence(r.handle(), transform, at) != 0 && stream.is_from(first, r.handle());
            positions.push_back(depends ? r.handle().index() : 0);
        },
        y);
    return true;
}

/// Records f, and where it did operations on x's reals alone calls use(stream, position of the first of them, positions of the results, result).
template <class T, class F, class X, class Use>
bool with_operations(F& f, const X& x, const Tensor<T>& flat, std::string_view transform, const Site& at,
                     const Use& use)
{
    Tape& tape = Tape::current();
    const AnyTensor* const in[] = {&flat.any()};
    if (recorder() || tape.allow_nan || tape.anomaly)  // sweeps of one cotangent look for births
        return false;  // before f runs: a checkpoint's runs do the same, recorded or not
    if (flat.size() == 0 || tape.dependence(in, 1, transform, at) != 0) return false;
    LevelScope scope(tape, false);
    const Tensor<T> variable = lift(flat, scope.level(), transform, at);
    const X arguments = unflattened(x, variable, at);
    const std::uint32_t first = reals_in<T>(const_cast<X&>(arguments))[0]->handle().index();
    const auto y = call_within(f, arguments, at);
    std::vector<std::uint32_t> positions;
    if (!only_reals<T>(tape, scope, variable.any(), y, first, positions, transform, at)) return false;
    use(ScalarStream::of(tape), first, positions, y);
    report_lost(tape, scope.level(), transform, at, flattened<T>(y, at));
    return true;
}

/// The Jacobian in lanes, or an empty tensor where it is not done so.
template <class T, class F, class X>
Tensor<T> jacobian_in_lanes(F& f, const X& x, const Tensor<T>& flat, const Site& at)
{
    Tensor<T> out;
    with_operations<T>(
        f, x, flat, "jacobian", at,
        [&]<class Y>(const ScalarStream& s, std::uint32_t first, const auto& positions, const Y&) {
            const auto J = jacobian_of_operations(s, first, flat.size(), positions);
            Shape shape = is_real<Y> ? Shape() : Shape{positions.size()};
            for (auto e : flat.shape()) shape.push_back(e);
            out = Tensor<T>(shape, std::vector<T>(J.begin(), J.end()));
        });
    return out;
}

/// m, and J, m × n, as reals that are recorded.
template <class T> struct RecordedJacobian {
    std::size_t m = 0;
    std::vector<Real<T>> J;
};

/// Nothing where f did more than operations on reals.
template <class T, class F, class X>
std::optional<RecordedJacobian<T>> recorded_jacobian(F& f, const X& x, const Site& at)
{
    NumberLevel level(false, "jacobian", at);
    X variables = level.variables_of(x);
    auto y = call_within(f, variables, at);
    RecordedJacobian<T> made{reals_in<T>(y).size(), {}};
    if (!level.jacobian(y, made.J)) return {};
    return made;
}
/// The same of any f, row by row.
template <class T, class F, class X> RecordedJacobian<T> jacobian_by_rows(F& f, const X& x, const Site& at)
{
    const auto g = [&](const X& v) { return call_within(f, v, at); };
    const auto [y, pullback] = ByTensors<X>::vjp(g, at, x);
    auto cotangent = tree::map([](const Real<T>&) { return Real<T>(); }, y);
    RecordedJacobian<T> made;
    for (Real<T>* one : reals_in<T>(cotangent)) {
        ++made.m;
        *one = 1;
        X row = pullback(cotangent, at);
        *one = 0;
        for (const Real<T>* r : reals_in<T>(row)) made.J.push_back(*r);
    }
    return made;
}

/// The Jacobian made of reals: in a kernel's recording tensors do not compute.
template <class T, class Y, class F, class X>
Tensor<T> jacobian_in_kernel(F& f, const X& x, const Shape& columns, const Site& at)
{
    auto made = recorded_jacobian<T>(f, x, at);
    if (!made) made = jacobian_by_rows<T>(f, x, at);
    Shape shape = is_real<Y> ? Shape() : Shape{made->m};
    for (auto e : columns) shape.push_back(e);
    return Tensor<T>(gathered(made->J.data(), made->J.size(), shape, at));
}

/// Of a function of reals, or of reals and tensors.
template <class F, class X> auto jacobian_of_reals(F& f, const X& x, const Site& at)
{
    using T = typename first_real<std::tuple<X, Argument<decltype(call_with(f, x, at))>>>::type;
    const Tensor<T> flat = flattened<T>(x, at);
    using Y = Argument<decltype(call_with(f, x, at))>;
    if constexpr (!has_tensors<X>() && !has_tensors<Y>()) {
        if (in_kernel()) return jacobian_in_kernel<T, Y>(f, x, flat.shape(), at);
        Tape& tape = Tape::current();
        const Tape::Position before{tape.next_sequence()};
        if (Tensor<T> J = jacobian_in_lanes<T>(f, x, flat, at); J.defined()) return J;
        tape.rewind(before, at);  // what f has recorded for levels below, which it records again
    }
    auto g = [&](const Tensor<T>& p) { return flattened<T>(call_within(f, unflattened(x, p, at), at), at); };
    return Jacobian<decltype(g)>(std::move(g), at).at_line(at, flat);
}

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/dense.ipp"
#endif

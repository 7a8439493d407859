// grad and value_and_grad: gradients as functions from functions to functions.
#pragma once

#include <optional>

#include "vjp.hpp"

namespace wengert {

namespace detail {

template <std::size_t k, std::size_t... I> inline constexpr bool one_of = ((k == I) || ...);

/// f, which returns (loss, more). Only the loss is differentiated.
template <class F> struct WithAux : ClosureBase {
    F function;
    explicit WithAux(F f) : function(std::move(f)) {}
    template <class... X>
        requires std::is_invocable_v<F&, X...>
    decltype(auto) operator()(X&&... x)
    {
        return std::invoke(function, std::forward<X>(x)...);
    }
    template <class... X> decltype(auto) at_line(const Site& at, X&&... x)
    {
        return call_at(function, at, std::forward<X>(x)...);
    }
};
template <class F> inline constexpr bool has_more = false;
template <class F> inline constexpr bool has_more<WithAux<F>> = true;
template <class Y> inline constexpr bool is_pair = false;
template <class L, class More> inline constexpr bool is_pair<std::pair<L, More>> = true;

/// What grad differentiates of a result y of f.
template <class F, class Y> const auto& loss_of(const Y& y)
{
    static_assert(!has_more<F> || is_pair<Y>,
                  "wengert: with has_aux the function returns std::pair(loss, more)");
    if constexpr (has_more<F> && is_pair<Y>)
        return y.first;
    else
        return y;
}

/// What a function gives that grad differentiates. Asked first, so that a compiler says this alone.
template <class Y> consteval bool is_loss()
{
    static_assert(
        is_tensor<Y>,
        "wengert: grad differentiates a function that returns one tensor with a single element. Of more "
        "results, differentiate the first of a pair and keep the other: value_and_grad(f, has_aux)");
    if constexpr (is_tensor<Y>)
        static_assert(is_differentiable<typename Y::value_type>,
                      "wengert: grad needs a floating-point result (float or double)");
    return is_tensor<Y>;
}
template <class Y> void check_scalar(const Y& y, std::string_view transform, const Site& at)
{
    if (y.size() != 1)
        fail<TapeError>(transform,
                        "the function must return a scalar, it returned shape " +
                            to_string(y.shape(transform, at)) + "; sum it, or use vjp or jacobian",
                        at);
}

/// f's arguments with those at I lifted to `level`.
template <std::size_t... I, class... X, std::size_t... k>
auto lift_arguments(std::size_t level, std::string_view transform, const Site& at, std::index_sequence<k...>,
                    const X&... x)
{
    static_assert(((I < sizeof...(X)) && ...), "wengert: grad<i>: there is no such argument");
    static_assert(((!one_of<k, I...> || tree::contains_leaf<X>)&&...),
                  "wengert: grad<i>: this argument holds no tensors");
    return std::tuple<X...>([&] {
        if constexpr (one_of<k, I...>)
            return lift_tree(x, level, transform, at);
        else
            return x;
    }()...);
}

/// Ones of x's shape, on its device.
template <class T, class D> AnyTensor ones_of(const Tensor<T, D>& x)
{
    return {full_beside<T>(*x.any().value, x.shape(), T(1)), {}};
}

/// Runs f on lifted arguments and sweeps back: (value, tuple of gradients). Functions of numbers run as functions of tensors.
template <std::size_t... I, class F, class... X>
auto reverse(F& f, std::string_view transform, const Site& at, const X&... x)
{
    static_assert(visible<std::tuple_element_t<I, std::tuple<X...>>...>);
    using Y = Argument<decltype(apply_at(f, at, std::declval<std::tuple<X...>&>()))>;
    if constexpr (is_complex_tensor<Y>) {
        static_assert(!is_complex_tensor<Y>, "wengert: grad needs a real result, this one is complex: take "
                                             "real(), imag() or abs() first");
        return std::pair(Y(), std::tuple<std::tuple_element_t<I, std::tuple<X...>>...>());
    } else if constexpr (of_numbers<Y, X...>) {
        return ByTensors<X...>::template reverse<I...>(f, transform, at, x...);
    } else if constexpr (!is_loss<std::decay_t<decltype(loss_of<F>(std::declval<Y&>()))>>()) {
        return *static_cast<std::pair<Y, std::tuple<std::tuple_element_t<I, std::tuple<X...>>...>>*>(nullptr);
    } else {
        Tape& tape = Tape::current();
        LevelScope scope(tape, false);
        const std::size_t level = scope.level();
        auto variables = lift_arguments<I...>(level, transform, at, std::index_sequence_for<X...>(), x...);
        auto arguments = variables;  // f may take them by reference and write to them
        auto y = Argument<decltype(apply_at(f, at, arguments))>(apply_at(f, at, arguments));
        const auto& loss = loss_of<F>(y);
        check_scalar(loss, transform, at);
        report_lost(tape, level, transform, at, loss);
        std::optional<Walk> walk(std::in_place, tape, level, false);
        if (walk->reaches(loss.any().node.get()))
            walk->run(loss.any().node, ones_of(loss));
        else if (walk->is_obliged())
            walk->run(nullptr, 0);
        std::tuple<std::tuple_element_t<I, std::tuple<X...>>...> gradients(
            cotangents_of(std::get<I>(variables))...);
        walk.reset();
        scope.close();
        if constexpr (has_more<F>)
            return std::pair(lower_tree(y, level, at), std::move(gradients));
        else
            return std::pair(lower(y, level, at), std::move(gradients));
    }
}

/// The gradients, and the only one by itself.
template <class... X> auto alone(std::tuple<X...> gradients)
{
    if constexpr (sizeof...(X) == 1)
        return std::get<0>(std::move(gradients));
    else
        return gradients;
}

// What grad and value_and_grad return: classes with short names, because a debugger shows them on every call.

template <class F, std::size_t... I> class ValueAndGrad : public Closure<ValueAndGrad<F, I...>> {
public:
    ValueAndGrad(F f, const Site& made) : Closure<ValueAndGrad>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        auto [value, gradients] = reverse<I...>(function_, "grad", at, argument(x)...);
        return std::pair(std::move(value), alone(std::move(gradients)));
    }

private:
    mutable F function_;  // it may be a mutable lambda
};

template <class F, std::size_t... I> class Grad : public Closure<Grad<F, I...>> {
public:
    Grad(F f, const Site& made) : Closure<Grad>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        if constexpr (has_more<F>) {
            auto [value, gradients] = reverse<I...>(function_, "grad", at, argument(x)...);
            return std::pair(alone(std::move(gradients)), std::move(value.second));
        } else {
            return alone(reverse<I...>(function_, "grad", at, argument(x)...).second);
        }
    }

private:
    mutable F function_;
};

}  // namespace detail

/// value_and_grad<I...>(f)(x...) = (f(x...), gradient), or (value, (g0, g1)) for several indices. f returns one element;
/// arguments are tensors or structs, tuples, vectors, maps of them, and a gradient has its argument's type.
/// Throws TapeError when f's result is no scalar.
template <std::size_t... I, class F> auto value_and_grad(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if constexpr (sizeof...(I) == 0)
        return detail::ValueAndGrad<F, 0>(std::move(f), at);
    else
        return detail::ValueAndGrad<F, I...>(std::move(f), at);
}

/// grad<I...>(f)(x...): the gradient of f with respect to its arguments I (the first one when none is given).
template <std::size_t... I, class F> auto grad(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if constexpr (sizeof...(I) == 0)
        return detail::Grad<F, 0>(std::move(f), at);
    else
        return detail::Grad<F, I...>(std::move(f), at);
}

/// Says that f returns (loss, more): value_and_grad(f, has_aux)(x) = ((loss, more), gradient) and grad(f, has_aux)(x) =
/// (gradient, more). `more` may be anything that a transform's function returns; derivatives of another transform pass through it.
struct HasAux {
    explicit HasAux() = default;
};
inline constexpr HasAux has_aux{};

template <std::size_t... I, class F>
auto value_and_grad(F f, HasAux, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return value_and_grad<I...>(detail::WithAux<F>(std::move(f)), at);
}
template <std::size_t... I, class F> auto grad(F f, HasAux, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return grad<I...>(detail::WithAux<F>(std::move(f)), at);
}

}  // namespace wengert

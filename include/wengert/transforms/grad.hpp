// grad, value_and_grad, vjp: reverse mode as functions from functions to functions.
#pragma once

#include "level.hpp"

namespace wengert {

namespace detail {

/// The cotangent that a sweep has left on a variable, zeros where none arrived.
template <class T>
Tensor<T> cotangent_of(const Tensor<T>& variable)
{
    const AnyTensor& any = variable.any();
    if constexpr (is_differentiable<T>)
        if (any.node && any.node->cotangent.value) return Tensor<T>(any.node->cotangent);
    return Tensor<T>(AnyTensor{zeros_block(dtype_of<T>(), variable.shape()), {}});
}

template <class X>
X cotangents_of(const X& variables)
{
    return tree::map([]<class T>(const Tensor<T>& t) { return cotangent_of(t); }, variables);
}

template <std::size_t k, std::size_t... I>
inline constexpr bool one_of = ((k == I) || ...);

template <class Y>
void check_scalar(const Y& y, std::string_view transform, const Site& at)
{
    static_assert(is_tensor<Y>, "wengert: grad differentiates a function that returns one tensor with a single element");
    static_assert(is_differentiable<typename Y::value_type>, "wengert: grad needs a floating-point result (float or double)");
    if (y.size() != 1)
        fail<TapeError>(transform, "the function must return a scalar, it returned shape " + to_string(y.shape()) +
                                       "; sum it, or use vjp or jacobian", at);
}

/// f's arguments with those at I lifted to `level`.
template <std::size_t... I, class... X, std::size_t... k>
auto lift_arguments(std::size_t level, std::string_view transform, std::index_sequence<k...>, const X&... x)
{
    static_assert(((I < sizeof...(X)) && ...), "wengert: grad<i>: there is no such argument");
    static_assert(((!one_of<k, I...> || tree::contains_leaf<X>) && ...), "wengert: grad<i>: this argument holds no tensors");
    return std::tuple<X...>([&] {
        if constexpr (one_of<k, I...>) return lift_tree(x, level, transform);
        else return x;
    }()...);
}

template <class T>
Tensor<T> ones_of(const Shape& shape)
{
    auto one = make_block(dtype_of<T>(), shape);
    std::fill_n(one->template as<T>(), one->count, T(1));
    return Tensor<T>(AnyTensor{std::move(one), {}});
}

/// Runs f on lifted arguments and sweeps back: (value, tuple of gradients).
template <std::size_t... I, class F, class... X>
auto reverse(F& f, std::string_view transform, const Site& at, const X&... x)
{
    Tape& tape = Tape::current();
    LevelScope scope(tape, false);
    const std::size_t level = scope.level();
    auto variables = lift_arguments<I...>(level, transform, std::index_sequence_for<X...>(), x...);
    auto y = Argument<decltype(std::apply(f, variables))>(std::apply(f, variables));
    check_scalar(y, transform, at);
    using T = typename decltype(y)::value_type;
    std::tuple<std::tuple_element_t<I, std::tuple<X...>>...> gradients = [&] {
        Walk walk(tape, level, false);
        if (walk.reaches(y.any().node.get())) walk.run(y.any().node, ones_of<T>(y.shape()).any());
        return std::tuple<std::tuple_element_t<I, std::tuple<X...>>...>(cotangents_of(std::get<I>(variables))...);
    }();
    scope.close();
    return std::pair(lower(y, level), std::move(gradients));
}

}  // namespace detail

/// value_and_grad<I...>(f)(x...) = (f(x...), gradient), or (value, (g0, g1)) for several indices. f returns one element;
/// arguments are tensors or structs, tuples, vectors, maps of them, and a gradient has its argument's type.
/// Throws TapeError when f's result is no scalar.
template <std::size_t... I, class F>
auto value_and_grad(F f)
{
    return [held = detail::Held<F>{std::move(f)}]<class... X>(const X&... x) {
        F& f = held.function;
        constexpr auto run = []<std::size_t... K>(F& g, std::index_sequence<K...>, const auto&... a) {
            auto [value, gradients] = detail::reverse<K...>(g, "grad", Site{}, a...);
            if constexpr (sizeof...(K) == 1) return std::pair(std::move(value), std::move(std::get<0>(gradients)));
            else return std::pair(std::move(value), std::move(gradients));
        };
        if constexpr (sizeof...(I) == 0) return run(f, std::index_sequence<0>(), detail::argument(x)...);
        else return run(f, std::index_sequence<I...>(), detail::argument(x)...);
    };
}

/// grad<I...>(f)(x...): the gradient of f with respect to its arguments I (the first one when none is given).
template <std::size_t... I, class F>
auto grad(F f)
{
    return [both = value_and_grad<I...>(std::move(f))](const auto&... x) { return both(x...).second; };
}

namespace detail {

/// What vjp returns: maps a cotangent of f's result to those of its arguments, as often as wanted.
template <class Y, class... X>
class Pullback {
public:
    Pullback(Y y, std::tuple<X...> variables, const LevelScope& scope)
        : y_(std::move(y)), variables_(std::move(variables)), level_(scope.level()), start_(scope.start())
    {
    }

    auto operator()(const Y& cotangent, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        Tape& tape = Tape::current();
        Walk walk(tape, level_, start_, ~std::uint64_t{0}, true);
        tree::zip_for_each([&]<class T>(const Tensor<T>& y, const Tensor<T>& g) { sweep(walk, y, g, at); }, y_, cotangent);
        if constexpr (sizeof...(X) == 1) return cotangents_of(std::get<0>(variables_));
        else return std::apply([](const X&... x) { return std::tuple<X...>(cotangents_of(x)...); }, variables_);
    }

private:
    template <class T>
    void sweep(Walk& walk, const Tensor<T>& y, const Tensor<T>& g, const Site& at) const
    {
        if (!(g.shape() == y.shape()))
            fail<ShapeError>("vjp", "the cotangent's shape " + to_string(g.shape()) + " is not the result's, " + to_string(y.shape()), at);
        if constexpr (is_differentiable<T>)
            if (walk.reaches(y.any().node.get())) {
                if (y.any().node->tape != &walk.tape())
                    fail<TapeError>("vjp", "this pullback belongs to another thread or to a tape that has ended", at);
                walk.run(y.any().node, g.any());
            }
    }

    Y y_;
    std::tuple<X...> variables_;
    std::size_t level_;
    std::uint64_t start_;
};

}  // namespace detail

/// (f(x...), pullback): pullback(cotangent) gives the cotangent of x, a tuple of them for several arguments; it may be
/// called repeatedly, also inside other transforms.
template <class F, class... X>
auto vjp(F&& f, const X&... x)
{
    Tape& tape = Tape::current();
    detail::LevelScope scope(tape, false);
    std::tuple<detail::Argument<X>...> variables(detail::lift_tree(detail::argument(x), scope.level(), "vjp")...);
    using Y = detail::Argument<decltype(std::apply(f, variables))>;
    Y y = std::apply(f, variables);
    scope.close();
    return std::pair(detail::lower_tree(y, scope.level()), detail::Pullback<Y, detail::Argument<X>...>(y, variables, scope));
}

}  // namespace wengert

// grad, value_and_grad, vjp: reverse mode as functions from functions to functions.
#pragma once

#include <optional>

#include "level.hpp"

namespace wengert {

namespace detail {

/// The cotangent that a sweep has left on a variable, zeros where none arrived.
template <class T, class D> Tensor<T, D> cotangent_of(const Tensor<T, D>& variable)
{
    const AnyTensor& any = variable.any();
    if constexpr (is_differentiable<T>)
        if (any.node && any.node->cotangent.value) return Tensor<T, D>(any.node->cotangent);
    return Tensor<T, D>(
        AnyTensor{made_in_run(zeros_beside(*any.value, dtype_of<T>(), variable.shape())), {}});
}

template <class X> X cotangents_of(const X& variables)
{
    return tree::map([]<class T, class D>(const Tensor<T, D>& t) { return cotangent_of(t); }, variables);
}

template <std::size_t k, std::size_t... I> inline constexpr bool one_of = ((k == I) || ...);

/// What a function gives that grad differentiates. Asked first, so that a compiler says this alone.
template <class Y> consteval bool is_loss()
{
    static_assert(
        is_tensor<Y>,
        "wengert: grad differentiates a function that returns one tensor with a single element. Of more "
        "results, differentiate one and keep the others: detach(), or vjp of the pair");
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
    } else if constexpr (!is_loss<Y>()) {
        return *static_cast<std::pair<Y, std::tuple<std::tuple_element_t<I, std::tuple<X...>>...>>*>(nullptr);
    } else {
        Tape& tape = Tape::current();
        LevelScope scope(tape, false);
        const std::size_t level = scope.level();
        auto variables = lift_arguments<I...>(level, transform, at, std::index_sequence_for<X...>(), x...);
        auto arguments = variables;  // f may take them by reference and write to them
        auto y = Argument<decltype(apply_at(f, at, arguments))>(apply_at(f, at, arguments));
        check_scalar(y, transform, at);
        report_lost(tape, level, transform, at, y);
        std::optional<Walk> walk(std::in_place, tape, level, false);
        if (walk->reaches(y.any().node.get()))
            walk->run(y.any().node, ones_of(y));
        else if (walk->is_obliged())
            walk->run(nullptr, 0);
        std::tuple<std::tuple_element_t<I, std::tuple<X...>>...> gradients(
            cotangents_of(std::get<I>(variables))...);
        walk.reset();
        scope.close();
        return std::pair(lower(y, level, at), std::move(gradients));
    }
}

// What grad and value_and_grad return: classes with short names, because a debugger shows them on every call.

template <class F, std::size_t... I> class ValueAndGrad : public Closure<ValueAndGrad<F, I...>> {
public:
    ValueAndGrad(F f, const Site& made) : Closure<ValueAndGrad>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts() { return std::is_invocable_v<F&, Argument<X>&...>; }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        auto [value, gradients] = reverse<I...>(function_, "grad", at, argument(x)...);
        if constexpr (sizeof...(I) == 1)
            return std::pair(std::move(value), std::move(std::get<0>(gradients)));
        else
            return std::pair(std::move(value), std::move(gradients));
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
        auto gradients = reverse<I...>(function_, "grad", at, argument(x)...).second;
        if constexpr (sizeof...(I) == 1)
            return std::move(std::get<0>(gradients));
        else
            return gradients;
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

namespace detail {

/// What vjp returns: maps a cotangent of f's result to those of its arguments, as often as wanted.
template <class Y, class... X> class Pullback {
public:
    Pullback(Y y, std::tuple<X...> variables, const LevelScope& scope, std::vector<Ref<Node>> obliged)
        : y_(std::move(y)), variables_(std::move(variables)), level_(scope.level()), start_(scope.start()),
          obliged_(std::move(obliged))
    {}

    auto operator()(const Y& cotangent, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        Tape& tape = Tape::current();
        Walk walk(tape, level_, start_, ~std::uint64_t{0}, true);
        std::vector<Root> roots;
        zip_at(
            "vjp", at,
            [&]<class T, class D>(const Tensor<T, D>& y, const Tensor<T, D>& g) {
                if (const auto root = root_of(walk, y, g, at)) roots.push_back(*root);
            },
            y_, cotangent);
        run(walk, roots);
        if constexpr (sizeof...(X) == 1)
            return cotangents_of(std::get<0>(variables_));
        else
            return std::apply([](const X&... x) { return std::tuple<X...>(cotangents_of(x)...); },
                              variables_);
    }

private:
    using Root = std::pair<Node*, AnyTensor>;
    template <class T, class D>
    static std::optional<Root> root_of(Walk& walk, const Tensor<T, D>& y, const Tensor<T, D>& g,
                                       const Site& at)
    {
        if (!(g.shape("vjp", at) == y.shape("vjp", at)))
            fail<ShapeError>("vjp",
                             "the cotangent's shape " + to_string(g.shape()) + " is not the result's, " +
                                 to_string(y.shape()),
                             at);
        if constexpr (is_differentiable<T>)
            if (walk.reaches(y.any().node.get())) {
                if (y.any().node->tape != &walk.tape())
                    fail<TapeError>(
                        "vjp", "this pullback belongs to another thread or to a tape that has ended", at);
                demand_recorded(g.any(), "vjp", at, walk.start());
                Ref<Block> given = g.any().value;
                if (Recorder* const r = recorder(); r && g.any().node) [[unlikely]] {
                    given = another_header(given);  // no operation takes it where the sweep runs as kernels
                    r->alias(g.any(), given, at);
                }
                return Root(y.any().node.get(),
                            {beside("vjp", std::move(given), *y.any().value, at), g.any().node});
            }
        return {};
    }
    /// One sweep for each result, in order. What is obliged to be passed is passed once, by a sweep from all of them.
    void run(Walk& walk, std::vector<Root>& roots) const
    {
        if (!obliged_.empty()) return walk.run(roots.data(), roots.size(), &obliged_);
        for (Root& root : roots) walk.run(&root, 1, &obliged_);
    }

    Y y_;
    std::tuple<X...> variables_;
    std::size_t level_;
    std::uint64_t start_;
    std::vector<Ref<Node>> obliged_;
};

template <class F, class... X> auto vjp_tensors(F& f, const Site& at, const X&... x)
{
    Tape& tape = Tape::current();
    LevelScope scope(tape, false);
    std::tuple<X...> variables(lift_tree(x, scope.level(), "vjp", at)...);
    std::tuple<X...> arguments = variables;  // f may take them by reference and write to them
    using Y = Argument<decltype(apply_at(f, at, arguments))>;
    Y y = apply_at(f, at, arguments);
    report_lost(tape, scope.level(), "vjp", at, y);
    std::vector<Ref<Node>> obliged = tape.obliged;
    scope.close();
    return std::pair(lower_tree(y, scope.level(), at),
                     Pullback<Y, X...>(y, variables, scope, std::move(obliged)));
}

template <class F, class... X> auto vjp_at(F& f, const Site& at, const X&... x)
{
    static_assert(visible<X...>);
    if constexpr (of_numbers<decltype(apply_at(f, at, std::declval<std::tuple<X...>&>())), X...>)
        return ByTensors<X...>::vjp(f, at, x...);
    else
        return vjp_tensors(f, at, x...);
}

}  // namespace detail

/// (f(x...), pullback): pullback(cotangent) gives the cotangent of x, a tuple of them for several arguments; it may be
/// called repeatedly, also inside other transforms.
template <class F, detail::NoSite A>
auto vjp(F&& f, const A& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::vjp_at(f, at, detail::argument(a));
}
template <class F, detail::NoSite A, detail::NoSite B>
auto vjp(F&& f, const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::vjp_at(f, at, detail::argument(a), detail::argument(b));
}
template <class F, detail::NoSite A, detail::NoSite B, detail::NoSite C>
auto vjp(F&& f, const A& a, const B& b, const C& c, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::vjp_at(f, at, detail::argument(a), detail::argument(b), detail::argument(c));
}
/// With more arguments the line is not known: a default argument cannot follow a pack.
template <class F, detail::NoSite... X>
    requires(sizeof...(X) > 3)
auto vjp(F&& f, const X&... x)
{
    return detail::vjp_at(f, Site{}, detail::argument(x)...);
}

}  // namespace wengert

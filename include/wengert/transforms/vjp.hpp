// vjp: reverse mode as a pullback, which maps cotangents of results to those of arguments.
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

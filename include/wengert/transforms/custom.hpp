// Rules of the user's own.
#pragma once

#include "derivatives.hpp"

namespace wengert {

namespace detail {

/// The result of f on constants. A variable that f captures would silently get no gradient, so it is refused.
template <class F, class... X>
Ref<Block> call_opaque(const F& f, std::string_view name, const Site& at, const X&... x)
{
    const Argument<decltype(f(x...))> y(f(x...));
    static_assert(is_tensor<Argument<decltype(f(x...))>>,
                  "wengert: a function with a custom rule returns one tensor");
    if (y.any().node)
        fail<TapeError>(name,
                        "the function captures a variable (made by " +
                            std::string(y.any().node->primitive->name) +
                            "), which its rule cannot reach: pass it as an argument",
                        at);
    return y.any().value;
}

template <class T, class D> Tensor<T, D> constant(const Ref<Block>& b)
{
    return Tensor<T, D>(AnyTensor{unmarked(b), {}});
}

/// The i-th of the cotangents that a rule returned for n inputs: a tensor for one, a tuple for several.
template <std::size_t i, std::size_t n, class R> auto nth_result(const R& r)
{
    if constexpr (is_tensor<Argument<R>>) {
        static_assert(n == 1,
                      "wengert: a rule for several arguments returns a tuple, one cotangent for each");
        return Argument<R>(r);
    } else {
        static_assert(std::tuple_size_v<R> == n, "wengert: a rule returns one cotangent for each argument");
        return std::get<i>(r);
    }
}
template <class T>
Tensor<T> checked_result(std::string_view name, const char* what, const Tensor<T>& r, const Tensor<T>& like)
{
    if (!(r.shape() == like.shape()))
        fail<ShapeError>(name,
                         "the rule returned a " + std::string(what) + " of shape " + to_string(r.shape()) +
                             " where " + to_string(like.shape()) + " is needed",
                         Tape::current().site_override);
    return r;
}

/// fn(last, first…): rules take the output before the inputs, the framework hands it over last.
template <class Fn, class... X> auto last_first(const Fn& fn, const X&... x)
{
    const std::tuple<const X&...> all(x...);
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        return fn(std::get<sizeof...(X) - 1>(all), std::get<k>(all)...);
    }(std::make_index_sequence<sizeof...(X) - 1>());
}

/// The result of f on the blocks as one operation of a trace, or null; what it consists of in `inside`.
template <class T, class D, class F, class... B>
Ref<Block> call_traced(const F& f, std::string_view name, std::shared_ptr<const Inside>& inside,
                       const Site& at, const B&... blocks)
{
    const auto run = [&](const std::vector<Ref<Block>>& b) {
        return [&]<std::size_t... i>(std::index_sequence<i...>) {
            return call_opaque(f, name, at, constant<T, D>(b[i])...);
        }(std::index_sequence_for<B...>());
    };
    Ref<Block> y;
    inside = current_thread().recorder->inside({blocks...}, run, y, at);
    return y;
}

/// f of the blocks, none of them recorded; the line of the call comes last. In a trace f is one operation. If the trace held the
/// operations inside of f, a derivative of the graph would not know of the rule. They are kept in `inside`, for graphs of which no
/// derivative is asked.
template <class T, class D, class F, class... B>
Ref<Block> call_on_constants(const F& f, std::string_view name, std::shared_ptr<const Inside>& inside,
                             const B&... blocks)
{
    return last_first(
        [&](const Site& at, const auto&... x) {
            Ref<Block> y;
            if (current_thread().recorder) y = call_traced<T, D>(f, name, inside, at, x...);
            const Restore<Recorder*> one_operation(current_thread().recorder, nullptr);
            return y ? y : call_opaque(f, name, at, constant<T, D>(x)...);
        },
        blocks...);
}

/// A function made of the user's own, which it holds as `own` (complex/custom.hpp).
template <class F> inline constexpr bool is_made_of_own = false;

/// Functions without state are told apart by their type, others by the object: one that is made anew in each call of what
/// uses it is still the same.
template <class F, class R, class Visit>
void visit_functions(std::shared_ptr<const std::pair<F, R>>& functions, const Visit& visit)
{
    if constexpr (is_made_of_own<F>) {
        auto own = functions->first.own;
        visit_functions(own, visit);
    } else if constexpr (std::is_empty_v<F> && std::is_empty_v<R>) {
        static const char type = 0;
        std::shared_ptr<const char> identity(std::shared_ptr<const char>(), &type);
        visit(identity);
    } else {
        visit(functions);
    }
}

/// D is the device of all its tensors, by their types.
template <class F, class R, class D> struct CustomVjp {
    static constexpr std::string_view name = "custom_vjp";
    static constexpr bool gives_tangents = false;
    static constexpr unsigned saves = 0xff;
    std::shared_ptr<const std::pair<F, R>> functions;   ///< f and its rule
    mutable std::shared_ptr<const Inside> inside = {};  ///< of this call, in a trace

    /// The parameters that tell two such operations apart.
    template <class Visit> void each(const Visit& visit) { visit_functions(functions, visit); }
    template <class T, class... B> Ref<Block> value(const B&... blocks) const
    {
        return call_on_constants<T, D>(functions->first, name, inside, blocks...);
    }
    template <std::size_t i, class T, class... X>
    Tensor<T> pull(wrt<i>, const Tensor<T>& g, const X&... xy) const
    {
        return last_first(
            [&](const auto& y, const auto&... x) {
                const auto r = functions->second(on<D>(g), on<D>(y), on<D>(x)...);
                return checked_result(name, "cotangent", on<cpu>(nth_result<i, sizeof...(x)>(r)),
                                      std::get<i>(std::tie(x...)));
            },
            xy...);
    }
    template <class X, class... More> X push(const X&, const More&...) const
    {
        fail<NoForwardMode>(
            name, "a function with a custom_vjp rule has no forward mode; give it a custom_jvp rule",
            Tape::current().site_override);
    }
};

/// ẏ = rule(ẋ…, y, x…); its reverse is the transpose of the rule, which is linear in ẋ.
template <class F, class R, class D> struct CustomJvp {
    static constexpr std::string_view name = "custom_jvp";
    static constexpr bool gives_tangents = true;
    static constexpr unsigned saves = 0xff;
    std::shared_ptr<const std::pair<F, R>> functions;
    mutable std::shared_ptr<const Inside> inside = {};

    template <class Visit> void each(const Visit& visit) { visit_functions(functions, visit); }
    template <class T, class... B> Ref<Block> value(const B&... blocks) const
    {
        return call_on_constants<T, D>(functions->first, name, inside, blocks...);
    }
    template <std::size_t i, class T, class... X>
    Tensor<T> pull(wrt<i>, const Tensor<T>& g, const X&... xy) const
    {
        return last_first(
            [&](const auto& y, const auto&... x) {
                const auto linear = [&](const auto&... dot) {
                    return functions->second(dot..., on<D>(y), on<D>(x)...);
                };
                const auto r = vjp_at(linear, Site{}, on<D>(broadcast_to(zero_like(x), x.shape(), Site{}))...)
                                   .second(on<D>(g), Site{});
                return Tensor<T>(on<cpu>(nth_result<i, sizeof...(x)>(r)));
            },
            xy...);
    }
    template <class T, class... More> Tensor<T> push(const Tensor<T>& first, const More&... more) const
    {
        constexpr std::size_t n = sizeof...(More) / 2;
        const auto all = std::tie(first, more...);
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            const auto r = functions->second(on<D>(std::get<k>(all))..., on<D>(std::get<2 * n>(all)),
                                             on<D>(std::get<n + k>(all))...);
            return checked_result(name, "tangent", on<cpu>(r), std::get<2 * n>(all));
        }(std::make_index_sequence<n>());
    }
};

/// complex/custom.hpp
template <class... X> struct ByParts;

template <template <class, class, class> class Op, class F, class R>
class WithRule : public Closure<WithRule<Op, F, R>> {
public:
    WithRule(F f, R rule, const Site& made)
        : Closure<WithRule>(made),
          functions_(std::make_shared<const std::pair<F, R>>(std::move(f), std::move(rule)))
    {}
    WithRule(const WithRule&) = default;  // a handle: one that is moved stays what it is
    WithRule& operator=(const WithRule&) = default;
    template <class... X> static constexpr bool accepts()
    {
        if constexpr (((is_tensor<Argument<X>> || is_complex_tensor<Argument<X>>)&&...) ||
                      of_numbers<float, Argument<X>...>)
            return std::is_invocable_v<const F&, const Argument<X>&...>;
        else
            return false;
    }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        using Y = std::remove_cvref_t<std::invoke_result_t<const F&, const Argument<X>&...>>;
        if constexpr (of_numbers<Y, Argument<X>...>)
            return ByTensors<Argument<X>...>::template with_rule<Op<F, R, cpu>>(functions_, at,
                                                                                argument(x)...);
        else if constexpr (is_complex_tensor<Y> || (is_complex_tensor<Argument<X>> || ...))
            return ByParts<Argument<X>...>::template with_rule<Op>(functions_, at, argument(x)...);
        else
            return on_tensors(at, argument(x)...);
    }

private:
    template <class First, class... X> auto on_tensors(const Site& at, const First& x, const X&... more) const
    {
        using Rule = Op<F, R, typename First::device_type>;
        return apply<Rule, typename First::value_type>(Rule{functions_}, at, x, more...);
    }
    std::shared_ptr<const std::pair<F, R>> functions_;
};

}  // namespace detail

/// f with a reverse rule of your own: rule(ȳ, y, x…) returns x̄ (a tuple for several arguments: real and complex tensors of one
/// precision, or reals and structs of them).
/// The rule may use any operation and is differentiated in turn. Under jvp it throws a TapeError that names it.
template <class F, class R> auto custom_vjp(F f, R rule, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::WithRule<detail::CustomVjp, F, R>(std::move(f), std::move(rule), at);
}

/// f with a forward rule of your own: rule(ẋ…, y, x…) returns ẏ and must be linear in ẋ; reverse mode is its transpose.
template <class F, class R> auto custom_jvp(F f, R rule, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::WithRule<detail::CustomJvp, F, R>(std::move(f), std::move(rule), at);
}

}  // namespace wengert

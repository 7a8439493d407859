// Rules of the user's own.
#pragma once

#include "derivatives.hpp"

namespace wengert {

namespace detail {

/// f on constants. A variable that f captures would silently get no gradient, so it is refused. In a trace f is one
/// operation: were it what f does, a derivative of the graph would not know of the rule.
template <class F, class... X>
auto call_opaque(const F& f, std::string_view name, const Site& at, const X&... x)
{
    Recorder* const recorder = current_thread().recorder;
    const Restore<Recorder*> one_operation(current_thread().recorder, nullptr);
    auto y = f(x...);
    static_assert(is_tensor<decltype(y)>, "wengert: a function with a custom rule returns one tensor");
    if (y.any().node)
        fail<TapeError>(name,
                        "the function captures a variable (made by " +
                            std::string(y.any().node->primitive->name) +
                            "), which its rule cannot reach: pass it as an argument",
                        at);
    const Ref<Block>& b = y.any().value;
    if (recorder && ((b.get() == x.any().value.get()) || ...))  // an identity with a rule
        return make_view(b, b->shape, b->strided ? &b->view_strides : nullptr, 0);
    return b;
}

template <class T> Tensor<T> constant(const Ref<Block>& b) { return Tensor<T>(AnyTensor{b, {}}); }

/// The i-th cotangent that a rule returned: a tensor for one input, a tuple for several.
template <std::size_t i, class R> auto nth_result(const R& r)
{
    if constexpr (is_tensor<R>)
        return r;
    else
        return std::get<i>(r);
}

/// fn(last, first…): rules take the output before the inputs, the framework hands it over last.
template <class Fn, class... X> auto last_first(const Fn& fn, const X&... x)
{
    const std::tuple<const X&...> all(x...);
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        return fn(std::get<sizeof...(X) - 1>(all), std::get<k>(all)...);
    }(std::make_index_sequence<sizeof...(X) - 1>());
}

/// f of the blocks, none of them recorded; the line of the call comes last.
template <class T, class F, class... B>
Ref<Block> call_on_constants(const F& f, std::string_view name, const B&... blocks)
{
    return last_first(
        [&](const Site& at, const auto&... x) { return call_opaque(f, name, at, constant<T>(x)...); },
        blocks...);
}

template <class F, class R> struct CustomVjp {
    static constexpr std::string_view name = "custom_vjp";
    static constexpr unsigned saves = 0xff;
    std::shared_ptr<const std::pair<F, R>> functions;  // f and its rule

    template <class T, class... B> Ref<Block> value(const B&... blocks) const
    {
        return call_on_constants<T>(functions->first, name, blocks...);
    }
    template <std::size_t i, class T, class... X>
    Tensor<T> pull(wrt<i>, const Tensor<T>& g, const X&... xy) const
    {
        return last_first(
            [&](const auto& y, const auto&... x) { return nth_result<i>(functions->second(g, y, x...)); },
            xy...);
    }
    template <class X, class... More> X push(const X&, const More&...) const
    {
        fail<TapeError>(name,
                        "a function with a custom_vjp rule has no forward mode; give it a custom_jvp rule",
                        Tape::current().site_override);
    }
};

/// ẏ = rule(ẋ…, y, x…); its reverse is the transpose of the rule, which is linear in ẋ.
template <class F, class R> struct CustomJvp {
    static constexpr std::string_view name = "custom_jvp";
    static constexpr unsigned saves = 0xff;
    std::shared_ptr<const std::pair<F, R>> functions;

    template <class T, class... B> Ref<Block> value(const B&... blocks) const
    {
        return call_on_constants<T>(functions->first, name, blocks...);
    }
    template <std::size_t i, class T, class... X>
    Tensor<T> pull(wrt<i>, const Tensor<T>& g, const X&... xy) const
    {
        return last_first(
            [&](const auto& y, const auto&... x) {
                const auto linear = [&](const auto&... dot) { return functions->second(dot..., y, x...); };
                return nth_result<i>(vjp_at(linear, Site{}, broadcast_to(zero_like(x), x.shape(), Site{})...)
                                         .second(g, Site{}));
            },
            xy...);
    }
    template <class T, class... More> Tensor<T> push(const Tensor<T>& first, const More&... more) const
    {
        constexpr std::size_t n = sizeof...(More) / 2;
        const auto all = std::tie(first, more...);
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            return functions->second(std::get<k>(all)..., std::get<2 * n>(all), std::get<n + k>(all)...);
        }(std::make_index_sequence<n>());
    }
};

template <template <class, class> class Op, class F, class R>
class WithRule : public Closure<WithRule<Op, F, R>> {
public:
    WithRule(F f, R rule, const Site& made)
        : Closure<WithRule>(made),
          functions_(std::make_shared<const std::pair<F, R>>(std::move(f), std::move(rule)))
    {}
    template <class... X> static constexpr bool accepts() { return (is_tensor<Argument<X>> && ...); }
    template <class First, class... X> auto at_line(const Site& at, const First& x, const X&... more) const
    {
        using T = typename First::value_type;
        return apply<Op<F, R>, T>(Op<F, R>{functions_}, at, argument(x), argument(more)...);
    }

private:
    std::shared_ptr<const std::pair<F, R>> functions_;
};

}  // namespace detail

/// f with a reverse rule of your own: rule(ȳ, y, x…) returns x̄ (a tuple for several arguments, tensors of one dtype).
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

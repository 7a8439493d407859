// grad, vjp, jvp, check_grads, checkpoint, preaccumulate of functions of reals: those of a function of tensors that hold the reals.
#pragma once

#include "../../transforms/check_grads.hpp"
#include "../../transforms/checkpoint.hpp"
#include "../../transforms/preaccumulate.hpp"
#include "level.hpp"
#include "packed.hpp"

namespace wengert::detail {

template <class F, class X>
auto jacobian_of_reals(F& f, const X& x, const Site& at);  // scalar/jacobian/dense.hpp
template <class Rule, class Functions, class... X>
auto rule_on_reals(const Functions& functions, const Site& at,
                   const X&... x);  // scalar/transforms/custom.hpp
template <class F, class Options, class State, class Xs>
auto loop_of_reals(F step, Options options, const Site& at, const State& state,
                   const Xs& xs);  // scalar/transforms/loop.hpp

/// What grad's function returns, as a tensor, and back.
template <class Y> auto loss_tensor(const Y& y, const Site& at)
{
    static_assert(
        is_real<Y> || is_tensor<Y>,
        "wengert: grad differentiates a function that returns one Real, or one tensor with a single "
        "element");
    if constexpr (is_real<Y>)
        return Tensor<typename Y::plain_type>(gathered(&y, 1, Shape(), at, "scalar code"));
    else
        return y;
}

/// A function of what is packed, for a section. Its plain numbers may decide what it gives (transforms/checkpoint.hpp).
template <class G, bool compares> struct OnPacked {
    static constexpr bool compares_results = compares;
    G function;
    template <class... P> auto operator()(const P&... p) const { return function(p...); }
};

/// What vjp returns for functions of reals.
template <class Inner, class Y, class... X> class NumberPullback {
public:
    explicit NumberPullback(Inner inner) : inner_(std::move(inner)) {}
    auto operator()(const Y& cotangent, Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        const auto g = inner_(pack(cotangent, at), at);
        if constexpr (sizeof...(X) == 1)
            return (unpack_gradient<X>(g, at), ...);
        else
            return [&]<std::size_t... k>(std::index_sequence<k...>) {
                return std::tuple<X...>(unpack_gradient<X>(std::get<k>(g), at)...);
            }(std::index_sequence_for<X...>());
    }

private:
    Inner inner_;
};

template <class... X> struct ByTensors {
    template <class F>
    using Result =
        Argument<decltype(apply_at(std::declval<F&>(), Site{}, std::declval<std::tuple<X...>&>()))>;

    /// f of arguments that arrive as tensors.
    template <class F> static Result<F> call(F& f, const Site& at, const packed_t<X>&... p)
    {
        const Restore<Site> within(enclosing_call, at);
        std::tuple<X...> x(unpack<X>(p, at)...);
        return Result<F>(apply_at(f, at, x));
    }

    template <std::size_t... I, class F>
    static auto reverse(F& f, std::string_view transform, const Site& at, const X&... x)
    {
        if constexpr (has_more<F>)
            return reverse_with_aux<I...>(f, transform, at, x...);
        else if constexpr (is_real<Result<F>> &&
                           (of_reals_alone<std::tuple_element_t<I, std::tuple<X...>>> && ...))
            return reverse_of_reals<I...>(f, transform, at, x...);
        else
            return reverse_by_tensors<I...>(f, transform, at, x...);
    }
    template <std::size_t... I, class F>
    static auto reverse_by_tensors(F& f, std::string_view transform, const Site& at, const X&... x)
    {
        const auto g = [&](const packed_t<X>&... p) { return loss_tensor(call(f, at, p...), at); };
        auto [value, gradients] = detail::reverse<I...>(g, transform, at, pack(x, at)...);
        return std::pair(as_loss<Result<F>>(std::move(value), at), unpacked<I...>(gradients, at));
    }
    template <std::size_t... I, class F>
    static auto reverse_with_aux(F& f, std::string_view transform, const Site& at, const X&... x)
    {
        using Y = Result<F>;
        static_assert(is_pair<Y>, "wengert: with has_aux the function returns std::pair(loss, more)");
        WithAux g([&](const packed_t<X>&... p) {
            const Y y = call(f, at, p...);
            return std::pair(loss_tensor(y.first, at), pack(y.second, at));
        });
        auto [value, gradients] = detail::reverse<I...>(g, transform, at, pack(x, at)...);
        return std::pair(Y(as_loss<typename Y::first_type>(std::move(value.first), at),
                           unpack<typename Y::second_type>(value.second, at)),
                         unpacked<I...>(gradients, at));
    }
    /// A loss as f returned it.
    template <class Y, class T> static Y as_loss(T value, const Site& at)
    {
        if constexpr (is_real<Y>)
            return real(value, at);
        else
            return value;
    }
    template <std::size_t... I, class Packed> static auto unpacked(const Packed& gradients, const Site& at)
    {
        using Gradients = std::tuple<std::tuple_element_t<I, std::tuple<X...>>...>;
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            return Gradients(
                unpack_gradient<std::tuple_element_t<k, Gradients>>(std::get<k>(gradients), at)...);
        }(std::make_index_sequence<sizeof...(I)>());
    }

    template <class F> static auto vjp(F& f, const Site& at, const X&... x)
    {
        using Y = Result<F>;
        const auto g = [&](const packed_t<X>&... p) { return pack(call(f, at, p...), at); };
        auto [y, pullback] = vjp_tensors(g, at, pack(x, at)...);
        return std::pair(unpack<Y>(y, at), NumberPullback<decltype(pullback), Y, X...>(std::move(pullback)));
    }

    /// f as one section of the tape, a Checkpoint or a Preaccumulate. A kernel's graph has no use for one.
    template <template <class> class Section, class F>
    static auto section(const std::shared_ptr<F>& f, const Site& at, const X&... x)
    {
        if (in_kernel()) return Result<F>(call_at(*f, at, x...));
        const auto g = [f, at](const packed_t<X>&... p) { return pack(call(*f, at, p...), at); };
        using G = OnPacked<std::remove_const_t<decltype(g)>, of_reals_alone<Result<F>>>;
        return unpack<Result<F>>(Section<G>(G{g}, at).at_line(at, pack(x, at)...), at);
    }
    /// A function with a rule of the user's (scalar/transforms/custom.hpp).
    template <class Rule, class Functions>
    static auto with_rule(const Functions& functions, const Site& at, const X&... x)
    {
        return rule_on_reals<Rule>(functions, at, x...);
    }
    /// A loop with checkpoints (scalar/transforms/loop.hpp).
    template <class F, class Options>
    static auto loop(F step, Options options, const Site& at, const X&... state_and_xs)
    {
        return loop_of_reals(std::move(step), std::move(options), at, state_and_xs...);
    }

    // Of one argument, which may be a tuple of them.

    template <class F, class A> static auto called_with(F& f, const A& x, const Site& at)
    {
        return call_with(f, x, at);
    }
    template <class F, class A>
    static auto forward(F& f, const A& x, const A& v, std::string_view who, const Site& at)
    {
        using Y = decltype(called_with(f, x, at));
        zip_at(
            who, at, [](const auto&, const auto&) {}, x, v);
        if constexpr (of_reals_alone<A> && of_reals_alone<Y>) {
            return forward_of_reals(f, x, v, who, at);
        } else {
            const auto g = [&](const packed_t<A>& p) {
                return pack(called_with(f, unpack<A>(p, at), at), at);
            };
            auto [y, dot] = forward_tensors(g, pack(x, at), pack(v, at), who, at);
            return std::pair(unpack<Y>(y, at), unpack_gradient<Y>(dot, at));
        }
    }
    template <class F, class A> static auto jacobian(F& f, const A& x, const Site& at)
    {
        return jacobian_of_reals(f, x, at);
    }
    template <class F, class A>
    static CheckReport check(F& f, const A& x, const CheckOptions& options, const Site& at)
    {
        const auto g = [&](const packed_t<A>& p) { return pack(called_with(f, unpack<A>(p, at), at), at); };
        const packed_t<A> p = pack(x, at);
        if constexpr (!may_hold<A, float>)
            return check_grads_as<double>(g, p, options, at);
        else if constexpr (!may_hold<A, double>)
            return check_grads_as<float>(g, p, options, at);
        else
            return holds_double(p) ? check_grads_as<double>(g, p, options, at)
                                   : check_grads_as<float>(g, p, options, at);
    }
};

}  // namespace wengert::detail

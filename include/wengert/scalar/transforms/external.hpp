// external(): a solver from elsewhere in scalar code, one operation with rules of its own.
#pragma once

#include <memory>
#include <span>

#include "exchange.hpp"
#include "../real/functions.hpp"

namespace wengert {

namespace detail {

/// A call without a tangent.
struct NoTangent {};
struct NoData {};

template <class Forward, class Reverse, class Tangent> struct ExternalRules {
    Forward forward;
    Reverse reverse;
    Tangent tangent;
};

/// What forward returns is kept for the rules, and comes to them as their first argument.
template <class T, class Forward>
using external_data = std::invoke_result_t<const Forward&, std::span<const T>, std::span<T>>;

template <class T, class Data, class Rule, class... Spans>
void call_external(const Rule& rule, const Data* data, const Spans&... spans)
{
    if constexpr (std::is_same_v<Data, NoData>)
        rule(spans...);
    else
        rule(*data, spans...);
}

/// x and y stand for all inputs and all outputs.
template <class T, class Forward, class Reverse, class Tangent> struct External {
    static constexpr std::string_view name = "external";
    static constexpr unsigned saves = 0b011;
    using Returned = external_data<T, Forward>;
    using Data = std::conditional_t<std::is_void_v<Returned>, NoData, std::remove_cvref_t<Returned>>;

    std::shared_ptr<const ExternalRules<Forward, Reverse, Tangent>> rules;
    std::shared_ptr<const std::size_t> outputs;  ///< their number
    mutable std::shared_ptr<const Data> data;    ///< of this call

    template <class Visit> void each(const Visit& visit) { visit(rules); }
    template <class> Ref<Block> value(const Ref<Block>& of, const Site&) const
    {
        const Ref<Block> x = contiguous(of);
        auto y = zeros_block(dtype_of<T>(), Shape{*outputs});
        const std::span<const T> in(x->template as<T>(), x->count);
        const std::span<T> out(y->template as<T>(), y->count);
        if constexpr (std::is_void_v<Returned>)
            rules->forward(in, out);
        else
            data = std::make_shared<const Data>(rules->forward(in, out));
        return y;
    }
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return by_rule(rules->reverse, "reverse rule", x.size(), x, y, g);
    }
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const
    {
        if constexpr (std::is_same_v<Tangent, NoTangent>)
            fail<NoForwardMode>(name, "it was given no tangent rule, so it has no forward mode", line());
        else
            return by_rule(rules->tangent, "tangent rule", *outputs, x, y, dot);
    }

private:
    static Site line() { return Tape::current().site_override; }
    /// On numbers; where a derivative of the derivative is asked for on reals, for which the rule must be a template.
    template <class Rule>
    Tensor<T> by_rule(const Rule& rule, const char* what, std::size_t n, const Tensor<T>& x,
                      const Tensor<T>& y, const Tensor<T>& g) const
    {
        const AnyTensor* const in[] = {&x.any(), &y.any(), &g.any()};
        if (Tape::current().dependence(in, 3, name, line()) == 0) {
            const Ref<Block> bx = readable(x.any().value), by = readable(y.any().value),
                             bg = readable(g.any().value);
            auto out = zeros_block(dtype_of<T>(), Shape{n});
            call_external<T, Data>(rule, data.get(), span_of(*bx), span_of(*by), span_of(*bg),
                                   std::span<T>(out->template as<T>(), n));
            return Tensor<T>(AnyTensor{placed(std::move(out), g.any().value->device()), {}});
        }
        using In = std::span<const Real<T>>;
        using Out = std::span<Real<T>>;
        constexpr bool on_reals = std::is_invocable_v<const Rule&, In, In, In, Out> ||
                                  std::is_invocable_v<const Rule&, const Data&, In, In, In, Out>;
        if constexpr (on_reals) {
            const auto rx = elements(x), ry = elements(y), rg = elements(g);
            std::vector<Real<T>> out(n);
            call_external<T, Data>(rule, data.get(), In(rx), In(ry), In(rg), Out(out));
            return stack(out);
        } else {
            fail<TapeError>(name,
                            "a derivative of its " + std::string(what) +
                                " is asked for, which takes numbers alone: make it a template over the "
                                "number, std::span<const Number>, in terms of operations on Reals",
                            line());
        }
    }
    static std::span<const T> span_of(const Block& b) { return {b.template as<T>(), b.count}; }
};

}  // namespace detail

/// Calls a solver from elsewhere: outputs = forward(inputs), ranges of Reals that lie in one piece. In terms of spans of numbers,
///
///     forward(x, y)                 writes y
///     reverse(x, y, ȳ, x̄)           adds (∂y/∂x)ᵀ ȳ to x̄, which is zeros
///     tangent(x, y, ẋ, ẏ)           adds (∂y/∂x) ẋ to ẏ, likewise
///
/// What forward returns, a factorization say, is kept as long as a derivative may want it and handed to the other two before x.
/// Without a tangent forward mode throws NoForwardMode. Derivatives of higher order need rules that are templates over the number.
template <class Inputs, class Outputs, class Forward, class Reverse, class Tangent = detail::NoTangent>
void external(const Inputs& inputs, Outputs&& outputs, Forward forward, Reverse reverse, Tangent tangent = {},
              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (detail::in_kernel())
        fail<TapeError>("external",
                        "a kernel's cells and frozen functions of Reals know operations on numbers alone: "
                        "call it outside of them",
                        at);
    const std::span in(inputs);
    const std::span out(outputs);
    using Number = std::remove_cv_t<typename decltype(in)::element_type>;
    static_assert(detail::is_real<Number> && std::is_same_v<typename decltype(out)::element_type, Number>,
                  "wengert: external takes ranges of Reals of one precision");
    using T = typename Number::plain_type;
    using Rules = detail::ExternalRules<Forward, Reverse, Tangent>;
    using Op = detail::External<T, Forward, Reverse, Tangent>;
    const Op op{std::make_shared<const Rules>(std::move(forward), std::move(reverse), std::move(tangent)),
                std::make_shared<const std::size_t>(out.size()),
                {}};
    const Tensor<T> x = stack(std::span<const Number>(in), at);
    const auto y = elements(apply<Op, T>(op, at, x), at);
    std::copy(y.begin(), y.end(), out.begin());
}

}  // namespace wengert

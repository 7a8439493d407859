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
/// The data of a forward function that returns void.
struct NoData {};

/// The arguments of a rule: inputs x, outputs y, the cotangent of y or the tangent of x, and the span to which the result is added.
template <class N> struct ExternalSpans {
    std::span<const N> x, y, g;
    std::span<N> out;
};

/// The functions of a call, whatever their types are.
template <class T> class ExternalRules {
public:
    enum class Rule : bool { reverse, tangent };
    virtual ~ExternalRules() = default;
    /// Writes y and returns the data that the rules get.
    virtual std::shared_ptr<const void> forward(std::span<const T> x, std::span<T> y) const = 0;
    virtual void run(Rule, const void* data, const ExternalSpans<T>&) const = 0;
    /// On reals, for a derivative of the derivative. False for a rule that takes numbers alone, or what forward has made of numbers:
    /// that would be a constant.
    virtual bool run(Rule, const void* data, const ExternalSpans<Real<T>>&) const = 0;
    virtual bool has_tangent() const = 0;
};

/// x and y stand for all inputs and all outputs.
template <class T> struct External {
    static constexpr std::string_view name = "external";
    static constexpr unsigned saves = 0b011;
    using Rule = typename ExternalRules<T>::Rule;

    std::shared_ptr<const ExternalRules<T>> rules;
    std::size_t outputs;                       ///< their number
    mutable std::shared_ptr<const void> data;  ///< of this call

    template <class Visit> void each(const Visit& visit) { visit(rules); }
    template <class> Ref<Block> value(const Ref<Block>& of, const Site&) const;
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        return by_rule(Rule::reverse, x.size(), x, y, g);
    }
    Tensor<T> push(const Tensor<T>& dot, const Tensor<T>& x, const Tensor<T>& y) const;

private:
    Tensor<T> by_rule(Rule rule, std::size_t n, const Tensor<T>& x, const Tensor<T>& y,
                      const Tensor<T>& g) const;
};

/// The description of External<T>.
template <class T> const Primitive& external_description();
template <class T>
void call_external(const Primitive& p, std::shared_ptr<const ExternalRules<T>> rules,
                   std::span<const Real<T>> in, std::span<Real<T>> out, const Site& at);

/// The functions of a call as the user wrote them.
template <class T, class Forward, class Reverse, class Tangent>
class ExternalFunctions final : public ExternalRules<T> {
public:
    using Rule = typename ExternalRules<T>::Rule;
    using Returned = std::invoke_result_t<const Forward&, const std::span<const T>&, const std::span<T>&>;

    ExternalFunctions(Forward forward, Reverse reverse, Tangent tangent)
        : forward_(std::move(forward)), reverse_(std::move(reverse)), tangent_(std::move(tangent))
    {}
    std::shared_ptr<const void> forward(const std::span<const T> x, const std::span<T> y) const override
    {
        if constexpr (std::is_void_v<Returned>) {
            forward_(x, y);
            return nullptr;
        } else {
            return std::make_shared<const std::remove_cvref_t<Returned>>(forward_(x, y));
        }
    }
    void run(Rule rule, const void* data, const ExternalSpans<T>& s) const override { by(rule, data, s); }
    bool run(Rule rule, const void* data, const ExternalSpans<Real<T>>& s) const override
    {
        return std::is_void_v<Returned> && by(rule, data, s);
    }
    bool has_tangent() const override { return !std::is_same_v<Tangent, NoTangent>; }
    /// One for each type of functions: a checkpoint compares the operations of its runs by their primitives.
    static const Primitive& primitive()
    {
        static const Primitive own = external_description<T>();
        return own;
    }

private:
    template <class N> bool by(Rule rule, const void* data, const ExternalSpans<N>& s) const
    {
        return rule == Rule::reverse ? call(reverse_, data, s) : call(tangent_, data, s);
    }
    template <class F, class N> static bool call(const F& f, const void* data, const ExternalSpans<N>& s)
    {
        using In = const std::span<const N>&;
        using Out = const std::span<N>&;
        using Data = std::conditional_t<std::is_void_v<Returned>, NoData, std::remove_cvref_t<Returned>>;
        constexpr bool keeps = !std::is_void_v<Returned>;
        constexpr bool plain = !keeps && std::is_invocable_v<const F&, In, In, In, Out>;
        constexpr bool with_data = keeps && std::is_invocable_v<const F&, const Data&, In, In, In, Out>;
        static_assert(
            plain || with_data || !std::is_same_v<N, T> || std::is_same_v<F, NoTangent>,
            "wengert: a rule of external takes spans of x, y, a cotangent or tangent, and of what it adds "
            "to; before them what forward returns, if it returns something");
        if constexpr (plain)
            f(s.x, s.y, s.g, s.out);
        else if constexpr (with_data)
            f(*static_cast<const Data*>(data), s.x, s.y, s.g, s.out);
        return plain || with_data;
    }

    Forward forward_;
    Reverse reverse_;
    Tangent tangent_;
};

}  // namespace detail

/// Calls a solver from elsewhere: outputs = forward(inputs), ranges of Reals that lie in one piece. In terms of spans of numbers,
///
///     forward(x, y)                 writes y
///     reverse(x, y, ȳ, x̄)           adds (∂y/∂x)ᵀ ȳ to x̄, which is zeros
///     tangent(x, y, ẋ, ẏ)           adds (∂y/∂x) ẋ to ẏ, likewise
///
/// What forward returns, a factorization say, is kept as long as a derivative may want it and handed to the other two before x.
/// Without a tangent forward mode throws NoForwardMode. Derivatives of higher order need rules that are templates over the number, and
/// a forward that returns nothing: what it made of x would be a constant in them. What x does not decide belongs into captures.
template <class Inputs, class Outputs, class Forward, class Reverse, class Tangent = detail::NoTangent>
void external(const Inputs& inputs, Outputs&& outputs, Forward forward, Reverse reverse, Tangent tangent = {},
              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const std::span in(inputs);
    const std::span out(outputs);
    using Number = std::remove_cv_t<typename decltype(in)::element_type>;
    static_assert(detail::is_real<Number> && std::is_same_v<typename decltype(out)::element_type, Number>,
                  "wengert: external takes ranges of Reals of one precision");
    using T = typename Number::plain_type;
    using Functions = detail::ExternalFunctions<T, Forward, Reverse, Tangent>;
    detail::call_external<T>(
        Functions::primitive(),
        std::make_shared<const Functions>(std::move(forward), std::move(reverse), std::move(tangent)), in,
        out, at);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/external.ipp"
#endif

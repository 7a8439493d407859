// The derivatives of a structural operation in both modes, from the rules that its struct has or that its description gives.
#pragma once

#include "../../base/separate.hpp"
#include "zero_where.hpp"

namespace wengert {

template <class Op, class Out, class... In, class D>
Tensor<Out, D> apply(const Op& op, const Site& at, const Tensor<In, D>&... x);

namespace detail {

/// The derivative of a structural operation with respect to one input, for all types of elements at once.
struct StructuralPull {
    /// The rule on tensors; null where the input has no derivative.
    AnyTensor (*pull)(const Node& n, const AnyTensor& g, const AnyTensor* x, const AnyTensor& y) = nullptr;
    /// x̄ += the contribution, where the rule can; false where it cannot this time.
    bool (*add)(const Node& n, const AnyTensor& g, const AnyTensor* x, const AnyTensor& y,
                Block& into) = nullptr;
    /// Turns ȳ into x̄ in place, where nobody else needs ȳ; null where the rule cannot.
    void (*change)(const Node& n, const Ref<Block>& g) = nullptr;
    /// r, with 0 for what is not finite when all of g is 0; null where the rule needs no such thing.
    AnyTensor (*with_zero_rule)(const AnyTensor& r, const AnyTensor& g) = nullptr;
    bool part = false;   ///< `add` touches a part of the input: there need not be anything to add to
    unsigned reads = 0;  ///< which values the rule reads: bit i for input i, then the output
};

/// Adds the cotangents of the inputs of n by these.
WENGERT_INLINE void structural_vjp_by(const Node& n, const AnyTensor& g, const StructuralPull* pulls,
                                      Cotangents& out);

/// x as a tensor of T, for a rule that keeps no reference to it. A copy would count block and node up and down for each rule and
/// each value; a Tensor is an AnyTensor and nothing else.
template <class T> const Tensor<T>& borrowed(const AnyTensor& x) noexcept
{
    static_assert(sizeof(Tensor<T>) == sizeof(AnyTensor) && std::is_standard_layout_v<Tensor<T>>);
    return reinterpret_cast<const Tensor<T>&>(x);
}

/// Rules on tensors are marked cold, as what takes its time are the operations that they call: short code is enough.
template <class Op, std::size_t i, class Out, class... In> struct StructuralPullOf {
    template <std::size_t... k>
    [[gnu::cold]] static AnyTensor pull(const Node& n, const AnyTensor& g, const AnyTensor* x,
                                        const AnyTensor& y)
    {
        return pull_of<Op, i, Out, In...>(*static_cast<const Op*>(n.op), n, borrowed<Out>(g),
                                          borrowed<Out>(y), borrowed<In>(x[k])...)
            .any();
    }
    template <std::size_t... k>
    static bool add(const Node& n, const AnyTensor& g, const AnyTensor* x, const AnyTensor& y, Block& into)
    {
        const Op& op = *static_cast<const Op*>(n.op);
        if constexpr (requires { op.accumulate(wrt<i>{}, into, into); }) {
            op.accumulate(wrt<i>{}, into, *g.value);
            return true;
        } else {
            return op.accumulate(wrt<i>{}, into, borrowed<Out>(g), borrowed<In>(x[k])..., borrowed<Out>(y));
        }
    }
};

template <class Op, std::size_t i> void change_cotangent(const Node& n, const Ref<Block>& g)
{
    static_cast<const Op*>(n.op)->change(wrt<i>{}, g);
}

template <class T> [[gnu::cold]] AnyTensor with_zero_rule(const AnyTensor& r, const AnyTensor& g)
{
    return apply<ZeroWhereNoCotangent, T>({}, Site{}, Tensor<T>(r), Tensor<T>(g)).any();
}

template <class Op, std::size_t i, class Out, class... In>
concept has_structural_pull =
    pulls<Op, i, Out, In...> || derives_pull<Op, i, Out, In...> || derives_fold_pull<Op, i, Out, In...>;
/// Bit i for each input of the result's type that the rule does not name.
template <class Op, class Out, class... In> constexpr std::uint8_t silent_inputs()
{
    unsigned bits = 0;
    [&]<std::size_t... k>(std::index_sequence<k...>) {
        ((bits |= std::is_same_v<In, Out> && !has_structural_pull<Op, k, Out, In...> ? 1U << k : 0U), ...);
    }(std::index_sequence_for<In...>());
    return static_cast<std::uint8_t>(bits);
}

template <class Op, std::size_t i, class Out, class... In, std::size_t... k>
constexpr StructuralPull make_structural_pull(std::index_sequence<k...>)
{
    static_assert(
        !Folded<Op> || pulls<Op, i, Out, In...> || derives_fold_pull<Op, i, Out, In...> ||
            !std::is_same_v<std::tuple_element_t<i, std::tuple<In...>>, Out>,
        "wengert: a fold of several passes, or with a result for each element, has a pull and a push of its "
        "own, or says flat");
    StructuralPull p;
    if constexpr (has_structural_pull<Op, i, Out, In...>) {
        constexpr bool part = requires(const Op& op, Block& b) { op.accumulate(wrt<i>{}, b, b); };
        constexpr bool whole = requires(const Op& op, Block& b, const Tensor<Out>& g,
                                        const Tensor<In>&... x) { op.accumulate(wrt<i>{}, b, g, x..., g); };
        p.pull = StructuralPullOf<Op, i, Out, In...>::template pull<k...>;
        if constexpr (part || whole) p.add = StructuralPullOf<Op, i, Out, In...>::template add<k...>;
        if constexpr (requires(const Op& op, const Ref<Block>& b) { op.change(wrt<i>{}, b); })
            p.change = change_cotangent<Op, i>;
        if constexpr (!linear<Op>() && !affine<Op>()) p.with_zero_rule = with_zero_rule<Out>;
        p.part = part;
        p.reads = read_by_pull<Op, i, sizeof...(In)>();
    }
    return p;
}

template <class Op, class Out, class... In>
inline constexpr auto structural_pulls = []<std::size_t... k>(std::index_sequence<k...> all) {
    return std::array{make_structural_pull<Op, k, Out, In...>(all)...};
}(std::index_sequence_for<In...>());

template <class Op, class Out, class... In>
void structural_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Op& op = *static_cast<const Op*>(n.op);
    if constexpr (requires { op.hands_over(n, g, out); })
        if (op.hands_over(n, g, out)) return;
    structural_vjp_by(n, g, structural_pulls<Op, Out, In...>.data(), out);
}

/// Σᵢ op(…, ẋᵢ, …): the product rule.
template <class Op, class Out, class... In, std::size_t... k>
AnyTensor push_bilinear(const Op& op, const AnyTensor* x, const AnyTensor* dot, std::index_sequence<k...>)
{
    AnyTensor total;
    const auto one = [&](std::size_t i) {
        if (!dot[i].value) return;
        const Tensor<Out> term = apply<Op, Out>(op, Site{}, Tensor<In>(k == i ? dot[k] : x[k])...);
        total = total.value ? (Tensor<Out>(std::move(total)) + Tensor<Out>(term)).any() : term.any();
    };
    (one(k), ...);
    return total;
}

template <class T> Tensor<T> tangent_or_zeros(const AnyTensor& dot, const AnyTensor& x)
{
    return dot.value ? Tensor<T>(dot)
                     : Tensor<T>(AnyTensor{zeros_beside(*x.value, x.value->dtype, x.value->shape), {}});
}

/// Inputs that are no numbers (indices, labels) stay what they are.
template <class T, class Out> Tensor<T> tangent_or_primal(const AnyTensor& dot, const AnyTensor& x)
{
    if constexpr (std::is_same_v<T, Out>)
        return tangent_or_zeros<T>(dot, x);
    else
        return Tensor<T>(x);
}

template <class Op, class Out, class... In>
concept pushes =
    requires(const Op& op, const Tensor<In>&... x, const Tensor<Out>& y) { op.push(x..., x..., y); };

template <class Op, class Out, class... In>
[[gnu::cold]] AnyTensor structural_jvp(const void* parameters, const AnyTensor* x, const AnyTensor* dot,
                                       std::size_t, const AnyTensor& y)
{
    const Op& op = *static_cast<const Op*>(parameters);
    return [&]<std::size_t... k>(std::index_sequence<k...>) -> AnyTensor {
        if constexpr (bilinear<Op>()) {
            return push_bilinear<Op, Out, In...>(op, x, dot, std::index_sequence<k...>());
        } else if constexpr (linear<Op>()) {
            return apply<Op, Out>(op, Site{}, tangent_or_primal<In, Out>(dot[k], x[k])...).any();
        } else if constexpr (affine<Op>()) {
            return push_affine<Op, Out, In...>(op, x, dot, std::index_sequence<k...>());
        } else if constexpr (has_rule_formulas<Op, Out, In...>() && !pushes<Op, Out, In...>) {
            return FoldRules<Op, Out>::push(op, Tensor<In>(dot[k])..., Tensor<In>(x[k])...).any();
        } else {
            return op.push(tangent_or_zeros<In>(dot[k], x[k])..., Tensor<In>(x[k])..., Tensor<Out>(y)).any();
        }
    }(std::index_sequence_for<In...>());
}

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/structural_rules.ipp"
#endif

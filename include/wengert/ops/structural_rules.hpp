// The derivatives of a structural operation in both modes, from the rules that its struct has or that its description gives.
#pragma once

#include "zero_where.hpp"

namespace wengert {

template <class Op, class Out, class... In, class D>
Tensor<Out, D> apply(const Op& op, const Site& at, const Tensor<In, D>&... x);

namespace detail {

/// The cotangent of input i under a recorder: what the sweep would do in place is an operation of its own. `read` has one bit
/// for each of `values` that it reads; `part`: there need not be anything to add to. False where it is not done like that.
inline bool recorded_accumulation(const void* op, const Node& n, std::size_t i, const AnyTensor& g,
                                  const AnyTensor* const* values, unsigned read, bool part, Cotangents& out)
{
    const Primitive* add = n.primitive->pull[i].add;
    const AnyTensor& so_far = n.inputs[i]->cotangent;
    if (!add || (!part && !so_far.value) || so_far.node || out.walk().records(n, g)) return false;
    const Node& to = *n.inputs[i];
    std::vector<AnyTensor> in{
        so_far.value ? so_far : AnyTensor{zeros_beside(*g.value, to.dtype, to.shape), {}}, g};
    for (std::size_t s = 0; s <= n.input_count; ++s)
        if (read >> s & 1) in.push_back({values[s]->value, {}});
    out.replace(i, apply_any(*add, op, in.data(), in.size(), n.at));
    return true;
}

template <class Op, std::size_t i, class Out, class... In, class... X>
void recorded_pull(const Op& op, const Node& n, const Tensor<Out>& g, const Tensor<Out>& y, Cotangents& out,
                   const X&... x)
{
    constexpr bool part = requires(Block& b) { op.accumulate(wrt<i>{}, b, b); };
    const AnyTensor* values[] = {&x.any_unchecked()..., &y.any_unchecked()};
    if (recorded_accumulation(&op, n, i, g.any(), values, read_by_pull<Op, i, sizeof...(In)>(), part, out))
        return;
    const Tensor<Out> r = pull_of<Op, i, Out, In...>(op, n, g, y, x...);
    if (linear<Op>() || affine<Op>() || out.walk().tape().allow_nan) return out.add(i, r.any());
    out.add(i, apply<ZeroWhereSilent, Out>({}, Site{}, r, g).any());
}

template <class Op, std::size_t i, class Out, class... In, class... X>
void structural_vjp_one(const Op& op, const Node& n, const Tensor<Out>& g, const Tensor<Out>& y,
                        Cotangents& out, const X&... x)
{
    static_assert(
        !Folded<Op> || pulls<Op, i, Out, In...> || derives_fold_pull<Op, i, Out, In...> ||
            !std::is_same_v<std::tuple_element_t<i, std::tuple<In...>>, Out>,
        "wengert: a fold of several passes, or with a result for each element, has a pull and a push of its "
        "own, or says flat");
    if constexpr (pulls<Op, i, Out, In...> || derives_pull<Op, i, Out, In...> ||
                  derives_fold_pull<Op, i, Out, In...>) {
        if (!out.wanted(i)) return;
        if (recorder()) [[unlikely]]
            return recorded_pull<Op, i, Out, In...>(op, n, g, y, out, x...);
        const bool silent =
            !linear<Op>() && !affine<Op>() && !out.walk().tape().allow_nan && all_zero(*g.any().value);
        constexpr bool part = requires(Block& b) { op.accumulate(wrt<i>{}, b, b); };
        constexpr bool whole = requires(Block& b) { op.accumulate(wrt<i>{}, b, g, x..., y); };
        if constexpr (part || whole) {
            // a whole contribution is only added where there is something to add to
            const bool useful = !silent && (part || n.inputs[i]->cotangent.value);
            if (useful && !out.walk().tape().anomaly && !g.any().value->access.device &&
                !out.walk().records(n, g.any()))
                if (Block* into = out.writable(i)) {
                    if constexpr (part)
                        return op.accumulate(wrt<i>{}, *into, *g.any().value);
                    else if (op.accumulate(wrt<i>{}, *into, g, x..., y))
                        return;
                }
        }
        const Tensor<Out> r = pull_of<Op, i, Out, In...>(op, n, g, y, x...);
        const bool guarded = silent && (out.walk().records(n, g.any()) || !all_finite(*r.any().value));
        out.add(i, guarded ? apply<ZeroWhereSilent, Out>({}, Site{}, r, g).any() : r.any());
    }
}

/// A rule met an empty tensor: says which of its values it was.
[[noreturn]] inline void refuse_unsaved(const Node& n, const EmptyTensor& e)
{
    std::string which;
    for (std::size_t i = 0; i <= n.input_count; ++i) {
        const bool result = i == n.input_count;
        if (n.saved()[i] || e.source != (result ? &n : n.inputs[i])) continue;
        which += (which.empty() ? "" : " or ") +
                 (result ? std::string("its result") : "input " + std::to_string(i));
    }
    if (which.empty()) throw;
    fail<TapeError>(n.primitive->name, "the rule reads " + which + ", which it does not list in saves", n.at);
}

template <class Op, class Out, class... In>
void structural_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Op& op = *static_cast<const Op*>(n.op);
    if constexpr (requires { op.hands_over(n, g, out); })
        if (op.hands_over(n, g, out)) return;
    const Tensor<Out> cotangent(g), y(saved_output(n));
    try {
        [&]<std::size_t... k>(std::index_sequence<k...>) {
            const std::tuple<Tensor<In>...> x(typed<In>(saved_input(n, k))...);
            (structural_vjp_one<Op, k, Out, In...>(op, n, cotangent, y, out, std::get<k>(x)...), ...);
        }(std::index_sequence_for<In...>());
    } catch (const EmptyTensor& e) {
        refuse_unsaved(n, e);
    }
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
AnyTensor structural_jvp(const void* parameters, const AnyTensor* x, const AnyTensor* dot, std::size_t,
                         const AnyTensor& y)
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

// From a struct to a primitive for operations that are not elementwise: reductions, views, products, indexing.
//
//     struct Sum {
//         static constexpr std::string_view name = "sum";
//         static constexpr bool linear = true;          // the tangent is the same operation on the input's tangent
//         Axes axes; bool keepdims; Shape from;         // parameters; what pull needs of the input's shape
//         template <class T> Ref<Block> value(const Ref<Block>& x, const Site& at) const;
//         template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const;
//     };
//
// `saves` (bit i for input i, bit n for the output) names the values that pull and push read; the others are empty
// there. `linear` and `bilinear` operations need no `push`; others give ẏ = push(ẋ…, x…, y), absent tangents are zeros.
// A rule that only touches a part of its input may add `accumulate(wrt<0>, Block& x̄, const Block& g)`, used in place
// of pull when nothing is recorded. A rule that can add as cheaply as it can write (gemm) may add
// `bool accumulate(wrt<i>, Block& x̄, g, x…, y)`, used where a cotangent is there already; false means it cannot.
#pragma once

#include "arithmetic.hpp"

namespace wengert {

namespace detail {

template <class Op>
constexpr unsigned saves_of()
{
    if constexpr (requires { Op::saves; }) return Op::saves;
    else return 0;
}
template <class Op>
constexpr bool linear()
{
    if constexpr (requires { Op::linear; }) return Op::linear;
    else return false;
}
template <class Op>
constexpr bool bilinear()
{
    if constexpr (requires { Op::bilinear; }) return Op::bilinear;
    else return false;
}

/// Has this operation a derivative with respect to input i?
template <class Op, std::size_t i, class Out, class... In>
concept pulls = is_differentiable<Out> && std::is_same_v<std::tuple_element_t<i, std::tuple<In...>>, Out> &&
                requires(const Op& op, const Tensor<Out>& g, const Tensor<In>&... x) { op.pull(wrt<i>{}, g, x..., g); };

template <class Op, std::size_t i, class Out, class... In, class... X>
void structural_vjp_one(const Op& op, const Node& n, const Tensor<Out>& g, const Tensor<Out>& y, Cotangents& out,
                        const X&... x)
{
    if constexpr (pulls<Op, i, Out, In...>) {
        if (!out.wanted(i)) return;
        constexpr bool part = requires(Block& b) { op.accumulate(wrt<i>{}, b, b); };
        constexpr bool whole = requires(Block& b) { op.accumulate(wrt<i>{}, b, g, x..., y); };
        if constexpr (part || whole) {
            // a whole contribution is only added where there is something to add to
            const bool useful = part || n.inputs[i]->cotangent.value;
            if (useful && !out.walk().tape().anomaly && !out.walk().records(n, g.any()))
                if (Block* into = out.writable(i)) {
                    if constexpr (part) return op.accumulate(wrt<i>{}, *into, *g.any().value);
                    else if (op.accumulate(wrt<i>{}, *into, g, x..., y)) return;
                }
        }
        out.add(i, op.pull(wrt<i>{}, g, x..., y).any());
    }
}

template <class Op, class Out, class... In>
void structural_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Op& op = *static_cast<const Op*>(n.op);
    const Tensor<Out> cotangent(g), y(saved_output(n));
    [&]<std::size_t... k>(std::index_sequence<k...>) {
        const std::tuple<Tensor<In>...> x(typed<In>(saved_input(n, k))...);
        (structural_vjp_one<Op, k, Out, In...>(op, n, cotangent, y, out, std::get<k>(x)...), ...);
    }(std::index_sequence_for<In...>());
}

}  // namespace detail

template <class Op, class Out, class... In>
Tensor<Out> apply(const Op& op, const Site& at, const Tensor<In>&... x);

namespace detail {

/// Σᵢ op(…, ẋᵢ, …): the product rule.
template <class Op, class Out, class... In, std::size_t... k>
AnyTensor push_bilinear(const Op& op, const AnyTensor* x, const AnyTensor* dot, std::index_sequence<k...>)
{
    AnyTensor total;
    const auto one = [&](std::size_t i) {
        if (!dot[i].value) return;
        const Tensor<Out> term = apply<Op, Out>(op, Site{}, Tensor<In>(k == i ? dot[k] : x[k])...);
        total = total.value ? (Tensor<Out>(total) + term).any() : term.any();
    };
    (one(k), ...);
    return total;
}

template <class T>
Tensor<T> tangent_or_zeros(const AnyTensor& dot, const AnyTensor& x)
{
    return dot.value ? Tensor<T>(dot) : Tensor<T>(AnyTensor{zeros_block(x.value->dtype, x.value->shape), {}});
}

template <class Op, class Out, class... In>
AnyTensor structural_jvp(const void* parameters, const AnyTensor* x, const AnyTensor* dot, std::size_t,
                         const AnyTensor& y)
{
    const Op& op = *static_cast<const Op*>(parameters);
    return [&]<std::size_t... k>(std::index_sequence<k...>) -> AnyTensor {
        if constexpr (bilinear<Op>()) {
            return push_bilinear<Op, Out, In...>(op, x, dot, std::index_sequence<k...>());
        } else if constexpr (linear<Op>()) {
            // inputs that are no numbers (indices, labels) stay what they are
            return apply<Op, Out>(op, Site{},
                                  [&] {
                                      using T = std::tuple_element_t<k, std::tuple<In...>>;
                                      if constexpr (std::is_same_v<T, Out>) return tangent_or_zeros<T>(dot[k], x[k]);
                                      else return Tensor<T>(x[k]);
                                  }()...)
                .any();
        } else {
            return op.push(tangent_or_zeros<In>(dot[k], x[k])..., Tensor<In>(x[k])..., Tensor<Out>(y)).any();
        }
    }(std::index_sequence_for<In...>());
}

template <class Op, class Out, class... In>
Ref<Block> structural_compute(const void* op, const Ref<Block>* x, const Site& at)
{
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        return static_cast<const Op*>(op)->template value<Out>(x[k]..., at);
    }(std::index_sequence_for<In...>());
}

template <class Op, class Out, class... In>
constexpr Primitive make_structural()
{
    Primitive p;
    p.name = Op::name;
    p.arity = sizeof...(In);
    p.dtype = dtype_of<Out>();
    static_assert(sizeof...(In) <= Primitive::max_elementwise);
    for (std::size_t i = 0; i < sizeof...(In); ++i)  // a cotangent of a product reads the other factors only
        p.pull[i].uses = static_cast<std::uint8_t>(saves_of<Op>() & ~(bilinear<Op>() ? 1U << i : 0U));
    p.clone = [](const void* op) -> void* { return new Op(*static_cast<const Op*>(op)); };
    p.destroy = [](void* op) noexcept { delete static_cast<Op*>(op); };
    if constexpr (requires(const Op& op) { op.parameters(); })
        p.parameters = [](const void* op) { return static_cast<const Op*>(op)->parameters(); };
    if constexpr (is_differentiable<Out>) {
        if constexpr (requires { Op::flat; }) return p;
        p.differentiable = true;
        p.compute = structural_compute<Op, Out, In...>;
        p.vjp = structural_vjp<Op, Out, In...>;
        p.jvp = structural_jvp<Op, Out, In...>;
        p.add = add_any<Out>;
    }
    return p;
}

}  // namespace detail

template <class Op, class A, class Out, class... In>
inline constexpr Primitive structural_primitive = detail::make_structural<Op, Out, In...>();

/// Computes a structural operation and records it.
template <class Op, class Out, class... In>
Tensor<Out> apply(const Op& op, const Site& at, const Tensor<In>&... x)
{
    const AnyTensor* const in[] = {&x.any()...};
    return Tensor<Out>(record(structural_primitive<Op, xsimd::default_arch, Out, In...>, in, sizeof...(In),
                              op.template value<Out>(x.any().value..., at), &op, at));
}

}  // namespace wengert

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
// What is made of operations that have descriptions may say so, `Tensor<T> composed(x…) const`: graphs run those then.
#pragma once

#include "accumulation.hpp"
#include "folds.hpp"
#include "forms.hpp"
#include "overrides.hpp"
#include "structural_rules.hpp"
#ifndef WENGERT_COMPILED
#include "../index/impl/run.ipp"
#endif

namespace wengert {

template <class Op, class Out, class... In, class D>
Tensor<Out, D> apply(const Op& op, const Site& at, const Tensor<In, D>&... x);

namespace detail {

template <class Op, class Out, class... In>
Ref<Block> structural_compute(const void* op, const Ref<Block>* x, [[maybe_unused]] std::size_t n,
                              const Site& at)
{
    if constexpr (Described<Op> && !Overridden<Op, Out, In...>)
        return compute_index(Op::name, describe_op<Op>, dtype_of<Out>(), op, x, n, at);
    else
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            return own_value<Op, Out, In...>(*static_cast<const Op*>(op), at, x[k]...);
        }(std::index_sequence_for<In...>());
}

template <class Op> [[gnu::cold]] std::string parameters_of(const void* op)
{
    return static_cast<const Op*>(op)->parameters();
}

/// Without derivatives.
template <class Op, class Out, class... In> constexpr Primitive make_structural_call()
{
    Primitive p;
    p.name = Op::name;
    p.ours = is_ours<Op>();
    p.arity = sizeof...(In);
    p.dtype = dtype_of<Out>();
    static_assert(sizeof...(In) <= Primitive::max_elementwise);
    for (std::size_t i = 0; i < sizeof...(In); ++i)  // a cotangent of a product reads the other factors only
        p.pull[i].uses =
            static_cast<std::uint8_t>(saves_for<Op, Out, In...>() & ~(bilinear<Op>() ? 1U << i : 0U));
    p.clone = clone_pooled<Op>;
    p.destroy = destroy_pooled<Op>;
    if constexpr (requires(const Op& op) { op.parameters(); }) p.parameters = parameters_of<Op>;
    p.compute = structural_compute<Op, Out, In...>;
    if constexpr (described_on<Op, Out, In...>()) p.index = describe_op<Op>;
    constexpr bool overridden = Described<Op> && Overridden<Op, Out, In...>;
    static_assert(is_in_order<Op>(overridden || HasFoldKernel<Op>),
                  "wengert: a kernel beside a description is in ops/describe/overrides.hpp");
    p.overridden = overridden;
    if constexpr (Folded<Op>) {
        p.fold = &fold_form<Op, Out, In...>;
        p.infallible = true;
    }
    p.fields = visit_fields<Op>;
    set_forms<Op>(p);
    p.calls = requires(const Op& op) { op.inside; } || requires { Op::any_device; };
    p.launches = requires { Op::launches; };
    if constexpr (requires(const Op& op) { op.inside; })
        p.inside = [](const void* op) { return static_cast<const Op*>(op)->inside.get(); };
    if constexpr (requires(const Op& op, Block& b, const Ref<Block>* rest, const Site& at) {
                      op.template update_any<Out>(b, rest, at);
                  })
        p.update = [](const void* op, Block& b, const Ref<Block>* rest, std::size_t, const Site& at) {
            static_cast<const Op*>(op)->template update_any<Out>(b, rest, at);
        };
    return p;
}

template <class Op, class Out, class... In>
AnyTensor composed_of(const void* op, [[maybe_unused]] const AnyTensor* x)
{
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
        return static_cast<const Op*>(op)->composed(Tensor<In>(x[k])...).any();
    }(std::index_sequence_for<In...>());
}

template <class Op, class Out, class... In> constexpr Primitive make_structural()
{
    Primitive p = make_structural_call<Op, Out, In...>();
    if constexpr (requires(const Op& op, const Tensor<In>&... x) { op.composed(x...); })
        p.composed = composed_of<Op, Out, In...>;
    if constexpr (is_differentiable<Out> && !requires { Op::flat; }) {
        p.differentiable = true;
        p.vjp = structural_vjp<Op, Out, In...>;
        p.jvp = structural_jvp<Op, Out, In...>;
        p.add = add_any<Out>;
        p.sum_to = sum_to_any<Out>;
        p.silent = silent_inputs<Op, Out, In...>();
        [&]<std::size_t... k>(std::index_sequence<k...>) {
            const auto one = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
                if constexpr (accumulates<Op, i, Out, In...>)
                    p.pull[i].add = &accumulation_primitive<Op, i, Out, In...>;
            };
            (one(std::integral_constant<std::size_t, k>{}), ...);
        }(std::index_sequence_for<In...>());
    }
    return p;
}

}  // namespace detail

template <class Op, class A, class Out, class... In>
inline constexpr Primitive structural_primitive = detail::make_structural<Op, Out, In...>();

namespace detail {

template <class Op, class Out, class... In>
inline constexpr Primitive structural_call = make_structural_call<Op, Out, In...>();

/// The same, from wengert::compiled where that has it. Not `differentiated`, of a graph that only runs: with headers alone a program
/// has no rules of it.
template <class Op, class Out, class... In, bool differentiated = true>
const Primitive& structural_of(std::bool_constant<differentiated> = {}) noexcept
{
    using A = xsimd::default_arch;
#ifdef WENGERT_COMPILED
    if constexpr (is_library_structural<Op>(List<Out>(), List<In...>()))
        return library_structural<Op, A, Out, In...>();
    else
#endif
        if constexpr (differentiated)
        return structural_primitive<Op, A, Out, In...>;
    else
        return structural_call<Op, Out, In...>;
}

}  // namespace detail

/// Computes a structural operation and records it.
template <class Op, class Out, class... In, class D>
Tensor<Out, D> apply(const Op& op, const Site& at, const Tensor<In, D>&... x)
{
    const AnyTensor* const in[] = {&x.any_unchecked()...};
    return Tensor<Out, D>(
        apply_structural(detail::structural_of<Op, Out, In...>(), &op, in, sizeof...(In), at));
}

}  // namespace wengert

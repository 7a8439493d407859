// Structural operations on any number of tensors of one type; all of them are linear in all inputs.
//
//     struct Concatenate {
//         static constexpr std::string_view name = "concatenate";
//         template <class T> Ref<Block> value(const AnyTensor* const* in, std::size_t n) const;
//         void describe(Index& p, std::size_t i) const;  // which part of the result is input i, operand 0 of p
//         template <class T> Tensor<T> pull(std::size_t i, const Tensor<T>& g) const;  // the cotangent of input i
//     };
//
// Nothing is saved: what pull needs of the inputs' shapes is a member.
#pragma once

#include "structural.hpp"

namespace wengert {

template <class Op, class T, class D = cpu>
Tensor<T, D> apply_variadic(const Op& op, const Site& at, const AnyTensor* const* in, std::size_t n);

namespace detail {

template <class Op>
concept DescribedByParts = requires(const Op& op, Index& p) { op.describe(p, std::size_t{}); };
template <class Op> void describe_part_of(const void* op, std::size_t k, Index& p)
{
    static_cast<const Op*>(op)->describe(p, k);
}

template <class Op, class T> void variadic_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Op& op = *static_cast<const Op*>(n.op);
    const Tensor<T> cotangent(g);
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (out.wanted(i)) out.add(i, op.pull(i, cotangent).any());
}

template <class Op, class T>
AnyTensor variadic_jvp(const void* op, const AnyTensor* x, const AnyTensor* dot, std::size_t n,
                       const AnyTensor&)
{
    std::vector<Tensor<T>> tangents;
    std::vector<const AnyTensor*> in;
    tangents.reserve(n);
    for (std::size_t i = 0; i < n; ++i) tangents.push_back(tangent_or_zeros<T>(dot[i], x[i]));
    for (const auto& t : tangents) in.push_back(&t.any());
    return apply_variadic<Op, T>(*static_cast<const Op*>(op), Site{}, in.data(), n).any();
}

template <class Op, class T>
Ref<Block> variadic_compute(const void* op, const Ref<Block>* in, std::size_t n, const Site&)
{
    std::vector<AnyTensor> x(n);
    std::vector<const AnyTensor*> operands(n);
    for (std::size_t i = 0; i < n; ++i) {
        x[i].value = in[i];
        operands[i] = &x[i];
    }
    return static_cast<const Op*>(op)->template value<T>(operands.data(), n);
}

template <class Op, class T> constexpr Primitive make_variadic()
{
    static_assert(is_in_order<Op>(DescribedByParts<Op>),
                  "wengert: a kernel beside parts is in ops/describe/overrides.hpp");
    Primitive p;
    p.name = Op::name;
    p.ours = is_ours<Op>();
    p.arity = 0;
    p.dtype = dtype_of<T>();
    p.compute = variadic_compute<Op, T>;
    if constexpr (DescribedByParts<Op>) p.part = describe_part_of<Op>;
    p.fields = visit_fields<Op>;
    p.clone = clone_pooled<Op>;
    p.destroy = destroy_pooled<Op>;
    if constexpr (requires(const Op& op) { op.parameters(); })
        p.parameters = [](const void* op) { return static_cast<const Op*>(op)->parameters(); };
    if constexpr (is_differentiable<T>) {
        p.differentiable = true;
        p.vjp = variadic_vjp<Op, T>;
        p.jvp = variadic_jvp<Op, T>;
        p.add = add_any<T>;
        p.sum_to = sum_to_any<T>;
    }
    return p;
}

}  // namespace detail

template <class Op, class A, class T>
inline constexpr Primitive variadic_primitive = detail::make_variadic<Op, T>();

/// Computes a variadic operation and records it.
template <class Op, class T, class D>
Tensor<T, D> apply_variadic(const Op& op, const Site& at, const AnyTensor* const* in, std::size_t n)
{
    const Primitive& p = variadic_primitive<Op, xsimd::default_arch, T>;
    unsigned device = 0;
    for (std::size_t i = 0; i < n; ++i) device |= in[i]->value->access.device;
    if (device == 0) [[likely]] {
        Ref<Block> y;
        try {
            y = op.template value<T>(in, n);
        } catch (const MemoryError& e) {
            detail::refuse_memory(Op::name, e, at);
        }
        return Tensor<T, D>(record(p, in, n, std::move(y), &op, at));
    }
    std::vector<Ref<Block>> blocks(n);
    for (std::size_t i = 0; i < n; ++i) blocks[i] = in[i]->value;
    return Tensor<T, D>(
        record(p, in, n, detail::structural_elsewhere(p, &op, blocks.data(), n, at), &op, at));
}

}  // namespace wengert

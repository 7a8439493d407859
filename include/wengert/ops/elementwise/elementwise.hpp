// From a rule to a primitive: everything that follows from an elementwise struct's `value` and `pull`.
//
//     struct Tanh {
//         static constexpr std::string_view name = "tanh";
//         template <class V> static V value(const V& x) { using std::tanh; return tanh(x); }
//         template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V& y) { return g * (lit(1) - y * y); }
//     };
//
// `pull(wrt<i>, g, x…, y)` is the cotangent of input i. Evaluated on SIMD lanes it is the backward kernel, on `Uses` (at
// compile time) it tells what the tape saves, on Tensor it records itself, and on a tangent it is forward mode:
// real elementwise Jacobians are diagonal, so ẏ = Σ pullᵢ(ẋᵢ).
#pragma once

#include "../../base/separate.hpp"
#include "../../kernels/cpu/elementwise.hpp"
#include "../../tape/tensor_impl.hpp"
#include "../../tape/walk.hpp"
#include "library.hpp"
#include "pull.hpp"
#include "tensor_rule.hpp"

namespace wengert {

template <class T, class D> Tensor<T, D> sum_to(const Tensor<T, D>& x, const Shape& shape);
template <class T, class D>
Tensor<T, D> broadcast_to(const Tensor<T, D>& x, const Shape& shape,
                          Site at = {__builtin_FILE(), __builtin_LINE()});

/// Of rank 0: it broadcasts.
template <class V>
    requires detail::HasBlock<V>
V zero_like(const V& g)
{
    return V(AnyTensor{zeros_beside(*g.any().value, V::dtype(), Shape()), {}});
}

namespace detail {

template <class P, std::size_t i, class A, class Out, class... In> constexpr Primitive make_pull_primitive();

template <class P, std::size_t i, class A, class Out, class... In>
inline constexpr Primitive pull_primitive = make_pull_primitive<P, i, A, Out, In...>();

template <class P, std::size_t i, class A, class Out, class... In, std::size_t... k>
constexpr Pull make_pull(std::index_sequence<k...>)
{
    using F = PullOf<P, i, k...>;
    Pull pull;
    pull.uses = static_cast<std::uint8_t>(F::bits);
    pull.passes = uses_of<P, i, sizeof...(In)>().is_input;
    if constexpr (reads_only<Out, In..., Out>(F::bits))
        pull.kernel = F::template lanes<A, Out>;
    else
        pull.kernel = F::template scalars<A, Out, In..., Out>;
    constexpr std::uint8_t sizes[] = {sizeof(In)..., sizeof(Out)};
    pull.sizes[0] = sizeof(Out);
    for (std::uint8_t s = 0; s <= sizeof...(In); ++s)
        if (F::bits >> s & 1) {
            pull.slots[pull.count++] = s;
            pull.sizes[pull.count] = sizes[s];
        }
    if (!pull.passes) pull.primitive = &pull_primitive<P, i, A, Out, In...>;
    return pull;
}

template <class P, class A, class Out, class... In> constexpr Primitive make_elementwise();

template <class T> Tensor<T> typed(const AnyTensor& any) { return Tensor<T>(any); }

inline AnyTensor saved_input(const Node& n, std::size_t i)
{
    return {Ref<Block>(n.saved()[i]), Ref<Node>(n.input_count > i ? n.inputs[i] : nullptr)};
}
/// The output as its own derivative sees it.
inline AnyTensor saved_output(const Node& n)
{
    return {Ref<Block>(n.saved()[n.input_count]), Ref<Node>(const_cast<Node*>(&n))};
}

template <class T, class D> Tensor<T, D> zero_where_undefined(const Tensor<T, D>& g, const Tensor<T, D>& r);
/// g, or ġ where g is 0. The result is 0 where g and ġ are both 0. A missing tangent and a tangent of zeros are the same.
template <class T, class D> Tensor<T, D> first_nonzero(const Tensor<T, D>& g, const AnyTensor& dg);

}  // namespace detail

/// The one descriptor of (primitive, instruction set, dtypes).
template <class P, class A, class Out, class... In>
inline constexpr Primitive elementwise_primitive = detail::make_elementwise<P, A, Out, In...>();

namespace detail {

/// The cotangents of the inputs of an elementwise operation, from its pulls on tensors.
WENGERT_INLINE void elementwise_vjp(const Node& n, const AnyTensor& g, Cotangents& out);
/// ẏ = Σ pullᵢ(ẋᵢ, x…, y), as Jacobians are diagonal; before it is broadcast to y's shape. No value where no input has a tangent.
WENGERT_INLINE AnyTensor sum_of_pulls(const Primitive& p, const AnyTensor* inputs, const AnyTensor* tangents,
                                      const AnyTensor& y);

/// A tangent as y's, or zeros where there is none.
template <class Out> [[gnu::noinline]] AnyTensor tangent_of(const AnyTensor& y, AnyTensor&& dot)
{
    if (!dot.value) return {zeros_beside(*y.value, y.value->dtype, y.value->shape), {}};
    return broadcast_to(Tensor<Out>(std::move(dot)), y.value->shape).any();
}

/// The rule evaluated on tensors: each of its operations is recorded where a level below asks for it. Packs k… are the
/// inputs, as members and not as lambdas, so that a debugger's names stay short.
template <class P, class Out, class... In> struct RecordedRule {
    template <class A>
    static AnyTensor jvp(const void*, const AnyTensor* inputs, const AnyTensor* tangents, std::size_t,
                         const AnyTensor& y)
    {
        return tangent_of<Out>(y, sum_of_pulls(elementwise_primitive<P, A, Out, In...>, inputs, tangents, y));
    }
    /// By the rule's own push, which is not the sum of the pulls.
    template <std::size_t... k>
    static AnyTensor push(const void*, const AnyTensor* inputs, const AnyTensor* tangents, std::size_t,
                          const AnyTensor& y)
    {
        return tangent_of<Out>(y, P::push(tangents[k]..., Tensor<In>(inputs[k])...));
    }

    /// The cotangent of input i from (g, the values that its rule reads).
    template <std::size_t i, std::size_t... k>
    static AnyTensor expand(const void*, const AnyTensor* in, std::size_t)
    {
        constexpr unsigned bits = PullOf<P, i, k..., sizeof...(k)>::bits;
        const auto value = [&](std::size_t s) {
            const auto below = static_cast<unsigned>(std::popcount(bits & ((1U << s) - 1)));
            return bits >> s & 1 ? in[1 + below] : AnyTensor{};
        };
        const Tensor<Out> g(in[0]);
        const Tensor<Out> r = P::pull(wrt<i>{}, g, Tensor<In>(value(k))..., Tensor<Out>(value(sizeof...(k))));
        if constexpr (bits != 0)  // the zero-cotangent rule, itself recorded
            if (!Tape::current().allow_nan) return zero_where_undefined(g, r).any();
        return r.any();
    }
};

/// The same by a walk through its program, for the library's own.
template <class P, std::size_t i, class Out, std::size_t... k> struct WalkedPull {
    static AnyTensor expand(const void*, const AnyTensor* in, std::size_t n)
    {
        return walk_rule(rule, in, n);
    }

private:
    static inline constinit WalkedRule rule{describe_pull<P, i, k...>, dtype_of<Out>()};
};

template <class T> AnyTensor add_any(const AnyTensor& a, const AnyTensor& b)
{
    return (Tensor<T>(a) + Tensor<T>(b)).any();
}

template <class T> AnyTensor sum_to_any(const AnyTensor& x, const Shape& shape)
{
    return sum_to(Tensor<T>(x), shape).any();
}

#ifdef WENGERT_COMPILED  // in impl/eager.ipp: every program has the addresses of these
extern template AnyTensor add_any<float>(const AnyTensor&, const AnyTensor&);
extern template AnyTensor add_any<double>(const AnyTensor&, const AnyTensor&);
extern template AnyTensor sum_to_any<float>(const AnyTensor&, const Shape&);
extern template AnyTensor sum_to_any<double>(const AnyTensor&, const Shape&);
#endif

template <class P, std::size_t i, class A, class Out, class... In> constexpr Primitive make_pull_primitive()
{
    Primitive p;
    p.name = {PullName<P, i>::text.data(), PullName<P, i>::text.size()};
    p.ours = is_ours<P>();
    p.dtype = dtype_of<Out>();
    p.elementwise = true;
    [&]<std::size_t... k>(std::index_sequence<k...>) {
        p.arity = static_cast<std::uint8_t>(1 + std::popcount(PullOf<P, i, k..., sizeof...(k)>::bits));
        if constexpr (reads_only<Out, In..., Out>(PullOf<P, i, k..., sizeof...(k)>::bits))
            p.value = PullOf<P, i, k..., sizeof...(k)>::template lanes<A, Out>;
        else
            p.value = PullOf<P, i, k..., sizeof...(k)>::template scalars<A, Out, In..., Out>;
        if constexpr (!opaque<P>()) p.describe = describe_pull<P, i, k..., sizeof...(k)>;
        if constexpr (is_walked<P, Out, In...>())
            p.expand = WalkedPull<P, i, Out, k..., sizeof...(k)>::expand;
        else
            p.expand = RecordedRule<P, Out, In...>::template expand<i, k...>;
    }(std::index_sequence_for<In...>());
    p.add = add_any<Out>;
    return p;
}

/// Without derivatives.
template <class P, class A, class Out, class... In> constexpr Primitive make_elementwise_call()
{
    Primitive p;
    p.name = P::name;
    p.ours = is_ours<P>();
    p.arity = sizeof...(In);
    p.dtype = dtype_of<Out>();
    p.elementwise = true;
    p.value = kernels::tile_kernel<P, A, Out, In...>;
    if constexpr (!opaque<P>())
        p.describe = []<std::size_t... k>(std::index_sequence<k...>) {
            return &describe_value<P, k...>;
        }(std::index_sequence_for<In...>());
    return p;
}

template <class P, class A, class Out, class... In> constexpr Primitive make_elementwise()
{
    Primitive p = make_elementwise_call<P, A, Out, In...>();
    if constexpr (is_differentiable<Out> && !requires { P::constant; } && (std::is_same_v<Out, In> || ...)) {
        p.differentiable = true;
        p.add = add_any<Out>;
        p.sum_to = sum_to_any<Out>;
        [&]<std::size_t... k>(std::index_sequence<k...>) {
            const auto one = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
                if constexpr (has_pull<P, i, Out, In...>)
                    p.pull[i] = make_pull<P, i, A, Out, In...>(std::make_index_sequence<sizeof...(In) + 1>());
            };
            (one(std::integral_constant<std::size_t, k>{}), ...);
            p.vjp = elementwise_vjp;
            if constexpr (requires(const AnyTensor& dot, const Tensor<In>&... x) {
                              P::push((static_cast<void>(k), dot)..., x...);
                          })
                p.jvp = RecordedRule<P, Out, In...>::template push<k...>;
            else
                p.jvp = RecordedRule<P, Out, In...>::template jvp<A>;
        }(std::index_sequence_for<In...>());
    }
    return p;
}

template <class P, class A, class Out, class... In>
inline constexpr Primitive elementwise_call = make_elementwise_call<P, A, Out, In...>();

/// The same, from wengert::compiled where that has it. Not `differentiated`, of a graph that only runs: with headers alone a program
/// has no rules of it.
template <class P, class A, class Out, class... In, bool differentiated = true>
const Primitive& elementwise_of(std::bool_constant<differentiated> = {}) noexcept
{
#ifdef WENGERT_COMPILED
    if constexpr (is_library_elementwise<P>(List<Out>(), List<In...>()))
        return library_elementwise<P, A, Out, In...>();
    else
#endif
        if constexpr (differentiated)
        return elementwise_primitive<P, A, Out, In...>;
    else
        return elementwise_call<P, A, Out, In...>;
}

}  // namespace detail

/// Computes P on broadcast operands and records it. Throws ShapeError when the shapes do not broadcast.
template <class P, class Out, class A = xsimd::default_arch, class... In, class D>
Tensor<Out, D> apply_elementwise(const Site& at, const Tensor<In, D>&... x)
{
    const AnyTensor* const in[] = {&x.any_unchecked()...};
    return Tensor<Out, D>(apply_elementwise(detail::elementwise_of<P, A, Out, In...>(), in, at));
}

template <class Value, class D>
template <class F>
Tensor<Value, D> Tensor<Value, D>::call(const Tensor& x, const Site& at)
{
    return apply_elementwise<F, Value>(at, x);
}
template <class Value, class D>
template <class F, class A, class B>
Tensor<Value, D> Tensor<Value, D>::call(const A& a, const B& b, const Site& at)
{
    const Operand<Value, D> x(a, at.file, at.line), y(b, at.file, at.line);
    return apply_elementwise<F, Value>(at, *x, *y);
}

/// The same for operators, whose operands may be temporaries: the result may use their memory.
template <class P, class T, class A = xsimd::default_arch, class D>
Tensor<T, D> apply_operator(const Tensor<T, D>& a, const Tensor<T, D>& b, const Site& at,
                            unsigned temporaries)
{
    const AnyTensor* const in[] = {&a.any_unchecked(), &b.any_unchecked()};
    return Tensor<T, D>(apply_elementwise(detail::elementwise_of<P, A, T, T, T>(), in, at, temporaries));
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/elementwise.ipp"
#endif

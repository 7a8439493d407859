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

#include "../base/uses.hpp"
#include "../kernels/cpu/elementwise.hpp"
#include "../tape/tensor_impl.hpp"
#include "../tape/walk.hpp"

namespace wengert {

/// Names an input in a rule.
template <std::size_t i>
struct wrt {};

template <class T> Tensor<T> sum_to(const Tensor<T>& x, const Shape& shape);
template <class T> Tensor<T> broadcast_to(const Tensor<T>& x, const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()});

/// A zero of g's kind: the derivative of what is flat almost everywhere.
template <class V>
constexpr V zero_like(const V& g)
{
    if constexpr (requires { g.any(); }) return V(AnyTensor{zeros_block(V::dtype(), g.shape()), {}});
    else if constexpr (std::is_arithmetic_v<V>) return V(0);
    else return V(lit(0));
}

namespace detail {

/// A rule says which inputs pull is read from; one that cannot be evaluated at compile time saves all of them.
template <class P, std::size_t i, class... In>
constexpr Uses uses_of()
{
    constexpr std::size_t n = sizeof...(In);
    if constexpr (requires { P::saves; }) {
        return Uses(P::saves);
    } else {
        return []<std::size_t... k>(std::index_sequence<k...>) {
            return P::pull(wrt<i>{}, Uses(1U << (n + 1), true), Uses(1U << k)..., Uses(1U << n));
        }(std::index_sequence_for<In...>());
    }
}

/// Inputs of another type than the result's (conditions), and those that a rule leaves out, have no derivative.
template <class P, std::size_t i, class Out, class... In>
concept has_pull = std::is_same_v<std::tuple_element_t<i, std::tuple<In...>>, Out> &&
                   requires(Uses u) { P::pull(wrt<i>{}, u, (static_cast<void>(sizeof(In)), u)..., u); };

/// A value that is never read.
template <class V, class G>
V unread(const G& g)
{
    if constexpr (std::is_same_v<V, G>) return g;
    else return V{};
}

template <class P>
struct ValueOf {
    template <class... V>
    static auto apply(const V&... x) { return P::value(x...); }
};

/// pull for input i as a function of g and of the values that it uses, with the zero-cotangent rule:
/// where g is 0 and the derivative not finite, the result is 0.
template <class P, std::size_t i, class... In>
struct PullOf {
    static constexpr std::size_t n = sizeof...(In);
    static constexpr unsigned bits = uses_of<P, i, In...>().bits & ((1U << (n + 1)) - 1);

    static constexpr std::size_t position(std::size_t k)
    {
        std::size_t p = 0;
        for (std::size_t j = 0; j < k; ++j) p += bits >> j & 1;
        return p;
    }
    template <class G, class... V>
    static G apply(const G& g, const V&... used)
    {
        const std::tuple<const V&...> values(used...);
        const auto pick = [&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
            if constexpr (bits >> k & 1) return std::get<position(k)>(values);
            else return unread<G>(g);
        };
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            const G r = P::pull(wrt<i>{}, g, pick(std::integral_constant<std::size_t, k>{})...);
            if constexpr (bits == 0) return r;
            else return without_nan(g, r);
        }(std::make_index_sequence<n + 1>());
    }
    template <class G>
    static G without_nan(const G& g, const G& r)
    {
        const G probe(static_cast<scalar_t<G>>(kernels::zero_cotangent));
        return where((g == probe) & !is_finite(r), G(scalar_t<G>(0)), r);
    }
    template <class G>
    struct scalar_of { using type = G; };
    template <class G>
        requires requires { typename G::value_type; }
    struct scalar_of<G> { using type = typename G::value_type; };
    template <class G>
    using scalar_t = typename scalar_of<G>::type;
};

constexpr std::size_t nth_set(unsigned bits, std::size_t n)
{
    std::size_t slot = 0;
    while (!(bits >> slot & 1) || n-- > 0) ++slot;
    return slot;
}

/// The types of the values that a pull kernel reads after g: the used inputs, then the output where used.
template <class P, std::size_t i, class A, class Out, class... In>
constexpr Pull make_pull()
{
    constexpr Uses uses = uses_of<P, i, In...>();
    using F = PullOf<P, i, In...>;
    const auto kernel = []<std::size_t... k>(std::index_sequence<k...>) -> TileKernel {
        using All = std::tuple<In..., Out>;
        return kernels::tile_kernel<F, A, Out, Out, std::tuple_element_t<nth_set(F::bits, k), All>...>;
    }(std::make_index_sequence<static_cast<std::size_t>(std::popcount(F::bits))>());
    Pull pull{kernel, static_cast<std::uint8_t>(F::bits), 0, {}, uses.is_input};
    for (std::uint8_t k = 0; k <= sizeof...(In); ++k)
        if (F::bits >> k & 1) pull.slots[pull.count++] = k;
    return pull;
}

template <class T>
Tensor<T> typed(const AnyTensor& any) { return Tensor<T>(any); }

inline AnyTensor saved_input(const Node& n, std::size_t i)
{
    return {Ref<Block>(n.saved[i]), Ref<Node>(n.input_count > i ? n.inputs[i] : nullptr)};
}
/// The output as its own derivative sees it.
inline AnyTensor saved_output(const Node& n)
{
    return {Ref<Block>(n.saved[n.input_count]), Ref<Node>(const_cast<Node*>(&n))};
}

template <class T> Tensor<T> zero_where_undefined(const Tensor<T>& g, const Tensor<T>& r);

/// Pull i evaluated on tensors: each of its operations is recorded where a level below asks for it.
template <class P, std::size_t i, class Out, class... In, class... X>
Tensor<Out> recorded_pull(const Tensor<Out>& g, const Tensor<Out>& y, const X&... x)
{
    const Tensor<Out> r = P::pull(wrt<i>{}, g, x..., y);
    if constexpr (PullOf<P, i, In...>::bits == 0) return r;
    else return Tape::current().allow_nan ? r : zero_where_undefined(g, r);
}

template <class P, class Out, class... In>
void elementwise_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    const Tensor<Out> cotangent(g), y(saved_output(n));
    [&]<std::size_t... k>(std::index_sequence<k...>) {
        const std::tuple<Tensor<In>...> x(typed<In>(saved_input(n, k))...);
        const auto one = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            if constexpr (has_pull<P, i, Out, In...>) {
                if (!out.wanted(i)) return;
                auto r = recorded_pull<P, i, Out, In...>(cotangent, y, std::get<k>(x)...);
                out.add(i, sum_to(r, n.inputs[i]->shape).any());
            }
        };
        (one(std::integral_constant<std::size_t, k>{}), ...);
    }(std::index_sequence_for<In...>());
}

template <class P, class Out, class... In>
AnyTensor elementwise_jvp(const void*, const AnyTensor* inputs, const AnyTensor* tangents, std::size_t,
                          const AnyTensor& out)
{
    const Tensor<Out> y(out);
    AnyTensor total;
    [&]<std::size_t... k>(std::index_sequence<k...>) {
        const std::tuple<Tensor<In>...> x(typed<In>(inputs[k])...);
        const auto one = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            if constexpr (has_pull<P, i, Out, In...>) {
                if (!tangents[i].value) return;
                const auto dot = recorded_pull<P, i, Out, In...>(Tensor<Out>(tangents[i]), y, std::get<k>(x)...);
                total = total.value ? (Tensor<Out>(total) + dot).any() : dot.any();
            }
        };
        (one(std::integral_constant<std::size_t, k>{}), ...);
    }(std::index_sequence_for<In...>());
    return total.value ? broadcast_to(Tensor<Out>(total), y.shape()).any() : AnyTensor{zeros_block(y.dtype(), y.shape()), {}};
}

template <class T>
AnyTensor add_any(const AnyTensor& a, const AnyTensor& b)
{
    return (Tensor<T>(a) + Tensor<T>(b)).any();
}

template <class P, class A, class Out, class... In>
constexpr Primitive make_elementwise()
{
    Primitive p;
    p.name = P::name;
    p.arity = sizeof...(In);
    p.dtype = dtype_of<Out>();
    p.elementwise = true;
    p.value = kernels::tile_kernel<ValueOf<P>, A, Out, In...>;
    if constexpr (is_differentiable<Out> && (std::is_same_v<Out, In> || ...)) {
        p.differentiable = true;
        [&]<std::size_t... k>(std::index_sequence<k...>) {
            const auto one = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
                if constexpr (has_pull<P, i, Out, In...>) p.pull[i] = make_pull<P, i, A, Out, In...>();
            };
            (one(std::integral_constant<std::size_t, k>{}), ...);
        }(std::index_sequence_for<In...>());
        p.vjp = elementwise_vjp<P, Out, In...>;
        p.jvp = elementwise_jvp<P, Out, In...>;
        p.add = add_any<Out>;
    }
    return p;
}

}  // namespace detail

/// The one descriptor of (primitive, instruction set, dtypes).
template <class P, class A, class Out, class... In>
inline constexpr Primitive elementwise_primitive = detail::make_elementwise<P, A, Out, In...>();

/// Computes P on broadcast operands and records it. Throws ShapeError when the shapes do not broadcast.
template <class P, class Out, class A = xsimd::default_arch, class... In>
Tensor<Out> apply_elementwise(const Site& at, const Tensor<In>&... x)
{
    const AnyTensor* const in[] = {&x.any()...};
    return Tensor<Out>(apply_elementwise(elementwise_primitive<P, A, Out, In...>, in, at));
}

}  // namespace wengert

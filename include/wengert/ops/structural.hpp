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

#include "described.hpp"
#include "folds.hpp"
#include "forms.hpp"
#ifndef WENGERT_COMPILED
#include "index/run_source.hpp"
#endif

namespace wengert {

template <class Op, class Out, class... In>
Tensor<Out> apply(const Op& op, const Site& at, const Tensor<In>&... x);

namespace detail {

/// v, or 0 where r is not finite, when all of g is 0: ZeroWhereSilent's derivative.
struct ZeroWhereOther {
    static constexpr std::string_view name = "zero_where_other";
    using library = ZeroWhereOther;
    static constexpr bool silences = true;
    static constexpr unsigned saves = 0b110;
    template <class T>
    Ref<Block> value(const Ref<Block>& v, const Ref<Block>& r, const Ref<Block>& g, const Site&) const
    {
        auto out = copy_of(*v);
        if (all_zero(*g)) mask<T>(*out, *r);
        return out;
    }
    template <class T> static void mask(Block& out, const Block& r)
    {
        const Ref<Block> from = contiguous(Ref<Block>(const_cast<Block*>(&r)));
        for (std::size_t i = 0; i < out.count; ++i)
            if (!is_finite(from->template as<T>()[i])) out.template as<T>()[i] = T(0);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>&, const Tensor<T>& r, const Tensor<T>& g,
                   const Tensor<T>&) const
    {
        return apply<ZeroWhereOther, T>(*this, Site{}, h, r, g);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dv, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>& r, const Tensor<T>& g, const Tensor<T>&) const
    {
        return apply<ZeroWhereOther, T>(*this, Site{}, dv, r, g);
    }
};

/// The zero-cotangent rule for operations whose elements cannot be told apart, as an operation of its own: r, with 0 for
/// what is not finite in it when all of g is 0. Nearly always there is nothing to do, so it works in place.
struct ZeroWhereSilent {
    static constexpr std::string_view name = "zero_where_silent";
    using library = ZeroWhereSilent;
    static constexpr bool silences = true;
    static constexpr unsigned saves = 0b011;
    template <class T> Ref<Block> value(const Ref<Block>& r, const Ref<Block>& g, const Site&) const
    {
        auto out = copy_of(*r);
        update_any<T>(*out, &g);
        return out;
    }
    template <class T> void update_any(Block& r, const Ref<Block>* g) const
    {
        if (all_zero(*g[0])) ZeroWhereOther::mask<T>(r, r);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>& r, const Tensor<T>& g, const Tensor<T>&) const
    {
        return apply<ZeroWhereOther, T>({}, Site{}, h, r, g);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dr, const Tensor<T>& dg, const Tensor<T>& r, const Tensor<T>& g,
                   const Tensor<T>&) const
    {
        const Tensor<T> passed = apply<ZeroWhereOther, T>({}, Site{}, dr, r, g);
        return apply<ZeroWhereSilent, T>(*this, Site{}, passed, first_nonzero(g, dg.any()));
    }
};

/// All of g is 0, and that counts.
inline bool silent(const Block& g) { return kernels::zero_cotangent == 0.0 && all_zero(g); }

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
    if constexpr (pulls<Op, i, Out, In...> || derives_pull<Op, i, Out, In...>) {
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
        } else {
            return op.push(tangent_or_zeros<In>(dot[k], x[k])..., Tensor<In>(x[k])..., Tensor<Out>(y)).any();
        }
    }(std::index_sequence_for<In...>());
}

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

/// A cotangent that is there already, plus that of input i: op.accumulate as an operation of its own.
template <class Op, std::size_t i, class Out, class... In> struct Accumulation {
    static constexpr unsigned bits = read_by_pull<Op, i, sizeof...(In)>();
    static constexpr std::size_t n = sizeof...(In);

    /// rest[0] is g, then the values read.
    static void update(const void* op, Block& into, const Ref<Block>* rest, std::size_t, const Site& at)
    {
        if (!tried(op, into, rest)) add_into(into, *pulled(op, rest, at));
    }
    static Ref<Block> compute(const void* op, const Ref<Block>* in, std::size_t count, const Site& at)
    {
        auto out = copy_of(*in[0]);
        update(op, *out, in + 1, count - 1, at);
        return out;
    }
    static AnyTensor expand(const void* op, const AnyTensor* in, std::size_t)
    {
        const Tensor<Out> r(pull(op, in + 1));
        if (linear<Op>() || Tape::current().allow_nan) return (Tensor<Out>(in[0]) + r).any();
        return (Tensor<Out>(in[0]) + apply<ZeroWhereSilent, Out>({}, Site{}, r, Tensor<Out>(in[1]))).any();
    }

private:
    static AnyTensor value(const AnyTensor* rest, std::size_t s)
    {
        const auto below = static_cast<unsigned>(std::popcount(bits & ((1U << s) - 1)));
        return bits >> s & 1 ? rest[1 + below] : AnyTensor{};
    }
    static AnyTensor pull(const void* op, const AnyTensor* rest)
    {
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            return static_cast<const Op*>(op)
                ->pull(wrt<i>{}, Tensor<Out>(rest[0]), Tensor<In>(value(rest, k))...,
                       Tensor<Out>(value(rest, n)))
                .any();
        }(std::index_sequence_for<In...>());
    }
    static std::array<AnyTensor, n + 2> constants(const Ref<Block>* rest)
    {
        std::array<AnyTensor, n + 2> x;
        for (std::size_t k = 0; k <= static_cast<std::size_t>(std::popcount(bits)); ++k) x[k].value = rest[k];
        return x;
    }
    static Ref<Block> pulled(const void* op, const Ref<Block>* rest, const Site& at)
    {
        const Ref<Block> r = pull(op, constants(rest).data()).value;
        if (linear<Op>() || !silent(*rest[0])) return r;
        return ZeroWhereSilent{}.template value<Out>(r, rest[0], at);
    }
    static bool tried(const void* op, Block& into, const Ref<Block>* rest)
    {
        const Op& o = *static_cast<const Op*>(op);
        if (!linear<Op>() && silent(*rest[0])) return false;
        if constexpr (requires { o.accumulate(wrt<i>{}, into, into); }) {
            o.accumulate(wrt<i>{}, into, *rest[0]);
            return true;
        } else {
            const auto x = constants(rest);
            return [&]<std::size_t... k>(std::index_sequence<k...>) {
                return o.accumulate(wrt<i>{}, into, Tensor<Out>(x[0]), Tensor<In>(value(x.data(), k))...,
                                    Tensor<Out>(value(x.data(), n)));
            }(std::index_sequence_for<In...>());
        }
    }
};

template <class Op, std::size_t i, class Out, class... In> constexpr Primitive make_accumulation()
{
    using F = Accumulation<Op, i, Out, In...>;
    Primitive p;
    p.name = {PullName<Op, i>::text.data(), PullName<Op, i>::text.size()};
    p.kind = kind_of<Op>(p.name);
    p.arity = static_cast<std::uint8_t>(2 + std::popcount(F::bits));
    p.dtype = dtype_of<Out>();
    p.compute = F::compute;
    p.update = F::update;
    p.expand = F::expand;
    p.clone = clone_pooled<Op>;
    p.destroy = destroy_pooled<Op>;
    p.make = make_pooled<Op>;
    p.fields = visit_fields<Op>;
    set_forms_of_accumulation<Op, wrt<i>>(p);
    if constexpr (Described<Op> && linear<Op>() && sizeof...(In) == 1 && !requires { Op::shows_bits; }) {
        p.index = describe_accumulation<Op>;
        p.overridden = true;
    }
    return p;
}
template <class Op, std::size_t i, class Out, class... In>
inline constexpr Primitive accumulation_primitive = make_accumulation<Op, i, Out, In...>();

template <class Op, std::size_t i, class Out, class... In>
concept accumulates = pulls<Op, i, Out, In...> &&
                      (
                          requires(const Op& op, Block& b) { op.accumulate(wrt<i>{}, b, b); } ||
                          requires(const Op& op, Block& b, const Tensor<Out>& g, const Tensor<In>&... x) {
                              op.accumulate(wrt<i>{}, b, g, x..., g);
                          });

template <class Op, class Out, class... In> constexpr Primitive make_structural()
{
    Primitive p;
    p.name = Op::name;
    p.kind = kind_of<Op>(p.name);
    p.arity = sizeof...(In);
    p.dtype = dtype_of<Out>();
    static_assert(sizeof...(In) <= Primitive::max_elementwise);
    for (std::size_t i = 0; i < sizeof...(In); ++i)  // a cotangent of a product reads the other factors only
        p.pull[i].uses =
            static_cast<std::uint8_t>(saves_for<Op, Out, In...>() & ~(bilinear<Op>() ? 1U << i : 0U));
    p.clone = clone_pooled<Op>;
    p.destroy = destroy_pooled<Op>;
    if constexpr (requires(const Op& op) { op.parameters(); })
        p.parameters = [](const void* op) { return static_cast<const Op*>(op)->parameters(); };
    p.compute = structural_compute<Op, Out, In...>;
    if constexpr (described_on<Op, Out, In...>()) p.index = describe_op<Op>;
    p.overridden = Described<Op> && Overridden<Op, Out, In...>;
    if constexpr (Folded<Op>) {
        p.fold = &fold_form<Op, Out, In...>;
        p.infallible = true;
    }
    p.fields = visit_fields<Op>;
    set_forms<Op>(p);
    if constexpr (std::is_default_constructible_v<Op>) p.make = make_pooled<Op>;
    p.calls = requires(const Op& op) { op.inside; };
    if constexpr (requires(const Op& op) { op.inside; })
        p.inside = [](const void* op) { return static_cast<const Op*>(op)->inside.get(); };
    if constexpr (requires(const Op& op, Block& b, const Ref<Block>* rest) {
                      op.template update_any<Out>(b, rest);
                  })
        p.update = [](const void* op, Block& b, const Ref<Block>* rest, std::size_t, const Site&) {
            static_cast<const Op*>(op)->template update_any<Out>(b, rest);
        };
    if constexpr (is_differentiable<Out> && !requires { Op::flat; }) {
        p.differentiable = true;
        p.vjp = structural_vjp<Op, Out, In...>;
        p.jvp = structural_jvp<Op, Out, In...>;
        p.add = add_any<Out>;
        p.sum_to = sum_to_any<Out>;
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

/// The same, from wengert::compiled where that has it.
template <class Op, class Out, class... In> const Primitive& structural_of() noexcept
{
    using A = xsimd::default_arch;
#ifdef WENGERT_COMPILED
    if constexpr (is_library_structural<Op>(List<Out>(), List<In...>()))
        return library_structural<Op, A, Out, In...>();
    else
#endif
        return structural_primitive<Op, A, Out, In...>;
}

/// Its value by the table of its operands' device.
template <class Op, class Out, class... In>
[[gnu::cold, gnu::noinline]] Ref<Block> value_elsewhere(const Op& op, const Site& at, const Tensor<In>&... x)
{
    const Ref<Block> in[] = {x.any_unchecked().value...};
    return structural_elsewhere(structural_of<Op, Out, In...>(), &op, in, sizeof...(In), at);
}

/// Its value: that library's code where it has the operation.
template <class Op, class Out, class... In>
Ref<Block> value_of(const Op& op, const Site& at, const Tensor<In>&... x)
{
    if ((0U | ... | x.any_unchecked().value->access.device)) [[unlikely]]
        return value_elsewhere<Op, Out>(op, at, x...);
    if constexpr (Described<Op> && !Overridden<Op, Out, In...>) {
        const Ref<Block> in[] = {x.any_unchecked().value...};
        return compute_index(Op::name, describe_op<Op>, dtype_of<Out>(), &op, in, sizeof...(In), at);
    } else
#ifdef WENGERT_COMPILED
        if constexpr (is_library_structural<Op>(List<Out>(), List<In...>())) {
        const Ref<Block> in[] = {x.any_unchecked().value...};
        return structural_of<Op, Out, In...>().compute(&op, in, sizeof...(In), at);
    } else
#endif
        return own_value<Op, Out, In...>(op, at, x.any_unchecked().value...);
}

}  // namespace detail

/// Computes a structural operation and records it.
template <class Op, class Out, class... In>
Tensor<Out> apply(const Op& op, const Site& at, const Tensor<In>&... x)
{
    const AnyTensor* const in[] = {&x.any(Op::name, at)...};
    return Tensor<Out>(record(detail::structural_of<Op, Out, In...>(), in, sizeof...(In),
                              detail::value_of<Op, Out>(op, at, x...), &op, at));
}

}  // namespace wengert

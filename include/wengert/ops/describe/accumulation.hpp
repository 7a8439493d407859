// A cotangent that is there already, plus a contribution: what a sweep does in place, as an operation of its own.
#pragma once

#include <array>

#include "forms.hpp"
#include "zero_where.hpp"

namespace wengert {

template <class Op, class Out, class... In, class D>
Tensor<Out, D> apply(const Op& op, const Site& at, const Tensor<In, D>&... x);

namespace detail {

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
    [[gnu::cold]] static AnyTensor expand(const void* op, const AnyTensor* in, std::size_t)
    {
        const Tensor<Out> r(pull(op, in + 1));
        if (linear<Op>() || Tape::current().allow_nan) return (Tensor<Out>(in[0]) + r).any();
        return (Tensor<Out>(in[0]) + apply<ZeroWhereNoCotangent, Out>({}, Site{}, r, Tensor<Out>(in[1])))
            .any();
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
        if (linear<Op>() || !is_zero_cotangent(*rest[0])) return r;
        return ZeroWhereNoCotangent{}.template value<Out>(r, rest[0], at);
    }
    static bool tried(const void* op, Block& into, const Ref<Block>* rest)
    {
        const Op& o = *static_cast<const Op*>(op);
        if (!linear<Op>() && is_zero_cotangent(*rest[0])) return false;
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
    p.ours = is_ours<Op>();
    p.arity = static_cast<std::uint8_t>(2 + std::popcount(F::bits));
    p.dtype = dtype_of<Out>();
    p.compute = F::compute;
    p.update = F::update;
    p.expand = F::expand;
    p.clone = clone_pooled<Op>;
    p.destroy = destroy_pooled<Op>;
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

}  // namespace detail
}  // namespace wengert

// From a description to derivatives. A linear operation is its own tangent, and its transpose has reads in place of writes.
//
// A struct with `describe` needs no rules if it is `linear` or `affine`. `linear` means in all operands of the result's type
// together. `affine` means linear in one of them, beside constants. The rules come from the description, to any order. Integer
// operands are saved for them.
#pragma once

#include <array>

#include "folds.hpp"
#include "../index/demands.hpp"
#include "../index/run_index.hpp"
#include "structural_traits.hpp"

namespace wengert {

template <class Op, class Out, class... In, class D>
Tensor<Out, D> apply(const Op& op, const Site& at, const Tensor<In, D>&... x);

namespace detail {

template <class Op>
concept Described = requires(const Op& op, Index& p) { op.describe(p); };

/// Has a kernel of its own for the host, beside its description: faster for a few elements, and the same bits.
template <class Op, class Out, class... In>
concept Overridden = requires(const Op& op, const Ref<Block>& first, const Site& at) {
    op.template value<Out>((static_cast<void>(sizeof(In)), first)..., at);
};

template <class Op> constexpr bool affine()
{
    if constexpr (requires { Op::affine; })
        return Op::affine;
    else
        return false;
}

template <class Op> void describe_op(const void* op, Index& p)
{
    static_cast<const Op*>(op)->describe(p);
    if constexpr (linear<Op>() || affine<Op>()) p.demand_linear(affine<Op>());
}

/// A description on these dtypes: one that shows bits says nothing of another dtype.
template <class Op, class Out, class... In> constexpr bool described_on()
{
    if constexpr (requires { Op::shows_bits; })
        return (std::is_same_v<Out, In> && ...);
    else
        return Described<Op>;
}

/// The cotangent of a linear operation on one operand, added to what is there: Pull::add.
template <class Op> void describe_accumulation(const void* op, Index& p)
{
    const Shape* const of[] = {&p.shape(0)};
    Index inner(of, 1);
    static_cast<const Op*>(op)->describe(inner);
    if (!(inner.shown() == p.shape(1)))
        throw ShapeError("a cotangent of shape " + to_string(p.shape(1)) + " of a result " +
                         to_string(inner.shown()));
    p.added_transpose_of(inner);
}

/// "roll.back0": the name, a word and the operand.
template <class Op, std::size_t k, bool back> struct LinearName {
    static constexpr std::string_view word = back ? ".back" : ".linear";
    static constexpr auto text = [] {
        std::array<char, Op::name.size() + word.size() + 1> t{};
        std::size_t n = 0;
        for (char c : Op::name) t[n++] = c;
        for (char c : word) t[n++] = c;
        t[n] = static_cast<char>('0' + k);
        return t;
    }();
};

/// The linear part of Op in operand k, or its transpose: of (x or the cotangent, the integer operands). `given` has a bit for
/// each operand that is one.
template <class Op, std::size_t k, unsigned given, std::size_t n, bool back> struct LinearPart {
    static constexpr std::string_view name{LinearName<Op, k, back>::text.data(),
                                           LinearName<Op, k, back>::text.size()};
    static constexpr std::size_t integers = static_cast<std::size_t>(std::popcount(given));
    static_assert(integers + 1 == n,
                  "wengert: a described primitive of several operands that are no integers has its own pull");
    static constexpr bool linear = true;
    static constexpr unsigned saves = ((1U << integers) - 1) << 1;
    Op op;
    Shape of;  ///< of operand k
    template <class F> void each(F&& f) { f(op), f(of); }

    void describe(Index& p) const
    {
        const Shape* shapes[n];
        std::uint8_t numbers[n] = {}, next = 1;
        for (std::size_t j = 0; j < n; ++j) {
            shapes[j] = &of;
            if (!(given >> j & 1)) continue;
            shapes[j] = &p.shape(next);
            numbers[j] = next++;
        }
        Index inner(shapes, n);
        op.describe(inner);
        if (!((back ? inner.shown() : of) == p.shape(0)))
            throw ShapeError("shape " + to_string(p.shape(0)) + " where " +
                             to_string(back ? inner.shown() : of) + " is needed");
        if (back)
            p.transpose_of(inner, k, numbers);
        else
            p.linear_part_of(inner, k, numbers);
    }
    template <class T, class... Rest>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Rest&... rest) const
    {
        using Transposed = LinearPart<Op, k, given, n, !back>;
        const auto all = std::tie(rest...);
        return [&]<std::size_t... i>(std::index_sequence<i...>) {
            return apply<Transposed, T>(Transposed{op, of}, Site{}, g, std::get<i>(all)...);
        }(std::make_index_sequence<integers>());
    }
};

/// Which operands are no numbers that a derivative is taken of.
template <class Out, class... In> constexpr unsigned given_operands()
{
    unsigned bits = 0, k = 0;
    ((bits |= (std::is_same_v<In, Out> ? 0U : 1U) << k++), ...);
    return bits;
}

/// Has operand i a rule that follows from the description?
template <class Op, std::size_t i, class Out, class... In>
concept derives_pull =
    Described<Op> && (linear<Op>() || affine<Op>()) && is_differentiable<Out> &&
    std::is_same_v<std::tuple_element_t<i, std::tuple<In...>>, Out> &&
    !requires(const Op& op, const Tensor<Out>& g, const Tensor<In>&... x) { op.pull(wrt<i>{}, g, x..., g); };

/// Has a fold formulas from which its rules follow? Of one pass, over elements alone.
template <class Op, class Out, class... In> constexpr bool has_rule_formulas()
{
    if constexpr (Folded<Op> && !MapsElements<Op> && is_differentiable<Out> && sizeof...(In) == 1 &&
                  (std::is_same_v<In, Out> && ...))
        return passes_of<Op>::size == 1 && !has_places<typename passes_of<Op>::template at<0>>;
    else
        return false;
}
template <class Op, std::size_t i, class Out, class... In>
concept derives_fold_pull = has_rule_formulas<Op, Out, In...>() && !pulls<Op, i, Out, In...>;

/// The linear part in operand i or its transpose, of the cotangent or tangent v.
template <bool back, class Op, std::size_t i, class Out, class... In>
Tensor<Out> linear_part(const Op& op, const Shape& of, const Tensor<Out>& v, const Tensor<In>&... x)
{
    constexpr unsigned given = given_operands<Out, In...>();
    using Part = LinearPart<Op, i, given, sizeof...(In), back>;
    const auto all = std::tie(x...);
    constexpr auto numbers = [] {
        std::array<std::size_t, Part::integers> list{};
        std::size_t at = 0;
        for (std::size_t j = 0; j < sizeof...(In); ++j)
            if (given >> j & 1) list[at++] = j;
        return list;
    }();
    return [&]<std::size_t... j>(std::index_sequence<j...>) {
        return apply<Part, Out>(Part{op, of}, Site{}, v, std::get<numbers[j]>(all)...);
    }(std::make_index_sequence<Part::integers>());
}

/// The saved set of the rules: that of the struct, or the integer operands if the rules follow from the description.
template <class Op, class Out, class... In> constexpr unsigned saves_for()
{
    if constexpr (Described<Op> && !requires { Op::saves; } && (linear<Op>() || affine<Op>()))
        return given_operands<Out, In...>();
    else if constexpr (has_rule_formulas<Op, Out, In...>())
        return saves_of<Op>() | (linear<Op>() || pulls<Op, 0, Out, In...> ? 0U : 1U);
    else
        return saves_of<Op>();
}

/// The rule of operand i: the struct's own, or what follows from its description.
template <class Op, std::size_t i, class Out, class... In, class... X>
Tensor<Out> pull_of(const Op& op, const Node& n, const Tensor<Out>& g, const Tensor<Out>& y, const X&... x)
{
    if constexpr (derives_pull<Op, i, Out, In...>)
        return linear_part<true, Op, i, Out, In...>(op, n.inputs[i]->shape, g, x...);
    else if constexpr (derives_fold_pull<Op, i, Out, In...>)
        return FoldRules<Op, Out>::pull(op, g, x..., n.inputs[i]->shape);
    else
        return op.pull(wrt<i>{}, g, x..., y);
}

/// The linear part of the one operand that has a tangent.
template <class Op, class Out, class... In, std::size_t... k>
AnyTensor push_affine(const Op& op, const AnyTensor* x, const AnyTensor* dot, std::index_sequence<k...>)
{
    AnyTensor y;
    const auto one = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
        if constexpr (derives_pull<Op, i, Out, In...>)
            if (dot[i].value)
                y = linear_part<false, Op, i, Out, In...>(op, x[i].value->shape, Tensor<Out>(dot[i]),
                                                          Tensor<In>(x[k])...)
                        .any();
    };
    (one(std::integral_constant<std::size_t, k>{}), ...);
    return y;
}

}  // namespace detail
}  // namespace wengert

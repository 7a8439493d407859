// The zero-cotangent rule for complex numbers: real and imaginary part are one cotangent (docs/numerics.md).
#pragma once

#include "tensor.hpp"

namespace wengert {

/// r, or 0 where a part of r is not finite and both parts of g are 0.
struct ZeroWhereNoPair {
    static constexpr std::string_view name = "complex_zero_where_undefined";
    static constexpr unsigned saves = 0b101;
    static constexpr bool infallible = true;

    template <class T> Ref<Block> value(const Ref<Block>& r, const Ref<Block>& g, const Site&) const
    {
        auto y = copy_of(*r);
        const Ref<Block> from = contiguous(g);
        T* const e = y->template as<T>();
        const T* const c = from->template as<T>();
        for (std::size_t i = 0; i + 1 < y->count; i += 2) {
            const T either = c[i] != T(0) ? c[i] : c[i + 1];
            for (const std::size_t k : {i, i + 1}) e[k] = ZeroWhereUndefined::value<T>(either, e[k]);
        }
        return y;
    }
    template <class X> auto composed(const X& r, const X& g) const
    {
        const X c = detail::part_of(name, g, 0, Site{}),
                either = where(c == zero_like(c), detail::part_of(name, g, 1, Site{}), c);
        const auto part = [&](std::int64_t k) {
            return detail::zero_where_undefined(either, detail::part_of(name, r, k, Site{}));
        };
        return detail::joined(name, part(0), part(1), Site{});
    }
    /// y is 0 where r is not finite only if the rule has made it so.
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>& r, const Tensor<T>&, const Tensor<T>& y) const
    {
        return where(logical_and(logical_not(is_finite(r)), y == zero_like(y)), zero_like(h), h);
    }
    /// ṙ is linear in (g, ġ): the rule holds where both are 0.
    template <class T>
    Tensor<T> push(const Tensor<T>& dr, const Tensor<T>& dg, const Tensor<T>& r, const Tensor<T>& g,
                   const Tensor<T>& y) const
    {
        const Tensor<T> both = dg.defined() ? where(g == zero_like(g), dg, g) : g;
        return apply<ZeroWhereNoPair, T>({}, Site{}, pull(wrt<0>{}, dr, r, g, y), both);
    }
};

namespace detail {

/// What a rule makes of the cotangent g, as a contribution. Nearly always it is a constant, all of it finite: nothing is to be done.
template <class T> Tensor<T> contribution(const Tensor<T>& r, const Tensor<T>& g)
{
    const AnyTensor& any = r.any();
    if (Tape::current().allow_nan || (!any.node && !recorder() && all_finite(*any.value))) return r;
    return apply<ZeroWhereNoPair, T>({}, Site{}, r, g);
}

}  // namespace detail
}  // namespace wengert

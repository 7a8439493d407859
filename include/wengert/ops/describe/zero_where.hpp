// The zero-cotangent rule as an operation: where a cotangent is 0, what a rule makes of infinities is no contribution.
#pragma once

#include "described.hpp"

namespace wengert {

template <class Op, class Out, class... In, class D>
Tensor<Out, D> apply(const Op& op, const Site& at, const Tensor<In, D>&... x);

namespace detail {

/// v, or 0 where r is not finite, when all of g is 0: ZeroWhereNoCotangent's derivative.
struct ZeroWhereOther {
    static constexpr std::string_view name = "zero_where_other";
    static constexpr bool zero_rule = true;
    static constexpr unsigned saves = 0b110;
    template <class T>
    Ref<Block> value(const Ref<Block>& v, const Ref<Block>& r, const Ref<Block>& g, const Site&) const
    {
        auto out = copy_of(*v);
        apply_rule<T>(*out, *r, *g);
        return out;
    }
    /// 0 to those elements of `out` whose r is not finite, if all of g is 0.
    template <class T> static void apply_rule(Block& out, const Block& r, const Block& g)
    {
        if (!all_zero_of<T>(g)) return;
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
struct ZeroWhereNoCotangent {
    static constexpr std::string_view name = "zero_where_no_cotangent";
    static constexpr bool zero_rule = true;
    static constexpr unsigned saves = 0b011;
    template <class T> Ref<Block> value(const Ref<Block>& r, const Ref<Block>& g, const Site& at) const
    {
        auto out = copy_of(*r);
        update_any<T>(*out, &g, at);
        return out;
    }
    template <class T> void update_any(Block& r, const Ref<Block>* g, const Site&) const
    {
        ZeroWhereOther::apply_rule<T>(r, r, *g[0]);
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
        return apply<ZeroWhereNoCotangent, T>(*this, Site{}, passed, first_nonzero(g, dg.any()));
    }
};

/// All of g is 0, and that counts.
inline bool is_zero_cotangent(const Block& g) { return kernels::zero_cotangent == 0.0 && all_zero(g); }

}  // namespace detail
}  // namespace wengert

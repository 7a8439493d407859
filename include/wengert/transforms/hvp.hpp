// Hessian-vector products.
#pragma once

#include "grad.hpp"
#include "jvp.hpp"

namespace wengert {

namespace detail {

template <class F> class Hvp : public Closure<Hvp<F>> {
public:
    Hvp(F f, const Site& made) : Closure<Hvp>(made), gradient_(std::move(f), made) {}
    template <class... X> static constexpr bool accepts() { return sizeof...(X) == 2; }
    template <class X, class V> auto at_line(const Site& at, const X& x, const V& v) const
    {
        return forward(gradient_, argument(x), argument(v), "hvp", at).second;
    }

private:
    Grad<F, 0> gradient_;
};

}  // namespace detail

/// hvp(f)(x, v): the Hessian of a scalar f times v, forward over reverse (Pearlmutter 1994). x may be any struct of tensors,
/// or a tuple of several arguments.
template <class F> auto hvp(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Hvp<F>(std::move(f), at);
}

}  // namespace wengert

// gemm: a product added to what is there already, with a factor. Programs do not call it; passes make it of
// c ± α (a b), so that a training step updates its weights where they lie.
#pragma once

#include "matmul.hpp"

namespace wengert {

/// y = c ± α op(a) op(b) of matrices, α of rank 0;  c̄ = ȳ,  ā and b̄ as matmul's for ± α ȳ,  ᾱ = ± Σ ȳ op(a) op(b).
/// `cotangent` names the operand, 1 for a or 2 for b, to which the zero-cotangent rule applies. If all of that operand is 0, elements
/// of the product that are not finite count as 0. 0 stands for none.
struct Gemm {
    static constexpr std::string_view name = "gemm";
    static constexpr unsigned saves = 0b1110;
    bool ta, tb, minus;
    std::int64_t cotangent;
    Shape a, b;  ///< of the operands

    static constexpr bool infallible = true;
    MatrixProduct product() const
    {
        return {.a = {1, ta, false, false},
                .b = {2, tb, true, false},
                .adds = true,
                .factor = 3,
                .minus = minus,
                .cotangent = cotangent ? static_cast<std::uint8_t>(cotangent) : MatrixProduct::none,
                .always = true};
    }

    template <class T>
    Ref<Block> value(const Ref<Block>& c, const Ref<Block>& x, const Ref<Block>& y, const Ref<Block>& alpha,
                     const Site& at) const
    {
        auto out = copy_of(*c);
        const Ref<Block> rest[] = {x, y, alpha};
        update_any<T>(*out, rest, at);
        return out;
    }
    template <class T> void update_any(Block& c, const Ref<Block>* rest, const Site&) const
    {
        const Ref<Block>&x = rest[0], &y = rest[1];
        const T factor = minus ? -*rest[2]->template as<T>() : *rest[2]->template as<T>();
        if (cotangent && all_zero(*rest[cotangent - 1])) return add_quietly(c, x, y, factor);
        const detail::Matrices mx = detail::matrices_of(x, x->shape, ta),
                               my = detail::matrices_of(y, y->shape, tb);
        kernels::gemm<T>(mx.transposed, my.transposed, mx.rows, my.columns, mx.columns, factor,
                         mx.x->template as<T>(), mx.ld, my.x->template as<T>(), my.ld, T(1), c.as<T>(),
                         std::max<std::size_t>(my.columns, 1));
    }

    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>&, const Tensor<T>&) const
    {
        return g;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y,
                   const Tensor<T>& alpha, const Tensor<T>&) const
    {
        return plain().pull(wrt<0>{}, scaled(g, alpha), x, y, g);
    }
    template <class T>
    Tensor<T> pull(wrt<2>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y,
                   const Tensor<T>& alpha, const Tensor<T>&) const
    {
        return plain().pull(wrt<1>{}, scaled(g, alpha), x, y, g);
    }
    template <class T>
    Tensor<T> pull(wrt<3>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y,
                   const Tensor<T>&, const Tensor<T>&) const
    {
        const Tensor<T> s = wengert::sum(g * multiply(x, y), Site{});
        return minus ? -s : s;
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dc, const Tensor<T>& dx, const Tensor<T>& dy, const Tensor<T>& da,
                   const Tensor<T>&, const Tensor<T>& x, const Tensor<T>& y, const Tensor<T>& alpha,
                   const Tensor<T>&) const
    {
        const Tensor<T> d = scaled(multiply(dx, y) + multiply(x, dy), alpha) + scaled(multiply(x, y), da);
        return dc + d;
    }

private:
    MatMul plain() const { return {ta, tb, a, b}; }
    template <class T> Tensor<T> multiply(const Tensor<T>& x, const Tensor<T>& y) const
    {
        return apply<MatMul, T>(plain(), Site{}, x, y);
    }
    template <class T> Tensor<T> scaled(const Tensor<T>& x, const Tensor<T>& alpha) const
    {
        const Tensor<T> s = x * alpha;
        return minus ? -s : s;
    }
    template <class T> void add_quietly(Block& c, const Ref<Block>& x, const Ref<Block>& y, T factor) const
    {
        const Ref<Block> r = plain().template value<T>(x, y, Site{});
        for (std::size_t i = 0; i < r->count; ++i)
            if (const T v = r->template as<T>()[i]; is_finite(v)) c.as<T>()[i] += factor * v;
    }
};

}  // namespace wengert

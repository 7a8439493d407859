// Products of matrices as steps: C = op(A) op(B), or added to what lies there.
#pragma once

#include "part_steps.hpp"

namespace wengert::tiling::detail {

/// C = op(A) op(B).
template <class T> struct Product {
    bool ta = false, tb = false;
    std::size_t m = 0, n = 0, k = 0, lda = 1, ldb = 1;
    const T *a = nullptr, *b = nullptr;
    T* c = nullptr;

    void multiply(T alpha, T scale, T* to) const
    {
        kernels::gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, scale, to, std::max<std::size_t>(n, 1));
    }
    static bool run(const void* self, Run&)
    {
        const auto& p = *static_cast<const Product*>(self);
        p.multiply(T(1), T(0), p.c);
        return true;
    }
};

/// An operand as gemm reads it. Nothing is read here: rule_of has seen to it that no copy is needed.
inline wengert::detail::Matrices matrices(const Ref<Block>& x, const MatrixProduct::Factor& f)
{
    const Shape shape = x->shape.size() == 2 ? x->shape
                        : f.column           ? MatMul::as_columns(x->shape)
                                             : MatMul::as_rows(x->shape);
    return wengert::detail::matrices_of(x, shape, f.transposed);
}

template <class T> void set_gemm(Emitter& e, Product<T>& g, const MatrixProduct& p, ValueId c)
{
    const auto& inputs = e.plan.graph.node(c).inputs;
    const ValueId a = inputs[p.a.operand], b = inputs[p.b.operand];
    const auto ma = matrices(e.header(a), p.a), mb = matrices(e.header(b), p.b);
    g.ta = ma.transposed;
    g.tb = mb.transposed;
    g.m = ma.rows;
    g.n = mb.columns;
    g.k = ma.columns;
    g.lda = ma.ld;
    g.ldb = mb.ld;
    e.bind(&g.a, a);
    e.bind(&g.b, b);
    e.bind(&g.c, c);
}

/// C += ± α op(A) op(B). Where all of g is 0, elements of the product that are not finite count as 0 (the zero-cotangent
/// rule); `room` is memory for the product then.
template <class T> struct AddedProduct {
    Product<T> product;
    const T* alpha = nullptr;  ///< 1 where there is none
    bool minus = false;
    const Block* g = nullptr;  ///< null: the rule does not hold
    bool always = true;        ///< the rule holds whatever kernels::zero_cotangent says
    T* room = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const AddedProduct*>(self);
        const T factor = !s.alpha ? T(1) : s.minus ? -*s.alpha : *s.alpha;
        if (s.g && (s.always || kernels::zero_cotangent == 0.0) && all_zero(*s.g))
            s.add_quietly(factor);
        else
            s.product.multiply(factor, T(1), s.product.c);
        return true;
    }

private:
    /// As Gemm and ZeroWhereSilent have it: a product of zeros leaves −0 as it is, a cotangent of 0 is added.
    void add_quietly(T factor) const
    {
        const std::size_t count = product.m * product.n;
        product.multiply(T(1), T(0), room);
        for (std::size_t i = 0; i < count; ++i) {
            const bool finite = is_finite(room[i]);
            if (alpha) {
                if (finite) product.c[i] += factor * room[i];
            } else {
                product.c[i] += finite ? room[i] : T(0);
            }
        }
    }
};

template <class T> void emit_product(Emitter& e, ValueId v)
{
    set_gemm<T>(e, *e.step<Product<T>>(), product_of(e.plan.graph.node(v)), v);
}

template <class T> void emit_added_product(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const MatrixProduct p = product_of(n);
    const bool guarded = p.silent != MatrixProduct::none;
    bring(e, n.inputs[0], v);
    T* const room = guarded ? reinterpret_cast<T*>(e.scratch(e.plan.bytes_of(v))) : nullptr;
    auto& s = *e.step<AddedProduct<T>>();
    s.room = room;
    s.g = guarded ? e.header(n.inputs[p.silent]).get() : nullptr;
    s.always = p.always;
    s.minus = p.minus;
    if (p.factor != MatrixProduct::none) e.bind(&s.alpha, n.inputs[p.factor]);
    set_gemm<T>(e, s.product, p, v);
}

}  // namespace wengert::tiling::detail

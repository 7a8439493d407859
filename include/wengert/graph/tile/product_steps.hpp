// Products of matrices as steps: C = op(A) op(B), or added to what lies there.
#pragma once

#include "part_steps.hpp"

namespace wengert::tiling::detail {

/// C = α op(A) op(B) + βC.
template <class T> struct Product {
    bool ta = false, tb = false;
    std::size_t m = 0, n = 0, k = 0, lda = 1, ldb = 1;
    T beta{};
    const T *a = nullptr, *b = nullptr;
    T* c = nullptr;

    void multiply(T alpha, T scale, T* to) const
    {
        kernels::gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, scale, to, std::max<std::size_t>(n, 1));
    }
    static bool run(const void* self, Run&)
    {
        const auto& p = *static_cast<const Product*>(self);
        p.multiply(T(1), p.beta, p.c);
        return true;
    }
};

/// An operand as gemm reads it. Nothing is read here: rule_of has seen to it that no copy is needed.
inline wengert::detail::Matrices matrices(Emitter& e, ValueId v, bool op, bool column)
{
    const Ref<Block>& x = e.header(v);
    const Shape shape = x->shape.size() == 2 ? x->shape
                        : column             ? MatMul::as_columns(x->shape)
                                             : MatMul::as_rows(x->shape);
    return wengert::detail::matrices_of(x, shape, op);
}

template <class T>
void set_gemm(Emitter& e, Product<T>& g, ValueId a, bool ta, ValueId b, bool tb, T beta, ValueId c)
{
    const auto ma = matrices(e, a, ta, false), mb = matrices(e, b, tb, true);
    g.ta = ma.transposed;
    g.tb = mb.transposed;
    g.m = ma.rows;
    g.n = mb.columns;
    g.k = ma.columns;
    g.lda = ma.ld;
    g.ldb = mb.ld;
    g.beta = beta;
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

template <class T> void emit_gemm(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const auto& op = *static_cast<const MatMul*>(n.op.get());
    set_gemm<T>(e, *e.step<Product<T>>(), n.inputs[0], op.ta, n.inputs[1], op.tb, T(0), v);
}

template <class T> AddedProduct<T>& added_product(Emitter& e, ValueId v, ValueId g)
{
    bring(e, e.plan.graph.node(v).inputs[0], v);
    T* room = g == no_value ? nullptr : reinterpret_cast<T*>(e.scratch(e.plan.bytes_of(v)));
    auto& s = *e.step<AddedProduct<T>>();
    s.g = g == no_value ? nullptr : e.header(g).get();
    s.room = room;
    return s;
}

/// (Ā, Ȳ, B) or (B̄, Ȳ, A): the four forms of MatMul::accumulate.
template <class T> void emit_add_gemm(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const auto& op = *static_cast<const MatMul*>(n.op.get());
    const ValueId g = n.inputs[1], x = n.inputs[2];
    auto& s = added_product<T>(e, v, g);
    s.always = false;
    if (n.primitive->kind.back() == '0')
        op.ta ? set_gemm<T>(e, s.product, x, op.tb, g, true, T(1), v)
              : set_gemm<T>(e, s.product, g, false, x, !op.tb, T(1), v);
    else
        op.tb ? set_gemm<T>(e, s.product, g, true, x, op.ta, T(1), v)
              : set_gemm<T>(e, s.product, x, !op.ta, g, false, T(1), v);
}

/// (C, A, B, α).
template <class T> void emit_scaled_gemm(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const auto& op = *static_cast<const wengert::Gemm*>(n.op.get());
    auto& s = added_product<T>(e, v, op.silent ? n.inputs[static_cast<std::size_t>(op.silent)] : no_value);
    s.minus = op.minus;
    e.bind(&s.alpha, n.inputs[3]);
    set_gemm<T>(e, s.product, n.inputs[1], op.ta, n.inputs[2], op.tb, T(1), v);
}

}  // namespace wengert::tiling::detail

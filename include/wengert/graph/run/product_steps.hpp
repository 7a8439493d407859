// Products of matrices as steps: C = op(A) op(B), or added to what lies there.
#pragma once

#include "part_steps.hpp"

namespace wengert::tiling::detail {

/// An operand as gemm reads it. Nothing is read here: rule_of has seen to it that no copy is needed.
inline wengert::detail::Matrices matrices(const Ref<Block>& x, const MatrixProduct::Factor& f)
{
    const Shape shape = x->shape.size() == 2 ? x->shape
                        : f.column           ? MatMul::as_columns(x->shape)
                                             : MatMul::as_rows(x->shape);
    return wengert::detail::matrices_of(x, shape, f.transposed);
}

/// C = op(A) op(B), or C += ± α op(A) op(B). Where all of g is 0, elements of the product that are not finite count as 0 (the
/// zero-cotangent rule); `room` is memory for the product then.
template <class T> struct Product {
    bool ta, tb, adds, scaled;
    bool minus;
    bool always;  ///< the rule holds whatever kernels::zero_cotangent says
    std::size_t m, n, k, lda, ldb;
    const T* const* at;  ///< A, B, and α where it is `scaled`
    T* const* c;
    const Block* g;  ///< null: the rule does not hold
    T* room;

    void operator()(Run&) const
    {
        const T factor = !scaled ? T(1) : minus ? -*at[2] : *at[2];
        if (g && (always || kernels::zero_cotangent == 0.0) && all_zero_of<T>(*g))
            add_quietly(factor);
        else
            multiply(factor, T(adds), *c);
    }

private:
    void multiply(T alpha, T beta, T* to) const
    {
        kernels::gemm<T>(ta, tb, m, n, k, alpha, at[0], lda, at[1], ldb, beta, to,
                         std::max<std::size_t>(n, 1));
    }
    /// As Gemm and ZeroWhereNoCotangent have it: a product of zeros leaves −0 as it is, a cotangent of 0 is added.
    void add_quietly(T factor) const
    {
        multiply(T(1), T(0), room);
        for (std::size_t i = 0; i < m * n; ++i) {
            const bool finite = is_finite(room[i]);
            if (scaled && finite) (*c)[i] += factor * room[i];
            if (!scaled) (*c)[i] += finite ? room[i] : T(0);
        }
    }
};

/// C = op(A) op(B) for each place of the leading axes.
template <class T> struct BatchProduct {
    wengert::detail::Matrices a, b;
    Shape batch;
    Strides step_a, step_b;
    const T* const* at;  ///< A, B
    T* const* c;

    void run() const
    {
        wengert::detail::multiply_batch<T>(a, at[0], step_a, b, at[1], step_b, batch, T(0), *c);
    }
};

/// The batch of a product's result, which is empty where it is one matrix or vector.
inline Shape batch_of(const GraphNode& n, const MatrixProduct& p) { return Shape(n.shape.data(), p.batch); }

template <class T> void emit_batch_product(Emitter& e, ValueId v, const MatrixProduct& p)
{
    const Graph& g = e.plan.graph;
    const ValueId x = g.node(v).inputs[p.a.operand], y = g.node(v).inputs[p.b.operand];
    const Shape batch = batch_of(g.node(v), p);
    const auto a = matrices(e.header(x), p.a), b = matrices(e.header(y), p.b);
    const auto step = std::make_shared<const BatchProduct<T>>(
        BatchProduct<T>{a, b, batch, wengert::detail::batch_steps(a, g.node(x).shape, batch),
                        wengert::detail::batch_steps(b, g.node(y).shape, batch), e.addresses<const T>({x, y}),
                        e.addresses<T>({v})});
    e.program.owned().push_back(step);
    e.step([s = step.get()](Run&) { s->run(); });
}

template <class T> void emit_product(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const MatrixProduct p = product_of(n);
    if (!p.adds && p.batch > 0) return emit_batch_product<T>(e, v, p);
    const bool scaled = p.factor != MatrixProduct::none,
               guarded = p.adds && p.cotangent != MatrixProduct::none;
    if (p.adds) bring(e, n.inputs[0], v);
    T* const room = guarded ? reinterpret_cast<T*>(e.scratch(e.plan.bytes_of(v))) : nullptr;
    const auto a = matrices(e.header(n.inputs[p.a.operand]), p.a),
               b = matrices(e.header(n.inputs[p.b.operand]), p.b);
    ValueList read{n.inputs[p.a.operand], n.inputs[p.b.operand]};
    if (scaled) read.push_back(n.inputs[p.factor]);
    e.step(Product<T>{a.transposed, b.transposed, p.adds, scaled, p.minus, p.always, a.rows, b.columns,
                      a.columns, a.ld, b.ld, e.addresses<const T>(read), e.addresses<T>({v}),
                      guarded ? e.header(n.inputs[p.cotangent]).get() : nullptr, room});
}

}  // namespace wengert::tiling::detail

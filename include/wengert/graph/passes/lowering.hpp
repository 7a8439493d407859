// Lowering: coarse primitives as the maps and reductions that they are made of, so that they fuse with what is around them.
// By default they stay, and run as library kernels: one call each, with eager's bits. A program that wants this includes
// the header and says PassOptions{.lower = passes::lowering}.
#pragma once

#include "../../ops/reductions.hpp"
#include "../../ops/softmax.hpp"
#include "../ir/fold_of.hpp"
#include "gradients.hpp"

namespace wengert::passes {

namespace detail {

/// Writes operations in the place of n, of its type, segment and line.
class Finer {
public:
    Finer(Rewrite& r, const GraphNode& n) : r_(r), n_(n) {}

    const Shape& shape(ValueId v) const { return r_.node(v).shape; }
    template <class P> ValueId one(ValueId x) const { return elementwise<P, 1>({x}); }
    template <class P> ValueId two(ValueId x, ValueId y) const { return elementwise<P, 2>({x, y}); }
    ValueId number(double x) const { return number_like(r_, n_, x); }
    /// where(x is finite, x, 0)
    ValueId finite_or_zero(ValueId x) const
    {
        GraphNode c = n_;
        c.dtype = DType::boolean;
        c.primitive = pick<&elementwise_primitive<IsFinite, A, bool, float>,
                           &elementwise_primitive<IsFinite, A, bool, double>>();
        const ValueId finite = add(std::move(c), {x}, {}, shape(x));
        GraphNode w = n_;
        w.primitive = pick<&elementwise_primitive<Where, A, float, bool, float, float>,
                           &elementwise_primitive<Where, A, double, bool, double, double>>();
        return add(std::move(w), {finite, x, number(0)}, {}, shape(x));
    }
    template <class Op> ValueId reduced(const Op& op, ValueId x, const Shape& to) const
    {
        GraphNode c = n_;
        c.primitive =
            pick<&structural_primitive<Op, A, float, float>, &structural_primitive<Op, A, double, double>>();
        return add(std::move(c), {x}, keep_parameters(*c.primitive, &op), to);
    }
    ValueId sum(ValueId x, const Axes& axes, bool keepdims) const
    {
        const Along along{axes, keepdims, shape(x)};
        return reduced(Sum{axes, keepdims, shape(x)}, x, keepdims ? along.kept() : along.dropped());
    }
    ValueId largest(ValueId x, const Axes& axes) const
    {
        const Along along{axes, true, shape(x)};
        return reduced(Extremum<true>{along}, x, along.kept());
    }
    /// The largest of each row, 0 where it is infinite.
    ValueId shift(ValueId x, const Axes& axes) const { return finite_or_zero(largest(x, axes)); }
    ValueId shifted(ValueId x, const Axes& axes) const { return two<Subtract>(x, shift(x, axes)); }
    ValueId reshape(ValueId x, const Shape& to) const { return reduced(Reshape{to, shape(x)}, x, to); }

private:
    using A = xsimd::default_arch;
    template <const Primitive* single, const Primitive* twice> const Primitive* pick() const
    {
        return is_single(n_.dtype) ? single : twice;
    }
    template <class P, std::size_t n> ValueId elementwise(std::vector<ValueId> in) const
    {
        GraphNode c = n_;
        if constexpr (n == 1)
            c.primitive = pick<&elementwise_primitive<P, A, float, float>,
                               &elementwise_primitive<P, A, double, double>>();
        else
            c.primitive = pick<&elementwise_primitive<P, A, float, float, float>,
                               &elementwise_primitive<P, A, double, double, double>>();
        const Shape s =
            n == 1 ? shape(in[0]) : broadcast_shapes("optimize", shape(in[0]), shape(in[n - 1]), {});
        return add(std::move(c), std::move(in), {}, s);
    }
    ValueId add(GraphNode c, std::vector<ValueId> in, Parameters op, const Shape& s) const
    {
        c.inputs = std::move(in);
        c.op = std::move(op);
        c.shape = s;
        return r_.add(std::move(c));
    }

    Rewrite& r_;
    const GraphNode& n_;
};

/// eˣ and its sum over axes.
inline std::pair<ValueId, ValueId> exponentials(const Finer& f, ValueId x, const Axes& axes)
{
    const ValueId e = f.one<Exp>(x);
    return {e, f.sum(e, axes, true)};
}

/// Σ x / n over the axes, with the bits of mean.
inline ValueId lowered_mean(const Finer& f, ValueId x, const Along& a)
{
    return f.two<Divide>(f.sum(x, a.axes, a.keepdims), f.number(static_cast<double>(a.count())));
}

/// Σ (d − mean d)² / max(n − ddof, 0) with d = x − max x: 0 for equal elements, as kernels::var
inline ValueId lowered_var(const Finer& f, ValueId x, const Along& a, std::size_t freedom)
{
    const ValueId near = f.shifted(x, a.axes);
    const ValueId d = f.two<Subtract>(near, lowered_mean(f, near, {a.axes, true, a.from}));
    const double left = static_cast<double>(a.count()) - static_cast<double>(freedom);
    return f.two<Divide>(f.sum(f.one<Square>(d), a.axes, a.keepdims), f.number(std::max(left, 0.0)));
}

/// m + ln Σ eˣ⁻ᵐ, with m = 0 where the largest is infinite
inline ValueId lowered_logsumexp(const Finer& f, ValueId x, const Along& a)
{
    const ValueId m = f.shift(x, a.axes);
    const auto [e, s] = exponentials(f, f.two<Subtract>(x, m), a.axes);
    const ValueId y = f.two<Add>(f.one<Log>(s), m);
    return a.keepdims ? y : f.reshape(y, a.dropped());
}

/// What has as many elements as its operand, line by line along an axis.
inline ValueId lowered_rows(const Finer& f, const GraphNode& n, const Fold& fold)
{
    const Axes a{static_cast<std::int64_t>(fold.axis)};
    const ValueId x = n.inputs[0];
    switch (fold.what) {
    case Fold::What::softmax: {
        const auto [e, s] = exponentials(f, f.shifted(x, a), a);
        return f.two<Multiply>(e, f.two<Divide>(f.number(1), s));
    }
    case Fold::What::log_softmax: {
        const ValueId near = f.shifted(x, a);
        return f.two<Subtract>(near, f.one<Log>(exponentials(f, near, a).second));
    }
    case Fold::What::softmax_pull: {  // y (g − Σ g y)
        const ValueId y = n.inputs[1], s = f.sum(f.two<Multiply>(x, y), a, true);
        return f.two<Multiply>(y, f.two<Subtract>(x, s));
    }
    case Fold::What::log_softmax_pull: {  // g − eʸ Σ g
        const ValueId s = f.sum(x, a, true);
        return f.two<Subtract>(x, f.two<Multiply>(f.one<Exp>(n.inputs[1]), s));
    }
    default: return no_value;
    }
}

inline ValueId lower_rule(Rewrite& r, GraphNode& n)
{
    Fold fold;
    if (n.kind != Graph::Kind::operation || n.primitive->value || !wengert::differentiable(n.dtype) ||
        element_count(n.shape) == 0 || !fold_of(n, fold))
        return no_value;
    const Finer f(r, n);
    if (fold.maps()) return lowered_rows(f, n, fold);
    const ValueId x = n.inputs[0];
    const Along along{*fold.axes, fold.keepdims, f.shape(x)};
    switch (fold.what) {
    case Fold::What::mean: return lowered_mean(f, x, along);
    case Fold::What::variance: return lowered_var(f, x, along, fold.freedom);
    case Fold::What::log_sum_exp: return lowered_logsumexp(f, x, along);
    default: return no_value;
    }
}

}  // namespace detail

/// softmax, log_softmax, their cotangents, mean, var and logsumexp as maps and reductions. mean keeps its bits; the others
/// round in another order, by a few units in the last place of the largest term.
inline Graph lowering(const Graph& g, const PassOptions& options = {})
{
    return compacted(settled(g, options, {{detail::lower_rule}}));
}

}  // namespace wengert::passes

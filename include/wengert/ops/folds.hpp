// Folds of whole axes, said once: what is folded, over which axes. From it follow the shape, the value on every executor, and
// the text in native code and emitted C.
//
//     struct Mean {
//         static constexpr std::string_view name = "mean";
//         static constexpr auto fold = Fold::What::mean;
//         Along along;
//         void describe(Fold& f) const { f.axes = &along.axes, f.keepdims = along.keepdims; }
//     };
//
// The order in which elements are combined is stated (kernels/cpu/fold.hpp): it is a function of the dtype, the extents and the
// axes, and of nothing else.
#pragma once

#include <tuple>

#include "../array/layout.hpp"
#include "../tape/primitive.hpp"

namespace wengert {

struct Fold {
    enum class What : std::uint8_t {
        sum,
        mean,
        product,
        maximum,  ///< NaN where there is one
        minimum,
        first_maximum,  ///< its place in row-major order; that of the first NaN
        first_minimum,
        all,
        any,
        variance,  ///< Σ (x − mean)² / (n − `freedom`)
        norm,
        log_sum_exp,
        // of as many elements as the operand, line by line along `axis`
        softmax,
        log_softmax,
        softmax_pull,  ///< of (g, y)
        log_softmax_pull
    };
    const Axes* axes = nullptr;  ///< sorted, not negative
    std::size_t axis = 0;        ///< of what has as many elements as its operand
    bool keepdims = false;
    std::size_t freedom = 0;
    const Shape* from = nullptr;  ///< the operand's, where the parameters say it
    What what = What::sum;

    static constexpr bool maps(What w) noexcept { return w >= What::softmax; }
    static constexpr bool needs_elements(What w) noexcept
    {
        return w >= What::maximum && w <= What::first_minimum;
    }
    bool maps() const noexcept { return maps(what); }
};

/// Of contiguous operands (outer, n, inner), the folded axes brought together.
struct FoldForm {
    Fold::What what;
    void (*describe)(const void* op, Fold& f);
    void (*run)(const void* const* in, std::size_t outer, std::size_t n, std::size_t inner,
                std::size_t freedom, void* out);
    /// Gives parameters the other choice of `keepdims`; null where there is none.
    void (*keep)(void* op, bool keepdims);
};

/// The result's shape.
inline Shape reduced_shape(const Axes& axes, bool keepdims, const Shape& x)
{
    Shape out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool reduced = next < axes.size() && axes[next] == static_cast<std::int64_t>(i);
        next += reduced;
        if (!reduced || keepdims) out.push_back(reduced ? 1 : x[i]);
    }
    return out;
}

/// How a reduction sees its operand: as (outer, n, inner), the axes to reduce brought together and contiguous.
struct Reduction {
    Ref<Block> x;  ///< contiguous
    std::size_t outer = 1, n = 1, inner = 1;
    Shape kept;     ///< the result's shape with extents of 1 in place of the reduced axes
    Shape dropped;  ///< without them
    const Shape& shape(bool keepdims) const { return keepdims ? kept : dropped; }
};

/// Brings x into the form of a Reduction over `axes` (sorted). Adjacent axes need no copy of a contiguous x.
inline Reduction reduction_of(const Ref<Block>& x, const Axes& axes)
{
    Reduction r;
    r.kept = x->shape;
    for (auto a : axes) r.kept[static_cast<std::size_t>(a)] = 1;
    std::size_t next = 0;
    Axes rest;
    for (std::size_t i = 0; i < x->shape.size(); ++i) {
        if (next < axes.size() && axes[next] == static_cast<std::int64_t>(i))
            ++next;
        else {
            r.dropped.push_back(x->shape[i]);
            rest.push_back(static_cast<std::int64_t>(i));
        }
    }
    const bool adjacent = axes.empty() || axes.back() - axes[0] + 1 == static_cast<std::int64_t>(axes.size());
    if (!adjacent) {  // bring the reduced axes to the end
        Shape shape;
        Strides strides;
        const Strides from = x->strides();
        for (const Axes* list : {static_cast<const Axes*>(&rest), &axes})
            for (auto a : *list) {
                shape.push_back(x->shape[static_cast<std::size_t>(a)]);
                strides.push_back(from[static_cast<std::size_t>(a)]);
            }
        r.x = contiguous(make_view(x, shape, &strides, 0));
        for (auto a : rest) r.outer *= static_cast<std::size_t>(x->shape[static_cast<std::size_t>(a)]);
        for (auto a : axes) r.n *= static_cast<std::size_t>(x->shape[static_cast<std::size_t>(a)]);
        return r;
    }
    r.x = contiguous(x);
    for (std::size_t i = 0; i < x->shape.size(); ++i) {
        const auto e = static_cast<std::size_t>(x->shape[i]);
        const auto a = static_cast<std::int64_t>(i);
        if (axes.empty() || a < axes[0])
            r.outer *= e;
        else if (a <= axes.back())
            r.n *= e;
        else
            r.inner *= e;
    }
    return r;
}

namespace detail {

/// `run(x…, outer, n, inner, freedom, out)`: the kernel of a fold. Each is declared beside the operation that needs it.
template <Fold::What what> struct FoldKernel;

template <class Op>
concept Folded = requires(const Op& op, Fold& f) {
    op.describe(f);
    Op::fold;
} && !requires(const Op& op, const Ref<Block>& x, const Site& at) { op.template value<float>(x, at); };

template <class Op> Fold fold_by(const Op& op)
{
    Fold f;
    f.what = Op::fold;
    op.describe(f);
    return f;
}

[[noreturn]] inline void refuse_no_elements(std::string_view name, const Shape& from, const Axes& axes,
                                            const Site& at)
{
    fail<ShapeError>(name,
                     "there is no largest or smallest of no elements: shape " + to_string(from) + ", axes " +
                         to_string(axes),
                     at);
}

template <class Op, class Out, class X, class... More>
Ref<Block> fold_value(const Op& op, const Ref<Block>& x, const Site& at)
{
    const Fold f = fold_by(op);
    const Reduction r = reduction_of(x, *f.axes);
    if constexpr (Fold::needs_elements(Op::fold))
        if (r.n == 0 && r.outer * r.inner > 0) refuse_no_elements(Op::name, x->shape, *f.axes, at);
    auto out = make_block(dtype_of<Out>(), r.shape(f.keepdims));
    FoldKernel<Op::fold>::run(static_cast<const X*>(r.x->template as<X>()), r.outer, r.n, r.inner, f.freedom,
                              out->template as<Out>());
    return out;
}
/// Of contiguous blocks of one shape, one line after the other.
template <class Op, class Out, class... X, class... B>
    requires(Fold::maps(Op::fold))
Ref<Block> fold_value_along(const Op& op, const B&... x)
{
    const std::size_t axis = fold_by(op).axis;
    const Shape& shape = std::get<0>(std::tie(x...))->shape;
    auto y = make_block(dtype_of<Out>(), shape);
    std::size_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    const auto run = [&](const auto&... c) {
        FoldKernel<Op::fold>::run(static_cast<const Out*>(c->template as<Out>())..., outer,
                                  static_cast<std::size_t>(shape[axis]), inner, std::size_t{0},
                                  y->template as<Out>());
    };
    run(contiguous(x)...);
    return y;
}

/// The value of a structural operation: of its description, or what its own function makes of whole arrays.
template <class Op, class Out, class... In, class... B>
Ref<Block> own_value(const Op& op, const Site& at, const B&... x)
{
    if constexpr (!Folded<Op>)
        return op.template value<Out>(x..., at);
    else if constexpr (Fold::maps(Op::fold))
        return fold_value_along<Op, Out, In...>(op, x...);
    else
        return fold_value<Op, Out, In...>(op, x..., at);
}

template <class Op, class Out, class... In>
void run_fold(const void* const* in, std::size_t outer, std::size_t n, std::size_t inner, std::size_t freedom,
              void* out)
{
    [&]<std::size_t... k>(std::index_sequence<k...>) {
        FoldKernel<Op::fold>::run(static_cast<const In*>(in[k])..., outer, n, inner, freedom,
                                  static_cast<Out*>(out));
    }(std::index_sequence_for<In...>());
}
template <class Op> void describe_fold(const void* op, Fold& f) { f = fold_by(*static_cast<const Op*>(op)); }
template <class Op> void keep_dimensions(void* op, bool keepdims)
{
    if constexpr (requires(Op& o) { o.keepdims = true; })
        static_cast<Op*>(op)->keepdims = keepdims;
    else if constexpr (requires(Op& o) { o.along.keepdims = true; })
        static_cast<Op*>(op)->along.keepdims = keepdims;
}
template <class Op>
concept KeepsDimensions =
    requires(Op& o) { o.keepdims = true; } || requires(Op& o) { o.along.keepdims = true; };
template <class Op, class Out, class... In>
inline constexpr FoldForm fold_form{Op::fold, describe_fold<Op>, run_fold<Op, Out, In...>,
                                    KeepsDimensions<Op> ? keep_dimensions<Op> : nullptr};

}  // namespace detail
}  // namespace wengert

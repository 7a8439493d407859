// Folds of whole axes, said once: the passes that are made over the elements (base/monoids.hpp), and over which axes. From it follow
// the shape, the value on every executor, and the text in native code and emitted C.
//
//     struct Mean {
//         static constexpr std::string_view name = "mean";
//         using passes = Passes<monoid::Average>;
//         Along along;
//         void describe(Fold& f) const { f.axes = &along.axes, f.keepdims = along.keepdims; }
//     };
//
// A struct that names no passes is one itself. `using maps = void` says that each element has a result, `each(x…, line)`; a first
// pass with `enough(s)` that the others are for those lines alone of which that is false.
//
// The order in which elements are combined is stated (kernels/cpu/fold.hpp): it is a function of the dtype, the extents and the
// axes, and of nothing else.
#pragma once

#include <tuple>
#include <type_traits>

#include "../../array/layout.hpp"
#include "../../kernels/cpu/passes.hpp"
#include "../../tape/primitive.hpp"
#include "fold_terms.hpp"

namespace wengert {

/// The parameters of a fold, as its `describe` fills them in.
struct Fold {
    const Axes* axes = nullptr;  ///< sorted, not negative; null: as many results as elements, along `axis`
    std::size_t axis = 0;
    bool keepdims = false;
    double number = 0;            ///< what formulas are told: FoldLine::number
    const Shape* from = nullptr;  ///< the operand's, where the parameters say it
    bool maps() const noexcept { return !axes; }
};

struct FoldForm {
    void (*describe)(const void* op, Fold& f);
    /// Of contiguous operands (outer, n, inner), the folded axes brought together.
    void (*run)(const void* const* in, std::size_t outer, std::size_t n, std::size_t inner, double number,
                void* out);
    /// Gives parameters the other choice of `keepdims`; null where there is none.
    void (*keep)(void* op, bool keepdims);
    /// Its formulas, for text.
    FoldProgram (*write)();
    bool sums, means;  ///< the elements themselves are added: what streams may take part by part
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

template <class Op>
concept Folded = requires(const Op& op, Fold& f) { op.describe(f); };
/// A kernel beside the passes: `kernel(x, outer, n, inner, out)`.
template <class Op>
concept HasFoldKernel = Folded<Op> && requires { &Op::template kernel<double>; };
template <class Op>
concept MapsElements = requires { typename Op::maps; };
/// The rules of a fold that writes none (transforms/fold_rules.hpp).
template <class Op, class T> struct FoldRules;

template <class Op> Fold fold_by(const Op& op)
{
    Fold f;
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

/// By the passes, or a kernel beside them (ops/describe/overrides.hpp).
template <class Op, class Out, class X, class... More>
void fold_elements(std::size_t outer, std::size_t n, std::size_t inner, double number, Out* out, const X* x,
                   const More*... more)
{
    if constexpr (HasFoldKernel<Op>)
        Op::kernel(x, outer, n, inner, out);
    else if constexpr (std::is_floating_point_v<Out>)
        kernels::fold_lines<Op>(outer, n, inner, number, out, x, more...);
    else
        kernels::fold_plain<Op>(outer, n, inner, out, x);
}

template <class Op, class Out, class X>
Ref<Block> fold_value(const Op& op, const Ref<Block>& x, const Site& at)
{
    const Fold f = fold_by(op);
    const Reduction r = reduction_of(x, *f.axes);
    if constexpr (requires { Op::needs_elements; })
        if (r.n == 0 && r.outer * r.inner > 0) refuse_no_elements(Op::name, x->shape, *f.axes, at);
    auto out = make_block(dtype_of<Out>(), r.shape(f.keepdims));
    fold_elements<Op>(r.outer, r.n, r.inner, f.number, out->template as<Out>(),
                      static_cast<const X*>(r.x->template as<X>()));
    return out;
}
/// b, or its elements in row-major order, which `copy` then holds: counting b once more would cost short lines.
inline const Ref<Block>& in_order(const Ref<Block>& b, Ref<Block>&& copy)
{
    return b->strided ? copy = contiguous(b) : b;
}
/// Of contiguous blocks of one shape, one line after the other.
template <class Op, class Out, class... X, class... B>
Ref<Block> fold_value_along(const Op& op, const B&... x)
{
    const Fold f = fold_by(op);
    const Shape& shape = std::get<0>(std::tie(x...))->shape;
    auto y = make_block(dtype_of<Out>(), shape);
    std::size_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < f.axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
    for (std::size_t i = f.axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    const auto run = [&](const auto&... c) {
        fold_elements<Op>(outer, static_cast<std::size_t>(shape[f.axis]), inner, f.number,
                          y->template as<Out>(), static_cast<const Out*>(c->template as<Out>())...);
    };
    run(in_order(x, {})...);
    return y;
}

/// The value of a structural operation: of its description, or what its own function makes of whole arrays.
template <class Op, class Out, class... In, class... B>
Ref<Block> own_value(const Op& op, const Site& at, const B&... x)
{
    if constexpr (!Folded<Op>)
        return op.template value<Out>(x..., at);
    else if constexpr (MapsElements<Op>)
        return fold_value_along<Op, Out, In...>(op, x...);
    else
        return fold_value<Op, Out, In...>(op, x..., at);
}

template <class Op, class Out, class... In>
void run_fold(const void* const* in, std::size_t outer, std::size_t n, std::size_t inner, double number,
              void* out)
{
    [&]<std::size_t... k>(std::index_sequence<k...>) {
        fold_elements<Op>(outer, n, inner, number, static_cast<Out*>(out), static_cast<const In*>(in[k])...);
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
inline constexpr FoldForm fold_form{describe_fold<Op>,
                                    run_fold<Op, Out, In...>,
                                    KeepsDimensions<Op> ? keep_dimensions<Op> : nullptr,
                                    write_fold<Op, sizeof...(In)>,
                                    std::is_same_v<passes_of<Op>, Passes<monoid::Add>>,
                                    std::is_same_v<passes_of<Op>, Passes<monoid::Average>>};

}  // namespace detail
}  // namespace wengert

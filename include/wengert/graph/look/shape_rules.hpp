// The shape of an operation's result from its parameters and its operands' types, without computing anything, and whether the
// parameters fit the operands at all. The library's functions check what programs give them; graphs that are read or built
// by hand come past those functions, so each kind of operation has a rule here: an overload of
//
//     Shape result_shape(const Op&, ValueTypes operands);    throws ShapeError
//
// which is found by argument-dependent lookup, also beside a user's own operation. Dtypes have been looked at before.
#pragma once

#include <algorithm>
#include <span>

#include "../../ops/arg_reductions.hpp"
#include "../../ops/creation.hpp"
#include "../../ops/gemm.hpp"
#include "../../ops/losses.hpp"
#include "../../ops/random.hpp"
#include "../../ops/shape.hpp"
#include "../../ops/take.hpp"
#include "../../ops/view.hpp"
#include "../loops/loop_rules.hpp"
#include "shape_demands.hpp"
#include "value_type.hpp"

namespace wengert {

// Folds of whole axes, of as many elements as the operand or of one for each of the others.
template <class Op>
    requires detail::Folded<Op>
Shape result_shape(const Op& op, ValueTypes x)
{
    const Fold f = detail::fold_by(op);
    const Shape& shape = x[0].shape;
    if (f.maps()) {
        detail::demand_axis(f.axis, shape);
        return detail::same_shape(shape, x.back().shape, "an operand");
    }
    return detail::reduced_shape(*f.axes, f.keepdims, f.from ? *f.from : shape, shape);
}
inline Shape result_shape(const ExclusiveProduct&, ValueTypes x)
{
    detail::demand_rank(x[0].shape, 3, false);
    return x[0].shape;
}

inline Shape result_shape(const Prod&, ValueTypes x)
{
    detail::demand_rank(x[0].shape, 3, false);
    return {x[0].shape[0], 1, x[0].shape[2]};
}

// Views and what undoes them.
inline Shape result_shape(const BroadcastTo& op, ValueTypes x)
{
    detail::stated(op.from, x[0].shape);
    check_extents(op.to);
    detail::demand_broadcast(op.from, op.to);
    return op.to;
}
inline Shape result_shape(const Reshape& op, ValueTypes x)
{
    detail::stated(op.from, x[0].shape);
    check_extents(op.to);
    detail::demand(element_count(op.to) == element_count(op.from),
                   "shape " + to_string(op.from) + " has no elements for " + to_string(op.to));
    return op.to;
}
inline Shape result_shape(const Transpose& op, ValueTypes x)
{
    Axes sorted = op.perm;
    std::sort(sorted.begin(), sorted.end());
    detail::demand(sorted.size() == x[0].shape.size(),
                   "perm " + to_string(op.perm) + " does not fit shape " + to_string(x[0].shape));
    detail::demand_axes(sorted, x[0].shape.size());
    Shape out;
    for (auto a : op.perm) out.push_back(x[0].shape[static_cast<std::size_t>(a)]);
    return out;
}
inline Shape result_shape(const ExpandDims& op, ValueTypes x)
{
    const std::size_t rank = x[0].shape.size() + op.axes.size();
    detail::demand_axes(op.axes, rank);
    Shape out;
    std::size_t next = 0, taken = 0;
    for (std::size_t k = 0; k < rank; ++k) {
        const bool fresh = next < op.axes.size() && op.axes[next] == static_cast<std::int64_t>(k);
        out.push_back(fresh ? 1 : x[0].shape[taken]);
        ++(fresh ? next : taken);
    }
    return out;
}
inline Shape result_shape(const Squeeze& op, ValueTypes x)
{
    const Shape& s = x[0].shape;
    detail::demand_axes(op.axes, s.size());
    for (auto a : op.axes)
        detail::demand(s[static_cast<std::size_t>(a)] == 1,
                       "axis " + std::to_string(a) + " of shape " + to_string(s) + " is not 1");
    return detail::reduced_shape(op.axes, false, s, s);
}
inline Shape result_shape(const Select& op, ValueTypes x) { return detail::selected(op.part, x[0].shape); }
inline Shape result_shape(const Embed& op, ValueTypes x)
{
    check_extents(op.part.of);
    detail::same_shape(detail::selected(op.part, op.part.of), x[0].shape, "an operand");
    return op.part.of;
}
inline Shape result_shape(const Diagonal& op, ValueTypes x)
{
    return detail::diagonal_shape(detail::stated(op.of, x[0].shape));
}
inline Shape result_shape(const EmbedDiagonal& op, ValueTypes x)
{
    check_extents(op.of);
    detail::same_shape(detail::diagonal_shape(op.of), x[0].shape, "an operand");
    return op.of;
}
inline Shape result_shape(const Element& op, ValueTypes x)
{
    detail::stated(op.of, x[0].shape);
    detail::demand(op.offset < element_count(op.of),
                   "element " + std::to_string(op.offset) + " is not in shape " + to_string(op.of));
    return {};
}
/// Of assign_view, add_view, subtract_view.
template <class Op>
    requires requires(const Op& op) { op.part.of, op.from; }
Shape result_shape(const Op& op, ValueTypes x)
{
    const Shape& part = detail::selected(op.part, x[0].shape);
    detail::demand_broadcast(detail::stated(op.from, x[1].shape), part);
    return x[0].shape;
}

// Elements moved.
inline Shape result_shape(const Copy&, ValueTypes x) { return x[0].shape; }
inline Shape result_shape(const Concatenate& op, ValueTypes x)
{
    check_extents(op.shape);
    detail::demand_axis(op.axis, op.shape);
    detail::demand(!x.empty() && op.extents.size() == x.size(),
                   "the parameters are for " + std::to_string(op.extents.size()) + " operands, not " +
                       std::to_string(x.size()));
    std::int64_t total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        Shape part = op.shape;
        part[op.axis] = op.extents[i];
        detail::same_shape(part, x[i].shape, "an operand");
        detail::demand(!__builtin_add_overflow(total, op.extents[i], &total), "too many elements");
    }
    detail::demand(total == op.shape[op.axis], "the operands do not fill shape " + to_string(op.shape));
    return op.shape;
}
inline Shape result_shape(const Stack& op, ValueTypes x)
{
    check_extents(op.shape);
    detail::demand_axis(op.axis, op.shape);
    detail::demand(!x.empty() && op.shape[op.axis] == static_cast<std::int64_t>(x.size()),
                   std::to_string(x.size()) + " operands do not fill shape " + to_string(op.shape));
    for (const ValueType& v : x)
        detail::same_shape(detail::without_axis(op.shape, op.axis), v.shape, "an operand");
    return op.shape;
}
// Products.
inline Shape result_shape(const MatMul& op, ValueTypes x)
{
    const Shape &a = detail::stated(op.a, x[0].shape), &b = detail::stated(op.b, x[1].shape);
    detail::demand_rank(a, op.ta ? 2 : 1, true);
    detail::demand_rank(b, op.tb ? 2 : 1, true);
    const Shape sa = MatMul::as_rows(a), sb = MatMul::as_columns(b);
    const std::size_t la = sa.size() - 2, lb = sb.size() - 2;
    const auto extent = [](const Shape& s, std::size_t lead, bool second) {
        return s[lead + (second ? 1 : 0)];
    };
    detail::demand(extent(sa, la, !op.ta) == extent(sb, lb, op.tb),
                   "shapes " + to_string(a) + " and " + to_string(b) + ": columns do not meet rows");
    Shape out = detail::broadcast(detail::leading(sa), detail::leading(sb));
    if (a.size() > 1) out.push_back(extent(sa, la, op.ta));
    if (b.size() > 1) out.push_back(extent(sb, lb, !op.tb));
    return out;
}
inline Shape result_shape(const Gemm& op, ValueTypes x)
{
    detail::demand(op.silent >= 0 && op.silent <= 2, "no operand " + std::to_string(op.silent));
    for (std::size_t i = 0; i < 3; ++i) detail::demand_rank(x[i].shape, 2, false);
    detail::demand_rank(x[3].shape, 0, false);
    return detail::same_shape(result_shape(MatMul{op.ta, op.tb, op.a, op.b}, x.subspan(1, 2)), x[0].shape,
                              "a sum");
}

// Rows.
inline Shape result_shape(const CrossEntropy&, ValueTypes x)
{
    detail::demand_rank(x[0].shape, 1, true);
    detail::same_shape(Shape(x[0].shape.data(), x[0].shape.size() - 1), x[1].shape, "labels");
    return {};
}
inline Shape result_shape(const CrossEntropyPull&, ValueTypes x)
{
    detail::demand_rank(x[0].shape, 0, false);
    static_cast<void>(result_shape(CrossEntropy{}, x.subspan(1)));
    return x[1].shape;
}

// Results of loops.
namespace detail {
/// Elements from `offset` on in a packed block.
inline void demand_packed(std::int64_t offset, std::size_t bytes, std::int64_t of, std::size_t unit)
{
    check_extents({of});
    demand(offset >= 0 && offset <= of && bytes <= static_cast<std::size_t>(of - offset) * unit,
           "what begins at " + std::to_string(offset) + " does not lie in a block of " + std::to_string(of));
}
}  // namespace detail
inline Shape result_shape(const Pack& op, ValueTypes x)
{
    detail::stated(op.shape, x[0].shape);
    detail::demand_packed(op.offset, element_count(op.shape), op.of, 1);
    return {op.of};
}
template <class T> Shape unpacked_shape(const PackedPart& part, ValueTypes x)
{
    detail::stated({part.of}, x[0].shape);
    check_extents(part.shape);
    detail::demand_packed(part.offset, element_count(part.shape) * sizeof(T), part.of, size_of(x[0].dtype));
    return part.shape;
}

// Random numbers, and rules of sweeps.
inline Shape result_shape(const KeyChild&, ValueTypes x)
{
    return detail::same_shape({2}, x[0].shape, "a key");
}
template <class Fill> Shape result_shape(const Draw<Fill>& op, ValueTypes x)
{
    detail::same_shape({2}, x[0].shape, "a key");
    op.fill.check({});
    return op.fill.shape;
}
namespace detail {
inline Shape result_shape(const ZeroWhereSilent&, ValueTypes x) { return x[0].shape; }
inline Shape result_shape(const ZeroWhereOther&, ValueTypes x)
{
    return same_shape(x[0].shape, x[1].shape, "an operand");
}
}  // namespace detail

}  // namespace wengert

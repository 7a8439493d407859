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

// Elements moved.
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

/// The shape of each operation's result, from its parameters, which a text may have wrong, and its operands: what its description says,
/// and rules for the structs that have none. They throw ShapeError where something does not fit.
#pragma once

#include <wengert/graph/loops/loop_rules.hpp>
#include <wengert/ops/every_primitive.hpp>

#include <span>

namespace reading {

using namespace wengert;
using namespace wengert::detail;

struct ValueType {
    DType dtype{};
    Shape shape;
};
using ValueTypes = std::span<const ValueType>;

using ShapeRule = Shape (*)(const void* op, ValueTypes operands);

inline Shape result_shape(const KeyChild&, ValueTypes x) { return same_shape({2}, x[0].shape, "a key"); }
template <class Fill> Shape result_shape(const Draw<Fill>& op, ValueTypes x)
{
    same_shape({2}, x[0].shape, "a key");
    op.fill.check({});
    return op.fill.shape;
}
inline Shape result_shape(const CrossEntropy&, ValueTypes x)
{
    demand_labels(x[0].shape, x[1].shape);
    return {};
}
inline Shape result_shape(const CrossEntropyPull&, ValueTypes x)
{
    demand_rank(x[0].shape, 0, false);
    demand_labels(x[1].shape, x[2].shape);
    return x[1].shape;
}
inline Shape result_shape(const ZeroWhereOther&, ValueTypes x)
{
    return same_shape(x[0].shape, x[1].shape, "an operand");
}
inline Shape result_shape(const ZeroWhereSilent&, ValueTypes x) { return x[0].shape; }
inline Shape result_shape(const ExclusiveProduct&, ValueTypes x)
{
    demand_rank(x[0].shape, 3, false);
    return x[0].shape;
}
inline Shape result_shape(const Prod&, ValueTypes x)
{
    demand_rank(x[0].shape, 3, false);
    return {x[0].shape[0], 1, x[0].shape[2]};
}
inline Shape result_shape(const MatMul& op, ValueTypes x)
{
    const Shape &a = stated(op.a, x[0].shape), &b = stated(op.b, x[1].shape);
    demand_rank(a, op.ta ? 2 : 1, true);
    demand_rank(b, op.tb ? 2 : 1, true);
    const Shape sa = MatMul::as_rows(a), sb = MatMul::as_columns(b);
    const std::size_t la = sa.size() - 2, lb = sb.size() - 2;
    demand(sa[op.ta ? la : la + 1] == sb[op.tb ? lb + 1 : lb],
           "shapes " + to_string(a) + " and " + to_string(b) + ": columns do not meet rows");
    Shape out = broadcast_shapes("graph", leading(sa), leading(sb), {});
    if (a.size() > 1) out.push_back(sa[op.ta ? la + 1 : la]);
    if (b.size() > 1) out.push_back(sb[op.tb ? lb : lb + 1]);
    return out;
}
inline Shape result_shape(const Gemm& op, ValueTypes x)
{
    demand(op.silent >= 0 && op.silent <= 2, "no operand " + std::to_string(op.silent));
    for (std::size_t i = 0; i < 3; ++i) demand_rank(x[i].shape, 2, false);
    demand_rank(x[3].shape, 0, false);
    return same_shape(result_shape(MatMul{op.ta, op.tb, op.a, op.b}, x.subspan(1, 2)), x[0].shape, "a sum");
}

/// Elements from `offset` on lie in a packed block.
inline void demand_packed(std::int64_t offset, std::size_t bytes, std::int64_t of, std::size_t unit)
{
    check_extents({of});
    demand(offset >= 0 && offset <= of && bytes <= static_cast<std::size_t>(of - offset) * unit,
           "what begins at " + std::to_string(offset) + " does not lie in a block of " + std::to_string(of));
}
inline Shape result_shape(const Pack& op, ValueTypes x)
{
    stated(op.shape, x[0].shape);
    demand_packed(op.offset, element_count(op.shape), op.of, 1);
    return {op.of};
}
/// Of a part with elements of this type.
template <class Result> Shape unpacked_shape(const void* op, ValueTypes x)
{
    const auto& part = *static_cast<const Unpack*>(op);
    stated({part.of}, x[0].shape);
    check_extents(part.shape);
    demand_packed(part.offset, element_count(part.shape) * sizeof(Result), part.of, size_of(x[0].dtype));
    return part.shape;
}

/// Of an operation that is described part by part: they make up the whole.
template <class Op> Shape parts_shape(const void* op, ValueTypes x)
{
    Shape whole;
    std::size_t covered = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const Shape* const shapes[] = {&x[k].shape};
        Index part(shapes, 1);
        describe_part_of<Op>(op, k, part);
        part.check(Op::name, {});
        if (k > 0) same_shape(whole, part.result, "a result");
        whole = part.result;
        covered += element_count(x[k].shape);
    }
    check_extents(whole);
    demand(covered == element_count(whole),
           std::to_string(x.size()) + " operands do not fill shape " + to_string(whole));
    return whole;
}

/// A fold of whole axes, of one operand or of as many elements as each of them.
template <class Op> Shape fold_shape(const void* op, ValueTypes x)
{
    const Fold f = fold_by(*static_cast<const Op*>(op));
    const Shape& shape = x[0].shape;
    if (f.maps()) {
        demand_axis(f.axis, shape);
        return same_shape(shape, x.back().shape, "an operand");
    }
    if (f.from) stated(*f.from, shape);
    demand_axes(*f.axes, shape.size());
    return reduced_shape(*f.axes, f.keepdims, shape);
}

template <class Op> Shape index_shape(const void* op, ValueTypes x)
{
    Index program(x.size(), [&](std::size_t k) -> const Shape& { return x[k].shape; });
    describe_index(program, Op::name, describe_op<Op>, op, {});
    check_extents(program.shown());
    return program.shown();
}

/// Null where nothing is known.
template <class Op> ShapeRule shape_rule_of()
{
    if constexpr (requires(const Op& op, ValueTypes x) { result_shape(op, x); })
        return [](const void* op, ValueTypes x) { return result_shape(*static_cast<const Op*>(op), x); };
    else if constexpr (Folded<Op>)
        return fold_shape<Op>;
    else if constexpr (Described<Op>)
        return index_shape<Op>;
    else if constexpr (DescribedByParts<Op>)
        return parts_shape<Op>;
    else
        return nullptr;
}

}  // namespace reading

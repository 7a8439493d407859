// What rows.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../kernels/cpu/gemm_small.hpp"
#include "../made.hpp"
#include "../rows.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE Shape RowsAtOnce::rows_of(const Shape& row, std::size_t rank) const
{
    Shape all{p_.steps};
    for (std::size_t k = row.size(); k < rank; ++k) all.push_back(1);
    for (const std::int64_t n : row) all.push_back(n);
    return all;
}

/// Marks what the result is made of.
WENGERT_INLINE bool RowsAtOnce::needed(std::size_t result)
{
    needed_.assign(body_.size(), false);
    needed_[body_.outputs()[result]] = true;
    for (ValueId v = static_cast<ValueId>(body_.size()); v-- > 0;) {
        if (!needed_[v]) continue;
        if (body_.node(v).kind == Graph::Kind::result) return false;
        for (const ValueId i : body_.node(v).inputs) needed_[i] = true;
    }
    return true;
}

WENGERT_INLINE bool RowsAtOnce::may_have_rows(const GraphNode& n, Fn fn) const
{
    if (n.primitive->elementwise) return true;
    switch (fn) {
    case Fn::reshape:
    case Fn::unit_axes:
    case Fn::transpose:
    case Fn::broadcast_to:
    case Fn::select:
    case Fn::embed:
    case Fn::add_part: return true;
    case Fn::sum: return differentiable(n.dtype) && summed_axes(body_, n);
    case Fn::product: return is_small_product(n);
    default: return n.primitive->part && parts_of(n);
    }
}

WENGERT_INLINE bool JoinedParts::are(const Shape& whole, const std::vector<Selection>& parts) const
{
    std::int64_t first = 0;
    for (const Selection& s : parts) {
        if (!own_axis && s.shape.size() != whole.size()) return false;
        const std::int64_t length = own_axis ? 1 : s.shape[axis];
        const Selection wanted =
            own_axis ? Selection::at(whole, axis, first) : Selection::part(whole, axis, first, length);
        if (!(s.shape == wanted.shape && s.start == wanted.start && s.from == wanted.from &&
              s.step == wanted.step))
            return false;
        first += length;
    }
    return first == whole[axis];
}

WENGERT_INLINE std::optional<JoinedParts> RowsAtOnce::parts_of(const GraphNode& n) const
{
    std::vector<Selection> parts;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        const GraphNode& x = body_.node(n.inputs[k]);
        const Index p = part_of(*n.primitive, n.op.get(), k, x.shape, n.at);
        const Index::Read& r = p.reads[0];
        Selection s;
        const bool moves = p.read_count == 1 && r.how == Combine::assign && !r.minus && !p.arranged &&
                           p.given_count == 0 && p.scanned == Scan::none;
        if (!moves || x.dtype != n.dtype || !selection_of(p, r.at, p.writes[r.write], n.shape, s) ||
            !(s.shape == x.shape))
            return {};
        parts.push_back(std::move(s));
    }
    for (const bool own_axis : {false, true})
        for (std::size_t axis = 0; axis < n.shape.size(); ++axis)
            if (const JoinedParts how{axis, own_axis}; how.are(n.shape, parts)) return how;
    return {};
}

/// Up to 16 in every direction a product has one order of its sums, however its operands lie. Products with vectors have not.
WENGERT_INLINE bool RowsAtOnce::is_small_product(const GraphNode& n) const
{
    if (!product_of(n).is_plain() || !differentiable(n.dtype)) return false;
    for (const ValueId i : n.inputs) {
        const GraphNode& x = body_.node(i);
        const std::size_t rank = x.shape.size();
        if (x.dtype != n.dtype || rank < 2) return false;
        for (const std::int64_t extent : {x.shape[rank - 2], x.shape[rank - 1]})
            if (extent < 2 || extent > static_cast<std::int64_t>(kernels::detail::small_edge)) return false;
    }
    return true;
}

WENGERT_INLINE bool RowsAtOnce::can_do(std::size_t result)
{
    // Elementwise operations and moves are fused: other values lie in memory, with all their rows.
    constexpr std::size_t most = std::size_t{1} << 22;
    bool streams = true;
    std::size_t largest = 0;
    if (!needed(result)) return false;
    for (std::size_t i = 0; i < p_.xs; ++i) of_[body_.inputs()[i]].rows = true;
    for (ValueId v = 0; v < body_.size(); ++v) {
        const GraphNode& n = body_.node(v);
        if (!needed_[v] || n.kind != Graph::Kind::operation) continue;
        if (n.primitive->effects || n.primitive->random) return false;
        for (const ValueId i : n.inputs) of_[v].rows |= of_[i].rows;
        if (!of_[v].rows) continue;
        const Fn fn = of_[v].fn = function_of(body_, n);
        if (!may_have_rows(n, fn)) return false;
        streams = streams && fn != Fn::sum && fn != Fn::product && !n.primitive->part;
        largest = std::max(largest, static_cast<std::size_t>(p_.steps) * element_count(n.shape));
    }
    return streams || largest <= most;
}

WENGERT_INLINE GraphNode RowsAtOnce::with_rows(const GraphNode& n, const Shape& shape) const
{
    GraphNode all = n;
    all.shape = shape;
    all.segment = result_.segment;
    if (!all.at.line) all.at = result_.at;
    return all;
}

WENGERT_INLINE ValueId RowsAtOnce::written(const GraphNode& n, Fn fn, ValueList x, const Shape& shape,
                                           const void* op)
{
    GraphNode all = with_rows(n, shape);
    all.kind = Graph::Kind::operation;
    all.dtype = r_.node(x[0]).dtype;
    all.primitive = &primitive_of(fn, all.dtype);
    all.op = keep_parameters(*all.primitive, op);
    all.inputs = std::move(x);
    return r_.add_inner(std::move(all));
}

WENGERT_INLINE ValueId RowsAtOnce::spread(const GraphNode& n, const ValueOfRows& x)
{
    if (x.rows) return x.value;
    const Shape row = r_.node(x.value).shape, shape = rows_of(row);
    const BroadcastTo op{shape, row};
    return written(n, Fn::broadcast_to, {x.value}, shape, &op);
}

WENGERT_INLINE ValueId RowsAtOnce::reshaped(const GraphNode& n, ValueId x, const Shape& shape)
{
    const Shape from = r_.node(x).shape;
    if (from == shape) return x;
    const Reshape op{shape, from};
    return written(n, Fn::reshape, {x}, shape, &op);
}

WENGERT_INLINE ValueId RowsAtOnce::aligned(const GraphNode& n, const ValueOfRows& x, std::size_t rank)
{
    if (!x.rows) return x.value;
    const Shape& all = r_.node(x.value).shape;
    return reshaped(n, x.value, rows_of(Shape(all.data() + 1, all.size() - 1), rank));
}

WENGERT_INLINE ValueId RowsAtOnce::elementwise(const GraphNode& n)
{
    GraphNode all = with_rows(n, rows_of(n.shape));
    for (ValueId& i : all.inputs) i = aligned(n, of_[i], n.shape.size());
    return r_.add_inner(std::move(all));
}

WENGERT_INLINE ValueId RowsAtOnce::move(const GraphNode& n)
{
    const auto [fn, part] = passes::move_of(body_, n);
    const ValueId x = of_[n.inputs[0]].value;
    const Shape shape = rows_of(n.shape);
    if (fn == Fn::reshape || fn == Fn::unit_axes) return reshaped(n, x, shape);
    if (fn == Fn::broadcast_to) {
        const ValueId y = aligned(n, of_[n.inputs[0]], n.shape.size());
        const BroadcastTo op{shape, r_.node(y).shape};
        return written(n, fn, {y}, shape, &op);
    }
    return move_part(n, fn, part);
}

WENGERT_INLINE ValueId RowsAtOnce::move_part(const GraphNode& n, Fn fn, const Selection& part)
{
    Selection all(Selection::Empty{}, rows_of(part.of));
    for (std::size_t k = 0; k < part.start.size(); ++k) all.start[k + 1] = part.start[k];
    all.shape = rows_of(part.shape);
    all.from.push_back(0);
    all.step.push_back(1);
    for (std::size_t k = 0; k < part.from.size(); ++k) {
        all.from.push_back(part.from[k] < 0 ? -1 : part.from[k] + 1);
        all.step.push_back(part.step[k]);
    }
    ValueList x;
    for (const ValueId i : n.inputs) x.push_back(spread(n, of_[i]));
    const Transpose order{all.from};
    const Select select{all};
    const Embed embed{all};
    const AddView<false> add{all, all.shape};
    const void* op = fn == Fn::transpose ? static_cast<const void*>(&order)
                     : fn == Fn::select  ? static_cast<const void*>(&select)
                     : fn == Fn::embed   ? static_cast<const void*>(&embed)
                                         : &add;
    return written(n, fn, std::move(x), rows_of(n.shape), op);
}

WENGERT_INLINE ValueId RowsAtOnce::sum(const GraphNode& n)
{
    Fold f;
    fold_of(n, f);
    Sum all{{}, f.keepdims, rows_of(body_.node(n.inputs[0]).shape)};
    for (const std::int64_t a : *f.axes) all.axes.push_back(a + 1);
    return written(n, Fn::sum, {of_[n.inputs[0]].value}, rows_of(n.shape), &all);
}

WENGERT_INLINE ValueId RowsAtOnce::join(const GraphNode& n)
{
    const JoinedParts how = *parts_of(n);
    Concatenate all{how.axis + 1, rows_of(n.shape)};
    ValueList x;
    for (const ValueId i : n.inputs) {
        ValueId part = spread(n, of_[i]);
        if (how.own_axis) {
            Shape shape = all.shape;
            shape[all.axis] = 1;
            part = reshaped(n, part, shape);
        }
        all.add(r_.node(part).shape[all.axis]);
        x.push_back(part);
    }
    return written(n, Fn::join, std::move(x), all.shape, &all);
}

WENGERT_INLINE ValueId RowsAtOnce::product(const GraphNode& n)
{
    const MatrixProduct p = product_of(n);
    const ValueId a = aligned(n, of_[n.inputs[p.a.operand]], n.shape.size()),
                  b = aligned(n, of_[n.inputs[p.b.operand]], n.shape.size());
    const MatMul op{p.a.transposed, p.b.transposed, r_.node(a).shape, r_.node(b).shape};
    return written(n, Fn::product, {a, b}, rows_of(n.shape), &op);
}

WENGERT_INLINE void RowsAtOnce::make_value(ValueId v)
{
    const GraphNode& n = body_.node(v);
    if (n.kind == Graph::Kind::input) {
        of_[v].value = loop_.inputs[n.index];
    } else if (!of_[v].rows) {
        GraphNode same = with_rows(n, n.shape);
        for (ValueId& i : same.inputs) i = of_[i].value;
        of_[v].value = r_.add_inner(std::move(same));
    } else {
        of_[v].value = n.primitive->elementwise   ? elementwise(n)
                       : of_[v].fn == Fn::sum     ? sum(n)
                       : of_[v].fn == Fn::product ? product(n)
                       : n.primitive->part        ? join(n)
                                                  : move(n);
    }
}

WENGERT_INLINE ValueId RowsAtOnce::make(std::size_t result)
{
    for (ValueId v = 0; v < body_.size(); ++v)
        if (needed_[v]) make_value(v);
    return spread(result_, of_[body_.outputs()[result]]);
}

/// Do the steps know nothing of each other, nor anyone of their order?
inline bool has_steps_alone(const LoopParameters& p)
{
    return p.kind == LoopParameters::Kind::scan && p.states == 0 && p.xs > 0 && p.steps > 0 && !p.effects &&
           !p.communicates && p.ignored == 0 && p.kept == 0 && p.snapshots == 0 &&
           p.guard == LoopParameters::npos;
}

WENGERT_INLINE ValueId rows_rule(Rewrite& r, GraphNode& n)
{
    const auto taken = packed_part(n);
    if (!taken || taken->how != PackedPart::How::taken) return no_value;
    const GraphNode loop = r.node(n.inputs[0]);
    const LoopParameters* p = loop.segment == n.segment ? loop_parameters(loop) : nullptr;
    if (!p || !has_steps_alone(*p)) return no_value;
    for (std::size_t k = 0; k < p->results.size(); ++k) {
        const LoopParameters::Result& result = p->results[k];
        if (!result.wanted() || result.offset != taken->offset || result.dtype != n.dtype ||
            !(result.shape == n.shape))
            continue;
        RowsAtOnce all(r, n, loop, *p);
        return all.can_do(k) ? all.make(k) : no_value;
    }
    return no_value;
}

}  // namespace wengert::passes::detail

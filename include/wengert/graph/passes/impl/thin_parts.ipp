// What thin_parts.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../functions.hpp"
#include "../thin_parts.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE const wengert::detail::BoxReads* ThinParts::moves(ValueId v)
{
    const auto [known, fresh] = moves_.try_emplace(v);
    if (fresh) known->second = wengert::detail::BoxReads::of(g_, node(v));
    return known->second ? &*known->second : nullptr;
}

WENGERT_INLINE bool ThinParts::takes_part(ValueId reader, ValueId of) const
{
    const GraphNode &n = node(reader), &x = node(of);
    return n.kind == Graph::Kind::operation && n.primitive->index && n.inputs.size() == 1 &&
           n.segment == x.segment && element_count(n.shape) > 0 &&
           share * element_count(n.shape) <= element_count(x.shape) &&
           passes::function_of(g_, n) == Fn::select;
}

WENGERT_INLINE bool ThinParts::can_be_inside(ValueId v)
{
    const GraphNode& n = node(v);
    if (n.kind != Graph::Kind::operation || n.primitive->effects) return false;
    return n.primitive->value ? n.inputs.size() > 0 : moves(v) != nullptr;
}

WENGERT_INLINE bool ThinParts::is_open(ValueId v)
{
    const auto [known, fresh] = open_.try_emplace(v, false);
    if (!fresh) return known->second;
    if (!differentiable(node(v).dtype) || element_count(node(v).shape) < least_elements || !can_be_inside(v))
        return false;
    std::size_t thin = 0;
    for (ValueId u : readers_[v]) {
        if (u == no_value || node(u).segment != node(v).segment || !can_be_inside(u)) return false;
        if (takes_part(u, v)) thin += element_count(node(u).shape);
    }
    return open_[v] = share * thin <= element_count(node(v).shape);
}

WENGERT_INLINE bool ThinParts::any()
{
    for (ValueId v = 0; v < g_.size(); ++v) {
        const GraphNode& n = node(v);
        if (n.kind != Graph::Kind::operation || n.inputs.size() != 1) continue;
        const GraphNode& x = node(n.inputs[0]);
        if (x.kind == Graph::Kind::operation && element_count(x.shape) >= least_elements &&
            takes_part(v, n.inputs[0]))
            parts_.push_back(v);
    }
    if (parts_.empty()) return false;
    readers_ = readers_of(g_);
    std::erase_if(parts_, [&](ValueId v) { return !is_open(node(v).inputs[0]); });
    return !parts_.empty();
}

WENGERT_INLINE Graph ThinParts::run()
{
    to_ = g_.like(map_);
    auto next = parts_.begin();
    for (ValueId v = 0; v < g_.size(); ++v) {
        if (node(v).kind == Graph::Kind::input) continue;
        if (next != parts_.end() && *next == v) {
            ++next;
            map_[v] = thin(v);
        } else {
            map_[v] = to_.copy(node(v), map_);
        }
    }
    to_.finish(g_, map_);
    return std::move(to_);
}

/// A part that has only been looked for in older and older values is read of the newest one: the older ones would have to live on.
WENGERT_INLINE ValueId ThinParts::thin(ValueId v)
{
    nodes_ = computed_ = 0;
    cut_off_ = false;
    const ValueId y = part(node(v).inputs[0], passes::part_of(g_, node(v)));
    return cut_off_ && computed_ == 0 ? to_.copy(node(v), map_) : y;
}

WENGERT_INLINE ValueId ThinParts::part(ValueId v, const Selection& s)
{
    cut_off_ = cut_off_ || (nodes_ >= most_nodes && is_open(v));
    if (nodes_ < most_nodes && is_open(v)) {
        if (node(v).primitive->value) return computed(v, s);
        if (const wengert::detail::BoxReads* const b = moves(v)) return moved(v, *b, s);
    }
    return selected(v, s);
}

WENGERT_INLINE ValueId ThinParts::selected(ValueId v, const Selection& s)
{
    if (selects_everything(s)) return map_[v];
    const Select op{s};
    return made(Fn::select, &op, {map_[v]}, s.shape, node(v));
}

WENGERT_INLINE ValueId ThinParts::computed(ValueId v, const Selection& s)
{
    GraphNode n = node(v);
    ++nodes_;
    ++computed_;
    ValueList inputs;
    for (ValueId i : n.inputs)
        inputs.push_back(element_count(node(i).shape) == 1 && node(i).shape.size() <= s.shape.size()
                             ? map_[i]
                             : part(i, part_of_operand(s, node(i).shape)));
    n.inputs = std::move(inputs);
    n.shape = s.shape;
    return to_.append(std::move(n));
}

WENGERT_INLINE ValueId ThinParts::moved(ValueId v, const wengert::detail::BoxReads& b, const Selection& s)
{
    std::vector<PartRead> cut(b.reads.size());
    for (std::size_t k = 0; k < cut.size(); ++k) {
        const ValueId x = b.reads[k].operand;
        static_cast<void>(cut[k].cut(b.reads[k], s, x == no_value ? Shape() : node(x).shape));
        if (!cut[k].known) return selected(v, s);
    }
    ++nodes_;
    ValueId y = no_value;
    if (b.start == Index::Start::fill) y = number(b.fill, s.shape, node(v));
    if (b.start == Index::Start::operand) y = part(b.base, s);
    for (const wengert::detail::BoxRead& r : b.reads) y = with_read(v, y, r, s);
    return y;
}

WENGERT_INLINE ValueId ThinParts::with_read(ValueId v, ValueId so_far, const wengert::detail::BoxRead& r,
                                            const Selection& s)
{
    const GraphNode& n = node(v);
    PartRead at;
    const bool is_number = r.operand == no_value;
    if (!at.cut(r, s, is_number ? Shape() : node(r.operand).shape)) return so_far;
    ValueId x = is_number ? number(r.number, at.to.shape, n) : part(r.operand, at.from);
    if (r.minus) x = made(Fn::negative, nullptr, {x}, at.to.shape, n);
    const bool adds = r.how == Combine::add;
    if (at.whole) return adds ? made(Fn::add, nullptr, {so_far, x}, s.shape, n) : x;
    if (so_far == no_value) so_far = number(0, s.shape, n);
    const AddView<false> add{at.to, at.to.shape};
    const AssignView put{at.to, at.to.shape};
    return adds ? made(Fn::add_part, &add, {so_far, x}, s.shape, n)
                : made(Fn::assign_part, &put, {so_far, x}, s.shape, n);
}

WENGERT_INLINE ValueId ThinParts::number(double x, const Shape& shape, const GraphNode& like)
{
    auto one = make_block(like.dtype, Shape());
    with_real(like.dtype, [&]<class T>() { *one->as<T>() = static_cast<T>(x); });
    const ValueId v = to_.constant(std::move(one), like.at, like.segment);
    const BroadcastTo op{shape, Shape()};
    return shape.empty() ? v : made(Fn::broadcast_to, &op, {v}, shape, like);
}

WENGERT_INLINE ValueId ThinParts::made(Fn fn, const void* op, ValueList inputs, const Shape& shape,
                                       const GraphNode& like)
{
    const Primitive& p = primitive_of(fn, like.dtype);
    return to_.operation(p, keep_parameters(p, op), std::move(inputs), shape, like.at, like.segment);
}

WENGERT_INLINE Selection part_of_operand(const Selection& s, const Shape& operand)
{
    Selection in(Selection::Empty{}, operand);
    const std::size_t lead = s.of.size() - operand.size();
    for (std::size_t a = 0; a < operand.size(); ++a)
        if (operand[a] == s.of[a + lead]) in.start[a] = s.start[a + lead];
    for (std::size_t k = 0; k < s.shape.size(); ++k) {
        const std::int64_t a = s.from[k] - static_cast<std::int64_t>(lead);
        const bool runs = s.from[k] >= 0 && a >= 0 &&
                          operand[static_cast<std::size_t>(a)] == s.of[static_cast<std::size_t>(s.from[k])];
        in.from.push_back(runs ? a : -1);
        in.step.push_back(runs ? s.step[k] : 0);
        in.shape.push_back(runs ? s.shape[k] : 1);
    }
    return in;
}

WENGERT_INLINE bool PartRead::cut(const wengert::detail::BoxRead& r, const Selection& s, const Shape& operand)
{
    if (!cut_result(r, s)) return false;
    if (known && r.operand != no_value) cut_operand(r, s, operand);
    return known;
}

WENGERT_INLINE bool PartRead::cut_result(const wengert::detail::BoxRead& r, const Selection& s)
{
    to = Selection(Selection::Empty{}, s.shape);
    std::vector<bool> runs(s.of.size(), false);
    for (std::size_t k = 0; k < s.shape.size(); ++k) {
        std::int64_t first = 0, last = s.shape[k];
        if (s.from[k] >= 0) {
            const auto a = static_cast<std::size_t>(s.from[k]);
            runs[a] = true;
            known = known && s.step[k] == 1;
            first = std::max<std::int64_t>(first, r.low[a] - s.start[a]);
            last = std::min(last, r.high[a] - s.start[a]);
        }
        if (first >= last) return false;
        whole = whole && last - first == s.shape[k];
        to.keep(k, first, 1, last - first);
    }
    for (std::size_t a = 0; a < s.of.size(); ++a)
        if (!runs[a] && (s.start[a] < r.low[a] || s.start[a] >= r.high[a])) return false;
    return true;
}

WENGERT_INLINE void PartRead::cut_operand(const wengert::detail::BoxRead& r, const Selection& s,
                                          const Shape& operand)
{
    from = Selection(Selection::Empty{}, operand);
    std::vector<std::int64_t> axis(s.of.size(),
                                   -1);  // of the operand, which runs along an axis of the result
    for (std::size_t e = 0; e < operand.size(); ++e) {
        from.start[e] = r.at[e].first;
        if (r.at[e].axis == wengert::detail::BoxPlace::nowhere) continue;
        known = known && r.at[e].step == 1 && axis[r.at[e].axis] < 0;
        axis[r.at[e].axis] = static_cast<std::int64_t>(e);
        from.start[e] += s.start[r.at[e].axis];
    }
    for (std::size_t k = 0; k < s.shape.size(); ++k) {
        const std::int64_t e = s.from[k] < 0 ? -1 : axis[static_cast<std::size_t>(s.from[k])];
        known = known && (e >= 0 || to.shape[k] == 1);
        if (e >= 0) from.start[static_cast<std::size_t>(e)] += to.start[k];
        from.from.push_back(e);
        from.step.push_back(e >= 0 ? 1 : 0);
        from.shape.push_back(to.shape[k]);
    }
}

}  // namespace wengert::passes::detail

namespace wengert {

WENGERT_INLINE std::optional<Graph> thin_parts(const Graph& g)
{
    passes::detail::ThinParts parts(g);
    return parts.any() ? std::optional(compacted(parts.run())) : std::nullopt;
}

}  // namespace wengert

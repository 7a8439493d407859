// What rewrite.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../rewrite.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE double number(const Block& b)
{
    double x = 0;
    with_dtype(b.dtype, [&]<class T>() { x = static_cast<double>(*b.as<T>()); });
    return x;
}

WENGERT_INLINE bool may_show_view(const Graph& g, const GraphNode& n)
{
    Alias alias;
    return n.inputs.size() == 1 && alias_of(g, n, row_major(g.node(n.inputs[0]).shape), alias);
}

WENGERT_INLINE std::uint8_t facts_of_number(double x)
{
    unsigned bits = 0;
    if (x - x == 0) bits = Facts::finite;
    if (!std::signbit(x)) bits |= Facts::no_minus | Facts::no_minus_zero;
    if (x != 0) bits |= Facts::no_minus_zero;
    return static_cast<std::uint8_t>(bits);
}

}  // namespace wengert::passes::detail

namespace wengert::passes {

WENGERT_INLINE std::size_t Rewrite::constant_bytes()
{
    if (!given_bytes_) {
        std::size_t sum = 0;
        for (const GraphNode& n : from_.nodes()) sum += n.constant ? n.constant->bytes() : 0;
        given_bytes_ = sum;
    }
    return *given_bytes_ + folded_bytes;
}

WENGERT_INLINE Fn Rewrite::fn_for(const GraphNode& n, ValueId v) const noexcept
{
    return node(v).segment == n.segment ? facts_[v].fn : Fn::unknown;
}

WENGERT_INLINE bool Rewrite::used_once(ValueId v) const noexcept
{
    if (facts_[v].uses <= 1) return true;
    blocked = true;
    return false;
}

WENGERT_INLINE ValueId Rewrite::append(GraphNode n)
{
    const Fn fn = function_of(to_, n);
    return append(std::move(n), fn);
}

WENGERT_INLINE ValueId Rewrite::add(GraphNode n)
{
    for (int round = 0; round < 16; ++round) {
        edited = false;
        hash = 0;
        const Fn fn = function_of(to_, n);
        for (Rule rule : *rules_) {
            here = fn;
            const ValueId v = rule(*this, n);
            if (v != no_value) {
                ++changes;
                return v;
            }
            if (edited) break;
        }
        if (!edited) return append(std::move(n), fn);
        ++changes;
    }
    return append(std::move(n));
}

WENGERT_INLINE ValueId Rewrite::add_inner(GraphNode n)
{
    const bool outer = std::exchange(is_output, false);
    const ValueId v = add(std::move(n));
    is_output = outer;
    return v;
}

WENGERT_INLINE ValueId Rewrite::constant(Ref<Block> value, const Site& at, std::uint16_t segment)
{
    return add(GraphNode::of_constant(std::move(value), at, segment));
}

WENGERT_INLINE ValueId Rewrite::literal(ValueId v, const Site& at)
{
    const Ref<Block> one = facts_[v].one;
    if (!one) return no_value;
    if (node(v).kind == Graph::Kind::constant && node(v).shape.empty()) return v;
    if (facts_[v].literal == no_value) {
        const ValueId made = constant(one, at);
        facts_[v].literal = made;
    }
    return facts_[v].literal;
}

WENGERT_INLINE ValueId Rewrite::append(GraphNode n, Fn fn)
{
    const ValueId v = append_unknown(std::move(n), fn);
    if (remember) remember(*this, v);
    return v;
}

WENGERT_INLINE ValueId Rewrite::append_unknown(GraphNode n, Fn fn)
{
    Facts f = facts_for(n, fn);
    const ValueId v = to_.append(std::move(n));
    facts_.push_back(std::move(f));
    return v;
}

WENGERT_INLINE Facts Rewrite::facts_for(const GraphNode& n, Fn fn) const
{
    Facts f;
    if (n.kind == Graph::Kind::constant) {
        f.one = only_element(n.constant);
        if (f.one) f.bits = detail::facts_of_number(detail::number(*f.one));
    }
    f.bits |= Facts::row_major;
    if (n.kind == Graph::Kind::result) f.bits = 0;
    if (n.kind != Graph::Kind::operation) return f;
    f.fn = fn;
    f.bits = f.fn == Fn::unknown && detail::may_show_view(to_, n) ? 0 : Facts::row_major;
    if (!wengert::differentiable(n.dtype)) f.bits |= Facts::no_minus_zero | Facts::finite;
    constexpr unsigned values = Facts::no_minus_zero | Facts::no_minus | Facts::finite;
    switch (f.fn) {
    case Fn::reshape:
    case Fn::unit_axes:
    case Fn::transpose:
    case Fn::broadcast_to:
    case Fn::select:
    case Fn::copy:
    case Fn::identity:
        f.bits = static_cast<std::uint8_t>(f.bits | (facts_[n.inputs[0]].bits & values));
        if (f.fn == Fn::transpose || f.fn == Fn::broadcast_to || f.fn == Fn::select)
            f.bits = static_cast<std::uint8_t>(f.bits & ~Facts::row_major);
        if (f.fn == Fn::unit_axes)
            f.bits = static_cast<std::uint8_t>(f.bits & (facts_[n.inputs[0]].bits | ~Facts::row_major));
        if (element_count(n.shape) > 0) f.one = facts_[n.inputs[0]].one;
        break;
    case Fn::sum:
        f.bits = static_cast<std::uint8_t>(f.bits | (facts_[n.inputs[0]].bits & Facts::no_minus));
        break;
    case Fn::logical_and:
    case Fn::logical_or:
        for (ValueId v : n.inputs) {  // one of them may decide
            const Ref<Block>& one = facts_[v].one;
            if (one && one->dtype == n.dtype && (detail::number(*one) != 0) == (f.fn == Fn::logical_or))
                f.one = one;
        }
        break;
    default: f.bits = static_cast<std::uint8_t>(f.bits | elementwise_bits(n, f.fn));
    }
    if (f.bits & Facts::no_minus) f.bits |= Facts::no_minus_zero;
    return f;
}

WENGERT_INLINE unsigned Rewrite::elementwise_bits(const GraphNode& n, Fn fn) const
{
    const auto in = [&](std::size_t k) { return static_cast<unsigned>(facts_[n.inputs[k]].bits); };
    constexpr unsigned plus = Facts::no_minus | Facts::no_minus_zero, nonzero = Facts::no_minus_zero,
                       values = plus | Facts::finite;
    unsigned bits = 0;
    switch (fn) {
    case Fn::exp:
    case Fn::square: bits = plus; break;
    case Fn::abs: bits = plus | (in(0) & Facts::finite); break;
    case Fn::relu: bits = plus | (in(0) & Facts::finite); break;
    case Fn::sqrt: bits = in(0) & Facts::no_minus; break;
    case Fn::tanh: bits = in(0) & (Facts::no_minus | Facts::finite); break;
    case Fn::negative: bits = in(0) & Facts::finite; break;
    case Fn::add: bits = (in(0) & in(1) & Facts::no_minus) | ((in(0) | in(1)) & nonzero); break;
    case Fn::subtract: bits = in(0) & nonzero; break;
    case Fn::multiply:
    case Fn::divide: bits = in(0) & in(1) & Facts::no_minus; break;
    case Fn::maximum: bits = (in(0) & in(1) & values) | (in(1) & Facts::no_minus ? plus : 0U); break;
    case Fn::minimum: bits = in(0) & in(1) & values; break;
    case Fn::where: bits = in(1) & in(2) & values; break;
    case Fn::cast: {
        const DType from = to_.node(n.inputs[0]).dtype;
        if (!wengert::differentiable(from)) bits = Facts::finite | nonzero;
        bits |= in(0) & Facts::no_minus;
        if (from == DType::boolean) bits |= plus;
        break;
    }
    default: break;
    }
    return bits;
}

WENGERT_INLINE void Rewrite::count_uses(const std::vector<bool>& live)
{
    uses_.assign(from_.size(), 0);
    shown_.assign(from_.size(), false);
    for (ValueId v = 0; v < from_.size(); ++v)
        if (live[v])
            for (ValueId i : from_.node(v).inputs) ++uses_[i];
    for (ValueId v : from_.outputs()) ++uses_[v], shown_[v] = true;
    for (const Guard& g : from_.guards()) ++uses_[g.value], shown_[g.value] = true;
}

WENGERT_INLINE Graph Rewrite::sweep(const std::vector<Rule>& rules, bool drop_dead, Graph* owned)
{
    rules_ = &rules;
    const std::vector<bool> live = live_values(from_);
    count_uses(live);
    std::vector<ValueId> map;
    to_ = from_.like(map);
    facts_.reserve(from_.size() + 16);
    to_.reserve(from_.size() + 16);
    facts_.resize(to_.size());
    for (ValueId v : from_.inputs()) {
        facts_[map[v]].uses = uses_[v];
        facts_[map[v]].bits = Facts::row_major;
    }
    for (ValueId v = 0; v < from_.size(); ++v) {
        if (map[v] != no_value || (drop_dead && !live[v])) continue;
        GraphNode n = owned ? owned->take(v) : from_.node(v);
        for (ValueId& i : n.inputs) i = map[i];
        is_output = shown_[v];
        const bool plain = !live[v] || n.kind == Graph::Kind::result || (n.primitive && n.primitive->effects);
        map[v] = !live[v] ? append_unknown(std::move(n)) : plain ? append(std::move(n)) : add(std::move(n));
        facts_[map[v]].uses += uses_[v];
    }
    to_.finish(from_, map);
    return std::move(to_);
}

WENGERT_INLINE Graph settled(const Graph& g, const PassOptions& o, const RuleSet& set, std::size_t* changes)
{
    constexpr int most = 6;
    Graph out;
    bool again = true;
    for (int sweep = 0; again && sweep < most; ++sweep) {
        Rewrite r(sweep ? out : g, o);
        r.remember = set.remember;
        Graph next = r.sweep(set.rules, set.drop_dead, sweep ? &out : nullptr);
        out = set.drop_dead && r.changes ? compacted(std::move(next)) : std::move(next);
        if (changes) *changes += r.changes;
        again = r.changes > 0 && r.blocked;
    }
    return out;
}

WENGERT_INLINE Graph Pass::operator()(const Graph& g, const PassOptions& options, std::size_t* changes) const
{
    return rule ? settled(g, options, {{rule}, false, remember}, changes) : compacted(g);
}

}  // namespace wengert::passes

// The frame that passes share: one sweep from the first node to the last builds the new graph; rules see each node with its
// inputs already rewritten, and replace it, edit it, or leave it. A sweep knows of every value whether it is one number
// everywhere, which signs it can have, and how many nodes use it.
#pragma once

#include <optional>

#include "../ir/id_table.hpp"
#include "../ir/index_program.hpp"
#include "../ir/interpret.hpp"
#include "functions.hpp"
#include "options.hpp"

namespace wengert::passes {

class Rewrite;
/// Looks at a node that is about to be appended, inputs being values of the new graph. Returns the value that takes its
/// place; or no_value, having left it as it was or changed it and said so (Rewrite::edited).
using Rule = ValueId (*)(Rewrite&, GraphNode&);

/// What is known of a value's elements, at compile time of the graph.
struct Facts {
    enum : std::uint8_t {
        no_minus_zero = 1,  ///< no element is −0
        no_minus = 2,       ///< no element's sign is set, but NaNs' may be
        finite = 4,
        row_major =
            8  ///< elements lie in row-major order: what matmul sees of a layout can change its rounding
    };
    Fn fn = Fn::unknown;
    std::uint8_t bits = 0;
    std::uint32_t uses = 0;      ///< in the old graph, by nodes that are needed; outputs and guards count
    ValueId literal = no_value;  ///< the rank-0 constant that it is everywhere, when that has been made
    Ref<Block> one;              ///< its only number, rank 0; null where elements differ or are not known

    bool has(std::uint8_t b) const noexcept { return (bits & b) == b; }
};

namespace detail {

/// The number of a block of one element; exact but for large int64.
inline double number(const Block& b)
{
    double x = 0;
    with_dtype(b.dtype, [&]<class T>() { x = static_cast<double>(*b.as<T>()); });
    return x;
}

/// Can an operation whose function is not known be a view of its operand?
inline bool may_show_view(const Graph& g, const GraphNode& n)
{
    Alias alias;
    return n.inputs.size() == 1 && alias_of(g, n, row_major(g.node(n.inputs[0]).shape), alias);
}

inline std::uint8_t facts_of_number(double x)
{
    unsigned bits = 0;
    if (x - x == 0) bits = Facts::finite;
    if (!std::signbit(x)) bits |= Facts::no_minus | Facts::no_minus_zero;
    if (x != 0) bits |= Facts::no_minus_zero;
    return static_cast<std::uint8_t>(bits);
}

}  // namespace detail

class Rewrite {
public:
    Rewrite(const Graph& from, const PassOptions& o) : options(o), from_(from) {}

    const PassOptions& options;
    bool edited = false;     ///< set by a rule that has changed its node
    bool is_output = false;  ///< of the node at hand: an output or a guard shows it
    Fn here = Fn::
        unknown;  ///< what the node computes that add() hands to a rule; rules that add nodes read it before
    std::size_t changes = 0;
    std::size_t folded_bytes = 0;  ///< of constants that rules have made in this sweep
    mutable bool blocked =
        false;  ///< a rule would have applied, had its operand no other user: another sweep may find that

    const GraphNode& node(ValueId v) const noexcept { return to_.node(v); }
    const Graph& graph() const noexcept { return to_; }
    /// What the graph's constants take, those included that have been made so far.
    std::size_t constant_bytes()
    {
        if (!given_bytes_) {
            std::size_t sum = 0;
            for (const GraphNode& n : from_.nodes()) sum += n.constant ? n.constant->bytes() : 0;
            given_bytes_ = sum;
        }
        return *given_bytes_ + folded_bytes;
    }
    const Facts& facts(ValueId v) const noexcept { return facts_[v]; }
    Fn fn(ValueId v) const noexcept { return facts_[v].fn; }
    /// The function of the operation that makes v, if n may look into it: values of another segment stay what they are.
    Fn fn_for(const GraphNode& n, ValueId v) const noexcept
    {
        return node(v).segment == n.segment ? facts_[v].fn : Fn::unknown;
    }
    /// Nothing but the node at hand needs v.
    bool used_once(ValueId v) const noexcept
    {
        if (facts_[v].uses <= 1) return true;
        blocked = true;
        return false;
    }
    /// Is v this number everywhere? Zeros of both signs are 0.
    bool is(ValueId v, double x) const { return facts_[v].one && detail::number(*facts_[v].one) == x; }
    bool is_minus_zero(ValueId v) const { return is(v, 0) && !facts_[v].has(Facts::no_minus_zero); }

    /// The operation as it is.
    ValueId append(GraphNode n)
    {
        const Fn fn = function_of(to_, n);
        return append(std::move(n), fn);
    }
    /// The operation as the rules want it.
    ValueId add(GraphNode n)
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
    /// A part of what takes a node's place: no output shows it.
    ValueId add_inner(GraphNode n)
    {
        const bool outer = std::exchange(is_output, false);
        const ValueId v = add(std::move(n));
        is_output = outer;
        return v;
    }
    ValueId constant(Ref<Block> value, const Site& at, std::uint16_t segment = 0)
    {
        return add(GraphNode::of_constant(std::move(value), at, segment));
    }
    /// The rank-0 constant that v is everywhere, or no_value.
    ValueId literal(ValueId v, const Site& at)
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

    /// The old graph with these rules applied to everything that is needed. The rest is copied, or left out. `owned` is
    /// the old graph where it is not needed any more: its nodes are moved.
    Graph sweep(const std::vector<Rule>& rules, bool drop_dead, Graph* owned = nullptr);

    /// Called for each value appended; what is `known` is the rule's own.
    void (*remember)(Rewrite&, ValueId) = nullptr;
    IdTable known;           ///< values by hash
    std::uint64_t hash = 0;  ///< of the node at hand, when the rule has computed it

private:
    ValueId append(GraphNode n, Fn fn)
    {
        const ValueId v = append_unknown(std::move(n), fn);
        if (remember) remember(*this, v);
        return v;
    }
    /// One that no rule is to find.
    ValueId append_unknown(GraphNode n, Fn fn = Fn::unknown)
    {
        Facts f = facts_for(n, fn);
        const ValueId v = to_.append(std::move(n));
        facts_.push_back(std::move(f));
        return v;
    }
    Facts facts_for(const GraphNode& n, Fn fn) const
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
        default: f.bits = static_cast<std::uint8_t>(f.bits | elementwise_bits(n, f.fn));
        }
        if (f.bits & Facts::no_minus) f.bits |= Facts::no_minus_zero;
        return f;
    }
    /// Round to nearest: x + y is −0 only where both are, a product of numbers without sign has none.
    unsigned elementwise_bits(const GraphNode& n, Fn fn) const
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
    void count_uses(const std::vector<bool>& live)
    {
        uses_.assign(from_.size(), 0);
        shown_.assign(from_.size(), false);
        for (ValueId v = 0; v < from_.size(); ++v)
            if (live[v])
                for (ValueId i : from_.node(v).inputs) ++uses_[i];
        for (ValueId v : from_.outputs()) ++uses_[v], shown_[v] = true;
        for (const Guard& g : from_.guards()) ++uses_[g.value], shown_[g.value] = true;
    }

    const Graph& from_;
    std::optional<std::size_t> given_bytes_;  ///< of its constants, once they have been counted
    const std::vector<Rule>* rules_ = nullptr;
    Graph to_;
    std::vector<Facts> facts_;
    std::vector<std::uint32_t> uses_;
    std::vector<bool> shown_;
};

inline Graph Rewrite::sweep(const std::vector<Rule>& rules, bool drop_dead, Graph* owned)
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

/// What one or more passes do together.
struct RuleSet {
    std::vector<Rule> rules;
    bool drop_dead = false;
    void (*remember)(Rewrite&, ValueId) = nullptr;  ///< of the rule that keeps a table
};

/// The rules in sweep after sweep until nothing changes. A sweep sees operands in their final form, so that only
/// rules that ask for the number of users can find more in another one. `changes` counts what has been done.
inline Graph settled(const Graph& g, const PassOptions& o, const RuleSet& set, std::size_t* changes = nullptr)
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

/// A pass: a function from graph to graph, right in any order, and the same again changes nothing.
struct Pass {
    std::string_view name;
    Rule rule = nullptr;  ///< what it does to one node; null: it leaves out what nothing needs
    void (*remember)(Rewrite&, ValueId) = nullptr;  ///< where the rule keeps a table

    Graph operator()(const Graph& g, const PassOptions& options = {}, std::size_t* changes = nullptr) const
    {
        return rule ? settled(g, options, {{rule}, false, remember}, changes) : compacted(g);
    }
};

}  // namespace wengert::passes

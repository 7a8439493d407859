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
double number(const Block& b);

/// Can an operation whose function is not known be a view of its operand?
bool may_show_view(const Graph& g, const GraphNode& n);

std::uint8_t facts_of_number(double x);

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
    std::size_t constant_bytes();
    const Facts& facts(ValueId v) const noexcept { return facts_[v]; }
    Fn fn(ValueId v) const noexcept { return facts_[v].fn; }
    /// The function of the operation that makes v, if n may look into it: values of another segment stay what they are.
    Fn fn_for(const GraphNode& n, ValueId v) const noexcept;
    /// Nothing but the node at hand needs v.
    bool used_once(ValueId v) const noexcept;
    /// Is v this number everywhere? Zeros of both signs are 0.
    bool is(ValueId v, double x) const { return facts_[v].one && detail::number(*facts_[v].one) == x; }
    bool is_minus_zero(ValueId v) const { return is(v, 0) && !facts_[v].has(Facts::no_minus_zero); }

    /// The operation as it is.
    ValueId append(GraphNode n);
    /// The operation as the rules want it.
    ValueId add(GraphNode n);
    /// A part of what takes a node's place: no output shows it.
    ValueId add_inner(GraphNode n);
    ValueId constant(Ref<Block> value, const Site& at, std::uint16_t segment = 0);
    /// The rank-0 constant that v is everywhere, or no_value.
    ValueId literal(ValueId v, const Site& at);

    /// The old graph with these rules applied to everything that is needed. The rest is copied, or left out. `owned` is
    /// the old graph where it is not needed any more: its nodes are moved.
    Graph sweep(const std::vector<Rule>& rules, bool drop_dead, Graph* owned = nullptr);

    /// Called for each value appended; what is `known` is the rule's own.
    void (*remember)(Rewrite&, ValueId) = nullptr;
    IdTable known;           ///< values by hash
    std::uint64_t hash = 0;  ///< of the node at hand, when the rule has computed it

private:
    ValueId append(GraphNode n, Fn fn);
    /// One that no rule is to find.
    ValueId append_unknown(GraphNode n, Fn fn = Fn::unknown);
    Facts facts_for(const GraphNode& n, Fn fn) const;
    /// Round to nearest: x + y is −0 only where both are, a product of numbers without sign has none.
    unsigned elementwise_bits(const GraphNode& n, Fn fn) const;
    void count_uses(const std::vector<bool>& live);

    const Graph& from_;
    std::optional<std::size_t> given_bytes_;  ///< of its constants, once they have been counted
    const std::vector<Rule>* rules_ = nullptr;
    Graph to_;
    std::vector<Facts> facts_;
    std::vector<std::uint32_t> uses_;
    std::vector<bool> shown_;
};

/// What one or more passes do together.
struct RuleSet {
    std::vector<Rule> rules;
    bool drop_dead = false;
    void (*remember)(Rewrite&, ValueId) = nullptr;  ///< of the rule that keeps a table
};

/// The rules in sweep after sweep until nothing changes. A sweep sees operands in their final form, so that only
/// rules that ask for the number of users can find more in another one. `changes` counts what has been done.
Graph settled(const Graph& g, const PassOptions& o, const RuleSet& set, std::size_t* changes = nullptr);

/// A pass: a function from graph to graph, right in any order, and the same again changes nothing.
struct Pass {
    std::string_view name;
    Rule rule = nullptr;  ///< what it does to one node; null: it leaves out what nothing needs
    void (*remember)(Rewrite&, ValueId) = nullptr;  ///< where the rule keeps a table

    Graph operator()(const Graph& g, const PassOptions& options = {}, std::size_t* changes = nullptr) const;
};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/rewrite.ipp"
#endif

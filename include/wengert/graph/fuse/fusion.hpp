// Fusion: which operations run in one pass over their elements. The one fuser of all backends, which say by their
// preferences (group.hpp) what a pass of theirs may hold.
//
// Elementwise operations over the same elements (their shapes agree but for extents of 1) may share a pass unless something
// that must be complete first lies between them. Every value gets a level: along an edge between two of the same elements
// it does not fall, along every other edge that ends in an elementwise operation it rises by one. All operations of one
// level and the same elements can then run together, in any groups, without a cycle: a path that leaves a group comes back
// on a higher level only. Of those, groups are the ones connected by a value that they pass on or by an operand that they
// both read, or all of them, in the graph's order as far as there is room. Sums whose operand is made in a group are taken in its pass. Operations on rows are operations on the same
// elements where others read or make these rows beside them (row_groups.hpp).
#pragma once

#include <optional>
#include <queue>
#include <unordered_map>

#include "../../base/separate.hpp"
#include "../ir/executable.hpp"
#include "../ir/id_table.hpp"
#include "group.hpp"
#include "row_groups.hpp"
#include "row_kernels.hpp"

namespace wengert::tiling {

/// Which values have a step, or are made on the way to an output or a guard.
std::vector<bool> needed_values(const Graph& g, const Layouts& layouts);

namespace detail {

struct SameElements {
    Shape shape;
    std::uint16_t segment;
    bool operator==(const SameElements& o) const { return segment == o.segment && shape == o.shape; }
};
struct SameElementsHash {
    std::size_t operator()(const SameElements& s) const;
};

class Fusion {
public:
    Fusion(const Graph& g, const Layouts& layouts, Preferences& wants)
        : g_(g), layouts_(layouts), wants_(wants), source_(g.size()), kind_(g.size(), 0),
          level_(g.size(), -1), parent_(g.size()), group_(g.size(), none)
    {}

    std::vector<Group> run();

private:
    static constexpr std::uint32_t none = ~0U;

    const GraphNode& node(ValueId v) const { return g_.node(v); }
    /// Has it a step, alone or with others?
    bool runs_itself(ValueId v) const;
    /// Can it run in a pass over elements, or over rows of them?
    bool fusible(ValueId v) const { return kind_[v] != 0; }
    /// Are these two passes over the same elements?
    bool together(ValueId a, ValueId b) const { return kind_[a] != 0 && kind_[a] == kind_[b]; }
    /// Does v read what it reads as i element by element, or row by row, as it is made?
    bool passed_on(ValueId i, ValueId v) const;
    /// Does it take elements from other places?
    bool moves(ValueId v) const { return wants_.moves && is_described(*node(v).primitive); }

    std::uint32_t elements_of(ValueId v);
    std::uint32_t number_of(const Shape& shape, std::uint16_t segment);

    void find_kinds();
    void find_levels();
    bool raise_step(ValueId last);

    /// Moves an operation to the level of its readers if all of them are on one higher level, over the same elements. Its value
    /// then needs no memory. It is not moved if that would keep more than one operand alive in its place, or rows for the sake of
    /// their sum.
    void sink();
    std::size_t large_operands(ValueId v) const;

    ValueId find(ValueId v);

    void connect();
    /// v joins the last operation of its elements and level that has to do with `what`.
    void meet(IdTable& readers, ValueId what, ValueId v);

    /// Operands counted while a group grows, with repetitions.
    void count_operands(ValueId v, std::uint32_t k);

    void make_groups();
    bool sums_with(ValueId v) const;
    std::uint32_t new_group(bool fused);
    void put(ValueId v, std::uint32_t k);

    void find_operands(Group& group);
    /// At other places than the group makes?
    bool reads_elsewhere(ValueId i, ValueId v) const;

    /// Values of fused groups that others read.
    void find_results(std::vector<std::uint8_t>& read_outside);

    /// Topological order, of those that can run the one whose last node comes first in the graph.
    std::vector<Group> ordered();

    const Graph& g_;
    const Layouts& layouts_;
    Preferences& wants_;
    std::vector<ValueId> source_;
    std::vector<std::uint32_t> kind_;  ///< number of the elements that a fusible value has, 0 for others
    std::vector<std::int32_t> level_;
    std::vector<bool> needed_;
    std::vector<ValueId> parent_;        ///< of the disjoint sets that `connect` makes
    std::vector<std::uint32_t> group_;   ///< by value
    std::vector<std::uint32_t> listed_;  ///< by value: the last group that has it among its operands
    std::unordered_map<SameElements, std::uint32_t, SameElementsHash> kinds_;
    std::optional<RowMembers> rows_;
    std::vector<Group> groups_;
};

}  // namespace detail

/// All operations that need a step, as groups in an order in which they can run.
std::vector<Group> groups_of(const Graph& g, const Layouts& layouts, Preferences& wants);

/// Of one group of tiles: its program and tiles stay in the caches.
struct GroupLimits {
    std::size_t nodes = 96, operands = 32;
};

/// The preferences of the default executor.
class TilePreferences final : public Preferences {
public:
    explicit TilePreferences(const Graph& g) : g_(g) { reshapes = rows = true; }
    bool fuses(ValueId) override { return true; }
    WENGERT_INLINE bool has_room(const Group& group, ValueId) const override;
    WENGERT_INLINE RowRole row(ValueId v) override;
    WENGERT_INLINE bool adds_up(const Group&, ValueId v) const override;

private:
    const Graph& g_;
    GroupLimits limits_;
};

/// The groups of the default executor.
std::vector<Group> fuse(const Graph& g, const Layouts& layouts);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/fusion.ipp"
#endif

// Partial evaluation: a graph whose last inputs come later, cut into what can run before them and the rest.
//
// The early graph hands values to the late one. A value that the late graph reads is made again there where that takes less
// than storing and loading it, and views always are: rounding may depend on how elements lie, so the late graph has to see
// them as the whole graph does. With what follows from a value's operands on the early side counted,
//
//     made again:  Σ work(w) < margin · (store(v) + load(v)),   w from v back to inputs, constants and handed values;
//
// outputs of the early graph are there in any case, so of them only the loading counts.
#pragma once

#include <optional>

#include "../ir/cost.hpp"
#include "../fuse/layout.hpp"
#include "rewrite.hpp"

namespace wengert {

namespace passes {

namespace detail {

class Cut {
public:
    Cut(const Graph& g, std::size_t early_inputs, std::size_t early_outputs, const CostModel& costs);

    /// The two graphs. None if the late part would need a value that is no array.
    std::optional<CutGraph> graphs();

private:
    static constexpr std::size_t most = 12;  ///< operations that are repeated for one value

    const GraphNode& node(ValueId v) const { return g_.node(v); }
    static std::vector<ValueId>::const_iterator split(const std::vector<ValueId>& all, std::size_t at);
    bool is_there(ValueId v) const;

    void find_late();
    /// Views are made again: what they show is read in their place.
    void settle_view(ValueId v);
    /// Is v handed or made again? False where it is neither, as the result of an operation with several ones is no array.
    bool settle(ValueId v);
    bool is_array(ValueId v) const;
    /// What making v again takes. False when it cannot be: too much, or more than arithmetic.
    bool gather(ValueId v, std::vector<ValueId>& again, double& work) const;

    /// Returns what is handed over, in order.
    std::vector<ValueId> write_early(CutGraph& cut) const;

    const Graph& g_;
    const std::size_t inputs_, outputs_;
    const CostModel& costs_;
    const tiling::Layouts layouts_;
    /// By value: it follows from late inputs; the late part reads it; it is made again there; it is handed over; it
    /// is an output of the early part.
    std::vector<bool> late_, read_, again_, handed_, result_;
};

}  // namespace detail

/// Cuts a graph without effects and updates whose inputs from `early_inputs` on come later, and whose outputs from
/// `early_outputs` on are wanted then; guards go to the early part. The bits are those of the whole graph. Nothing where it
/// cannot be cut.
std::optional<CutGraph> cut(const Graph& g, std::size_t early_inputs, std::size_t early_outputs,
                            const CostModel& costs = CostModel{});

}  // namespace passes
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/partial.ipp"
#endif

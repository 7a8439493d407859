// Constant folding: operations on constants are computed once, here.
#pragma once

#include "../ir/cost.hpp"
#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// Operations that a value is made of, from constants alone, in an order in which they can be computed.
struct ConstantWork {
    static constexpr std::size_t most = 32;
    std::vector<ValueId> operations;
    bool known = true;   ///< there are no others, and not too many
    bool small = false;  ///< no result is larger than the operands
};

inline ConstantWork constant_work(const Rewrite& r, const GraphNode& n)
{
    ConstantWork w;
    std::vector<ValueId> open(n.inputs.begin(), n.inputs.end());
    std::size_t bytes = r.options.fold_bytes;
    while (!open.empty() && w.known) {
        const ValueId v = open.back();
        open.pop_back();
        const GraphNode& m = r.node(v);
        if (m.kind == Graph::Kind::constant) bytes = std::max(bytes, m.constant->bytes());
        if (m.kind == Graph::Kind::constant ||
            std::find(w.operations.begin(), w.operations.end(), v) != w.operations.end())
            continue;
        w.known = m.kind == Graph::Kind::operation && !m.inputs.empty() && !m.primitive->effects &&
                  w.operations.size() < ConstantWork::most;
        w.operations.push_back(v);
        open.insert(open.end(), m.inputs.begin(), m.inputs.end());
    }
    std::sort(w.operations.begin(), w.operations.end());
    w.small = w.operations.empty() && bytes_of(n) <= bytes;
    return w;
}

/// Reading the value from memory takes less than computing it, and the constants keep to their limit.
inline bool worth_memory(Rewrite& r, const GraphNode& n, const ConstantWork& w)
{
    const CostModel& costs = r.options.costs;
    if (!n.primitive->value) return false;  // others are not estimated well enough
    double work = work_cost(r.graph(), n, costs);
    for (const ValueId v : w.operations)
        if (r.node(v).primitive->value) work += work_cost(r.graph(), r.node(v), costs);
    if (load_cost(n, costs) > costs.margin * work) return false;
    return r.constant_bytes() + bytes_of(n) <= r.options.fold_total;
}

/// What an operation on constants gives; null where it throws, which is left for when it runs.
inline Ref<Block> folded(const Rewrite& r, const GraphNode& n, const ConstantWork& w)
{
    const Restore<Recorder*> quietly(current_thread().recorder, nullptr);  // a trace may call for the graph
    std::vector<Ref<Block>> made(w.operations.size());
    const auto compute = [&](const GraphNode& m) {
        std::vector<Ref<Block>> in;
        for (ValueId v : m.inputs) {
            const auto at = std::lower_bound(w.operations.begin(), w.operations.end(), v);
            in.push_back(at != w.operations.end() && *at == v
                             ? made[static_cast<std::size_t>(at - w.operations.begin())]
                             : r.node(v).constant);
        }
        return compute_node(m, in.data());
    };
    try {
        for (std::size_t k = 0; k < made.size(); ++k) made[k] = compute(r.node(w.operations[k]));
        const Ref<Block> y = compute(n);
        if (y->strided)
            return {};  // another layout than the operation's could change how a product is rounded
        return y->is_view() && y->bytes() <= r.options.fold_bytes ? copy_of(*y) : y;
    } catch (const Error&) {
        return {};
    }
}

inline ValueId fold_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation || n.inputs.empty() || n.primitive->effects) return no_value;
    const ConstantWork work = constant_work(r, n);
    if (!work.known || !(work.small || worth_memory(r, n, work))) return no_value;
    Ref<Block> value = folded(r, n, work);
    if (!value || value->dtype != n.dtype || !(value->shape == n.shape)) return no_value;
    r.folded_bytes += value->bytes();
    return r.constant(std::move(value), n.at, n.segment);
}

}  // namespace detail

/// Operations on constants become constants, by the kernels that would run: exact. A result larger than
/// PassOptions::fold_bytes and than its operands stays an operation, unless it is an elementwise one that takes longer to
/// compute than to read and the graph's constants keep to fold_total. Random draws have a key that is an input, or are
/// constants already.
inline constexpr Pass constant_folding{"constant_folding", detail::fold_rule};

}  // namespace wengert::passes

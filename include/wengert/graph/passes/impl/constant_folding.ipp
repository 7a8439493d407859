// What constant_folding.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../constant_folding.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE ConstantWork constant_work(const Rewrite& r, const GraphNode& n)
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

WENGERT_INLINE bool worth_storing(Rewrite& r, const GraphNode& n, const ConstantWork& w)
{
    const CostModel& costs = r.options.costs;
    if (!n.primitive->value) return false;  // others are not estimated well enough
    double work = work_cost(r.graph(), n, costs);
    for (const ValueId v : w.operations)
        if (r.node(v).primitive->value) work += work_cost(r.graph(), r.node(v), costs);
    if (load_cost(n, costs) > costs.margin * work) return false;
    return r.constant_bytes() + bytes_of(n) <= r.options.fold_total;
}

WENGERT_INLINE Ref<Block> folded(const Rewrite& r, const GraphNode& n, const ConstantWork& w)
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

WENGERT_INLINE ValueId fold_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind != Graph::Kind::operation || n.inputs.empty() || n.primitive->effects) return no_value;
    const ConstantWork work = constant_work(r, n);
    if (!work.known || !(work.small || worth_storing(r, n, work))) return no_value;
    Ref<Block> value = folded(r, n, work);
    if (!value || value->dtype != n.dtype || !(value->shape == n.shape)) return no_value;
    r.folded_bytes += value->bytes();
    return r.constant(std::move(value), n.at, n.segment);
}

}  // namespace wengert::passes::detail

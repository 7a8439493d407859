// Constant folding: operations on constants are computed once, here.
#pragma once

#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// Nothing is recorded while the kernels run: neither by a trace that calls for the graph nor on a tape.
class Quietly {
public:
    Quietly() : recorder_(std::exchange(current_thread().recorder, nullptr)) {}
    Quietly(const Quietly&) = delete;
    Quietly& operator=(const Quietly&) = delete;
    ~Quietly() { current_thread().recorder = recorder_; }

private:
    Recorder* recorder_;
};

/// All inputs are constants and the result is no larger than they are, or small.
inline bool may_fold(const Rewrite& r, const GraphNode& n)
{
    if (n.kind != Graph::Kind::operation || n.inputs.empty()) return false;
    std::size_t bytes = r.options.fold_bytes;
    for (ValueId v : n.inputs) {
        if (r.node(v).kind != Graph::Kind::constant) return false;
        bytes = std::max(bytes, r.node(v).constant->bytes());
    }
    return element_count(n.shape) * size_of(n.dtype) <= bytes;
}

/// What an operation on constants gives; null where it throws, which is left for when it runs.
inline Ref<Block> folded(const Rewrite& r, const GraphNode& n)
{
    const Quietly quietly;
    std::vector<Ref<Block>> in;
    for (ValueId v : n.inputs) in.push_back(r.node(v).constant);
    try {
        const Ref<Block> y = compute_node(n, in.data());
        if (y->strided)
            return {};  // another layout than the operation's could change how a product is rounded
        return y->is_view() && y->bytes() <= r.options.fold_bytes ? copy_of(*y) : y;
    } catch (const Error&) {
        return {};
    }
}

inline ValueId fold_rule(Rewrite& r, GraphNode& n)
{
    if (!may_fold(r, n)) return no_value;
    Ref<Block> value = folded(r, n);
    if (!value || value->dtype != n.dtype || !(value->shape == n.shape)) return no_value;
    GraphNode c;
    c.kind = Graph::Kind::constant;
    c.dtype = n.dtype;
    c.shape = n.shape;
    c.segment = n.segment;
    c.constant = std::move(value);
    c.at = n.at;
    return r.add(std::move(c));
}

}  // namespace detail

/// Operations on constants become constants, by the kernels that would run: exact. A result larger than
/// PassOptions::fold_bytes and than its operands stays an operation. Random draws have a key that is an input, or are
/// constants already.
inline Graph constant_folding(const Graph& g, const PassOptions& options = {})
{
    return settled(g, options, {{detail::fold_rule}});
}

}  // namespace wengert::passes

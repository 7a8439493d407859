// The simplest executor: node by node, each with the kernel that eager uses. What every other executor is compared with,
// and what a debugger steps through.
#pragma once

#include "backend.hpp"
#include "graph.hpp"

namespace wengert {

/// The value of one operation from those of its inputs.
Ref<Block> compute_node(const GraphNode& n, const Ref<Block>* in);

namespace detail {

/// The values of outputs and guards; others are let go after their last use.
std::vector<Ref<Block>> interpret_graph(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                        const NodeCallback& callback);

/// Returns what Executable::run returns: the number of the guard that failed, or the number of guards.
std::size_t interpret_guarded(const Graph& g, const std::vector<Ref<Block>>& inputs,
                              std::vector<Ref<Block>>& outputs, const NodeCallback& callback);

}  // namespace detail

/// The first guard that does not hold, or their number.
std::size_t failed_guard(const Graph& g, const std::vector<Ref<Block>>& values);

namespace detail {

/// That of the backend below.
std::unique_ptr<Executable> interpreted(const Graph& g, const PlanOptions& options);

struct Interpreter : Backend {
    std::vector<Ref<Block>> operator()(const Graph& g, const std::vector<Ref<Block>>& inputs,
                                       const NodeCallback& callback = {}) const
    {
        return interpret_graph(g, inputs, callback);
    }
};

}  // namespace detail

/// The backend that runs node by node and calls PlanOptions::callback; interpret(graph, inputs) runs a graph once and
/// returns its values by id.
inline constexpr detail::Interpreter interpret{{"interpret", detail::interpreted}};

/// A graph applied to tensors: each operation goes through the library's dispatch, so that it is recorded on the tape, and
/// by a trace, where one of them asks for it. Guards are not looked at.
std::vector<AnyTensor> replay(const Graph& g, const std::vector<AnyTensor>& inputs);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/interpret.ipp"
#endif

// Derivatives of bodies, as graphs: a body is replayed on the tape while a trace looks on.
#pragma once

#include <cstring>

#include "../../tape/speculation.hpp"
#include "../../transforms/level.hpp"
#include "../ir/interpret.hpp"
#include "../ir/trace.hpp"
#include "loop_graphs.hpp"

namespace wengert::detail {

/// What of a graph depends, with a derivative, on some of its inputs, by value.
std::vector<bool> active_values(const Graph& g, const std::vector<bool>& inputs);

/// The same for a graph's outputs.
std::vector<bool> active_outputs(const Graph& g, const std::vector<bool>& inputs);

/// The inputs of a loop's body that depend on those given after some step: a state that does once does for good.
std::vector<bool> active_in_loop(const LoopParameters& p, std::vector<bool> inputs);

/// What other processes take part in by itself, not in a loop or a branch: in order.
std::vector<ValueId> communications(const Graph& g);

/// The scan that keeps its states before each step, or those that it has room for, as further results. With room for all it keeps
/// what its communications have given, too: its derivative does not communicate forwards again.
std::shared_ptr<const LoopParameters> with_history(const LoopParameters& p);

Graph without_effects(const Graph& g);

/// Loops and bodies without calls of the host: derivatives make none.
std::shared_ptr<const LoopParameters> without_effects(std::shared_ptr<const LoopParameters> p);

[[noreturn]] void refuse_host_value(const GraphNode& n);

Graph without_effects(const Graph& g);

/// Of values that nobody reads, whole numbers are 0: what is made of an example's zeros (0/0) may be no index.
void zero_unread_indices(const GraphNode& n, const Block& b, const std::vector<AnyTensor>& operands);

/// A body on tensors, recorded on the tape. `reverse`: loops in it keep their states for the sweep back. `known`: what its first
/// communications have given before; they are recorded only.
std::vector<AnyTensor> replay_body(const Graph& with_host, const std::vector<AnyTensor>& inputs, bool reverse,
                                   const std::vector<AnyTensor>& known = {});

/// A trace of work on graphs: whatever else is being traced or differentiated does not see it.
class GraphTrace {
public:
    GraphTrace()
        : active_(Tape::current().active, 0), site_(Tape::current().site_override, Site{}),
          anomaly_(Tape::current().anomaly, false), save_(Tape::current().save_all, false)
    {
        trace_.bodies_twice = false;  // graphs, not functions
    }
    AnyTensor input(const GraphNode& like);
    void output(const AnyTensor& t) { trace_.output(t.value, {}); }
    Graph finish();

private:
    Untraced outside_;
    OnDevice host_{0};
    Restore<ActiveLevels> active_;
    Restore<Site> site_;
    Restore<bool> anomaly_, save_;
    Speculation speculation_;
    Trace trace_;
};

/// A variable of a level.
AnyTensor variable_of(const AnyTensor& x, std::size_t level);

inline AnyTensor zeros_like_node(const GraphNode& n) { return {zeros_block(n.dtype, n.shape), {}}; }

/// One step of the derivative, backwards. Inputs: cotangents of the outputs `given`, cotangents so far of the inputs `summed`,
/// all inputs of g, what its first `known` communications have given. Outputs: cotangents of the inputs `wanted`, among them all
/// that are summed.
Graph vjp_graph(const Graph& g, const std::vector<bool>& wanted, const std::vector<bool>& given,
                const std::vector<bool>& summed, std::size_t known = 0);

/// Values and tangents. Inputs: those of g, the tangents of those in `active`. Outputs: those of g, the tangents of those in
/// `wanted`.
Graph jvp_graph(const Graph& g, const std::vector<bool>& active, const std::vector<bool>& wanted);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/body_rules.ipp"
#endif

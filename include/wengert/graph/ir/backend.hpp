// What is asked of a way to run graphs, and what it says of its plan; the graphs themselves are in graph.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace wengert {

struct Block;
class Executable;
class Graph;
struct GraphNode;
using ValueId = std::uint32_t;

/// Figures of a plan.
struct PlanStats {
    std::size_t kernels = 0;      ///< steps of a run: fused loops and library calls
    std::size_t arena_bytes = 0;  ///< one piece of memory for all that is neither input, output nor constant
    std::size_t arena_lower_bound = 0;  ///< the most that is alive at one time: no arena can be smaller
    std::size_t threads = 1;            ///< that long steps are spread over; 1 where none is long enough
    std::size_t uncompiled = 0;  ///< kernels that are none of the backend's, with `native` and on devices
    std::size_t uncompiled_loops = 0;  ///< loops and branches among them, which run step by step
    std::size_t host_conditions = 0;   ///< loops and branches on a device that the host decides about
    std::size_t transfers = 0,
                transfer_bytes = 0;  ///< between the host and a device, of arguments on the host
};

/// Called after each node with its value, in order.
using NodeCallback = std::function<void(const GraphNode&, ValueId, const Block&)>;

struct PlanWatch;

struct PlanOptions {
    bool allow_reassociation = false;
    unsigned threads = 1;        ///< for long steps, with the backend `tile`; 0: all of the machine
    NodeCallback callback = {};  ///< for `interpret`
    PlanWatch* watch = nullptr;  ///< is told the plan, and the times of its runs (graph/ir/watch.hpp)
    /// Nanoseconds for waking threads and waiting for them: independent kernels run at once where that saves more. They
    /// take more memory then; infinity for never.
    double wake_cost = 10'000;
};

/// A way to run graphs: `tile`, `interpret`, `native`. Programs contain the code of those that they name.
struct Backend {
    const char* name = nullptr;
    std::unique_ptr<Executable> (*compile)(const Graph&, const PlanOptions&) = nullptr;
};

}  // namespace wengert

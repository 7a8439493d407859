// Executable: a graph made ready to run many times.
#pragma once

#include <functional>

#include "graph.hpp"

namespace wengert {

/// What was planned.
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

class Executable {
public:
    virtual ~Executable() = default;
    /// Runs on inputs of the graph's dtypes and shapes, contiguous. Fills `outputs` and returns guards().size(); where a
    /// guard fails it returns that one's number, `outputs` are as they were, and so are all inputs. An input that has an
    /// update (Graph::updates) may lend its memory to that output when nobody else sees it: it is then left empty.
    virtual std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) = 0;
    /// The same on inputs that lend nothing, into empty outputs, without lists. False where a guard has failed, or where there
    /// is no such way: the outputs are not to be used then.
    virtual bool run_on_pointers(const Block* const* /* inputs */, Ref<Block>* /* outputs */)
    {
        return false;
    }
    PlanStats stats;
    std::string note;   ///< why it is not what was asked for: "" or one sentence
    bool news = false;  ///< stats and note have changed in a run; whoever reads them may clear it
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

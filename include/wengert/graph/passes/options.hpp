// What passes may do, and who watches them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../ir/cost_model.hpp"
#include "../ir/graph.hpp"

namespace wengert {

/// Called by optimize() after a pass that changed something, with the graph before and after.
using PassObserver = std::function<void(std::string_view name, const Graph& before, const Graph& after)>;

/// Which passes run over a graph, and with which limits.
struct PassOptions {
    bool allow_reassociation = false;  ///< rules that change rounding
    bool fold_updates = false;         ///< c ± α op(A) op(B) as one GEMM: the sum is rounded otherwise
    /// passes::lowering where softmax and its like are to become maps and reductions (lowering.hpp); it rounds otherwise.
    Graph (*lower)(const Graph&, const PassOptions&) = nullptr;
    std::size_t fold_bytes = 4096;  ///< a folded constant is no larger than this, or than what it is made of,
    std::size_t fold_total =
        64U << 20;         ///< or is dear to compute, and all constants of the graph keep to this many bytes
    CostModel costs = {};  ///< what constant folding, a cut and a memory limit weigh
    std::vector<std::string> off = {};  ///< names of passes that are not to run
    PassObserver observer = {};         ///< where there is one, passes run one by one
};

/// The result of rematerialise().
struct RematReport {
    std::size_t peak_before = 0, peak_after = 0;  ///< bytes, as liveness_peak counts them
    std::size_t recomputed = 0;                   ///< operations that run once more
    double work = 0, extra_work = 0;  ///< nanoseconds by the cost model, of all operations before, of those
                                      ///< that were added
};

/// What passes::cut() made: two parts of a graph. The early one's outputs are the whole graph's first ones, then what else it
/// hands over.
struct CutGraph {
    Graph early;
    Graph late;                       ///< inputs: the early ones, what is handed over, the late ones
    std::vector<std::size_t> handed;  ///< which outputs of the early graph that is
};

}  // namespace wengert

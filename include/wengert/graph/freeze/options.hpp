// How a function is frozen, and what a frozen one tells of itself.
#pragma once

#include <atomic>
#include <iosfwd>
#include <string>
#include <vector>

#include "../../array/device.hpp"
#include "../../base/site.hpp"
#include "../ir/backend.hpp"
#include "../passes/options.hpp"

namespace wengert {

/// Calls of several threads at once are counted, too.
class SharedCount {
public:
    SharedCount() = default;
    SharedCount(const SharedCount& c) : n_(c) {}
    SharedCount& operator=(const SharedCount& c) { return n_ = c, *this; }
    operator std::size_t() const noexcept { return std::atomic_ref(n_).load(std::memory_order_relaxed); }
    void operator++() noexcept { std::atomic_ref(n_).fetch_add(1, std::memory_order_relaxed); }

private:
    mutable std::size_t n_ = 0;
};

/// What a frozen function has done, and the plan of the last path traced.
struct FreezeStats : PlanStats {
    std::size_t traces = 0;       ///< calls that were recorded and made a graph
    std::size_t replays = 0;      ///< calls that a graph answered
    std::size_t checks = 0;       ///< of the replays, those with an eager run beside them
    std::size_t specialised = 0;  ///< graphs made for another batch size without a trace ({.dynamic})
    SharedCount eager_calls;      ///< calls that ran f itself because nothing could be frozen
    SharedCount inlined;  ///< calls inside a transform, a trace or anomaly mode: f ran there, as part of it
    std::size_t evictions = 0;       ///< graphs let go because the cache was full
    std::size_t guard_failures = 0;  ///< graphs that did not fit a call
    std::size_t recorded_ops = 0;    ///< operations recorded
    std::size_t constant_bytes =
        0;  ///< of arrays that the graph holds, those that passes have computed included
    std::size_t recomputed_ops = 0;  ///< operations that run a second time to keep the memory limit
    double extra_work = 0;           ///< theirs, relative to all others'
    struct Failure {
        Site at;
        std::size_t count;
    };
    std::vector<Failure> failures;  ///< the lines whose guards failed
};

std::ostream& operator<<(std::ostream& out, const FreezeStats& s);

/// How a function is frozen.
struct FreezeOptions {
    Backend backend{};        ///< `tile` when not given
    bool background = false;  ///< tiles serve until another thread has compiled for the backend
    /// Replays 1, 2, 4, 8, … run f beside the graph and compare. The first call traces bodies of loops twice and compares.
    bool check = true;
    std::size_t paths =
        8;  ///< for one set of argument shapes; with more branches than that the rest runs eagerly
    std::size_t shapes = 16;  ///< sets of argument shapes kept, the least recently used one goes
    /// Numbers of the arguments whose tensors have a leading extent that varies (a batch): after traces at two extents the
    /// graphs for all others follow without one.
    std::vector<std::size_t> dynamic = {};
    bool allow_reassociation = false;
    bool optimize = true;
    PassOptions passes = {.fold_updates = true};  ///< which passes run, and who watches them
    /// Bytes that the plan's intermediate values may take: cheap ones are computed again to keep to it. 0 for no limit.
    std::size_t memory_limit = 0;
    unsigned threads = 1;        ///< for long steps, with the backend `tile`; 0: all of the machine
    NodeCallback callback = {};  ///< for the backend `interpret`: called after each node
    /// Replays run there, on arguments from anywhere; results lie where the arguments did. cuda{}, say (docs/cuda.md).
    Placement device = {};
};

}  // namespace wengert

// From a trace to something that runs: passes, then a backend.
#pragma once

#include "frozen.hpp"
#if __has_include("tile/compile.hpp")
#include "tile/compile.hpp"
#endif

namespace wengert {

/// The default backend: kernels tile by tile, no compiler needed.
#if __has_include("tile/compile.hpp")
inline constexpr Backend tile{"tile", compile_tile};
#else
inline constexpr Backend tile = interpret;
#endif

namespace detail {

/// A call of f as it was recorded.
struct FrozenTrace {
    Graph graph;
    std::shared_ptr<const void> shell;
    std::vector<std::size_t> live;
    std::size_t results = 0;
    ValueId escaped = no_value;
};

inline void FrozenCore::add(FrozenEntry& e, FrozenTrace t)
{
    if (t.escaped != no_value) {
        const GraphNode& n = t.graph.node(t.escaped);
        e.eager = true;
        reason = "a tensor outside of the function holds the result of " + std::string(n.primitive->name) + " at " +
                 to_string(n.at) + ", which a replay could not give it: it runs eagerly (declare that tensor live)";
        ++stats.eager_calls;
        return;
    }
    auto p = std::make_unique<FrozenPath>();
    p->recorded = std::move(t.graph);
    p->optimized = p->recorded;
    p->live = std::move(t.live);
    p->results = t.results;
    p->shell = std::move(t.shell);
    const Backend& backend = options.backend.compile ? options.backend : tile;
    p->executable = backend.compile(p->optimized, {options.allow_reassociation, options.threads, options.callback});
    ++stats.traces;
    stats.recorded_ops = 0;
    for (const GraphNode& n : p->recorded.nodes()) stats.recorded_ops += n.kind == Graph::Kind::operation;
    stats.kernels = p->executable->stats.kernels;
    stats.arena_bytes = p->executable->stats.arena_bytes;
    stats.arena_lower_bound = p->executable->stats.lower_bound;
    e.paths.insert(e.paths.begin(), std::move(p));
}

/// Holds a flag that only one call at a time may hold.
class Occupied {
public:
    explicit Occupied(std::atomic<bool>& flag) : flag_(flag), mine_(!flag.exchange(true)) {}
    Occupied(const Occupied&) = delete;
    Occupied& operator=(const Occupied&) = delete;
    ~Occupied()
    {
        if (mine_) flag_.store(false);
    }
    explicit operator bool() const noexcept { return mine_; }

private:
    std::atomic<bool>& flag_;
    bool mine_;
};

}  // namespace detail
}  // namespace wengert

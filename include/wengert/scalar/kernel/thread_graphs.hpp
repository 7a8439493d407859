// Graphs of a function, some for each thread that calls it, where the program has the compiler of graphs.
#pragma once

#include <algorithm>
#include <string>

#include "../../graph/ir/backend.hpp"
#include "../../graph/ir/executable.hpp"

#ifdef WENGERT_COMPILED
#include "../../graph/control/control.hpp"
#include "../../graph/freeze/freeze.hpp"
#endif

namespace wengert::detail {

template <class F> class Frozen;

/// Does this source of the program include graph/freeze/freeze.hpp?
template <class F>
concept HasGraphs = requires { sizeof(Frozen<F>); };

/// Graphs of the function that is known now, some for each of the threads that call last: one call at a time uses them.
template <class F> class ThreadGraphs {
public:
    using Graphs = Frozen<F>;

    Graphs of(const F& f, const Backend& backend, bool background)
    {
        if (!(f == function_)) slots_.clear();
        function_ = f;
        const Thread* const me = &current_thread();
        auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.thread == me; });
        if (slot == slots_.end() && slots_.size() < most_threads)
            slot = slots_.insert(
                slot,
                {me, Graphs(f, {.backend = backend, .background = background, .check = false, .dynamic = {0}},
                            Site{})});
        else if (slot == slots_.end())
            slot = slots_.begin();  // used longest ago
        slot->thread = me;
        std::rotate(slot, slot + 1, slots_.end());
        return slots_.back().graphs;
    }
    std::string explain() const
    {
        std::string text;
        for (const Slot& s : slots_) {
            const auto done = s.graphs.stats();
            const std::string reason = s.graphs.explain();
            text += "\n  " + std::string(s.graphs.backend().name) + ": " + std::to_string(done.traces) +
                    " graphs made, " + std::to_string(done.specialised) + " more for other lengths, " +
                    std::to_string(done.kernels) + " loops and calls in the last; " +
                    std::to_string(done.replays) + " calls answered, " + std::to_string(done.inlined) +
                    " operation by operation inside of something else, " + std::to_string(done.eager_calls) +
                    " so as graphs were in use; " + reason;
        }
        return text;
    }

private:
    struct Slot {
        const Thread* thread;
        Graphs graphs;
    };
    static constexpr std::size_t most_threads = 64;
    F function_;
    std::vector<Slot> slots_;
};
/// Without the compiler of graphs.
struct NoGraphs {
    static std::string explain()
    {
        return "\n  operation by operation: include wengert/graph/freeze/freeze.hpp before the kernel is "
               "made, or "
               "link wengert::compiled";
    }
};

}  // namespace wengert::detail

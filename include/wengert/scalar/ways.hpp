// The ways through a scalar function, as kernels have met them: programs of its operations, joined where they part at a
// comparison. Recorded by running the function on reals of a tape of their own.
#pragma once

#include <memory>

#include "../transforms/tree.hpp"
#include "exchange.hpp"

namespace wengert::detail {

/// A number of a program: that of a step, or where `step` is 0 a constant.
struct WayValue {
    std::uint32_t step = 0;
    double constant = 0;
};

/// A stretch of operations up to a comparison, or up to the end. Steps are numbered along the way from the first one.
struct Way {
    std::vector<ScalarEntry> steps;
    std::uint32_t begin = 1;  ///< number of the first of them
    bool parts = false;       ///< at a comparison:
    ScalarGuard guard{};
    std::shared_ptr<Way>
        next[2];  ///< where it is false, where it is true; null as long as no cell went there
    std::vector<WayValue> results;  ///< at the end
};

/// One run of the function.
struct WayRun {
    std::vector<ScalarEntry> steps;  ///< the first is step 1
    std::vector<ScalarGuard> guards;
    std::vector<WayValue> results;
};

inline std::vector<ScalarEntry> cut(const WayRun& run, std::uint32_t begin, std::uint32_t end)
{
    return {run.steps.begin() + (begin - 1), run.steps.begin() + (end - 1)};
}

/// The ways with those of a run; where it is no new one, the same object. What others look at stays as it is.
inline std::shared_ptr<const Way> with_run(const std::shared_ptr<const Way>& ways, const WayRun& run)
{
    std::shared_ptr<Way> root = std::const_pointer_cast<Way>(ways), *at = &root;
    std::uint32_t begin = 1;
    bool fresh = false;
    for (std::size_t k = 0;; ++k) {
        const bool last = k == run.guards.size();
        const auto end = last ? static_cast<std::uint32_t>(run.steps.size() + 1) : run.guards[k].at;
        fresh = !*at;
        *at = fresh ? std::make_shared<Way>() : std::make_shared<Way>(**at);
        if (fresh) {
            (*at)->steps = cut(run, begin, end);
            (*at)->begin = begin;
            (*at)->parts = !last;
            if (last)
                (*at)->results = run.results;
            else
                (*at)->guard = run.guards[k];
        }
        if (last) return fresh ? root : ways;
        begin = end;
        at = &(*at)->next[run.guards[k].outcome];
    }
}

/// Runs f once on these numbers: what it did, `most` operations or less. Results of f are a Real or a struct of them.
template <class T, std::size_t n, class F> WayRun run_once(const T* cell, std::size_t most)
{
    const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
    TapeScope scope;
    ScalarStream& stream = ScalarStream::of(scope.tape());
    stream.set_room({most * sizeof(ScalarEntry), {}});
    Tensor<T> x(Shape{n}, std::span<const T>(cell, n));
    x.requires_grad(true);
    const std::vector<Real<T>> in = elements(x);
    WayRun run;
    const Restore<std::vector<ScalarGuard>*> guards(stream.guards, &run.guards);
    F f{};
    const auto y = [&]<std::size_t... k>(std::index_sequence<k...>) {
        return f(in[k]...);
    }(std::make_index_sequence<n>());
    tree::for_each(
        [&](const auto& r) {
            const bool active = stream.dependence(r.mark(), "kernel") != 0;
            run.results.push_back({active ? r.mark().index() : 0, static_cast<double>(r.plain())});
        },
        y);
    run.steps.assign(stream.entries() + 1, stream.entries() + stream.size());
    return run;
}

}  // namespace wengert::detail

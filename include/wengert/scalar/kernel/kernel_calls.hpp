// The calls of a kernel in one precision. Paths are recorded where cells take them, and compiled as a graph. Two plain functions
// are all that differs between kernels, so a program compiles this once; with WENGERT_COMPILED wengert::compiled does.
#pragma once

#include <mutex>

#include "cells.hpp"
#include "path_pattern.hpp"
#include "paths_on_tensors.hpp"
#include "thread_graphs.hpp"

namespace wengert {

namespace detail {

template <class T> class KernelCalls final : public ArrayCalls<T> {
public:
    using typename ArrayCalls<T>::Set;

    explicit KernelCalls(const KernelOptions& options) : options_(options) {}

    std::vector<Tensor<T>> call(const CellFunction<T>& f, const std::vector<Tensor<T>>& in,
                                const Site& at) override
    {
        const Shape shape = shape_of_cells(in, at);
        if (is_asked(f)) forget_what_changed(f, at);
        const auto run = [&](const std::shared_ptr<const Path>& paths) {
            return run_paths(paths, in, shape, at);
        };
        std::vector<Tensor<T>> out;
        try {
            if (Recorder* const r = recorder()) {
                const std::shared_ptr<const Path> paths = settled(*r, f, in, shape, at);
                if (paths) out = on_paths(f, in, shape, at, paths, run);
            } else {
                out = on_paths(f, in, shape, at, known(), run);
            }
        } catch (const NumericError& e) {
            refuse_birth(f, in, shape, at, e);
        }
        if (out.empty()) out = f.each(f.function, in, shape, at);
        for (auto& y : out) y = broadcast_to(y, shape, at);
        return out;
    }
    std::vector<Set> pattern(std::size_t arguments) const override
    {
        const std::shared_ptr<const Path> paths = known();
        return paths ? PathPattern(arguments).of(*paths) : std::vector<Set>();
    }
    std::string explain(const char* precision) const override
    {
        const std::lock_guard lock(mutex_);
        if (count_ == 0) return {};
        std::string text = std::to_string(count_) + (count_ == 1 ? " way" : " ways") + precision + ", " +
                           std::to_string(operations_) + " operations on arrays";
        if (too_many_)
            text += "; more than " + std::to_string(options_.most_ways) +
                    " ways: each cell runs by itself, recorded as scalar code";
        else
            text += graphs_.explain();
        return text + "\n";
    }

private:
    static constexpr bool compiles = HasGraphs<PathsFunction<T>>;

    /// A cell that has taken a new path.
    struct NewPath {
        std::vector<T> cell;
        std::vector<bool> outcomes;  ///< those that were given
    };
    using NewPaths = std::vector<std::shared_ptr<const NewPath>>;
    struct KnownPaths {
        std::shared_ptr<const Path> paths;
        NewPaths met;  ///< those who took them
    };
    /// What a recorded call goes by: no paths where each cell runs by itself.
    struct CallPaths {
        std::shared_ptr<const Path> paths;
        KnownPaths known;
    };

    /// run(paths), again where a cell takes another one. Nothing where there are too many, or a cell takes another path as an array's
    /// element than by itself: functions differ in the last bits.
    template <class Run>
    std::vector<Tensor<T>> on_paths(const CellFunction<T>& f, const std::vector<Tensor<T>>& in,
                                    const Shape& shape, const Site& at, std::shared_ptr<const Path> paths,
                                    const Run& run)
    {
        if (!paths) {
            meet(f, in, shape, at, 0, {});
            paths = known();
        }
        for (; paths; paths = known()) {
            try {
                return run(paths);
            } catch (const UnrecordedPath& unmet) {
                if (!meet(f, in, shape, at, unmet.cell, paths)) return {};
            }
        }
        return {};
    }
    /// The paths of a recorded call: those that its cells take, and are known then. A graph may have more the next time; a run that is
    /// done again has those of its first.
    std::shared_ptr<const Path> settled(Recorder& r, const CellFunction<T>& f,
                                        const std::vector<Tensor<T>>& in, const Shape& shape, const Site& at)
    {
        r.by_value();
        bool first = false;
        const auto find = [&]() -> std::shared_ptr<const void> {
            first = true;
            return explore(f, in, shape, at);
        };
        const void* const of = reinterpret_cast<const void*>(f.run);
        const auto found = std::static_pointer_cast<const CallPaths>(r.settle({of, "kernel", find}, at));
        if (!first && is_asked(f) && has_changed(found->known, f, at))
            fail<TapeError>("kernel",
                            "the recomputation does not do what the first run did: what this function "
                            "captures has changed, and must not before the backward pass",
                            at);
        if (!found->paths && r.holds())
            r.refuse("the cells of this kernel run one by one, as scalar code, which a graph does not see: "
                     "it has more than "
                     ".most_ways = " +
                         std::to_string(options_.most_ways) +
                         " ways, or a cell takes another one by itself than in an array",
                     at);
        return found->paths;
    }
    std::shared_ptr<const Path> known() const
    {
        const std::lock_guard lock(mutex_);
        return too_many_ ? nullptr : paths_;
    }
    std::vector<Tensor<T>> run_paths(const std::shared_ptr<const Path>& paths,
                                     const std::vector<Tensor<T>>& in, const Shape& shape, const Site& at)
    {
        const ComposedAt line(at);
        if constexpr (compiles)
            if (!recorder()) return graphs_of(paths)(in, at);
        return PathsOnTensors<T>(in, shape).run(*paths);
    }
    auto graphs_of(const std::shared_ptr<const Path>& paths)
    {
        const std::lock_guard lock(mutex_);
        return graphs_.of({paths}, options_.backend, options_.background);
    }
    /// Is a function run again in each call? What captures nothing may still read Reals of the program's that are recorded by now.
    static bool is_asked(const CellFunction<T>& f)
    {
        return f.captures || ScalarStream::has_numbers(Tape::current());
    }
    /// Tests on one cell of each path whether something has changed that the function refers to. If so, all paths are dropped.
    void forget_what_changed(const CellFunction<T>& f, const Site& at)
    {
        KnownPaths known;
        {
            const std::lock_guard lock(mutex_);
            if (too_many_) return;
            known = {paths_, met_};
        }
        if (!has_changed(known, f, at)) return;
        const std::lock_guard lock(mutex_);
        paths_ = nullptr;
        met_.clear();
        count_ = operations_ = 0;
    }
    bool has_changed(const KnownPaths& known, const CellFunction<T>& f, const Site& at) const
    {
        const Restore<bool> no_births(Tape::current().anomaly, false);  // as when they were met
        return std::ranges::any_of(known.met, [&](const auto& m) {
            return !run_cell(f, m->cell, m->outcomes, at, known.paths.get()).repeats;
        });
    }
    /// Meets all paths that these cells take, unseen by the trace that is being made.
    std::shared_ptr<const CallPaths> explore(const CellFunction<T>& f, const std::vector<Tensor<T>>& in,
                                             const Shape& shape, const Site& at)
    {
        const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
        const detail::Unrecorded off;
        std::vector<Tensor<T>> values;
        for (const auto& x : in) values.push_back(Tensor<T>(AnyTensor{x.any().value, {}}));
        auto found = std::make_shared<CallPaths>();
        const bool done = !on_paths(f, values, shape, at, known(), [&](const auto& paths) {
                               found->paths = paths;
                               return PathsOnTensors<T>(values, shape).run(*paths);
                           }).empty();
        if (!done) found->paths = nullptr;
        const std::lock_guard lock(mutex_);
        found->known = {paths_, met_};
        return found;
    }
    /// The numbers of a cell; an array without cells has ones.
    static std::vector<T> numbers_of(const std::vector<Tensor<T>>& in, const Shape& shape, std::size_t cell)
    {
        const Restore<Recorder*> unseen(current_thread().recorder, nullptr);
        std::vector<T> values;
        for (const auto& t : in) {
            const Tensor<T> x(AnyTensor{t.any().value, {}});
            const Ref<Block> b = readable(broadcast_to(x, shape).any().value);
            values.push_back(b->count ? b->template as<T>()[cell] : T(1));
        }
        return values;
    }
    /// AnomalyMode has met a NaN in the arrays: its cell, and the line in the function where that cell has it. In a catch block.
    [[noreturn]] void refuse_birth(const CellFunction<T>& f, const std::vector<Tensor<T>>& in,
                                   const Shape& shape, const Site& at, const NumericError& e) const
    {
        constexpr std::size_t most_cells = 10'000;  // each is run once
        for (std::size_t c = 0; c < std::min(most_cells, element_count(shape)); ++c) try {
                run_cell(f, numbers_of(in, shape, c), {}, at);
            } catch (const NumericError& born) {
                throw NumericError(std::string(e.what()) + "; cell " + std::to_string(c) +
                                   " of the kernel: " + born.what());
            }
        throw e;
    }
    PathRun run_cell(const CellFunction<T>& f, const std::vector<T>& cell, const std::vector<bool>& outcomes,
                     const Site& at, const Path* known = nullptr) const
    {
        return f.run(f.function, cell.data(), outcomes, options_.most_operations, at, known);
    }
    /// Records the path of one cell: the one it takes by itself, or as an array's element if it is one of `known` by itself.
    /// False where it is one of those, too.
    bool meet(const CellFunction<T>& f, const std::vector<Tensor<T>>& in, const Shape& shape, const Site& at,
              std::size_t cell, const std::shared_ptr<const Path>& known)
    {
        const Restore<bool> no_births(Tape::current().anomaly, false);  // arrays are looked at when they run
        NewPath met{numbers_of(in, shape, cell), {}};
        PathRun run = run_cell(f, met.cell, {}, at);
        if (known && with_run(known, run) == known) {
            if (with_run(known, run_cell(f, met.cell, {}, at)) != known)
                fail<TapeError>("kernel",
                                "the function does not do the same for the same numbers: it must depend on "
                                "its arguments alone",
                                at);
            met.outcomes = outcomes_of<T>(*known, met.cell).each;
            run = run_cell(f, met.cell, met.outcomes, at);
            if (with_run(known, run) == known) return false;
        }
        return take(in.size(), std::move(met), run, at);
    }
    /// Takes a path up that was not known.
    bool take(std::size_t inputs, NewPath met, const PathRun& run, const Site& at)
    {
        const std::lock_guard lock(mutex_);
        if (paths_ && run.results.size() != results_)
            fail<ShapeError>("kernel",
                             "a path through the function returns " + std::to_string(run.results.size()) +
                                 " numbers, and another one " + std::to_string(results_) +
                                 ": all cells need as many",
                             at);
        results_ = run.results.size();
        const std::shared_ptr<const Path> more = with_run(paths_, run);
        if (more == paths_) return true;  // another thread has met it
        paths_ = more;
        operations_ += run.steps.size() - inputs;
        met_.push_back(std::make_shared<const NewPath>(std::move(met)));
        too_many_ = ++count_ > options_.most_ways;
        return true;
    }

    const KernelOptions options_;
    mutable std::mutex mutex_;
    NewPaths met_;
    std::shared_ptr<const Path> paths_;
    std::size_t count_ = 0, operations_ = 0, results_ = 0;
    bool too_many_ = false;
    std::conditional_t<compiles, ThreadGraphs<PathsFunction<T>>, NoGraphs> graphs_;
};

template <class T> std::shared_ptr<ArrayCalls<T>> array_calls(const KernelOptions& options)
{
    return std::make_shared<KernelCalls<T>>(options);
}

template <class T> std::vector<Tensor<T>> run_on_tensors(const Path& path, const std::vector<Tensor<T>>& in)
{
    return PathsOnTensors<T>(in, Shape()).run(path);
}

}  // namespace detail
}  // namespace wengert

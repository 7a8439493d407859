// What stands behind a frozen function: its traced paths, which of them a call may use, and what it has done so far.
#pragma once

#include <algorithm>
#include <atomic>
#include <iosfwd>
#include <limits>
#include <map>
#include <ostream>

#include "../../ops/update.hpp"
#include "arguments.hpp"
#include "../ir/executable.hpp"
#include "../ir/interpret.hpp"
#include "../passes/options.hpp"
#include "../ir/trace.hpp"

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
    bool check = true;        ///< replays 1, 2, 4, 8, … run f beside the graph and compare
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

namespace detail {

struct FrozenPath;

/// A derivative of a path: cotangents of some inputs, or tangents of results.
struct FrozenDerivative {
    std::shared_ptr<FrozenPath> path;  ///< with guards where a rule reads a value: it need not fit others
    std::vector<bool> present;         ///< whose the outputs are
};

/// A path and its derivative cut so that what the derivative reads of the call is handed on to it: nothing is computed twice,
/// and memory is as eager's.
struct FrozenCut {
    std::string wanted, cotangents;               ///< of which inputs, from those of which results
    std::unique_ptr<Executable> value, pullback;  ///< null where the graph cannot be cut
    std::size_t guards = 0;                       ///< of `value`
    std::vector<std::size_t> handed;              ///< outputs of `value` that the pullback is given
    std::vector<bool> present;                    ///< the inputs whose cotangents its outputs are
};

/// What a call of f gives beside values, which are outputs of a graph.
struct FrozenOutcome {
    std::shared_ptr<const void> shell = {};  ///< the result without its tensors
    Words numbers = {};                      ///< the numbers and texts in it
    /// Live tensors that it updates, in the order of the outputs for them, which follow those of the result.
    std::vector<std::size_t> live = {};
    std::size_t results = 0;  ///< outputs that are the result's
    bool varies = false;      ///< another trace of it may differ: see Recorder::by_value
};

/// One way through the function, for arguments of certain shapes.
struct FrozenPath : FrozenOutcome {
    Graph recorded, optimized;
    std::unique_ptr<Executable> executable;
    std::size_t recomputed = 0;
    double extra_work = 0;
    bool confirmed =
        true;  ///< f has done what the path says; a derived one waits for that, where f is to be checked
    bool effects = false;  ///< it calls the host, which a checked replay would call twice
    std::uint64_t replays = 0;
    std::map<std::string, std::unique_ptr<FrozenDerivative>> derivatives;
    std::vector<std::shared_ptr<FrozenCut>> cuts;  ///< the one used last comes first
};

/// A call of f as it was recorded.
struct FrozenTrace : FrozenOutcome {
    Graph graph;
    std::vector<Ref<Block>> values = {};  ///< of all outputs
    ValueId escaped = no_value;
    bool depends = false;  ///< the result does, on a variable that f captures
};

/// Traces of the same arguments but for the extent that varies.
struct FrozenFamily {
    struct Sample {
        std::int64_t extent;
        FrozenTrace trace;
    };
    Words signature;
    std::vector<Sample> samples;
    static constexpr std::size_t max_samples = 8;
};

/// All ways seen for certain arguments.
struct FrozenEntry {
    Words signature;
    std::vector<std::shared_ptr<FrozenPath>> paths;  ///< the one used last comes first
    bool eager = false;
    std::string why;  ///< it is eager
    std::uint64_t used = 0;
    bool traced = false;  ///< not only served by graphs that others' traces give
};

/// What a call needs, kept from one to the next so that a replay allocates no more than its results.
struct FrozenCall {
    CallArguments arguments;
    std::vector<Ref<Block>> outputs;
};

class FrozenCore {
public:
    explicit FrozenCore(FreezeOptions o);
    FrozenCore(const FrozenCore&) = delete;
    FrozenCore& operator=(const FrozenCore&) = delete;
    ~FrozenCore();

    FreezeOptions options;
    FreezeStats stats;
    std::vector<AnyTensor*> live;
    std::string reason = "it has not been called yet";
    std::atomic<bool> busy{false};
    std::atomic<bool> alone{false};             ///< the same, set by the only thread that there is
    std::atomic<const Thread*> owner{nullptr};  ///< of `busy`, where there are live tensors
    FrozenCall call;                            ///< of whoever holds `busy`

    bool has_empty_live() noexcept;

    /// Before argument number n of a call is read, and after the last one, when live tensors and a word of the call follow.
    void begin_argument(CallArguments& a, std::size_t n) const;
    void end_arguments(CallArguments& a, std::uintptr_t word) const;
    /// The arguments of a call to come are likely to be like the last one's.
    void expect_last(CallArguments& a) const noexcept
    {
        if (last_) a.expect(last_->signature);
    }
    /// The entry for these arguments, made if there is none.
    FrozenEntry& entry(CallArguments& a)
    {
        if (!a.as_expected()) last_ = &entry(a.signature);
        return *last_;
    }

    /// Is the next replay one of 1, 2, 4, 8, …?
    bool is_checked(const FrozenPath& p) const noexcept
    {
        return options.check && ((p.replays + 1) & p.replays) == 0;
    }
    /// The path that answered the last call where all that is left to do is to run it: nothing to check or to assign, no other
    /// path to try. Null: the long way.
    FrozenPath* plain_path() const noexcept
    {
        if (!last_ || last_->paths.size() != 1 || !live.empty()) return nullptr;
        FrozenPath& p = *last_->paths.front();
        const std::size_t outputs = p.optimized.outputs().size();
        const bool plain = !p.effects && outputs == p.results && outputs <= KnownArguments::most_results;
        return p.confirmed && plain && !is_checked(p) ? &p : nullptr;
    }
    const Words& last_words() const noexcept { return last_->signature; }
    /// Runs such a path. Where a guard fails or an operation throws, the long way will find it out again and say so.
    bool replay_plain(FrozenPath& p, const KnownArguments& a, Ref<Block>* outputs)
    {
        try {
            if (!p.executable->run_on_pointers(a.inputs, outputs)) return false;
        } catch (const Error&) {
            return false;
        }
        ++p.replays;
        ++stats.replays;
        return true;
    }

    /// The path that answers this call, its outputs filled in, or null.
    FrozenPath* replay(FrozenEntry& e, std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs,
                       bool& check);

    /// May another path be traced for these arguments? A program whose numbers escape to plain C++ would be traced for
    /// every number: it stays eager after a while.
    bool may_trace(FrozenEntry& e);

    /// A function whose arguments are others in most of its calls says so, once.
    void report_retraces(const Site& at);
    /// Takes a trace up as a new path; null where it can be none.
    std::shared_ptr<FrozenPath> add(FrozenEntry& e, FrozenTrace t, const Words& family, std::int64_t extent);
    std::unique_ptr<Executable> compile(const Graph& g) const;
    const Backend& backend() const noexcept;
    PlanOptions plan_options() const;
    /// Paths for an extent that has not been traced, from those that have.
    void specialise(FrozenEntry& e, const Words& family, std::int64_t extent);
    std::shared_ptr<FrozenPath> derived(const FrozenFamily::Sample& a, const FrozenFamily::Sample& b,
                                        std::int64_t extent) const;
    /// The derived path that a trace confirms, now the first one; or null. Those that it refutes are gone.
    bool confirm(FrozenEntry& e, const FrozenTrace& t);

    /// The updated live tensors take their new values, the result's stay.
    void commit(const FrozenPath& p, std::vector<Ref<Block>>& outputs);

private:
    FrozenEntry& entry(const Words& signature);
    void evict();
    void note_failure(const Guard& g);
    /// Live tensors lend their memory to their own updates; where nothing comes of it they have it back.
    std::size_t run(FrozenPath& p, std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs,
                    bool check);

    void note_plan(const FrozenPath& p);
    void fit_memory(FrozenPath& p) const;
    std::shared_ptr<FrozenPath> make_path(const FrozenTrace& t, Graph recorded) const;

    std::vector<std::unique_ptr<FrozenEntry>> entries_;
    std::vector<FrozenFamily> families_;
    std::uint64_t clock_ = 0;
    std::size_t signatures_ = 0;  ///< entries that have been traced
    bool reported_retraces_ = false;
    FrozenEntry* last_ = nullptr;  ///< used last
};

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/frozen.ipp"
#endif

// What stands behind a frozen function: its traced paths, which of them a call may use, and what it has done so far.
#pragma once

#include <atomic>

#include "../ir/executable.hpp"
#include "../ir/arguments.hpp"
#include "options.hpp"

namespace wengert {

namespace detail {

struct FrozenCut;
struct FrozenDerivatives;
struct FrozenFamily;
struct FrozenPath;
struct FrozenSample;

/// What a call of f gives beside values, which are outputs of a graph.
struct FrozenOutcome {
    std::shared_ptr<const void> shell = {};  ///< the result without its tensors
    Words numbers = {};                      ///< the numbers and texts in it
    /// Live tensors that it updates, in the order of the outputs for them, which follow those of the result.
    std::vector<std::size_t> live = {};
    std::size_t results = 0;                 ///< outputs that are the result's
    bool varies = false;                     ///< another trace of it may differ: see Recorder::by_value
    std::vector<Ref<Block>> constants = {};  ///< Trace::from_outside
};

/// One way through the function, for arguments of certain shapes.
struct FrozenPath : FrozenOutcome {
    Graph recorded, optimized;
    std::unique_ptr<Executable> executable;
    std::vector<std::uint64_t> reached_from;  ///< reaching_inputs() of what was recorded
    std::size_t recomputed = 0;
    double extra_work = 0;
    bool confirmed =
        true;  ///< f has done what the path says; a derived one waits for that, where f is to be checked
    bool effects = false;  ///< it calls the host, which a checked replay would call twice
    bool communicates =
        false;  ///< other processes take part: under a transform all of them run the function itself
    std::uint64_t replays = 0;
    std::uint64_t variables_made =
        0;  ///< detail::variables_made when it was last seen that no constant is new among them
    std::uint64_t variables = 0;                     ///< Block::variables of its constants, when f ran last
    std::shared_ptr<FrozenDerivatives> derivatives;  ///< those made so far
};

/// f has run, and says what the path says: its constants are so.
void note_variables(FrozenPath& p) noexcept;
/// Has a constant become a variable since f ran last? The result may depend on it.
bool has_new_variable(FrozenPath& p) noexcept;

/// A call of f as it was recorded.
struct FrozenTrace : FrozenOutcome {
    Graph graph;
    std::vector<Ref<Block>> values = {};  ///< of all outputs
    ValueId escaped = no_value;
    bool depends = false;  ///< the result does, on a variable that f captures
    bool first = false;    ///< nothing has been compared with it yet, and f is to be checked
    Site at;               ///< of the call
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
    static std::shared_ptr<FrozenCore> make(FreezeOptions o);
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
    std::atomic<const Thread*> owner{nullptr};  ///< the thread that has set one of the two
    FrozenCall call;                            ///< of whoever holds `busy`

    bool has_empty_live() noexcept;

    /// Throws OptionError where {.dynamic} names an argument that the function does not have.
    void demand_dynamic(std::size_t arguments, const Site& at) const;
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

    /// Is the next replay one of 1, 2, 4, 8, …, or the first one after a captured tensor has become a variable?
    bool is_checked(FrozenPath& p) const noexcept
    {
        return options.check && (((p.replays + 1) & p.replays) == 0 || has_new_variable(p));
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
    std::shared_ptr<FrozenPath> derived(const FrozenSample& a, const FrozenSample& b,
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
    void fit_memory(FrozenPath& p, const Site& at) const;
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

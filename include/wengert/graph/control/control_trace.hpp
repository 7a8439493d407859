// Control flow while a graph is being traced: bodies become graphs of their own, and the loop one operation.
#pragma once

#include "../loops/loop_graphs.hpp"
#include "tracing.hpp"

namespace wengert::detail {

/// What the trace of a body gives.
struct TracedBody {
    Graph graph;  ///< inputs: those given, then the captured ones; outputs: f's, then whether its guards hold
    std::vector<AnyTensor> captured;
    bool flag = false;  ///< it has guards
    bool effects = false;
    Site guard;
    bool varies = false;  ///< another trace of it may differ: see Recorder::by_value
};

/// What is known of a body before it is traced.
struct BodyUse {
    std::string_view loop;  ///< its name, for errors
    bool real;              ///< the program runs it on the examples
    bool may_guard;         ///< its guards may become an output
    bool repeats;           ///< the program may run it more than once
};

/// Traces a body. Null if its guards cannot be hoisted, if a value of its own escapes, or if it throws on examples that are not real:
/// then the path is taken by value. A body that repeats is traced twice (Trace::bodies_twice). Throws TapeError where the second
/// trace differs: the body changes a number or a key that it depends on, and its graph would do the same in each step.
std::optional<TracedBody> trace_body(Recorder& outer, const std::vector<AnyTensor>& examples, BodyUse use,
                                     const BodyFunction& f, const Site& at);

/// The depth of nested branches, and how many have been traced. A recursion that only data end has no graph of all its branches. So
/// from some depth on the branch is taken by value and guarded.
struct BranchCount {
    static constexpr int deepest = 24, most = 1000;
    inline static constinit thread_local int depth = 0, traced = 0;
    BranchCount() { traced = (depth++ == 0 ? 0 : traced) + 2; }
    BranchCount(const BranchCount&) = delete;
    BranchCount& operator=(const BranchCount&) = delete;
    ~BranchCount() { --depth; }
    static bool too_many() { return depth >= deepest || (depth > 0 && traced >= most); }
};

/// A loop with that body over these states, which are its first inputs; a last one says whether the body's guards have held so far, if
/// there are any.
std::shared_ptr<LoopParameters> loop_of(LoopParameters::Kind kind, TracedBody& body,
                                        std::vector<AnyTensor>& in);

/// A loop that is recorded as an operation, and its results. The flag that its bodies' guards have become is guarded in the enclosing
/// trace, at the line `guard`; nothing where it does not hold.
std::optional<std::vector<AnyTensor>> record_loop(std::shared_ptr<LoopParameters> p,
                                                  std::vector<AnyTensor> in, const Site& guard,
                                                  const Site& at);

/// Two graphs, the captured values of both behind the first `own` inputs of a.
struct CapturedByBoth {
    Graph graphs[2];
    std::vector<AnyTensor> captured;
};
CapturedByBoth with_all_captured(const TracedBody& a, const TracedBody& b, std::size_t own);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "../loops/impl/run_loop.ipp"
#include "../loops/impl/loop_rules.ipp"
#include "impl/control_record.ipp"
#include "impl/control_trace.ipp"
#endif

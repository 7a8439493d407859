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

/// Traces a body. Null if its guards cannot be hoisted, if a value of its own escapes, or if it throws where the program would not
/// run it. On the values at hand it may fail; then the path is taken by value. `real`: the example is one that occurs. `may_guard`:
/// guards may become an output. A body is traced twice. Throws TapeError where the second trace differs: it would have gone unnoticed
/// that the body changes a number, a key or a file that it depends on.
std::optional<TracedBody> trace_body(Recorder& outer, const std::vector<AnyTensor>& examples, bool real,
                                     bool may_guard, const BodyFunction& f, const Site& at);

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

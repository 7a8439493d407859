// Control flow while a graph is being traced: bodies become graphs of their own, and the loop one operation.
#pragma once

#include <functional>
#include <optional>

#include "../../ops/elementwise/choices.hpp"
#include "../../ops/reductions.hpp"
#include "../../ops/view.hpp"
#include "../ir/trace.hpp"
#include "../loops/loop_graphs.hpp"
#include "../loops/speculation.hpp"
#include "../freeze/traced_inputs.hpp"

namespace wengert::detail {

/// The trace in progress, null where loops run as they are.
Trace* current_trace();
/// In how many bodies, one in another, the trace in progress is.
int& body_depth();

/// The step that every leaf of xs can be sliced for. Throws ShapeError for a leaf of rank 0 and for different extents.
std::int64_t steps_of(const std::vector<AnyTensor>& xs, const Site& at);
/// Slices of xs at step 0, or zeros where there is none.
std::vector<AnyTensor> example_slices(const std::vector<AnyTensor>& xs);

/// What a body returns must have the shapes that it was given, or had before.
void check_same_shapes(std::string_view primitive, const char* what, const std::vector<AnyTensor>& before,
                       const std::vector<AnyTensor>& after, const Site& at);
inline constexpr const char* state_changes = "the body must return a state of the shapes that it is given";
inline constexpr const char* result_changes = "the body must return results of the same shapes in every step";
void check_condition(std::string_view primitive, const Block& b, const Site& at);

inline void append_to(std::vector<AnyTensor>& all, const std::vector<AnyTensor>& more)
{
    all.insert(all.end(), more.begin(), more.end());
}

/// From the leaves of one tree to those of another; what its caller keeps of them beside these is noted in the last argument. Nothing
/// where it cannot be a body.
using BodyFunction =
    std::function<std::optional<std::vector<AnyTensor>>(const std::vector<AnyTensor>&, Trace&, HeldBlocks&)>;

/// What the trace of a body gives.
struct TracedBody {
    Graph graph;  ///< inputs: those given, then the captured ones; outputs: f's, then whether its guards hold
    std::vector<AnyTensor> captured;
    bool flag = false;  ///< it has guards
    bool effects = false;
    Site guard;
};

/// Traces a body. Null where its guards cannot be hoisted, where it lets out what is its own, or where it throws and the program would
/// not have run it: on the values at hand it may fail, and then the way is taken by value. `real`: the example is one that occurs;
/// `may_guard`: guards may become an output.
std::optional<TracedBody> trace_body(Trace& outer, const std::vector<AnyTensor>& examples, bool real,
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
#include "impl/control_trace.ipp"
#endif

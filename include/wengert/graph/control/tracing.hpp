// Control flow and the trace in progress: a loop is one operation of it, however many steps there are. How that is done is behind a
// table, so that a program that traces nothing has none of it (graph/control/control_trace.hpp fills it).
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "../../transforms/level.hpp"
#include "../ir/trees.hpp"

namespace wengert::detail {

/// From the leaves of one tree to those of another; what its caller keeps of them beside these is noted in the last argument. Nothing
/// where it cannot be a body.
using Leaves = std::optional<std::vector<AnyTensor>>;
using BodyFunction = std::function<Leaves(const std::vector<AnyTensor>&, Recorder&, HeldBlocks&)>;

/// Loops and branches as operations of a trace: the leaves of what they return; nothing where one cannot be an operation, and is to
/// run as it is.
struct ControlTracing {
    /// `body`: from a state and slices of xs to the next state and what the step gives, which comes back stacked.
    Leaves (*scan)(Recorder& outer, const std::vector<AnyTensor>& state, const std::vector<AnyTensor>& xs,
                   std::int64_t steps, std::uint64_t snapshots, const BodyFunction& body, const Site& at);
    /// `test` gives one truth value.
    Leaves (*while_loop)(Recorder& outer, const std::vector<AnyTensor>& state, const BodyFunction& test,
                         const BodyFunction& body, const Site& at);
    /// Both branches, from `in`; alike() then says whether they have returned the same but for tensors' values.
    Leaves (*cond)(Recorder& outer, const Tensor<bool>& pred, const std::vector<AnyTensor>& in,
                   const BodyFunction& yes, const BodyFunction& no, const std::function<bool()>& alike,
                   const Site& at);
};

/// Null as long as nobody has called know_control().
inline constinit std::atomic<const ControlTracing*> control_tracing __attribute__((visibility("default"))) =
    nullptr;

/// What stands for a loop or branch of the functions F.
template <class F> struct LoopOf;
/// Before a loop asks for a trace. A source with headers alone that includes graph/control/control.hpp calls know_control() here;
/// with another one's loops it generates none of their operations and derivatives.
inline void prepare_trace(const void*) noexcept {}

/// The trace in progress, null where loops run as they are.
template <class F> Recorder* current_trace()
{
    Recorder* const r = recorder();
    if (!r) [[likely]]
        return nullptr;
    prepare_trace(static_cast<const LoopOf<F>*>(nullptr));
    const Tape& tape = Tape::current();
    if (tape.anomaly || tape.save_all || !control_tracing.load(std::memory_order_relaxed)) return nullptr;
    return r->trace_of_loops();
}
/// Tells loops and branches how they become operations of a trace. In wengert::compiled each trace calls it.
void know_control() noexcept;
inline const ControlTracing& traced_control() { return *control_tracing.load(std::memory_order_relaxed); }

/// The steps that arrays of these shapes can be sliced for. Throws ShapeError for rank 0 and for different extents.
std::int64_t steps_of(const std::vector<Shape>& xs, const Site& at);
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

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/tracing.ipp"
#endif

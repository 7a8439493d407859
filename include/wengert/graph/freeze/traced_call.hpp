// A call of a frozen function while it is traced: how the trace ends, and what is made of it. Nothing here depends on the type of
// the function, as a program compiles freeze.hpp once for each function that it freezes.
#pragma once

#include "frozen.hpp"
#include "../ir/trees.hpp"

namespace wengert::detail {

/// The inputs of a call's trace. While f is traced, the last of them take the place of live tensors. Variables among these become
/// constants, as the recorded section has their derivative. Live tensors keep what f assigned to them when the call has ended.
class TracedInputs {
public:
    /// Records what the thread does from here on. `bodies_twice`: see Trace.
    TracedInputs(const std::vector<Ref<Block>>& inputs, const std::vector<AnyTensor*>& live,
                 bool bodies_twice, const Site& at);
    TracedInputs(const TracedInputs&) = delete;
    TracedInputs& operator=(const TracedInputs&) = delete;
    ~TracedInputs();
    const std::vector<AnyTensor>& all() const noexcept { return all_; }
    const std::vector<AnyTensor*>& live() const noexcept { return live_; }
    std::size_t first_live() const noexcept { return all_.size() - live_.size(); }
    bool updated(std::size_t i) const { return live_[i]->value.get() != all_[first_live() + i].value.get(); }
    void end() noexcept { ended_ = true; }
    Recorder& recorder() const noexcept;
    /// Nothing is recorded any more.
    void stop() noexcept { trace_.reset(); }
    Trace& trace() const noexcept { return *trace_; }

private:
    std::shared_ptr<Trace> trace_;
    const std::vector<AnyTensor*>& live_;
    std::vector<AnyTensor> all_, before_;
    /// Flags and lines of the nodes in before_: a write in f changes them, since these share the nodes.
    std::vector<std::pair<std::uint8_t, Site>> nodes_;
    bool ended_ = false;
};

/// Restores the values of live tensors when it ends.
class LiveRestore {
public:
    explicit LiveRestore(const std::vector<AnyTensor*>& live);
    LiveRestore(const LiveRestore&) = delete;
    LiveRestore& operator=(const LiveRestore&) = delete;
    ~LiveRestore();

private:
    const std::vector<AnyTensor*>& live_;
    std::vector<AnyTensor> before_;
};

/// The outputs of a trace: the result's, what live tensors have been assigned, what the host has returned. Then t is complete but
/// for what depends on the result's type. `held`: what the result and the arguments hold.
void finish_trace(FrozenTrace& t, TracedInputs& in, TreeReader result, HeldBlocks held, const Site& at);

/// Gives a path up that this trace of the same call shows to depend on a variable that f captures. That is no error of f's where
/// something was recorded by its value: a loop depends on all that it captures as one operation, and on less step by step.
void drop_refuted(FrozenEntry& entry, std::shared_ptr<FrozenPath>& path, const FrozenTrace& t);

/// Compares a trace with the path that has just been replayed; without one makes it a path. Returns whether live tensors keep what
/// f assigned to them: not where the call is recorded, and the path does it again.
bool take_trace(FrozenCore& core, FrozenEntry& entry, std::shared_ptr<FrozenPath>& path, FrozenTrace t,
                bool recorded, std::vector<Ref<Block>>& values, const Site& at);

/// The path whose guards these inputs pass, or null; inputs and live tensors stay as they are.
const FrozenPath* fitting_path(const FrozenEntry& e, const std::vector<Ref<Block>>& inputs);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/traced_call.ipp"
#endif

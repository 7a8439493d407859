// A frozen function on the tape: one section, whose derivative is a graph as well.
#pragma once

#include <optional>

#include "frozen.hpp"

namespace wengert::detail {

/// Results that a path's graph has computed from `in`: one section. Its derivatives are graphs, forwards and backwards and of any
/// order; the recorded operations once more where another trace watches. `cut`: what it has handed over are the last inputs.
std::vector<AnyTensor> record_path(const std::shared_ptr<FrozenCore>& core,
                                   const std::shared_ptr<FrozenPath>& path, const std::vector<AnyTensor>& in,
                                   const std::vector<Ref<Block>>& out, std::shared_ptr<const FrozenCut> cut,
                                   const Site& at);

/// Is it a call under a transform, and do other processes take part in one of its paths? Then the reason is said.
bool communicates_under_transforms(FrozenCore& core, const FrozenEntry& e);
/// Would a derivative of its graph call the host again? Then f is to run instead.
bool derivative_calls_host(const FrozenEntry& e);

std::vector<AnyTensor> section_inputs(const CallArguments& a);

/// The levels at which a call is recorded. Refuses arguments that no section can be recorded from, before anything has been
/// done; nothing for live tensors of that kind, the last inputs, as f may only mean to write over them.
std::optional<std::uint64_t> recorded_levels(const CallArguments& a, std::size_t live, const Site& at);

/// For a call that is not recorded. Tells the recorder of a run which arguments are variables. Gives the bits of those inputs, and
/// of inputs that are made of variables (Block::Access::unrecorded).
std::uint64_t tell_of_call(const CallArguments& a, const Site& at);
/// Marks result k if it depends on these inputs, as the path says. Without a path it is taken to.
void mark_result(const FrozenPath* path, std::uint64_t variables, std::size_t k, const Ref<Block>& result);

/// Runs the path used last together with what its derivative will read, where it has been swept so before and there is nothing to
/// check. `values` are then the results and what the section keeps; null for the ordinary way.
std::shared_ptr<const FrozenCut> run_before_pull(FrozenCore& core, const FrozenEntry& e, CallArguments& a,
                                                 std::uint64_t levels, std::vector<Ref<Block>>& values);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "frozen_derivatives.hpp"
#endif

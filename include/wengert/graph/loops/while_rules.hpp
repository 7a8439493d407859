// The reverse derivative of a while_loop. It is an operation of its own, while_pull, which runs the loop again and keeps the states
// meanwhile. The shapes in a graph cannot depend on a number of steps that only data know.
#pragma once

#include "loop_tangents.hpp"

namespace wengert::detail {

/// The derivative of a while_loop with respect to the inputs wanted.
std::shared_ptr<LoopParameters> while_pull(const LoopParameters& p, const std::vector<bool>& wanted);

void while_vjp(const LoopPull& rule);

/// The derivative of a while_pull, P(s, c, g) = gᵀ ∂F: with the loop J of values and tangents, Ṗ is the part for the values in
/// the pull of J at the cotangent ġ of the values and g of the tangents, because second derivatives commute.
struct PullOfPull {
    const LoopParameters& p;
    const std::vector<AnyTensor>& in;
    DualLoop dual;
    std::size_t n;  ///< inputs of the while_loop

    /// `tangents` of the states and constants, of the kind of the while_pull's results: only where it has some.
    PullOfPull(const LoopParameters& parameters, const std::vector<AnyTensor>& inputs,
               const std::vector<AnyTensor>& tangents)
        : p(parameters), in(inputs), dual(p, have_tangents(tangents.data(), tangents.size())),
          n(in.size() - p.active_states.size())
    {}
    /// J as a while_loop with the tangents of the states as results.
    std::shared_ptr<LoopParameters> loop() const;
    /// The pull of J with respect to values in `wanted`; `dots` are ġ for the active states, absent ones zero. One result for
    /// each input of the while_loop, empty where there is none.
    std::vector<AnyTensor> pull(const std::vector<AnyTensor>& tangents, const std::vector<bool>& wanted,
                                const std::vector<AnyTensor>& dots, const Site& at) const;
    /// ∂F · tangents: the final tangents of the states, empty where they are zero.
    std::vector<AnyTensor> push(const std::vector<AnyTensor>& tangents, const Site& at) const;

private:
    /// For the position of a tangent among the states of both the state that it is of.
    std::vector<std::size_t> tangent_states() const;
    std::vector<bool> is_active() const;
};

/// The cotangents of a while_pull's results, by the inputs of the while_loop that they belong to.
std::vector<AnyTensor> by_input(const LoopParameters& p, const std::vector<AnyTensor>& results,
                                std::size_t n);

void while_pull_vjp(const LoopPull& rule);

AnyTensor while_pull_jvp(const LoopParameters& p, const std::vector<AnyTensor>& in, const AnyTensor* dots);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/while_rules.ipp"
#endif

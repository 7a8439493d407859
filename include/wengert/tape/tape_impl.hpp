// The tape's slower paths: nodes' birth and death, refusals, nested levels.
#pragma once

#include "../kernels/cpu/one_march.hpp"
#include "../kernels/cpu/self_test.hpp"
#include "tape.hpp"

namespace wengert {

namespace detail {

/// Releases the values that a node has saved.
void clear_saved(Node& n) noexcept;

/// Nodes to destroy, threaded through `next`; a thread destroys them in a loop.
struct Graveyard {
    Node* head = nullptr;
    bool busy = false;
};
inline constinit thread_local Graveyard graveyard __attribute__((visibility("default")));

void destroy_node(Counted* counted) noexcept;

/// Makes the tape of a thread that has none.
void start_tape(Thread& t);

}  // namespace detail

inline const Disposal Node::disposal{detail::destroy_node, false};

/// Two functions: a program may link sources that are optimized with others, and only optimized ones reorder arithmetic.
template <bool optimized> __attribute__((noinline)) void Tape::start(Thread& t)
{
    if constexpr (optimized) kernels::test_arithmetic();
    detail::start_tape(t);
}

/// Memory for the inputs of a node that has many.
void give_slots(Node* n, std::size_t inputs);

inline Node* Tape::new_node(const Primitive& primitive, std::size_t inputs, const Site& at)
{
    Node* n = new (owner_->nodes.take<sizeof(Node)>()) Node;
    n->owner = owner_;
    n->primitive = &primitive;
    n->at = site_override.line ? site_override : at;
    if (inputs > Node::inline_inputs) [[unlikely]]
        give_slots(n, inputs);
    n->input_count = static_cast<std::uint32_t>(inputs);
    return n;
}

inline void Tape::append(Node* n) noexcept
{
    n->tape = this;
    n->sequence = next_sequence_++;
    n->previous = last_;
    n->next = nullptr;
    (last_ ? last_->next : first_) = n;
    last_ = n;
    ++size_;
}

inline void Tape::unlink(Node* n) noexcept
{
    (n->previous ? n->previous->next : first_) = n->next;
    (n->next ? n->next->previous : last_) = n->previous;
    n->previous = n->next = nullptr;
    --size_;
}

namespace detail {

/// Bit i for input i if it depends on one of these levels. In line, as a call would be 3 % of an operation on few elements.
[[gnu::always_inline]] inline unsigned depending(const Tape& tape, const Primitive& p,
                                                 const AnyTensor* const* in, std::uint64_t mask)
{
    unsigned bits = 0;
    for (std::size_t i = 0; i < p.arity; ++i)
        if (const Node* source = in[i]->node.get(); source && tape.depends(*source, mask)) bits |= 1U << i;
    return bits;
}

/// What the derivatives of these inputs read, and no more.
[[gnu::always_inline]] inline std::uint8_t needed(const Primitive& p, unsigned inputs)
{
    unsigned uses = 0;
    for (std::size_t i = 0; i < p.arity; ++i)
        if (inputs >> i & 1) uses |= p.pull[i].uses;
    return static_cast<std::uint8_t>(uses);
}

}  // namespace detail

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/hooks.ipp"
#include "impl/tape_impl.ipp"
#endif

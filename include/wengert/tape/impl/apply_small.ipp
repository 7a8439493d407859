// Elementwise operations of few elements, without what only others need; and operands that end with an operation.
#pragma once

#include "../../base/separate.hpp"
#include "make_node.ipp"

namespace wengert::detail {

/// Those of the temporaries that the derivative does not read, under another number either: x / x has one operand twice.
inline unsigned unread(const Primitive& p, const AnyTensor* const* in, unsigned temporaries, unsigned saves)
{
    unsigned free = temporaries & ~saves;
    const unsigned read = saves & ((1U << p.arity) - 1);
    if (!free || !read) return free;
    for (std::size_t i = 0; i < p.arity; ++i)
        for (std::size_t k = 0; (read >> i & 1) && k < p.arity; ++k)
            if (in[k]->value.get() == in[i]->value.get()) free &= ~(1U << k);
    return free;
}

/// An operand that nobody sees after this operation and that the derivative does not read, or null.
inline const Block* dying_operand(const Tape& tape, const Primitive& p, const AnyTensor* const* in,
                                  std::uint64_t mask, unsigned temporaries)
{
    if (tape.anomaly || tape.save_all || recorder() || (mask & tape.forward_levels)) return nullptr;
    const unsigned free =
        unread(p, in, temporaries, mask && p.differentiable ? needed(p, depending(tape, p, in, mask)) : 0U);
    for (std::size_t i = 0; i < p.arity; ++i)
        if (free >> i & 1) {
            const Block& b = *in[i]->value;
            if (!b.strided && b.access.writers == 0 && !b.access.unrecorded && may_write(b)) return &b;
        }
    return nullptr;
}

/// One or two contiguous operands of one shape, few elements, and nobody who looks on: the case of which programs of small
/// arrays consist. Everything else goes the long way.
inline bool small_and_unseen(const Tape& tape, const Thread& t, const Primitive& p,
                             const AnyTensor* const* in, std::uint64_t mask) noexcept
{
    const std::size_t n = p.arity;
    const Block *a = in[0]->value.get(), *b = in[n - 1]->value.get();
    if (n > 2 || !a || !b || t.recorder || tape.anomaly || (mask && tape.keeps_more(mask))) return false;
    return !a->strided && !b->strided && (a->access.bits() | b->access.bits()) == 0 &&
           a->count * size_of(p.dtype) <= Block::inline_bytes && a->shape.size() <= Extents::inline_rank &&
           (n == 1 || a->shape == b->shape);
}

/// The node of such an operation, complete but for its place on the tape.
inline Ref<Node> make_small_node(Tape& tape, const Primitive& p, const AnyTensor* const* in, Block& out,
                                 std::uint64_t mask, unsigned inputs, unsigned saves, const Site& at)
{
    const std::size_t n = p.arity;
    Node* node = tape.new_node(p, n, at);
    node->dtype = p.dtype;
    node->mask = mask;
    node->shape.copy_inline(out.shape);
    for (std::size_t i = 0; i < n; ++i) {
        if (inputs >> i & 1) {
            Node* const source = in[i]->node.get();
            retain(source);
            node->inline_input[i] = source;
        }
        if (saves >> i & 1) {
            retain(in[i]->value.get());
            node->inline_saved[i] = in[i]->value.get();
        }
    }
    if (saves >> n & 1) {
        retain(&out);
        node->inline_saved[n] = &out;
    }
    return Ref<Node>::adopt(node);
}

/// The operand that such an operation may write to: nobody sees it afterwards, nor does the derivative read it. Or null.
inline Block* small_dying_operand(const Primitive& p, const AnyTensor* const* in, unsigned candidates)
{
    for (std::size_t i = 0; candidates; ++i, candidates >>= 1)
        if (candidates & 1)
            if (Block* const b = in[i]->value.get(); may_write(*b) && b->dtype == p.dtype) return b;
    return nullptr;
}

[[gnu::always_inline]] inline AnyTensor apply_small(Tape& tape, Thread& t, const Primitive& p,
                                                    const AnyTensor* const* in, std::uint64_t mask,
                                                    const Site& at, unsigned temporaries)
{
    const Block &a = *in[0]->value, &b = *in[p.arity - 1U]->value;
    const unsigned inputs = mask ? depending(tape, p, in, mask) : 0U, saves = needed(p, inputs);
    Block* const dying =
        temporaries ? small_dying_operand(p, in, unread(p, in, temporaries, saves)) : nullptr;
    AnyTensor out{dying ? Ref<Block>(dying) : make_small_block(t, p.dtype, a.shape, a.count), {}};
    const void* data[] = {a.data, b.data};
    p.value(a.count, data, out.value->data);
    if (mask == 0 || !p.differentiable) return out;
    out.node = make_small_node(tape, p, in, *out.value, mask, inputs, saves, at);
    tape.append(out.node.get());
    return out;
}

}  // namespace wengert::detail

// The bodies of tape_impl.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <memory>

#include "../../base/separate.hpp"
#include "../report.hpp"
#include "../tape_impl.hpp"

namespace wengert {

#ifdef WENGERT_COMPILED
template <class InstructionSet>
void wengert_compiled_is_not_linked_or_was_built_for_another_march__give_both_the_same_flags()
{}
template void wengert_compiled_is_not_linked_or_was_built_for_another_march__give_both_the_same_flags<
    xsimd::default_arch>();
#endif

WENGERT_INLINE Tape::Tape(Thread& owner) : owner_(&owner) {}

WENGERT_INLINE void Tape::release_obliged(std::size_t level) noexcept
{
    const std::uint64_t start = levels_[level].start;
    std::erase_if(obliged,
                  [&](const Ref<Node>& n) { return n->sequence >= start && (n->mask & below(level)) == 0; });
}

namespace detail {

/// At a thread's end its tape goes; nodes that handles elsewhere still hold are left without one.
inline void end_tape(Thread& t) noexcept
{
    delete static_cast<Tape*>(t.tape);
    t.tape = nullptr;
}

WENGERT_INLINE void start_tape(Thread& t)
{
    t.tape = new Tape(t);
    memory::holders = holders_of_this_thread;
    memory::tape_size = [](const void* tape) noexcept { return static_cast<const Tape*>(tape)->size(); };
    t.at_exit = end_tape;
}

WENGERT_INLINE void clear_saved(Node& n) noexcept
{
    for (std::size_t i = 0; i <= n.input_count; ++i)
        if (Block* b = std::exchange(n.saved()[i], nullptr)) release(b, Block::disposal);
    if ((n.flags & Node::packed) && n.tape) {
        n.tape->packed.erase(&n);
        n.flags &= static_cast<std::uint8_t>(~Node::packed);
    }
}

inline void free_node(Node* n) noexcept
{
    if (n->tape) n->tape->unlink(n);
    if (!(n->flags & Node::consumed)) {
        for (std::size_t i = 0; i < n->input_count; ++i)
            if (n->inputs[i]) release(n->inputs[i], Node::disposal);
        clear_saved(*n);
    }
    if (n->op) {
        n->primitive->destroy(n->op);
        n->op = nullptr;
    }
    if (n->leaf()) n->set_gradient({});
    if (n->inputs != n->inline_input) ::operator delete(n->inputs);
    delete n->tangents;
    n->~Node();
    if (Thread* t = this_thread)
        t->nodes.give(n);
    else
        std::free(n);
}

WENGERT_INLINE void destroy_node(Counted* counted) noexcept
{
    auto* n = static_cast<Node*>(counted);
    Graveyard& g = graveyard;
    if (n->tape) {  // leave the tape at once: its list must hold only living nodes
        if (n->flags & Node::packed) n->tape->packed.erase(n);
        n->tape->unlink(n);
        n->tape = nullptr;
    }
    n->next = std::exchange(g.head, n);
    if (g.busy) return;
    g.busy = true;
    while (Node* dead = g.head) {
        g.head = dead->next;
        free_node(dead);
    }
    g.busy = false;
}

}  // namespace detail

WENGERT_INLINE Tape::~Tape()
{
    if (extension) extension->tape_ended(*extension);
    obliged.clear();
    for (Node* n = first_; n;) {
        Node* next = n->next;
        n->tape = nullptr;
        n->previous = n->next = nullptr;
        n = next;
    }
}

WENGERT_INLINE void give_slots(Node* n, std::size_t inputs)
{
    try {
        memory::inject_failure();
        auto* slots = static_cast<Node**>(::operator new((2 * inputs + 1) * sizeof(Node*)));
        std::uninitialized_value_construct_n(slots, inputs);
        std::uninitialized_value_construct_n(reinterpret_cast<Block**>(slots + inputs), inputs + 1);
        n->inputs = slots;
    } catch (...) {
        Thread* t = n->owner;
        n->~Node();
        t->nodes.give(n);
        throw;
    }
}

WENGERT_INLINE void Tape::rewind(Position position, Site at)
{
    if (depth_ > 1 && levels_[depth_ - 1].start >= position.sequence)
        fail<TapeError>("rewind", "a transform that was begun after this position is still running", at);
    std::erase_if(obliged, [&](const Ref<Node>& n) { return n->sequence >= position.sequence; });
    while (last_ && last_->sequence >= position.sequence) {
        const Ref<Node> n(last_);  // letting go of its inputs must not destroy it, or nodes on the way
        for (std::size_t i = 0; i < n->input_count; ++i)
            if (Node* in = std::exchange(n->inputs[i], nullptr)) release(in, Node::disposal);
        detail::clear_saved(*n);
        n->flags |= Node::consumed | Node::rewound;
        delete std::exchange(n->tangents, nullptr);
        if (n->leaf()) n->set_gradient({});
        if (n->tape) unlink(n.get());
        n->tape = nullptr;
    }
    if (extension) extension->rewound(*extension);
}

/// A value and its tangent may hold each other (ẏ = ȧ y), and the next level has this one's number. Each node is held
/// while its neighbour is looked up: letting go of a tangent may destroy nodes anywhere in the list.
WENGERT_INLINE void Tape::drop_tangents(std::size_t level, std::uint64_t start) noexcept
{
    Ref<Node> held;
    for (Node* n = last_; n && n->sequence >= start; n = n->previous) {
        held = Ref<Node>(n);
        if (n->tangents) std::erase_if(*n->tangents, [&](const Tangent& t) { return t.level == level; });
    }
}

WENGERT_INLINE void Tape::refuse(const Node& n, std::string_view primitive, const Site& at) const
{
    std::string what = "the operand of shape " + to_string(n.shape) + ", made by " +
                       std::string(n.primitive->name) + " at " + to_string(n.at) + ", was recorded on ";
    if (n.flags & Node::rewound)
        what += "a part of the tape that has been rewound";
    else if (n.tape == nullptr)
        what += "a tape that has ended";
    else if (n.owner != owner_)
        what += "another thread's tape";
    else
        what += "another tape of this thread (TapeScope)";
    fail<TapeError>(primitive, what + "; use detach() to pass its value", at);
}

WENGERT_INLINE std::uint64_t Tape::nested_dependence(const AnyTensor* const* in, std::size_t n,
                                                     std::string_view primitive, const Site& at)
{
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Node* node = in[i]->node.get();
        if (!node) continue;
        const std::uint64_t living = living_levels(*node);
        if (living != node->mask && !lowered)
            fail<TapeError>(
                primitive,
                "the operand of shape " + to_string(node->shape) + ", made by " +
                    std::string(node->primitive->name) + " at " + to_string(node->at) +
                    ", escaped from a transform (grad, jvp, …) that has ended; return it from the "
                    "transformed function or use detach()",
                at);
        all |= living;
    }
    return all & active;
}

}  // namespace wengert

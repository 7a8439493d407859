// The node of an operation: what it saves, its place on the tape, and the tangents of its result.
#pragma once

#include "../../array/layout.hpp"
#include "../../base/separate.hpp"
#include "../recorder.hpp"
#include "../tape.hpp"
#include "anomaly.ipp"

namespace wengert::detail {

[[noreturn]] __attribute__((cold)) WENGERT_INLINE void refuse_operand(std::string_view primitive,
                                                                      const Block& x, const Site& at)
{
    const std::string it = "an operand of shape " + to_string(x.shape);
    if (x.access.writers)
        fail<TapeError>(primitive,
                        it + " has a live writer (write(x)): end its scope before recording from it", at);
    fail<TapeError>(
        primitive,
        it + " comes from inside of a function given to checkpoint or checkpoint_loop, whose first "
             "run is not recorded: it would be a constant here. Return it in the function's "
             "result, or take stop_gradient of it",
        at);
}

WENGERT_INLINE void refuse_operands(const Primitive& p, const AnyTensor* const* in, std::size_t n,
                                    const Site& at)
{
    for (std::size_t i = 0; i < n; ++i) {
        const Block& x = *in[i]->value;
        const bool unrecorded = x.access.unrecorded && !in[i]->node;
        if (x.access.traced) [[unlikely]]
            note_used(x, at);
        if (!x.access.writers && !(unrecorded && Tape::current().records_function())) [[likely]]
            continue;
        if (!recorder() || !recorder()->is_order(p, i, n, x)) refuse_operand(p.name, x, at);
    }
}

WENGERT_INLINE bool has_recorded(std::uint64_t start)
{
    const Tape& tape = Tape::current();
    const Node* n = tape.records_function() ? tape.last() : nullptr;
    while (n && (n->sequence >= start || !(tape.living_levels(*n) & tape.active))) n = n->previous;
    return n != nullptr;
}

WENGERT_INLINE Block* seen_as(const Tape& tape, const AnyTensor& x)
{
    Recorder* const r = tape.thread().recorder;
    return r ? const_cast<Block*>(&r->variable(x)) : x.value.get();
}

WENGERT_INLINE Ref<Node> make_node(Tape& tape, const Primitive& p, const AnyTensor* const* in, std::size_t n,
                                   const Block& out, std::uint64_t mask, std::uint8_t saves, const Site& at)
{
    const bool reverse = (mask & ~tape.forward_levels) != 0;
    if (tape.save_all) saves = 0xff;
    auto node = Ref<Node>::adopt(tape.new_node(p, reverse ? n : 0, at));
    node->dtype = out.dtype;
    node->mask = mask;
    if (out.shape.size() <= Extents::inline_rank) [[likely]]
        node->shape.copy_inline(out.shape);
    else
        node->shape = out.shape;
    if (reverse)
        for (std::size_t i = 0; i < n; ++i) {
            Node* source = in[i]->node.get();
            const bool depends = source && tape.depends(*source, mask);
            if (depends) {
                retain(source);
                node->inputs[i] = source;
            }
            if (saves >> std::min<std::size_t>(i, 7) & 1) {
                const bool of_loop = source && (source->mask & tape.levels_of_loops & ~mask);
                Block* const b = source && (!depends || of_loop) ? seen_as(tape, *in[i]) : in[i]->value.get();
                retain(b);
                node->saved()[i] = b;
            }
        }
    return node;
}

/// The tangents of a result at every forward level of `mask`.
inline void push_tangents(Tape& tape, const Primitive& p, const void* op, const AnyTensor* const* in,
                          std::size_t n, AnyTensor& out, std::uint64_t mask)
{
    memory::inject_failure();
    // Outer levels first: an inner one may read the outer one of `out`.
    out.node->tangents = new std::vector<Tangent>;
    const bool looks = looks_for_births(tape);
    std::vector<AnyTensor> inputs(n), dots(n);
    for (std::size_t i = 0; i < n; ++i) inputs[i] = *in[i];
    for (std::uint64_t rest = mask & tape.forward_levels; rest; rest &= rest - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(rest));
        bool any = false;
        for (std::size_t i = 0; i < n; ++i) {
            const AnyTensor* dot = in[i]->node ? in[i]->node->tangent(l) : nullptr;
            dots[i] = dot ? *dot : AnyTensor{};
            any = any || dot;
        }
        if (!any && !p.communicates) continue;
        const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(l));
        const Restore<int> lowered(tape.lowered, tape.lowered + 1);
        const Restore<Site> site(tape.site_override, out.node->at);
        const Restore<bool> rule(tape.in_rule, true);
        AnyTensor dot = p.jvp(op, inputs.data(), dots.data(), n, out);
        if (looks) [[unlikely]]
            check_tangent(p, inputs, dots, dot, out.node->at);
        out.node->tangents->push_back({l, std::move(dot)});
    }
}

/// The rest of recording, once an operation has its node. The result is saved if `keeps` or the tape asks for it, the node is
/// appended to the tape, and tangents are pushed.
inline void complete(Tape& tape, const Primitive& p, const void* op, const AnyTensor* const* in,
                     std::size_t n, AnyTensor& out, std::uint64_t mask, bool keeps)
{
    if ((keeps || tape.save_all) && out.node->input_count) {
        retain(out.value.get());
        out.node->saved()[n] = out.value.get();
    }
    if (tape.hooks) [[unlikely]]
        tape.pack(*out.node);
    tape.append(out.node.get());
    if (mask & tape.forward_levels) [[unlikely]]
        push_tangents(tape, p, op, in, n, out, mask);
}

}  // namespace wengert::detail

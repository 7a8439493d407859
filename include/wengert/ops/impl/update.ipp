// The bodies of update.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>

#include "../../base/separate.hpp"
#include "../update.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE bool writable_in_place(const AnyTensor& x) noexcept
{
    return may_write(*x.value) && !x.value->strided && !(recorder() && recorder()->keeps(*x.value));
}

WENGERT_INLINE void refuse_writer(std::string_view primitive, const AnyTensor& x, const Site& at)
{
    if (x.value->access.writers)
        fail<TapeError>(primitive,
                        "the tensor of shape " + to_string(x.value->shape) +
                            " has a live writer (write(x)): end its scope before writing otherwise",
                        at);
}

WENGERT_INLINE void check_stores(std::string_view primitive, const Shape& from, const Shape& to,
                                 const Site& at)
{
    bool fits = from.size() <= to.size();
    const std::size_t lead = to.size() - from.size();
    for (std::size_t i = 0; fits && i < from.size(); ++i) fits = from[i] == to[lead + i] || from[i] == 1;
    if (!fits)
        fail<ShapeError>(primitive,
                         "a value of shape " + to_string(from) +
                             " does not broadcast to the place of shape " + to_string(to) +
                             " that it is written to",
                         at);
}

WENGERT_INLINE void check_target(std::string_view primitive, const AnyTensor& x, const Shape& viewed,
                                 const Site& at)
{
    if (!x.value)
        fail<TapeError>(primitive, "the variable that this view writes is empty now: it has been moved from",
                        at);
    if (!(x.value->shape == viewed))
        fail<ShapeError>(primitive,
                         "this view was taken of a variable of shape " + to_string(viewed) +
                             ", which has shape " + to_string(x.value->shape) + " now",
                         at);
}

/// How many of `most` references to a variable's node are inputs of operations that were recorded of it.
inline std::int64_t recorded_uses(const Node& leaf, std::int64_t most)
{
    const TapeExtension* const numbers = Tape::current().extension;
    std::int64_t uses = 0;
    for (const Node* n = leaf.next; n && uses < most; n = n->next) {
        uses += std::count(n->inputs, n->inputs + n->input_count, &leaf);
        if (numbers) uses += static_cast<std::int64_t>(numbers->references(*numbers, *n, leaf));
    }
    return uses;
}

WENGERT_INLINE Ref<Node> node_kept(const AnyTensor& x, const Site& at)
{
    if (!is_variable(x) || Tape::current().quiet != Tape::Quiet::no) return {};
    if (is_unique(x.node.get())) return x.node;
    const std::int64_t others = references_to(x.node.get()) - 1, uses = recorded_uses(*x.node, others);
    if (uses == others) return x.node;
    auto own = make_leaf(*x.value, 0, at);
    own->set_gradient(Ref<Block>(x.node->gradient()));
    if (uses > 0) {
        x.node->flags |= Node::left;
        x.node->at = at;
    }
    return own;
}

WENGERT_INLINE void commit_write(AnyTensor& x, AnyTensor result, Ref<Node> kept) noexcept
{
    if (!result.node)
        result.node = std::move(kept);
    else if (x.node && (is_variable(x) || (x.node->flags & Node::rewritten)))
        result.node->flags |= Node::rewritten;
    x = std::move(result);
}

WENGERT_INLINE void write_result(std::string_view primitive, AnyTensor& x, AnyTensor result, const Site& at)
{
    refuse_writer(primitive, x, at);
    Ref<Node> kept = result.node ? Ref<Node>() : node_kept(x, at);
    commit_write(x, std::move(result), std::move(kept));
}

WENGERT_INLINE void compute_in_place(const Primitive& p, Block& x, const Block& y)
{
    if (x.access.device | y.access.device) [[unlikely]]
        return update_elsewhere(p, x, y);
    if (!y.strided && y.shape == x.shape) {
        const void* in[] = {x.data, y.data};
        return p.value(x.count, in, x.data);
    }
    if (y.count == 1) {
        const void* in[] = {x.data, y.data};
        const std::uint8_t scalar[] = {0, static_cast<std::uint8_t>(size_of(y.dtype))};
        return run_direct(p.value, x.count, in, scalar, 2, x.data, size_of(x.dtype));
    }
    kernels::Operand operands[] = {operand(x, x.shape), operand(x, x.shape), operand(y, x.shape)};
    kernels::execute(p.value, x.shape, p.dtype, operands, 3, kernels::Store::assign);
}

WENGERT_INLINE void update_any(AnyTensor& x, const Primitive& p, const AnyTensor& y, const Site& at)
{
    Tape& tape = Tape::current();
    const AnyTensor* const in[] = {&x, &y};
    const std::uint64_t mask = tape.dependence(in, 2, p.name, at);
    refuse_writer(p.name, x, at);
    check_stores(p.name, y.value->shape, x.value->shape, at);
    Ref<Node> kept = mask ? Ref<Node>() : node_kept(x, at);
    const unsigned uses = needed(p, depending(tape, p, in, mask));
    const unsigned own = y.value.get() == x.value.get() ? 3 : 1;
    if (!writable_in_place(x) || (uses & own) || tape.anomaly || (mask & tape.forward_levels))
        return commit_write(x, apply_elementwise(p, in, at), std::move(kept));
    if (Recorder* r = recorder()) [[unlikely]]
        note(r, p, nullptr, in, 2, *x.value, at);
    AnyTensor result{x.value, {}};
    if (mask && p.differentiable) {
        refuse_operands(p, in, 2, at);
        result.node = make_node(tape, p, in, 2, *x.value, mask, static_cast<std::uint8_t>(uses), at);
        if (uses >> 2 & 1) {
            retain(x.value.get());
            result.node->saved()[2] = x.value.get();
        }
    }
    if (result.node && tape.hooks) [[unlikely]]
        tape.pack(*result.node);
    if (!result.node && is_unrecorded(tape, p, in, 2, at)) x.value->access.unrecorded = true;
    compute_in_place(p, *x.value, *y.value);
    if (result.node) tape.append(result.node.get());
    commit_write(x, std::move(result), std::move(kept));
}

}  // namespace detail
}  // namespace wengert

// The bodies of apply.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/located.hpp"
#include "../../base/separate.hpp"
#include "../apply.hpp"

namespace wengert {

namespace detail {

__attribute__((cold)) WENGERT_INLINE void refuse_empty(std::string_view primitive, const AnyTensor& x,
                                                       Site at)
{
    if (const Site& user = Tape::current().site_override; user.line) at = user;
    std::string text = "[" + std::string(primitive) +
                       "] this tensor is empty: moved-from or default-constructed, it has neither shape nor "
                       "elements; assign to it first, a sum begins as zeros(shape)";
    if (at.line > 0) text += " (" + to_string(at) + ")";
    EmptyTensor error(text);
    error.source = x.node.get();
    throw error;
}

__attribute__((cold)) WENGERT_INLINE void refuse_memory(std::string_view primitive, const MemoryError& e,
                                                        Site at)
{
    if (const Site& user = Tape::current().site_override; user.line) at = user;
    rethrow_at(primitive, at, e);
}

/// "add" met a NaN: only what is born here is reported, so the inputs must be finite.
inline void check_born(const Primitive& p, const AnyTensor* const* in, std::size_t n, const Block& out,
                       const Site& at)
{
    if (!differentiable(out.dtype) || all_finite(out)) return;
    for (std::size_t i = 0; i < n; ++i)
        if (differentiable(in[i]->value->dtype) && !all_finite(*in[i]->value)) return;
    fail<NumericError>(
        p.name, "a NaN or Inf was born here from finite inputs, output shape " + to_string(out.shape), at);
}
/// What a rule makes on its way is not looked at: where(y == 0, 0, g a/y) has a NaN that it does not return. A sweep looks at each
/// cotangent that is delivered (Walk::deliver, Walk::differentiate), and this at a tangent; both at tangents of these, too.
inline bool looks_for_births(const Tape& tape) noexcept { return tape.anomaly && !tape.in_rule; }

inline bool finite_with_tangents(const AnyTensor& x)
{
    if (!x.value || !differentiable(x.value->dtype)) return true;
    if (!all_finite(*x.value)) return false;
    if (!x.node || !x.node->tangents) return true;
    return std::all_of(x.node->tangents->begin(), x.node->tangents->end(),
                       [](const Tangent& t) { return finite_with_tangents(t.value); });
}

inline void check_tangent(const Primitive& p, const std::vector<AnyTensor>& inputs,
                          const std::vector<AnyTensor>& dots, const AnyTensor& dot, const Site& at)
{
    const auto finite = [](const std::vector<AnyTensor>& all) {
        return std::all_of(all.begin(), all.end(), finite_with_tangents);
    };
    if (finite_with_tangents(dot) || !finite(inputs) || !finite(dots)) return;
    fail<NumericError>(
        p.name,
        "a NaN or Inf was born in the tangent of this operation, shape " + to_string(dot.value->shape), at);
}

WENGERT_INLINE void refuse_writers(const Primitive& p, const AnyTensor* const* in, std::size_t n,
                                   const Site& at)
{
    for (std::size_t i = 0; i < n; ++i)
        if (in[i]->value->access.writers)
            fail<TapeError>(p.name,
                            "an operand of shape " + to_string(in[i]->value->shape) +
                                " has a live writer (write(x)): end its scope before recording from it",
                            at);
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
                Block* const b = source && !depends ? seen_as(tape, *in[i]) : in[i]->value.get();
                retain(b);
                node->saved()[i] = b;
            }
        }
    return node;
}

WENGERT_INLINE std::uint8_t needed(const Tape& tape, const Primitive& p, const AnyTensor* const* in,
                                   std::uint64_t mask)
{
    unsigned uses = 0;
    for (std::size_t i = 0; i < p.arity; ++i)
        if (const Node* source = in[i]->node.get(); source && tape.depends(*source, mask))
            uses |= p.pull[i].uses;
    return static_cast<std::uint8_t>(uses);
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

/// How the operands of an elementwise operation lie beside one another.
struct OperandForms {
    const Block* widest;  ///< the one of the most axes, and of the most elements among these
    bool direct = true;   ///< each is contiguous, and of the widest one's shape or of rank 0
    bool same = true;     ///< all have the widest one's shape
};
inline OperandForms forms_of(const Block* const* in, std::size_t n) noexcept
{
    OperandForms forms{in[0]};
    const Block*& widest = forms.widest;
    for (std::size_t i = 0; i < n; ++i) {
        if (in[i]->shape.size() > widest->shape.size() ||
            (in[i]->count > widest->count && in[i]->shape.size() == widest->shape.size()))
            widest = in[i];
        forms.direct = forms.direct && !in[i]->strided;
    }
    for (std::size_t i = 0; i < n; ++i)
        if (in[i] != widest && !equal_but_for_leading_ones(in[i]->shape, widest->shape)) {
            forms.same = false;
            forms.direct = forms.direct && in[i]->count == 1 && in[i]->shape.size() == 0;
        }
    return forms;
}

}  // namespace detail

WENGERT_INLINE Ref<Block> compute_elementwise(Thread& t, const Primitive& p, const Block* const* in,
                                              const Site& at, const Block* dying)
{
    // The memory of an operand that ends with this operation serves the result: a warm buffer less to touch.
    const auto result = [&](const Shape& shape, std::size_t count) {
        const bool fits = dying && dying->count == count && dying->dtype == p.dtype && dying->shape == shape;
        if (fits) return Ref<Block>(const_cast<Block*>(dying));
        try {
            return make_block(t, p.dtype, shape, count);
        } catch (const MemoryError& e) {
            detail::refuse_memory(p.name, e, at);
        }
    };
    const std::size_t n = p.arity;
    const Block* widest = in[0];
    if (detail::elsewhere(in, n)) [[unlikely]]
        return detail::compute_elsewhere(p, in, at);
    if (!widest->strided && (n == 1 || (n == 2 && !in[1]->strided && in[1]->shape == widest->shape)))
        [[likely]] {
        auto out = result(widest->shape, widest->count);
        const void* data[] = {widest->data, n == 2 ? in[1]->data : nullptr};
        p.value(out->count, data, out->data);
        return out;
    }
    if (const detail::OperandForms forms = detail::forms_of(in, n); forms.direct) {
        widest = forms.widest;
        auto out = result(widest->shape, widest->count);
        const void* data[kernels::max_operands];
        if (forms.same) {
            for (std::size_t i = 0; i < n; ++i) data[i] = in[i]->data;
            p.value(out->count, data, out->data);
            return out;
        }
        std::uint8_t scalar[kernels::max_operands] = {};
        bool sizes_agree = true;
        for (std::size_t i = 0; i < n; ++i) {
            data[i] = in[i]->data;
            if (in[i]->shape.size() == 0 && widest->shape.size() != 0)
                scalar[i] = static_cast<std::uint8_t>(size_of(in[i]->dtype));
            else
                sizes_agree = sizes_agree && size_of(in[i]->dtype) == size_of(p.dtype);
        }
        if (sizes_agree) {
            detail::run_direct(p.value, out->count, data, scalar, n, out->data, size_of(p.dtype));
            return out;
        }
    }
    Shape shape = in[0]->shape;
    for (std::size_t i = 1; i < n; ++i) shape = broadcast_shapes(p.name, shape, in[i]->shape, at);
    check_shape(p.name, shape, at);  // each operand may be a view of few elements
    auto out = result(shape, element_count(shape));
    kernels::Operand operands[kernels::max_operands];
    operands[0] = {out->data, size_of(p.dtype), row_major(shape)};
    for (std::size_t i = 0; i < n; ++i) operands[i + 1] = operand(*in[i], shape);
    kernels::execute(p.value, shape, p.dtype, operands, n + 1, kernels::Store::assign);
    return out;
}
namespace detail {

/// Those of the temporaries that the derivative does not read, under another number either: x / x has one operand twice.
inline unsigned unread(const Primitive& p, const AnyTensor* const* in, unsigned temporaries, unsigned saves)
{
    unsigned free = temporaries & ~saves;
    for (std::size_t i = 0; free && i < p.arity; ++i)
        for (std::size_t k = 0; (saves >> i & 1) && k < p.arity; ++k)
            if (in[k]->value.get() == in[i]->value.get()) free &= ~(1U << k);
    return free;
}

/// An operand that nobody sees after this operation and that the derivative does not read, or null.
inline const Block* dying_operand(const Tape& tape, const Primitive& p, const AnyTensor* const* in,
                                  std::uint64_t mask, unsigned temporaries)
{
    if (tape.anomaly || tape.save_all || recorder() || (mask & tape.forward_levels)) return nullptr;
    const unsigned free =
        unread(p, in, temporaries, mask && p.differentiable ? needed(tape, p, in, mask) : 0U);
    for (std::size_t i = 0; i < p.arity; ++i)
        if (free >> i & 1) {
            const Block& b = *in[i]->value;
            if (!b.strided && b.access.writers == 0 && may_write(b)) return &b;
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
                                 std::uint64_t mask, unsigned saves, const Site& at)
{
    const std::size_t n = p.arity;
    Node* node = tape.new_node(p, n, at);
    node->dtype = p.dtype;
    node->mask = mask;
    node->shape.copy_inline(out.shape);
    for (std::size_t i = 0; i < n; ++i) {
        if (Node* source = in[i]->node.get(); source && tape.depends(*source, mask)) {
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

inline AnyTensor apply_small(Tape& tape, Thread& t, const Primitive& p, const AnyTensor* const* in,
                             std::uint64_t mask, const Site& at, unsigned temporaries)
{
    const Block &a = *in[0]->value, &b = *in[p.arity - 1U]->value;
    const unsigned saves = mask ? needed(tape, p, in, mask) : 0U;
    Block* const dying =
        temporaries ? small_dying_operand(p, in, unread(p, in, temporaries, saves)) : nullptr;
    AnyTensor out{dying ? Ref<Block>(dying) : make_small_block(t, p.dtype, a.shape, a.count), {}};
    const void* data[] = {a.data, b.data};
    p.value(a.count, data, out.value->data);
    if (mask == 0 || !p.differentiable) return out;
    out.node = make_small_node(tape, p, in, *out.value, mask, saves, at);
    tape.append(out.node.get());
    return out;
}

}  // namespace detail

WENGERT_INLINE AnyTensor apply_elementwise(const Primitive& p, const AnyTensor* const* in, const Site& at,
                                           unsigned temporaries)
{
    Tape& tape = Tape::current();
    Thread& t = tape.thread();
    if (t.has_returned.load(std::memory_order_relaxed)) [[unlikely]]
        drain_returned(t);
    const std::size_t n = p.arity;
    const std::uint64_t mask = tape.dependence(in, n, p.name, at);
    if (detail::small_and_unseen(tape, t, p, in, mask))
        return detail::apply_small(tape, t, p, in, mask, at, temporaries);
    const Block* blocks[kernels::max_operands] = {};
    for (std::size_t i = 0; i < n; ++i)
        if (blocks[i] = in[i]->value.get(); !blocks[i]) [[unlikely]]
            detail::refuse_empty(p.name, *in[i], at);
    const Block* dying = temporaries ? detail::dying_operand(tape, p, in, mask, temporaries) : nullptr;
    AnyTensor out{compute_elementwise(t, p, blocks, at, dying), {}};
    if (detail::looks_for_births(tape)) [[unlikely]]
        detail::check_born(p, in, n, *out.value, tape.site_override.line ? tape.site_override : at);
    if (t.recorder) [[unlikely]]
        note(t.recorder, p, nullptr, in, n, *out.value, tape.site_override.line ? tape.site_override : at);
    if (mask == 0 || !p.differentiable) return out;
    detail::refuse_writers(p, in, n, at);
    const std::uint8_t saves = detail::needed(tape, p, in, mask);
    out.node = detail::make_node(tape, p, in, n, *out.value, mask, saves, at);
    detail::complete(tape, p, nullptr, in, n, out, mask, saves >> n & 1);
    return out;
}

WENGERT_INLINE AnyTensor record(const Primitive& p, const AnyTensor* const* in, std::size_t n,
                                Ref<Block> value, const void* op, const Site& at)
{
    Tape& tape = Tape::current();
    if (tape.thread().has_returned.load(std::memory_order_relaxed)) [[unlikely]]
        drain_returned(tape.thread());
    const std::uint64_t mask = tape.dependence(in, n, p.name, at);
    AnyTensor out{std::move(value), {}};
    if (detail::looks_for_births(tape)) [[unlikely]]
        detail::check_born(p, in, n, *out.value, tape.site_override.line ? tape.site_override : at);
    if (Recorder* r = tape.thread().recorder) [[unlikely]] {
        // An identity may have a rule. A trace would take its result for the operand, and lose the rule.
        const auto is_result = [&](const AnyTensor* x) { return x->value.get() == out.value.get(); };
        if (std::any_of(in, in + n, is_result)) out.value = another_header(out.value);
        note(r, p, op, in, n, *out.value, tape.site_override.line ? tape.site_override : at);
    }
    if (mask == 0 || !p.differentiable) return out;
    detail::refuse_writers(p, in, n, at);
    const unsigned saves = p.arity ? detail::needed(tape, p, in, mask) : p.saves;
    out.node = detail::make_node(tape, p, in, n, *out.value, mask, static_cast<std::uint8_t>(saves), at);
    if (out.node->input_count) {
        memory::inject_failure();
        out.node->op = p.clone(op);
    }
    detail::complete(tape, p, op, in, n, out, mask, saves >> std::min<std::size_t>(n, 7) & 1);
    return out;
}

WENGERT_INLINE AnyTensor apply_structural(const Primitive& p, const void* op, const AnyTensor* const* in,
                                          std::size_t n, const Site& at)
{
    Ref<Block> blocks[Primitive::max_elementwise];
    for (std::size_t i = 0; i < n; ++i) {
        blocks[i] = in[i]->value;
        if (!blocks[i]) [[unlikely]]
            detail::refuse_empty(p.name, *in[i], at);
    }
    Ref<Block> y;
    try {
        y = detail::elsewhere(blocks, n) ? detail::structural_elsewhere(p, op, blocks, n, at)
                                         : p.compute(op, blocks, n, at);
    } catch (const MemoryError& e) {
        detail::refuse_memory(p.name, e, at);
    }
    return record(p, in, n, std::move(y), op, at);
}

WENGERT_INLINE AnyTensor apply_any(const Primitive& p, const void* op, const AnyTensor* in, std::size_t n,
                                   const Site& at)
{
    std::vector<const AnyTensor*> operands(n);
    bool depends = false;
    for (std::size_t i = 0; i < n; ++i) {
        operands[i] = &in[i];
        depends = depends || in[i].node;
    }
    if (depends && p.expand) return p.expand(op, in, n);
    if (p.apply) return p.apply(p, op, in, n, at);
    if (p.value) return apply_elementwise(p, operands.data(), at);
    std::vector<Ref<Block>> blocks(n);
    for (std::size_t i = 0; i < n; ++i) blocks[i] = in[i].value;
    Ref<Block> out;
    {
        const Restore<Recorder*> one_operation(current_thread().recorder, nullptr);  // not what it is made of
        out = detail::compute_structural(p, op, blocks.data(), n, at);
    }
    return record(p, operands.data(), n, std::move(out), op, at);
}

}  // namespace wengert

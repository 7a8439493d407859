// The bodies of apply.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/located.hpp"
#include "../../base/separate.hpp"
#include "../apply.hpp"
#include "apply_small.ipp"

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
WENGERT_INLINE AnyTensor apply_elementwise(const Primitive& p, const AnyTensor* const* in, const Site& at,
                                           unsigned temporaries)
{
    Tape& tape = Tape::current();
    Thread& t = tape.thread();
    take_returned(t);
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
    if (mask == 0 || !p.differentiable) {
        detail::mark_unrecorded(tape, p, in, n, out.value, at);
        return out;
    }
    detail::refuse_operands(p, in, n, at);
    const std::uint8_t saves = detail::needed(p, detail::depending(tape, p, in, mask));
    out.node = detail::make_node(tape, p, in, n, *out.value, mask, saves, at);
    detail::complete(tape, p, nullptr, in, n, out, mask, saves >> n & 1);
    return out;
}

WENGERT_INLINE AnyTensor record(const Primitive& p, const AnyTensor* const* in, std::size_t n,
                                Ref<Block> value, const void* op, const Site& at)
{
    Tape& tape = Tape::current();
    take_returned(tape.thread());
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
    if (mask == 0 || !p.differentiable) {
        detail::mark_unrecorded(tape, p, in, n, out.value, at);
        return out;
    }
    detail::refuse_operands(p, in, n, at);
    const unsigned saves = p.arity ? detail::needed(p, detail::depending(tape, p, in, mask)) : p.saves;
    out.node = detail::make_node(tape, p, in, n, *out.value, mask, static_cast<std::uint8_t>(saves), at);
    if (out.node->input_count) {
        memory::inject_failure();
        out.node->op = p.clone(op);
    }
    detail::complete(tape, p, op, in, n, out, mask, saves >> std::min<std::size_t>(n, 7) & 1);
    return out;
}

namespace detail {

/// The result of a structural operation, wherever its operands lie.
inline Ref<Block> compute_anywhere(const Primitive& p, const void* op, const Ref<Block>* blocks,
                                   std::size_t n, const Site& at)
{
    try {
        return elsewhere(blocks, n) ? structural_elsewhere(p, op, blocks, n, at)
                                    : p.compute(op, blocks, n, at);
    } catch (const MemoryError& e) {
        refuse_memory(p.name, e, at);
    }
}
/// The same for no more operands than that: clearing room for more shows in small operations.
template <std::size_t most>
Ref<Block> compute_of(const Primitive& p, const void* op, const AnyTensor* const* in, std::size_t n,
                      const Site& at)
{
    Ref<Block> blocks[most];
    for (std::size_t i = 0; i < n; ++i) blocks[i] = in[i]->value;
    return compute_anywhere(p, op, blocks, n, at);
}

}  // namespace detail

WENGERT_INLINE AnyTensor apply_structural(const Primitive& p, const void* op, const AnyTensor* const* in,
                                          std::size_t n, const Site& at)
{
    for (std::size_t i = 0; i < n; ++i)
        if (!in[i]->value) [[unlikely]]
            detail::refuse_empty(p.name, *in[i], at);
    switch (n) {
    case 1: return record(p, in, n, detail::compute_anywhere(p, op, &in[0]->value, 1, at), op, at);
    case 2: return record(p, in, n, detail::compute_of<2>(p, op, in, n, at), op, at);
    default:
        return record(p, in, n, detail::compute_of<Primitive::max_elementwise>(p, op, in, n, at), op, at);
    }
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

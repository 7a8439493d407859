// The reverse sweep through elementwise primitives: kernels of their rules, in place where nobody else looks. See walk.hpp.
#pragma once

#include "../../base/separate.hpp"
#include "../walk.hpp"

namespace wengert {

/// The inputs one by one; last the one that has no cotangent yet, because it may take over g's memory.
WENGERT_INLINE void Walk::pull_elementwise(Node& n, AnyTensor& g)
{
    const std::size_t count = n.input_count;
    std::size_t last = 0;
    unsigned wanted = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (reaches(n.inputs[i]) && n.primitive->pull[i].kernel) {
            if (!wanted || !n.inputs[i]->cotangent.value) last = i;
            wanted |= 1U << i;
        }
    if (!wanted) return;
    try {
        for (std::size_t k = 0; k <= count; ++k) {
            const std::size_t i = k < count ? k : last;
            if (!(wanted >> i & 1) || (k < count && i == last)) continue;
            if (n.inputs[i]->shape == n.shape)
                pull_input(n, i, g, k == count);
            else
                pull_reduced(n, i, g);
        }
    } catch (const detail::RefusedInKernel& e) {
        fail<TapeError>(e.primitive, e.reason, n.at);
    }
}

/// x̄ᵢ += pullᵢ(g, x…, y), by the kernel of the rule.
WENGERT_INLINE void Walk::pull_input(Node& n, std::size_t i, AnyTensor& g, bool last)
{
    Node& to = *n.inputs[i];
    const Pull& pull = n.primitive->pull[i];
    if (pull.passes) return deliver(to, last ? std::move(g) : AnyTensor(g));
    if (tape_.thread().recorder) return deliver(to, pull_recorded(n, i, g));
    if (g.value->access.device) [[unlikely]]
        return deliver(to, pull_elsewhere(n, i, g));

    const Block& cotangent = *g.value;
    const Block* read[kernels::max_operands];
    const void* data[kernels::max_operands];
    read[0] = &cotangent;
    data[0] = cotangent.data;
    bool whole = !cotangent.strided;
    for (std::size_t k = 0; k < pull.count; ++k) {
        const Block* b = read[k + 1] = n.saved()[pull.slots[k]];
        data[k + 1] = b->data;
        whole = whole && !b->strided && b->count == cotangent.count;  // equal counts: equal order
    }
    if (whole)
        pull_whole(n, to, pull, data, g, last);
    else
        pull_tiles(n, to, pull, read, g);
}

/// Everything contiguous and of one size: one call of the kernel.
WENGERT_INLINE void Walk::pull_whole(Node& n, Node& to, const Pull& pull, const void* const* data,
                                     AnyTensor& g, bool last)
{
    const std::size_t count = g.value->count;
    AnyTensor& sum = to.cotangent;
    if (!sum.value) {
        const bool in_place = last && may_write(*g.value);  // the kernel may write where it reads
        if (!in_place) {
            auto out = make_block(tape_.thread(), n.dtype, n.shape, count);
            pull.kernel(count, data, out->data);
            return deliver(to, {std::move(out), {}});
        }
        pull.kernel(count, data, g.value->data);
        return deliver(to, std::move(g));
    }
    if (!sum.node && !sum.value->strided && may_write(*sum.value)) {
        add_tiles(pull, data, count, *sum.value);
        if (tape_.anomaly && !all_finite(*sum.value)) report_birth(*sum.value);
        return;
    }
    auto out = make_block(tape_.thread(), n.dtype, n.shape, count);
    pull.kernel(count, data, out->data);
    deliver(to, {std::move(out), {}});
}

/// sum += kernel(data), through a tile that stays in the first-level cache.
WENGERT_INLINE void Walk::add_tiles(const Pull& pull, const void* const* data, std::size_t count, Block& sum)
{
    alignas(64) std::byte piece[kernels::tile * 8];
    const TileKernel add = kernels::add_tile(sum.dtype);
    const std::size_t size = size_of(sum.dtype);
    if (count <= kernels::tile) [[likely]] {
        const void* terms[] = {sum.data, piece};
        pull.kernel(count, data, piece);
        return add(count, terms, sum.data);
    }
    const void* from[kernels::max_operands];
    for (std::size_t k = 0; k <= pull.count; ++k) from[k] = data[k];
    for (std::size_t i = 0; i < count; i += kernels::tile) {
        const std::size_t m = std::min(kernels::tile, count - i);
        std::byte* to = sum.data + i * size;
        const void* terms[] = {to, piece};
        pull.kernel(m, from, piece);
        add(m, terms, to);
        for (std::size_t k = 0; k <= pull.count; ++k)
            from[k] = static_cast<const std::byte*>(from[k]) + kernels::tile * pull.sizes[k];
    }
}

/// Some operand is a scalar or lies in another order.
WENGERT_INLINE void Walk::pull_tiles(Node& n, Node& to, const Pull& pull, const Block* const* read,
                                     AnyTensor& g)
{
    const AnyTensor& sum = to.cotangent;
    const bool add = sum.value && !sum.node && !sum.value->strided && g.value->count > kernels::tile &&
                     may_write(*sum.value);
    if (add) {
        run_tiles(pull, n.shape, read, *sum.value, kernels::Store::accumulate);
        if (tape_.anomaly && !all_finite(*sum.value)) report_birth(*sum.value);
        return;
    }
    auto out = make_block(tape_.thread(), n.dtype, n.shape, g.value->count);
    run_pull(pull, n.shape, read, *out);
    deliver(to, {std::move(out), {}});
}

/// out = kernel(read…) over n's shape: in one call of the kernel where every operand is one element or lies like `out`.
WENGERT_INLINE void Walk::run_pull(const Pull& pull, const Shape& shape, const Block* const* read, Block& out)
{
    std::uint8_t scalar[kernels::max_operands] = {};
    const void* data[kernels::max_operands] = {};
    bool direct = true;
    for (std::size_t k = 0; k <= pull.count; ++k) {
        const Block& b = *read[k];
        data[k] = b.data;
        if (is_one_element(b))
            scalar[k] = static_cast<std::uint8_t>(size_of(b.dtype));
        else
            direct = direct && !b.strided && b.count == out.count && b.dtype == out.dtype;
    }
    if (!direct) return run_tiles(pull, shape, read, out, kernels::Store::assign);
    detail::run_direct(pull.kernel, out.count, data, scalar, pull.count + 1U, out.data, size_of(out.dtype));
}

WENGERT_INLINE void Walk::run_tiles(const Pull& pull, const Shape& shape, const Block* const* read,
                                    Block& out, kernels::Store mode)
{
    kernels::Operand operands[kernels::max_operands] = {operand(out, shape)};
    for (std::size_t k = 0; k <= pull.count; ++k) operands[k + 1] = operand(*read[k], shape);
    kernels::execute(pull.kernel, shape, out.dtype, operands, pull.count + 2U, mode);
}

/// The pull as an operation of its own, on blocks: what a recorder sees, and what a broadcast input sums up.
WENGERT_INLINE AnyTensor Walk::pull_recorded(Node& n, std::size_t i, const AnyTensor& g)
{
    const Pull& pull = n.primitive->pull[i];
    AnyTensor in[kernels::max_operands] = {{g.value, {}}};
    for (std::size_t k = 0; k < pull.count; ++k) in[k + 1].value = Ref<Block>(n.saved()[pull.slots[k]]);
    const Restore<Site> site(tape_.site_override, n.at);
    const Restore<bool> rule(tape_.in_rule, true);
    return apply_any(*pull.primitive, nullptr, in, pull.count + 1U, n.at);
}

/// The same where nobody looks on, on g's device.
WENGERT_INLINE AnyTensor Walk::pull_elsewhere(Node& n, std::size_t i, const AnyTensor& g)
{
    const Pull& pull = n.primitive->pull[i];
    const Block* in[kernels::max_operands] = {g.value.get()};
    for (std::size_t k = 0; k < pull.count; ++k) in[k + 1] = n.saved()[pull.slots[k]];
    return {detail::compute_elsewhere(*pull.primitive, in, n.at), {}};
}

/// The input was broadcast: the contributions are added up, in the order of sum; along extents of 1 there is nothing to add.
/// The kernel is called from here, so that a debugger that stops in the rule shows few frames.
WENGERT_INLINE void Walk::pull_reduced(Node& n, std::size_t i, const AnyTensor& g)
{
    const Pull& pull = n.primitive->pull[i];
    const Shape& shape = n.inputs[i]->shape;
    AnyTensor r{g.value, {}};
    if (!pull.passes && tape_.thread().recorder) {
        r = pull_recorded(n, i, g);
    } else if (!pull.passes && g.value->access.device) [[unlikely]] {
        r = pull_elsewhere(n, i, g);
    } else if (!pull.passes) {
        const Block* read[kernels::max_operands] = {g.value.get()};
        for (std::size_t k = 0; k < pull.count; ++k) read[k + 1] = n.saved()[pull.slots[k]];
        r.value = make_block(tape_.thread(), n.dtype, n.shape, element_count(n.shape));
        run_pull(pull, n.shape, read, *r.value);
    }
    if (!tape_.thread().recorder && r.value->count > 0 && r.value->count == element_count(shape))
        return deliver(*n.inputs[i], {relabelled(std::move(r.value), shape), {}});
    const Restore<Site> site(tape_.site_override, n.at);
    const Restore<bool> rule(tape_.in_rule, true);
    deliver(*n.inputs[i], n.primitive->sum_to(r, shape));
}

}  // namespace wengert

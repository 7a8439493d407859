// The reverse sweep through elementwise primitives: kernels of their rules, in place where nobody else looks.
#pragma once

#include "walk.hpp"

namespace wengert {

/// The inputs one by one; last the one that has no cotangent yet, because it may take over g's memory.
inline void Walk::pull_elementwise(Node& n, AnyTensor& g)
{
    std::size_t last = n.input_count, count = n.input_count;
    for (std::size_t i = 0; i < count; ++i)
        if (reaches(n.inputs[i]) && n.primitive->pull[i].kernel)
            if (last == count || !n.inputs[i]->cotangent.value) last = i;
    if (last == count) return;
    for (std::size_t k = 0; k <= count; ++k) {
        const std::size_t i = k < count ? k : last;
        if (k < count && (i == last || !reaches(n.inputs[i]) || !n.primitive->pull[i].kernel)) continue;
        if (n.inputs[i]->shape == n.shape)
            pull_input(n, i, g, k == count);
        else
            pull_reduced(n, i, g);
    }
}

/// x̄ᵢ += pullᵢ(g, x…, y), by the kernel of the rule.
inline void Walk::pull_input(Node& n, std::size_t i, AnyTensor& g, bool last)
{
    Node& to = *n.inputs[i];
    const Pull& pull = n.primitive->pull[i];
    if (pull.passes) return deliver(to, last ? std::move(g) : AnyTensor(g));
    if (tape_.thread().recorder) return deliver(to, pull_recorded(n, i, g));

    const Block& cotangent = *g.value;
    const Block* read[kernels::max_operands];
    const void* data[kernels::max_operands];
    read[0] = &cotangent;
    data[0] = cotangent.data;
    bool whole = !cotangent.strided;
    for (std::size_t k = 0; k < pull.count; ++k) {
        const Block* b = read[k + 1] = n.saved[pull.slots[k]];
        data[k + 1] = b->data;
        whole = whole && !b->strided && b->count == cotangent.count;  // equal counts: equal order
    }
    if (whole)
        pull_whole(n, to, pull, data, g, last);
    else
        pull_tiles(n, to, pull, read, g);
}

/// Everything contiguous and of one size: one call of the kernel.
inline void Walk::pull_whole(Node& n, Node& to, const Pull& pull, const void* const* data, AnyTensor& g,
                             bool last)
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
inline void Walk::add_tiles(const Pull& pull, const void* const* data, std::size_t count, Block& sum)
{
    alignas(64) std::byte tile[kernels::tile * 8];
    const TileKernel add = kernels::add_tile(sum.dtype);
    const std::size_t size = size_of(sum.dtype);
    const void* from[kernels::max_operands];
    for (std::size_t k = 0; k <= pull.count; ++k) from[k] = data[k];
    for (std::size_t i = 0; i < count; i += kernels::tile) {
        const std::size_t m = std::min(kernels::tile, count - i);
        std::byte* to = sum.data + i * size;
        const void* terms[] = {to, tile};
        pull.kernel(m, from, tile);
        add(m, terms, to);
        for (std::size_t k = 0; k <= pull.count; ++k)
            from[k] = static_cast<const std::byte*>(from[k]) + kernels::tile * pull.sizes[k];
    }
}

/// Some operand is a scalar or lies in another order.
inline void Walk::pull_tiles(Node& n, Node& to, const Pull& pull, const Block* const* read, AnyTensor& g)
{
    const AnyTensor& sum = to.cotangent;
    const bool add = sum.value && !sum.node && !sum.value->strided && g.value->count > kernels::tile &&
                     may_write(*sum.value);
    Ref<Block> out = add ? sum.value : make_block(tape_.thread(), n.dtype, n.shape, g.value->count);
    bool direct = !add && !g.value->strided;
    std::uint8_t scalar[kernels::max_operands] = {};
    const void* data[kernels::max_operands] = {g.value->data};
    for (std::size_t k = 1; k <= pull.count; ++k) {
        const Block& b = *read[k];
        data[k] = b.data;
        if (b.count == 1) scalar[k] = static_cast<std::uint8_t>(size_of(b.dtype));
        direct = direct && !b.strided && (b.count == 1 || (b.count == out->count && b.dtype == n.dtype));
    }
    if (direct) {
        detail::run_direct(pull.kernel, out->count, data, scalar, pull.count + 1U, out->data,
                           size_of(n.dtype));
    } else {
        kernels::Operand operands[kernels::max_operands] = {operand(*out, n.shape)};
        for (std::size_t k = 0; k <= pull.count; ++k) operands[k + 1] = operand(*read[k], n.shape);
        const auto mode = add ? kernels::Store::accumulate : kernels::Store::assign;
        kernels::execute(pull.kernel, n.shape, n.dtype, operands, pull.count + 2U, mode);
    }
    if (!add) return deliver(to, {std::move(out), {}});
    if (tape_.anomaly && !all_finite(*out)) report_birth(*out);
}

/// The pull as an operation of its own, on blocks: what a recorder sees, and what a broadcast input sums up.
inline AnyTensor Walk::pull_recorded(Node& n, std::size_t i, const AnyTensor& g)
{
    const Pull& pull = n.primitive->pull[i];
    AnyTensor in[kernels::max_operands] = {{g.value, {}}};
    for (std::size_t k = 0; k < pull.count; ++k) in[k + 1].value = Ref<Block>(n.saved[pull.slots[k]]);
    const Restore<Site> site(tape_.site_override, n.at);
    return apply_any(*pull.primitive, nullptr, in, pull.count + 1U, n.at);
}

/// The input was broadcast: the contributions are added up, in the order of sum. The kernel is called from here, so that a
/// debugger that stops in the rule shows few frames.
inline void Walk::pull_reduced(Node& n, std::size_t i, const AnyTensor& g)
{
    const Pull& pull = n.primitive->pull[i];
    AnyTensor r = g;
    r.node = {};
    if (!pull.passes && tape_.thread().recorder) {
        r = pull_recorded(n, i, g);
    } else if (!pull.passes) {
        r.value = make_block(tape_.thread(), n.dtype, n.shape, element_count(n.shape));
        kernels::Operand operands[kernels::max_operands] = {operand(*r.value, n.shape),
                                                            operand(*g.value, n.shape)};
        for (std::size_t k = 0; k < pull.count; ++k)
            operands[k + 2] = operand(*n.saved[pull.slots[k]], n.shape);
        kernels::execute(pull.kernel, n.shape, n.dtype, operands, pull.count + 2U, kernels::Store::assign);
    }
    const Restore<Site> site(tape_.site_override, n.at);
    deliver(*n.inputs[i], n.primitive->sum_to(r, n.inputs[i]->shape));
}

}  // namespace wengert

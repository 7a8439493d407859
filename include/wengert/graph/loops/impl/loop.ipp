// What loop.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../loop.hpp"

namespace wengert::detail {

WENGERT_INLINE std::int64_t packed_extent(DType packed, const LoopParameters::Result& r)
{
    const std::size_t n = element_count(r.shape);
    if (differentiable(r.dtype)) return static_cast<std::int64_t>(n);
    return static_cast<std::int64_t>((n * size_of(r.dtype) + size_of(packed) - 1) / size_of(packed));
}

WENGERT_INLINE void place_results(LoopParameters& p, std::size_t first)
{
    for (std::size_t i = first; i < p.results.size(); ++i) {
        if (!p.results[i].wanted()) continue;
        p.results[i].offset = p.size;
        p.size += packed_extent(p.dtype, p.results[i]);
    }
}

WENGERT_INLINE DType packed_dtype(const std::vector<LoopParameters::Result>& results)
{
    DType d = DType::int64;
    for (const auto& r : results)
        if (differentiable(r.dtype)) d = differentiable(d) ? wider(d, r.dtype) : r.dtype;
    return d;
}

WENGERT_INLINE std::shared_ptr<LoopParameters> completed(std::shared_ptr<LoopParameters> p)
{
    p->dtype = packed_dtype(p->results);
    p->code = make_loop_code();
    p->size = 0;
    place_results(*p, 0);
    for (const auto& g : {p->body, p->other, p->pull})
        if (g && communicates(*g)) p->communicates = p->effects = true;
    return p;
}

WENGERT_INLINE const LoopParameters* parameters_of_loop(const void* op)
{
    return static_cast<const Loop*>(op)->parameters.get();
}

WENGERT_INLINE std::string text_of_loop(const void* op)
{
    using Kind = LoopParameters::Kind;
    const LoopParameters& l = *parameters_of_loop(op);
    const bool counted = l.kind == Kind::scan || l.kind == Kind::scan_pull;
    const std::string text = counted ? "steps=" + std::to_string(l.steps) : std::string();
    return l.snapshots ? text + " snapshots=" + std::to_string(l.snapshots) : text;
}

WENGERT_INLINE void visit_loop(void* op, FieldVisitor& visitor)
{
    const LoopParameters& p = *parameters_of_loop(op);
    const auto number = [&](auto n) {
        auto wide = static_cast<std::int64_t>(n);
        visitor.integer(wide);
    };
    for (const auto& g : {p.body, p.other, p.pull})
        if (g) visitor.opaque(g.get(), "graph");
    number(p.steps), number(p.backwards), number(p.states), number(p.xs), number(p.kept), number(p.guard);
    number(p.snapshots);
    for (const auto& r : p.results) number(r.offset);
    for (const auto* which : {&p.active_states, &p.active_xs, &p.active_constants}) {
        number(which->size());
        for (std::size_t i : *which) number(i);
    }
}

WENGERT_INLINE const Primitive& primitive_of(const LoopParameters& p)
{
    const std::size_t type = differentiable(p.dtype) ? 1 + static_cast<std::size_t>(p.dtype) : 0;
    const LoopParameters::Kind kind = p.kind;
    const std::size_t effects = p.communicates ? 2 : p.effects ? 1 : 0;
    return loop_primitive_number((static_cast<std::size_t>(kind) * 3 + type) * 3 + effects,
                                 std::make_index_sequence<9 * std::size(LoopParameters::names)>());
}

}  // namespace wengert::detail

namespace wengert {

WENGERT_INLINE const LoopParameters* loop_parameters(const GraphNode& n)
{
    return n.primitive && n.primitive->loop ? n.primitive->loop(n.op.get()) : nullptr;
}

WENGERT_INLINE std::optional<PackedPart> packed_part(const GraphNode& n)
{
    if (!n.primitive || !n.primitive->packed) return {};
    const PackedPart part = n.primitive->packed(const_cast<void*>(n.op.get()));
    return part.how == PackedPart::How::taken ? std::optional(part) : std::nullopt;
}

WENGERT_INLINE Parameters packed_at(const GraphNode& n, std::int64_t offset, std::int64_t of)
{
    const Parameters copy = keep_parameters(*n.primitive, n.op.get());
    const PackedPart part = n.primitive->packed(const_cast<void*>(copy.get()));
    part.offset = offset;
    part.of = of;
    return copy;
}

WENGERT_INLINE void Unpack::describe(Index& p) const
{
    Positions i;
    i.push_back(p.axis(static_cast<std::int64_t>(element_count(shape))));
    p.write(i);
    i[0] = i[0] + offset;
    p.read(0, i);
    p.arrange(shape);
}

WENGERT_INLINE void Unpack::accumulate(wrt<0>, Block& into, const Block& g) const
{
    add_into(*make_view(Ref<Block>(&into), shape, nullptr, offset), g);
}

WENGERT_INLINE bool Unpack::hands_over(const Node& n, const AnyTensor& g, Cotangents& out) const
{
    Node* loop = n.inputs[0];
    if (!loop || !loop->primitive->loop) return false;
    if (!out.wanted(0) || !loop->op || g.value->count == 0) return true;
    const auto& results = loop->primitive->loop(loop->op)->results;
    for (std::size_t k = 0; k < results.size(); ++k)
        if (results[k].offset == offset && results[k].shape == shape) out.walk().add_part(*loop, k, g);
    return true;
}

}  // namespace wengert

namespace wengert::detail {

WENGERT_INLINE AnyTensor unpacked(const AnyTensor& block, const LoopParameters::Result& r, const Site& at)
{
    const DType d = block.value->dtype;
    return differentiable(d) ? of_real<Unpacking>(d, block, r, at)
                             : Unpacking::of<std::int64_t>(block, r, at);
}

WENGERT_INLINE void pack_result(const Block& from, std::byte* to, DType packed)
{
    if (from.count == 0) return;  // memcpy takes no null
    if (from.strided) return pack_result(*copy_of(from), to, packed);
    if (!differentiable(from.dtype) || from.dtype == packed) {
        std::memcpy(to, from.data, from.bytes());
        return;
    }
    with_real(from.dtype, [&]<class T>() {
        with_real(packed, [&]<class U>() {
            for (std::size_t i = 0; i < from.count; ++i)
                reinterpret_cast<U*>(to)[i] = static_cast<U>(from.as<T>()[i]);
        });
    });
}

/// The same loop with so many inputs at its end that only put it in order.
inline Loop with_ignored(const Loop& loop, std::size_t ignored)
{
    if (loop.parameters->ignored == ignored) return loop;
    auto p = std::make_shared<LoopParameters>(*loop.parameters);
    p->ignored = ignored;
    return Loop{std::move(p)};
}

WENGERT_INLINE AnyTensor apply_communicating_loop(const Primitive& p, const void* op, const AnyTensor* in,
                                                  std::size_t n, const Site& at)
{
    const Loop& given = *static_cast<const Loop*>(op);
    const std::size_t own = n - given.parameters->ignored;
    const Loop loop = with_ignored(given, 0);
    std::vector<const AnyTensor*> operands(own);
    std::vector<Ref<Block>> blocks(own);
    for (std::size_t i = 0; i < own; ++i) {
        operands[i] = &in[i];
        blocks[i] = in[i].value;
    }
    Recorder* const r = recorder();
    Ref<Block> out;
    {
        const Restore<Recorder*> one_operation(current_thread().recorder, nullptr);
        out = compute_structural(p, &loop, blocks.data(), own, at);
    }
    const Loop noted = with_ignored(given, r && r->effect ? 1 : 0);
    return record_obliged(p, operands.data(), own, std::move(out), &loop, &noted, at, false);
}

/// Throws where an operand has not as many elements as the body reads: a rule of ours is wrong then, and memory would be overwritten.
inline void check_operands_of(const LoopParameters& p, const std::vector<AnyTensor>& in, const Site& at)
{
    using Kind = LoopParameters::Kind;
    if (p.kind == Kind::scan_pull || p.kind == Kind::while_pull) return;
    const Graph& g = *p.body;
    const std::size_t first = p.kind == Kind::cond, n = std::min(g.inputs().size(), in.size() - first);
    for (std::size_t i = 0; i < n; ++i) {
        const bool sliced = p.kind == Kind::scan && i >= p.states && i < p.states + p.xs;
        const std::size_t steps = sliced ? static_cast<std::size_t>(p.steps) : 1;
        const std::size_t wanted = element_count(g.node(g.inputs()[i]).shape) * steps;
        if (in[first + i].value && in[first + i].value->count != wanted)
            fail<TapeError>(primitive_of(p).name,
                            "operand " + std::to_string(first + i) + " has " +
                                std::to_string(in[first + i].value->count) + " elements, the body reads " +
                                std::to_string(wanted) + ": a fault of the library, please report it",
                            at);
    }
}

WENGERT_INLINE AnyTensor apply_loop(std::shared_ptr<const LoopParameters> p, const std::vector<AnyTensor>& in,
                                    const Site& at)
{
    check_operands_of(*p, in, at);
    const Primitive& primitive = primitive_of(*p);
    const Loop op{std::move(p)};
    return apply_any(primitive, &op, in.data(), in.size(), at);
}

}  // namespace wengert::detail

// Copies as steps, of whole arrays and of parts: join, embed, assign_view, and what is added to a part.
#pragma once

#include "added_rows.hpp"
#include "emit.hpp"

namespace wengert::tiling::detail {

/// Elements of one block to another of the same shape.
struct Copied {
    const Block *from = nullptr, *to = nullptr;
    bool clear = false;  ///< the whole of `all` is 0 otherwise
    const Block* all = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Copied*>(self);
        if (s.clear) std::memset(s.all->data, 0, s.all->bytes());
        copy_elements(*s.from, const_cast<Block&>(*s.to));
        return true;
    }
};

/// Contiguous memory to contiguous memory, unless it is the same.
struct Moved {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t bytes = 0;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Moved*>(self);
        if (s.from != s.to) std::memcpy(s.to, s.from, s.bytes);
        return true;
    }
};

/// part += or −= x.
struct Added {
    TileKernel kernel = nullptr;
    const Block *part = nullptr, *x = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& s = *static_cast<const Added*>(self);
        kernels::Operand operands[] = {operand(*s.part, s.part->shape), operand(*s.part, s.part->shape),
                                       operand(*s.x, s.part->shape)};
        kernels::execute(s.kernel, s.part->shape, s.part->dtype, operands, 3, kernels::Store::assign);
        return true;
    }
};

/// Input 0 comes to lie where the result is to be, unless the plan has put it there.
inline void bring(Emitter& e, ValueId from, ValueId v)
{
    const Spot a = e.spot(from), b = e.spot(v);
    const bool plain = !e.plan.layouts[from].strided;
    if (plain && a.kind == b.kind && a.index == b.index && a.address == b.address && a.offset == b.offset)
        return;
    if (element_count(e.plan.graph.node(v).shape) == 0) return;
    if (!plain) {
        auto& s = *e.step<Copied>();
        s.from = e.header(from).get();
        s.to = e.header(v).get();
        return;
    }
    auto& s = *e.step<Moved>();
    s.bytes = e.plan.bytes_of(v);
    e.bind(&s.from, a);
    e.bind(&s.to, b);
}

/// A part of v and x read as if it had the part's shape.
struct PartAndSource {
    Ref<Block> part, x;
    bool solid() const { return !part->strided && !x->strided; }  ///< one piece of memory each
};

inline PartAndSource part_and_source(Emitter& e, ValueId v, const Selection& part, ValueId x)
{
    return {part.view(e.header(v)), broadcast_view(e.header(x), part.shape)};
}

/// Where a view of v's header lies.
inline Spot spot_of(Emitter& e, ValueId v, const Block& view)
{
    Spot s = e.spot(v);
    const std::int64_t offset = view.data - e.header(v)->data;
    s.address += offset;
    s.offset += offset;
    return s;
}

/// part = x, by a plain move where that does.
inline void assign_part(Emitter& e, ValueId v, const Selection& part, ValueId x)
{
    const PartAndSource p = part_and_source(e, v, part, x);
    if (p.solid()) {
        auto& s = *e.step<Moved>();
        s.bytes = p.part->bytes();
        e.bind(&s.from, spot_of(e, x, *p.x));
        e.bind(&s.to, spot_of(e, v, *p.part));
        return;
    }
    auto& s = *e.step<Copied>();
    s.from = e.keep(x, p.x).get();
    s.to = e.keep(v, p.part).get();
}

/// part = kernel(part, x), by one call of the kernel where that does.
inline void update_part(Emitter& e, TileKernel kernel, ValueId v, const Selection& part, ValueId x)
{
    const PartAndSource p = part_and_source(e, v, part, x);
    if (p.solid() && p.part->count <= ~0U) {
        Direct* d = e.direct(kernel, p.part->count, 2);
        e.bind(&d->out, spot_of(e, v, *p.part));
        e.bind(d->in(), spot_of(e, v, *p.part));
        e.bind(d->in() + 1, spot_of(e, x, *p.x));
        return;
    }
    auto& s = *e.step<Added>();
    s.kernel = kernel;
    s.part = e.keep(v, p.part).get();
    s.x = e.keep(x, p.x).get();
}

template <class T> TileKernel part_kernel(bool minus)
{
    using A = xsimd::default_arch;
    return minus ? elementwise_primitive<Subtract, A, T, T, T>.value
                 : elementwise_primitive<Add, A, T, T, T>.value;
}

/// Where add_view, subtract_view and the cotangent of a view add.
inline const Selection& part_of(const GraphNode& n)
{
    if (n.primitive->kind == "view.pull0") return static_cast<const Select*>(n.op.get())->part;
    if (n.primitive->kind == "subtract_view") return static_cast<const AddView<true>*>(n.op.get())->part;
    return static_cast<const AddView<false>*>(n.op.get())->part;
}

/// A part whose rows are rows of the array and of x.
inline bool by_rows(const Emitter& e, ValueId v, const Selection& part, ValueId x)
{
    const std::size_t rank = e.plan.graph.node(v).shape.size();
    if (rank == 0 || part.shape.size() != rank || !(e.plan.graph.node(x).shape == part.shape)) return false;
    for (std::size_t a = 0; a < rank; ++a)
        if (part.from[a] != static_cast<std::int64_t>(a) || part.step[a] != 1) return false;
    return e.plan.layouts[x].strides[rank - 1] == 1;
}

template <class T> void add_rows(Emitter& e, ValueId v, const Selection& part, ValueId x, bool minus)
{
    const Shape& shape = e.plan.graph.node(v).shape;
    auto* rows = e.continued<AddedRows<T>>(e.plan.values[v].store);
    if (!rows) {
        rows = e.step<AddedRows<T>>();
        rows->axes = shape.size() - 1;
        std::copy_n(shape.data(), rows->axes, rows->extents);
        rows->row = shape.back();
        e.bind(&rows->to, v);
        e.may_continue(rows, e.plan.values[v].store);
    }
    auto& p = *e.program.memory.make<AddedPart<T>>();
    p.minus = minus;
    p.n = part.shape.back();
    p.column = part.start[rows->axes];
    for (std::size_t a = 0; a < rows->axes; ++a) {
        p.first[a] = part.start[a];
        p.count[a] = part.shape[a];
        p.step[a] = e.plan.layouts[x].strides[a];
    }
    e.bind(&p.x, x);
    rows->add(&p);
}

template <class T> void emit_add_part(Emitter& e, ValueId v, bool minus)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Selection& part = part_of(n);
    bring(e, n.inputs[0], v);
    if (element_count(part.shape) == 0) return;
    if (by_rows(e, v, part, n.inputs[1])) return add_rows<T>(e, v, part, n.inputs[1], minus);
    update_part(e, part_kernel<T>(minus), v, part, n.inputs[1]);
}

inline void emit_assign_part(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Selection& part = static_cast<const AssignView*>(n.op.get())->part;
    bring(e, n.inputs[0], v);
    if (element_count(part.shape) > 0) assign_part(e, v, part, n.inputs[1]);
}

inline void emit_embed(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const PartAndSource p = part_and_source(e, v, static_cast<const Embed*>(n.op.get())->part, n.inputs[0]);
    auto& s = *e.step<Copied>();
    s.clear = true;
    s.all = e.header(v).get();
    s.from = e.keep(n.inputs[0], p.x).get();
    s.to = e.keep(v, p.part).get();
}

template <class Op> void emit_join(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    const Op& op = *static_cast<const Op*>(n.op.get());
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (element_count(e.plan.graph.node(n.inputs[i]).shape) > 0)
            assign_part(e, v, op.part(i), n.inputs[i]);
}

/// copy, and reshape of what does not lie in order.
inline void emit_copy(Emitter& e, ValueId v)
{
    const ValueId x = e.plan.graph.node(v).inputs[0];
    if (!e.plan.layouts[x].strided) return bring(e, x, v);
    auto& s = *e.step<Copied>();
    s.from = e.header(x).get();
    s.to = e.keep(v, make_view(e.header(v), e.plan.graph.node(x).shape, nullptr, 0)).get();
}

}  // namespace wengert::tiling::detail

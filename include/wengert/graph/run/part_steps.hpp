// Boxes of elements as steps: copied to, or added to, a box of the result.
#pragma once

#include "added_rows.hpp"
#include "emit.hpp"

namespace wengert::tiling::detail {

/// Elements of one block to another of the same shape.
void emit_copy(Emitter& e, const Block* from, Block* to);

/// n contiguous bytes to other memory, unless it is the same.
void move_bytes(std::size_t n, const void* const* in, void* out);
void emit_move(Emitter& e, const OperandAddress& from, const OperandAddress& to, std::size_t bytes);

/// Input 0 comes to lie where the result is to be, unless the plan has put it there.
void bring(Emitter& e, ValueId from, ValueId v);

/// to = from, by a plain move where that does; the rest of a result that begins with zeros is cleared.
void emit_assign(Emitter& e, ValueId v, const Ref<Block>& to, ValueId x, const Ref<Block>& from, bool clear);

/// to += or −= from, by one call of the kernel where that does.
void emit_add(Emitter& e, TileKernel kernel, ValueId v, const Ref<Block>& to, ValueId x,
              const Ref<Block>& from);

/// Rows of x, whose rows lie in order, added to rows of v that begin at `first`.
template <class T> void add_rows(Emitter& e, ValueId v, const Shape& first, ValueId x, bool minus)
{
    const Shape &shape = e.plan.graph.node(v).shape, &part = e.plan.graph.node(x).shape;
    auto* rows = e.continued<AddedRows<T>>(e.plan.values[v].store);
    if (!rows || !rows->is_of(shape)) {  // there may be a reshape between two parts of one memory
        rows = e.step(AddedRows<T>{});
        rows->axes = shape.size() - 1;
        std::copy_n(shape.data(), rows->axes, rows->extents);
        rows->row = shape.back();
        e.bind(&rows->to, v);
        e.may_continue(rows, e.plan.values[v].store);
    }
    auto& p = *e.program.memory.make<AddedPart<T>>();
    p.minus = minus;
    p.n = part.back();
    p.column = first[rows->axes];
    for (std::size_t a = 0; a < rows->axes; ++a) {
        p.first[a] = first[a];
        p.count[a] = part[a];
        p.step[a] = e.plan.layouts[x].strides[a];
    }
    e.bind(&p.x, x);
    rows->add(&p);
}

/// A program that moves one box: what the result begins with, then the box.
void emit_box(Emitter& e, ValueId v, const Index& p, std::span<const ValueId> operands);

}  // namespace wengert::tiling::detail

#ifndef WENGERT_COMPILED
#include "impl/part_steps.ipp"
#endif

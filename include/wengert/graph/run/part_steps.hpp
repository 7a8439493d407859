// Boxes of elements as steps: copied to, or added to, a box of the result.
#pragma once

#include "added_rows.hpp"
#include "emit.hpp"

namespace wengert::tiling::detail {

/// A list that grows by pieces, which do not move.
template <class S> struct PieceList {
    struct Piece {
        S of[32] = {};
        std::size_t count = 0;
        Piece* next = nullptr;
    };
    Piece *first = nullptr, *last = nullptr;

    S* back() const { return last ? &last->of[last->count - 1] : nullptr; }
    /// One more, for which `make` may have to make a copy of a piece.
    template <class Make> S& next(const Make& make)
    {
        if (!last || last->count == std::size(last->of)) {
            const Piece none;
            Piece* const more = make(&none);
            (last ? last->next : first) = more;
            last = more;
        }
        return last->of[last->count++];
    }
    template <class F> void each(const F& f) const
    {
        for (const Piece* p = first; p; p = p->next)
            for (std::size_t k = 0; k < p->count; ++k) f(p->of[k]);
    }
};

/// Numbers from anywhere that come to lie in one array: a call for each would take longer than they do.
template <class Word> struct PlacedNumbers {
    struct Moved {
        const std::byte* from;
        std::int64_t at;  ///< in bytes
    };
    struct Constants {  ///< a number, some times in a row
        std::int64_t at;
        std::size_t count;
        Word number;
    };
    std::byte* to = nullptr;
    PieceList<Moved> moved;
    PieceList<Constants> constants;
    ValueId of = no_value;
    void operator()(Run&) const
    {
        constants.each([this](const Constants& c) { put(to + c.at, c); });
        moved.each([this](const Moved& m) {
            Word number;
            std::memcpy(&number, m.from, sizeof number);
            std::memcpy(to + m.at, &number, sizeof number);
        });
    }

private:
    /// Most runs are short: a call would take longer.
    static void put(std::byte* at, const Constants& c)
    {
        const Word block[] = {c.number, c.number, c.number, c.number};
        std::size_t left = c.count;
        for (; left >= std::size(block); left -= std::size(block), at += sizeof block)
            std::memcpy(at, block, sizeof block);
        for (; left > 0; --left, at += sizeof(Word)) std::memcpy(at, &c.number, sizeof(Word));
    }
};

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

// What part_steps.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../part_steps.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE void emit_copy(Emitter& e, const Block* from, Block* to)
{
    e.step([from, to](Run&) { copy_elements(*from, *to); });
}

WENGERT_INLINE void move_bytes(std::size_t n, const void* const* in, void* out)
{
    if (out != in[0]) std::memcpy(out, in[0], n);
}

/// Is it one place in every run?
inline bool same_place(const OperandAddress& a, const OperandAddress& b)
{
    return a.kind == b.kind && a.index == b.index && a.address == b.address && a.offset == b.offset;
}

WENGERT_INLINE void emit_move(Emitter& e, const OperandAddress& from, const OperandAddress& to,
                              std::size_t bytes)
{
    if (same_place(from, to)) return;
    e.call(move_bytes, bytes, 0, &from, 1, to);
}

WENGERT_INLINE void bring(Emitter& e, ValueId from, ValueId v)
{
    const OperandAddress a = e.operand_address(from), b = e.operand_address(v);
    const bool plain = !e.plan.layouts[from].strided;
    if ((plain && same_place(a, b)) || element_count(e.plan.graph.node(v).shape) == 0) return;
    if (!plain) return emit_copy(e, e.header(from).get(), e.header(v).get());
    emit_move(e, a, b, e.plan.bytes_of(v));
}

/// The number at `from` comes to lie at v's view `to`. Equal constants side by side are one run.
template <class Word> void place_number(Emitter& e, ValueId v, const Block& to, const OperandAddress& from)
{
    using Numbers = PlacedNumbers<Word>;
    const std::uint32_t store = e.plan.values[e.plan.root(v)].store;
    auto* numbers = e.continued<Numbers>(store);
    if (!numbers || numbers->of != v) {
        numbers = e.step(Numbers{});
        numbers->of = v;
        e.bind(&numbers->to, v);
        e.may_continue(numbers, store);
    }
    const std::int64_t at = to.data - e.header(v)->data;
    const auto next = [&](auto& list) -> auto& {
        return list.next([&](auto* s) { return e.program.memory.make(*s); });
    };
    if (!from.constant) {
        auto& number = next(numbers->moved);
        number.at = at;
        e.bind(&number.from, from);
        return;
    }
    Word number;
    std::memcpy(&number, from.address, sizeof number);
    auto* const last = numbers->constants.back();
    if (last && last->number == number &&
        last->at + static_cast<std::int64_t>(last->count * sizeof(Word)) == at)
        ++last->count;
    else
        next(numbers->constants) = {at, 1, number};
}

WENGERT_INLINE void emit_assign(Emitter& e, ValueId v, const Ref<Block>& to, ValueId x,
                                const Ref<Block>& from, bool clear)
{
    if (!clear && !to->strided && !from->strided) {
        const OperandAddress a = e.operand_address(x, *from), b = e.operand_address(v, *to);
        if (same_place(a, b)) return;
        const bool number = to->count == 1 && consists_of_numbers(e.plan.graph.node(v));
        if (number && size_of(to->dtype) == 8) return place_number<std::uint64_t>(e, v, *to, a);
        if (number && size_of(to->dtype) == 4) return place_number<std::uint32_t>(e, v, *to, a);
        return emit_move(e, a, b, to->bytes());
    }
    if (clear) e.step([all = e.header(v).get()](Run&) { std::memset(all->data, 0, all->bytes()); });
    const Block* const read = e.keep(x, from).get();
    emit_copy(e, read, e.keep(v, to).get());
}

WENGERT_INLINE void emit_add(Emitter& e, TileKernel kernel, ValueId v, const Ref<Block>& to, ValueId x,
                             const Ref<Block>& from)
{
    if (!to->strided && !from->strided) {
        const OperandAddress in[] = {e.operand_address(v, *to), e.operand_address(x, *from)};
        return e.call(kernel, to->count, 0, in, 2, in[0]);
    }
    e.step([kernel, to = e.keep(v, to).get(), from = e.keep(x, from).get()](Run&) {
        kernels::Operand operands[] = {operand(*to, to->shape), operand(*to, to->shape),
                                       operand(*from, to->shape)};
        kernels::execute(kernel, to->shape, to->dtype, operands, 3, kernels::Store::assign);
    });
}

WENGERT_INLINE void emit_box(Emitter& e, ValueId v, const Index& p, std::span<const ValueId> operands)
{
    const Index::Read& r = p.reads[0];
    const ValueId x = operands[r.operand];
    if (p.start == Index::Start::operand) bring(e, operands[p.base], v);
    Box box;
    box_of(p, r, e.plan.layouts[x].strides, box);
    if (element_count(box.extents) == 0) {
        if (p.start != Index::Start::fill) return;
        box.first = box.place = 0;
    }
    const DType d = e.plan.graph.node(v).dtype;
    if (const Layout& l = e.plan.layouts[x];
        l.root == v && l.offset == box.place * static_cast<std::int64_t>(size_of(d)))
        return;  // it has been made in its place
    if (Shape first; differentiable(d) && adds_box(p, first) && first.size() <= Shape::inline_rank &&
                     e.plan.layouts[x].strides[first.size() - 1] == 1)
        return with_real(d, [&]<class T>() { add_rows<T>(e, v, first, x, r.minus); });
    const Ref<Block> to = make_view(e.header(v), box.extents, &box.to, box.place),
                     from = make_view(e.header(x), box.extents, &box.from, box.first);
    if (r.how == Combine::add)
        emit_add(e, box_kernel(d, r.minus), v, to, x, from);
    else
        emit_assign(e, v, to, x, from, p.start == Index::Start::fill);
}

}  // namespace wengert::tiling::detail

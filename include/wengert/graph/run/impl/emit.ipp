// What emit.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../emit.hpp"
#include "../../tile/fused_direct.hpp"

namespace wengert::tiling {

WENGERT_INLINE void ParallelSteps::operator()(Run&) const
{
    strands.run([&](std::size_t begin, std::size_t end, std::size_t) {
        Run own{current_thread()};
        for (std::size_t k = begin; k < end; ++k) steps[k].run(steps[k].self, own);
    });
}

WENGERT_INLINE Emitter::Emitter(const Plan& p, Program& to) : plan(p), program(to), headers_(p.graph.size())
{
    program.shape(p.graph.inputs().size(), p.graph.outputs().size(), p.graph.guards().size());
    if (p.arena.bytes == 0) return;
    const Ref<Block> memory = make_block(DType::boolean, Shape{p.arena.bytes + Buffer::alignment});
    std::memset(memory->data, 0, memory->bytes());
    arena_ = memory->data;
    program.blocks().push_back(memory);
}

WENGERT_INLINE Emitter::~Emitter() = default;

WENGERT_INLINE void Emitter::divide(unsigned threads)
{
    const std::size_t size = Team::size_for(threads);
    if (size < 2) return;
    team = std::make_shared<Team>(size);
    program.owned().push_back(team);
}

WENGERT_INLINE void Emitter::begin_strand(std::size_t k)
{
    end_direct_calls();
    open_ = {};
    scratch_at_ = k;
    strands_.push_back(program.steps().size());
}

WENGERT_INLINE void Emitter::end_wave()
{
    end_direct_calls();
    open_ = {};
    scratch_at_ = 0;
    auto& steps = program.steps();
    const std::size_t first = strands_.front(), n = steps.size() - first;
    auto* cuts = program.memory.array<std::size_t>(strands_.size() + 1);
    for (std::size_t k = 0; k < strands_.size(); ++k) cuts[k] = strands_[k] - first;
    cuts[strands_.size()] = n;
    auto* own = program.memory.array<Step>(n);
    std::copy(steps.end() - static_cast<std::ptrdiff_t>(n), steps.end(), own);
    steps.resize(first);
    step(ParallelSteps{own, {team.get(), cuts, strands_.size()}});
    divided_ = true;
    strands_.clear();
}

WENGERT_INLINE OperandAddress Emitter::operand_address(ValueId v)
{
    const ValueId from = plan.root(v);
    const Placed& p = plan.values[from];
    const std::int64_t offset = plan.layouts[v].offset;
    switch (p.home) {
    case Home::input:
        return {OperandAddress::input, plan.graph.node(from).index, detail::placeholder_address() + offset,
                offset};
    case Home::output:
        return {OperandAddress::output, plan.stores[p.store].output, detail::placeholder_address() + offset,
                offset};
    case Home::constant: return {OperandAddress::fixed, 0, constant(from)->data + offset, 0, true};
    default: break;
    }
    bool next = false;
    if (const ValueId i = plan.swapped(p.store, next); i != no_value)
        return {next ? OperandAddress::output : OperandAddress::input, i,
                detail::placeholder_address() + offset, offset};
    return {OperandAddress::fixed, 0, place(p.store) + offset, 0};
}

WENGERT_INLINE OperandAddress Emitter::operand_address(ValueId v, const Block& view)
{
    OperandAddress s = operand_address(v);
    const std::int64_t offset = view.data - header(v)->data;
    s.address += offset;
    s.offset += offset;
    return s;
}

WENGERT_INLINE const Ref<Block>& Emitter::header(ValueId v)
{
    Ref<Block>& h = headers_[v];
    if (h) return h;
    const GraphNode& n = plan.graph.node(v);
    const ValueId from = plan.root(v);
    if (from != v)
        h = detail::header_on(header(from), n.shape, plan.layouts[v]);
    else if (n.kind == Graph::Kind::constant)
        return h = constant(v);
    else
        h = make_borrowed(n.dtype, n.shape, detail::placeholder_address());
    bind(&h->data, operand_address(v));
    program.blocks().push_back(h);
    return h;
}

WENGERT_INLINE const Ref<Block>& Emitter::keep(ValueId v, Ref<Block> view)
{
    bind(&view->data, operand_address(v, *view));
    program.blocks().push_back(std::move(view));
    return program.blocks().back();
}

WENGERT_INLINE void Emitter::call(TileKernel kernel, std::size_t n, std::size_t size,
                                  const OperandAddress* in, std::size_t arity, const OperandAddress& out,
                                  const Primitive* primitive)
{
    const std::size_t more = size ? whole_registers(n, size) : n, bytes = DirectCall::bytes(arity);
    OperandAddress at[kernels::max_operands];
    for (std::size_t k = 0; k < arity; ++k)
        at[k] = more > n && in[k].constant ? padded(in[k].address, n * size) : in[k];
    if (primitive && in_registers(*primitive, n, size, at, out)) return;
    if (room_ < bytes) {
        end_direct_calls();
        room_ = std::size_t{1} << 14;
        records_ = program.memory.take(room_);
    }
    auto* d = new (records_) DirectCall{kernel, more, arity, nullptr};
    if (!direct_calls_) {
        end_direct_calls();
        direct_calls_ = program.memory.make<DirectCalls>();
        direct_calls_->first = d;
    }
    records_ += bytes;
    room_ -= bytes;
    ++direct_calls_->count;
    for (std::size_t k = 0; k < arity; ++k) bind(d->in() + k, at[k]);
    bind(&d->out, out);
}

WENGERT_INLINE void Emitter::spread(std::size_t n, DType d, bool whole, const OperandAddress& from,
                                    const OperandAddress& to)
{
    const std::size_t size = size_of(d);
    if (whole && n * size <= most_in_registers)
        return registers(d, Arith::none, n, from.address, nullptr, to.address);
    call(detail::spread_kernel(size), n, whole ? size : 0, &from, 1, to);
}

WENGERT_INLINE void Emitter::end_direct_calls()
{
    if (direct_calls_) program.steps().push_back(Step::of(direct_calls_));
    direct_calls_ = nullptr;
    if (registers_.empty()) return;
    auto* steps = program.memory.array<RegisterStep>(registers_.size());
    std::copy(registers_.begin(), registers_.end(), steps);
    with_real(registers_of_, [&]<class T>() {
        program.steps().push_back(Step::of(program.memory.make(
            [steps, count = registers_.size()](Run&) { RegisterSteps<T>::run(steps, count); })));
    });
    registers_.clear();
}

WENGERT_INLINE std::byte* Emitter::scratch(std::size_t bytes)
{
    if (scratch_.size() <= scratch_at_) scratch_.resize(scratch_at_ + 1);
    Ref<Block>& b = scratch_[scratch_at_];
    if (!b || bytes > b->count) {
        b = make_block(DType::boolean, Shape{bytes});
        program.blocks().push_back(b);
    }
    return b->data;
}

WENGERT_INLINE std::size_t Emitter::whole_registers(std::size_t n, std::size_t size) noexcept
{
    return n * size > 2 * Buffer::alignment ? n : aligned(n * size) / size;
}

WENGERT_INLINE OperandAddress Emitter::padded(const std::byte* data, std::size_t bytes)
{
    std::byte*& to = padded_[{data, bytes}];  // a row of a matrix begins where the matrix does
    if (!to) {
        to = program.memory.take(aligned(bytes) + Buffer::alignment);
        std::memcpy(to, data, bytes);
    }
    return {OperandAddress::fixed, 0, to, 0};
}

WENGERT_INLINE bool Emitter::in_registers(const Primitive& p, std::size_t n, std::size_t size,
                                          const OperandAddress* in, const OperandAddress& out)
{
    if (size == 0 || n * size > most_in_registers) return false;
    const auto [known, fresh] = rules_.try_emplace(&p);
    if (fresh)
        if (const auto r = detail::RecipeWriter::write(p, numbers_); r.size() == 1 && r[0].op != Arith::fma)
            known->second = r[0];
    const detail::MicroNode& o = known->second;
    if (o.op == Arith::none) return false;
    const auto address = [&](ValueId v) -> const std::byte* {
        return detail::is_recipe_number(v) ? number(v, p.dtype) : in[v].address;
    };
    registers(p.dtype, o.op, n, address(o.left), address(o.right), out.address);
    return true;
}

WENGERT_INLINE void Emitter::registers(DType d, Arith op, std::size_t n, const std::byte* a,
                                       const std::byte* b, std::byte* out)
{
    if (direct_calls_ || registers_of_ != d) end_direct_calls();
    registers_of_ = d;
    with_real(d, [&]<class T>() {
        for (std::size_t j = 0; j < n * sizeof(T); j += RegisterSteps<T>::bytes)
            registers_.push_back(RegisterSteps<T>::step(op, a + (b ? j : 0), b ? b + j : nullptr, out + j,
                                                        registers_.empty() ? nullptr : &registers_.back()));
    });
}

WENGERT_INLINE const std::byte* Emitter::number(ValueId v, DType d)
{
    std::byte*& to = filled_[{v, d}];
    if (!to) {
        to = program.memory.take(most_in_registers);
        with_real(d, [&]<class T>() {
            std::fill_n(reinterpret_cast<T*>(to), most_in_registers / sizeof(T), static_cast<T>(numbers_[v]));
        });
    }
    return to;
}

WENGERT_INLINE const Ref<Block>& Emitter::constant(ValueId v)
{
    Ref<Block>& h = headers_[v];
    if (!h) {
        h = contiguous(plan.graph.node(v).constant);
        program.blocks().push_back(h);
    }
    return h;
}

}  // namespace wengert::tiling

// What fused_steps.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fused_steps.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE void emit_straight(Emitter& e, const Task& t, std::byte* scratch)
{
    const FusedProgram& p = t.kernel->program();
    const DType dtype = e.plan.graph.node(t.group.nodes[0]).dtype;
    const auto of_dtype = [&](ValueId v) { return e.plan.graph.node(v).dtype == dtype; };
    const auto stands = [&](ValueId v) { return e.operand_address(v).kind == OperandAddress::fixed; };
    const auto all = [](const ValueList& list, const auto& f) {
        return std::all_of(list.begin(), list.end(), f);
    };
    const bool whole = differentiable(dtype) && all(t.group.nodes, of_dtype) &&
                       all(t.group.operands, of_dtype) && all(t.group.operands, stands) &&
                       all(t.group.results, stands);
    const std::size_t size =
        whole ? size_of(dtype) : 0;  // of all, where they are read and written by whole registers
    std::size_t begin = 0;           // of a tile
    const auto at = [&](Slot slot) -> OperandAddress {
        if (slot < p.streams.size()) {
            const auto& s = p.streams[slot];
            if (s.kind == FusedProgram::Source::fixed) return {OperandAddress::fixed, 0, scratch + s.scratch};
            OperandAddress spot =
                e.operand_address((s.result ? t.group.results : t.group.operands)[s.number]);
            spot.address += begin * s.size;
            spot.offset += static_cast<std::int64_t>(begin * s.size);
            return spot;
        }
        const std::size_t rest = slot - p.streams.size();
        if (rest < p.literals.size()) return {OperandAddress::fixed, 0, p.literals[rest].get(), 0, true};
        return {OperandAddress::fixed, 0, scratch + p.registers[rest - p.literals.size()]};
    };
    for (const auto& s : p.streams) {
        if (s.kind != FusedProgram::Source::fixed) continue;
        const ValueId from = t.group.operands[s.number];
        e.spread(p.fill, e.plan.graph.node(from).dtype, whole, e.operand_address(from),
                 {OperandAddress::fixed, 0, scratch + s.scratch});
    }
    for (; begin < p.count; begin += p.tile)
        for (const Instruction& i : p.program) {
            OperandAddress in[kernels::max_operands];
            for (std::size_t k = 0; k < i.arity; ++k) in[k] = at(i.in[k]);
            e.call(i.kernel, std::min(p.tile, p.count - begin), size, in, i.arity, at(i.out), i.primitive);
        }
    begin = 0;
    for (const Total& total : p.totals) {
        const OperandAddress from = at(total.from);
        e.call(total.whole, p.count, 0, &from, 1, e.operand_address(t.group.results[total.result]));
    }
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE void emit_fused(Emitter& e, const Task& t)
{
    e.program.owned().push_back(t.kernel);
    const Division division =
        e.division(t.kernel->elements(), [&](std::size_t at) { return t.kernel->next_cut(at); });
    const std::size_t apart = division ? aligned(t.kernel->scratch_bytes()) + 64 : 0;
    std::byte* scratch = e.scratch(division ? e.team->size() * apart : t.kernel->scratch_bytes());
    if (!division && t.kernel->program().straight) return detail::emit_straight(e, t, scratch);
    const FusedKernel* const kernel = t.kernel.get();
    std::byte** const operands = e.addresses(t.group.operands);
    std::byte** const results = e.addresses(t.group.results);
    if (!division) {
        e.step([=](Run&) { kernel->run(operands, results, scratch); });
        return;
    }
    std::byte* const sums = e.program.memory.take(kernel->sums_bytes());
    e.step([=](Run&) {
        division.run([&](std::size_t begin, std::size_t end, std::size_t slot) {
            kernel->run_part(begin, end, operands, results, scratch + slot * apart, sums);
        });
        kernel->finish(results, sums);
    });
}

}  // namespace wengert::tiling

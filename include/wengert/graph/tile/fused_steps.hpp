// A fused group as steps: a small one as calls of its kernels on addresses that are known, others as one pass.
#pragma once

#include "emit.hpp"

namespace wengert::tiling {

namespace detail {

/// Whole, or in parts by several threads.
struct FusedPass {
    const FusedKernel* kernel = nullptr;
    std::byte** operands = nullptr;
    std::byte** results = nullptr;
    std::byte* scratch = nullptr;
    Division division;
    std::size_t apart = 0;  ///< from the scratch memory of one of the team to the next one's
    std::byte* sums = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& p = *static_cast<const FusedPass*>(self);
        if (!p.division) {
            p.kernel->run(p.operands, p.results, p.scratch);
            return true;
        }
        p.division.run([&](std::size_t begin, std::size_t end, std::size_t place) {
            p.kernel->run_part(begin, end, p.operands, p.results, p.scratch + place * p.apart, p.sums);
        });
        p.kernel->finish(p.results, p.sums);
        return true;
    }
};

/// The straight-line form of a small group.
class StraightGroup {
public:
    StraightGroup(Emitter& e, const Task& t, std::byte* scratch)
        : e_(e), t_(t), p_(t.kernel->program()), scratch_(scratch)
    {
        const Graph& g = e.plan.graph;
        const DType dtype = g.node(t.group.nodes[0]).dtype;
        bool same = differentiable(dtype);
        for (const auto* list : {&t.group.nodes, &t.group.operands})
            for (ValueId v : *list) same = same && g.node(v).dtype == dtype;
        for (const auto* list : {&t.group.results, &t.group.operands})
            for (ValueId v : *list) same = same && e.spot(v).kind == Spot::fixed;
        size_ = same ? size_of(dtype) : 0;
    }
    void emit() const
    {
        for (const auto& s : p_.streams) {
            if (s.kind != FusedProgram::Source::fixed) continue;
            const ValueId from = t_.group.operands[s.number];
            e_.spread(p_.count, e_.plan.graph.node(from).dtype, size_ > 0, e_.spot(from),
                      fixed(scratch_ + s.scratch));
        }
        for (const Instruction& i : p_.program) {
            Emitter::Operand in[kernels::max_operands];
            for (std::size_t k = 0; k < i.arity; ++k) in[k] = at(i.in[k]);
            e_.call(i.kernel, p_.count, size_, in, i.arity, at(i.out).at, i.primitive);
        }
        for (const Total& t : p_.totals) {
            const Emitter::Operand from = at(t.from);
            e_.call(t.whole, p_.count, 0, &from, 1, e_.spot(t_.group.results[t.result]));
        }
    }

private:
    static Spot fixed(const std::byte* p) { return {Spot::fixed, 0, const_cast<std::byte*>(p), 0}; }
    Emitter::Operand at(Place place) const
    {
        if (place < p_.streams.size()) {
            const auto& s = p_.streams[place];
            if (s.kind == FusedProgram::Source::fixed) return {fixed(scratch_ + s.scratch)};
            const ValueId v = (s.result ? t_.group.results : t_.group.operands)[s.number];
            return {e_.spot(v), !s.result && e_.is_constant(v)};
        }
        const std::size_t rest = place - p_.streams.size();
        if (rest < p_.literals.size()) return {fixed(p_.literals[rest].get()), true};
        return {fixed(scratch_ + p_.registers[rest - p_.literals.size()])};
    }

    Emitter& e_;
    const Task& t_;
    const FusedProgram& p_;
    std::byte* scratch_;
    std::size_t size_ = 0;  ///< of all elements where they may be read and written by whole registers
};

}  // namespace detail

inline void emit_fused(Emitter& e, const Task& t)
{
    e.program.owned().push_back(t.kernel);
    const Division division =
        e.division(t.kernel->elements(), [&](std::size_t at) { return t.kernel->next_cut(at); });
    const std::size_t apart = division ? aligned(t.kernel->scratch_bytes()) + 64 : 0;
    std::byte* scratch = e.scratch(division ? e.team->size() * apart : t.kernel->scratch_bytes());
    if (!division && t.kernel->program().straight) return detail::StraightGroup(e, t, scratch).emit();
    auto& pass = *e.step<detail::FusedPass>();
    pass = {t.kernel.get(), nullptr, nullptr, scratch, division, apart, nullptr};
    if (division) pass.sums = e.program.memory.take(t.kernel->sums_bytes());
    const Group& g = t.group;
    pass.operands = e.program.memory.array<std::byte*>(g.operands.size());
    pass.results = e.program.memory.array<std::byte*>(g.results.size());
    for (std::size_t k = 0; k < g.operands.size(); ++k) e.bind(pass.operands + k, g.operands[k]);
    for (std::size_t r = 0; r < g.results.size(); ++r) e.bind(pass.results + r, g.results[r]);
}

}  // namespace wengert::tiling

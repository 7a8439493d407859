// A fused group as steps: a small one as calls of its kernels on addresses that are known, others as one pass.
#pragma once

#include "emit.hpp"

namespace wengert::tiling {

namespace detail {

struct FusedPass {
    const FusedKernel* kernel = nullptr;
    std::byte** operands = nullptr;
    std::byte** results = nullptr;
    std::byte* scratch = nullptr;

    static bool run(const void* self, Run&)
    {
        const auto& p = *static_cast<const FusedPass*>(self);
        p.kernel->run(p.operands, p.results, p.scratch);
        return true;
    }
};

inline Spot spot_of(Emitter& e, const Task& t, const FusedKernel::Direct::Where& w, std::byte* scratch)
{
    using Where = FusedKernel::Direct::Where;
    switch (w.kind) {
    case Where::operand: return e.spot(t.group.operands[w.index]);
    case Where::result: return e.spot(t.group.results[w.index]);
    case Where::scratch: return {Spot::fixed, 0, scratch + w.index, 0};
    default: return {Spot::fixed, 0, const_cast<std::byte*>(t.kernel->literal(w.index)), 0};
    }
}

}  // namespace detail

inline void emit_fused(Emitter& e, const Task& t)
{
    e.program.owned().push_back(t.kernel);
    std::byte* scratch = e.scratch(t.kernel->scratch_bytes());
    if (!t.kernel->direct().empty()) {
        for (const auto& call : t.kernel->direct()) {
            Direct* d = e.direct(call.kernel, call.n, call.arity);
            for (std::size_t k = 0; k < call.arity; ++k)
                e.bind(d->in() + k, detail::spot_of(e, t, call.in[k], scratch));
            e.bind(&d->out, detail::spot_of(e, t, call.out, scratch));
        }
        return;
    }
    auto& pass = *e.step<detail::FusedPass>();
    const Group& g = t.group;
    pass.kernel = t.kernel.get();
    pass.scratch = scratch;
    pass.operands = e.program.memory.array<std::byte*>(g.operands.size());
    pass.results = e.program.memory.array<std::byte*>(g.results.size());
    for (std::size_t k = 0; k < g.operands.size(); ++k) e.bind(pass.operands + k, g.operands[k]);
    for (std::size_t r = 0; r < g.results.size(); ++r) e.bind(pass.results + r, g.results[r]);
}

}  // namespace wengert::tiling

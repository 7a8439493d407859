// The bodies of obliged.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../obliged.hpp"
#include "apply.ipp"

namespace wengert::detail {

/// For a recorder, behind the operation with effects before it.
inline void note_in_order(Recorder& r, const Primitive& p, const void* op, const AnyTensor* const* in,
                          std::size_t n, const Ref<Block>& out, const Site& at)
{
    const AnyTensor before{r.effect, {}};
    std::vector<const AnyTensor*> operands(in, in + n);
    if (before.value) operands.push_back(&before);
    note(&r, p, op, operands.data(), operands.size(), *out, at);
    r.effect = out;
}

WENGERT_INLINE AnyTensor record_obliged(const Primitive& p, const AnyTensor* const* in, std::size_t n,
                                        Ref<Block> value, const void* op, const void* noted, const Site& at,
                                        bool variables)
{
    Tape& tape = Tape::current();
    const std::uint64_t mask = tape.dependence(in, n, p.name, at) | levels_of_transforms(tape) |
                               (variables ? tape.active & Tape::bit(0) : 0);
    AnyTensor out{std::move(value), {}};
    if (Recorder* const r = tape.thread().recorder) [[unlikely]]
        note_in_order(*r, p, noted, in, n, out.value, tape.site_override.line ? tape.site_override : at);
    if (mask == 0 || !p.differentiable) return out;
    refuse_operands(p, in, n, at);
    out.node = make_node(tape, p, in, n, *out.value, mask, p.saves, at);
    if (mask & ~tape.forward_levels) {
        memory::inject_failure();
        out.node->op = p.clone(op);
    }
    complete(tape, p, op, in, n, out, mask, p.saves >> std::min<std::size_t>(n, 7) & 1);
    oblige(tape, out.node);
    return out;
}

}  // namespace wengert::detail

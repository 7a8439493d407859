// What call_steps.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../call_steps.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE bool is_foreign(const GraphNode& n)
{
    return !n.primitive->launches && !n.primitive->communicates &&
           (n.primitive->effects || wengert::detail::words_of(n).code);
}

WENGERT_INLINE void Call::compute(Thread& t) const
{
    struct Planned {
        Thread& t;
        ~Planned() { t.planned = {}; }
    } planned{t};
    if (!foreign) t.planned = {out->data, out->bytes()};
    const Ref<Block> r = copies ? on_copies() : primitive->compute(op, in.data(), in.size(), at);
    if (r->count != out->count || r->dtype != out->dtype)
        fail<TapeError>(primitive->name, "gave a result of another shape than when it was traced", at);
    if (r->data == out->data && !r->strided) return;
    t.planned = {};
    if (r->strided) return copy_elements(*copy_of(*r), *out);
    if (r->count > 0) std::memmove(out->data, r->data, out->bytes());
}

WENGERT_INLINE Ref<Block> Call::on_copies() const
{
    std::vector<Ref<Block>> given;
    for (const auto& b : in) given.push_back(copy_of(*b));
    return primitive->compute(op, given.data(), given.size(), at);
}

WENGERT_INLINE Call* make_call(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    std::vector<Ref<Block>> in;
    for (ValueId i : n.inputs) in.push_back(e.header(i));
    auto call = std::make_shared<Call>(n, std::move(in), e.header(v));
    e.program.owned().push_back(call);
    e.program.parameters().push_back(n.op);
    return call.get();
}

WENGERT_INLINE void emit_call(Emitter& e, ValueId v, bool update)
{
    if (update) bring(e, e.plan.graph.node(v).inputs[0], v);
    const Call* call = make_call(e, v);
    if (update)
        e.step([call](Run&) { call->update(); });
    else
        e.step([call](Run& run) { call->compute(run.thread); });
}

}  // namespace wengert::tiling::detail

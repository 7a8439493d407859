// An operation as a call of its primitive's own function, told where to put its result: what no other step does.
#pragma once

#include "../ir/fields.hpp"
#include "part_steps.hpp"

namespace wengert::tiling::detail {

/// Code of the user's, which may keep what it is given and what it makes.
inline bool is_foreign(const GraphNode& n)
{
    return !n.primitive->launches && (n.primitive->effects || wengert::detail::words_of(n, 0).code);
}

/// The primitive's own function, for what the fast path leaves out.
struct Call {
    const Primitive* primitive;
    const void* op;
    std::vector<Ref<Block>> in;
    Ref<Block> out;
    bool foreign;  ///< code that may keep what it makes: it is not told where to put it
    bool copies;   ///< that may keep what it is given: it gets memory of its own
    Site at;
    Call(const GraphNode& n, std::vector<Ref<Block>> operands, Ref<Block> result)
        : primitive(n.primitive), op(n.op.get()), in(std::move(operands)), out(std::move(result)),
          foreign(is_foreign(n)), copies(n.primitive->effects || n.primitive->inside), at(n.at)
    {}

    /// The result comes to lie where `out` does: as a rule the primitive puts it there itself.
    void compute(Thread& t) const
    {
        struct Planned {
            Thread& t;
            ~Planned() { t.place = {}; }
        } planned{t};
        if (!foreign) t.place = {out->data, out->bytes()};
        const Ref<Block> r = copies ? on_copies() : primitive->compute(op, in.data(), in.size(), at);
        if (r->count != out->count || r->dtype != out->dtype)
            fail<TapeError>(primitive->name, "gave a result of another shape than when it was traced", at);
        if (r->data == out->data && !r->strided) return;
        t.place = {};
        if (r->strided) return copy_elements(*copy_of(*r), *out);
        std::memmove(out->data, r->data, out->bytes());
    }
    void update() const { primitive->update(op, *out, in.data() + 1, in.size() - 1, at); }

private:
    Ref<Block> on_copies() const
    {
        std::vector<Ref<Block>> given;
        for (const auto& b : in) given.push_back(copy_of(*b));
        return primitive->compute(op, given.data(), given.size(), at);
    }
};

inline Call* make_call(Emitter& e, ValueId v)
{
    const GraphNode& n = e.plan.graph.node(v);
    std::vector<Ref<Block>> in;
    for (ValueId i : n.inputs) in.push_back(e.header(i));
    auto call = std::make_shared<Call>(n, std::move(in), e.header(v));
    e.program.owned().push_back(call);
    e.program.parameters().push_back(n.op);
    return call.get();
}

inline void emit_call(Emitter& e, ValueId v, bool update)
{
    if (update) bring(e, e.plan.graph.node(v).inputs[0], v);
    const Call* call = make_call(e, v);
    if (update)
        e.step([call](Run&) { call->update(); });
    else
        e.step([call](Run& run) { call->compute(run.thread); });
}

}  // namespace wengert::tiling::detail

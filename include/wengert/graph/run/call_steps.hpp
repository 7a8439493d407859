// An operation as a call of its primitive's own function, told where to put its result: what no other step does.
#pragma once

#include "../ir/fields.hpp"
#include "part_steps.hpp"

namespace wengert::tiling::detail {

/// Code of the user's, which may keep what it is given and what it makes.
bool is_foreign(const GraphNode& n);

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
          foreign(is_foreign(n)),
          copies((n.primitive->effects && !n.primitive->communicates) || n.primitive->inside), at(n.at)
    {}

    /// The result comes to lie where `out` does: as a rule the primitive puts it there itself.
    void compute(Thread& t) const;
    void update() const { primitive->update(op, *out, in.data() + 1, in.size() - 1, at); }

private:
    Ref<Block> on_copies() const;
};

Call* make_call(Emitter& e, ValueId v);

void emit_call(Emitter& e, ValueId v, bool update);

}  // namespace wengert::tiling::detail

#ifndef WENGERT_COMPILED
#include "impl/call_steps.ipp"
#endif

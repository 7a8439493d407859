// What sweep.hpp is about. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../real/adjoints.hpp"
#include "../exchange.hpp"

namespace wengert {

namespace detail {

/// The cotangents of a tensor whose elements have been taken in.
struct GivingBack {
    template <class T>
    static void of(Walk& walk, ScalarAdjoints& adjoints, const ScalarStretch::Entered& e, Node& to)
    {
        if (!adjoints.recorded()) {
            Ref<Block> b = make_block(dtype_of<T>(), e.tensor.value->shape);
            const bool any = adjoints.take(e.begin, e.count, b->template as<T>());
            if (any)
                walk.deliver(to,
                             {placed(std::move(b)), {}});  // else a checkpoint before it need not run again
            return;
        }
        std::vector<Real<T>> g(e.count);
        bool any = false;
        for (std::uint32_t k = 0; k < e.count; ++k) {
            const Real<double> taken = adjoints.take(e.begin + k);
            g[k] = Real<T>(static_cast<T>(taken.plain()), taken.mark());
            any = any || taken.is_active() || taken.plain() != 0.0;
        }
        if (!any) return;
        walk.deliver(to, gathered<T>(g.data(), g.size(), e.tensor.value->shape, to.at));
    }
};

WENGERT_INLINE void scalar_vjp(const Node& n, const AnyTensor&, Cotangents& out)
{
    Walk& walk = out.walk();
    auto& stretch = *static_cast<ScalarStretch*>(n.op);
    ScalarStream& stream = ScalarStream::of(walk.tape());
    ScalarAdjoints& adjoints = ScalarAdjoints::of(walk);
    if (stream.find(stretch.begin) == &stretch && stream.end_of(stretch) == stream.end()) stream.close();
    if (walk.records(n, {})) adjoints.become_recorded();
    adjoints.cover(stretch.begin);
    for (const auto& older : stretch.older)
        if (walk.reaches(older.get())) adjoints.cover(static_cast<ScalarStretch*>(older->op)->begin);
    ScalarPlace from = stretch.begin;
    for (const ScalarStretch::Entered& e : stretch.entered)  // a level's variables are where its sweep ends
        if (e.variables && walk.reaches(e.tensor.node.get())) from = e.begin + e.count;
    adjoints.sweep(stretch, from, !walk.tape().allow_nan);
    for (const ScalarStretch::Entered& e : stretch.entered) {
        Node* const to = e.tensor.node.get();
        if (!walk.reaches(to)) {
            adjoints.leave(e);
            continue;
        }
        of_real<GivingBack>(to->dtype, walk, adjoints, e, *to);
    }
    adjoints.done(stretch);
    for (const auto& older : stretch.older) announce(walk, *older);
    if (!walk.retains(n)) stream.consume(stretch);
}

}  // namespace detail
}  // namespace wengert

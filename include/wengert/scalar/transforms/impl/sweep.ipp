// What sweep.hpp is about. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../transforms/jvp.hpp"
#include "../../real/adjoints.hpp"
#include "../exchange.hpp"

namespace wengert {

namespace detail {

/// As deliver_entered, where adjoints carry tangents of a level.
template <class T>
void deliver_with_tangents(Walk& walk, ScalarAdjoints& adjoints, const ScalarSpan::Entered& e, Node& to,
                           std::size_t level)
{
    const Shape& shape = e.tensor.value->shape;
    Ref<Block> g = make_block(dtype_of<T>(), shape), dot = make_block(dtype_of<T>(), shape);
    const auto [any, any_dot] =
        adjoints.take_with_tangents(e.begin, e.count, g->template as<T>(), dot->template as<T>());
    if (!any && !any_dot) return;
    const Tensor<T> sent(AnyTensor{made_in_run(placed(std::move(g))), {}}),
        along(AnyTensor{made_in_run(placed(std::move(dot))), {}});
    walk.deliver(
        to, AnyTensor((any_dot ? lift_with_tangent(sent, along, level, "scalar code", to.at) : sent).any()));
}

template <class T>
void deliver_entered(Walk& walk, ScalarAdjoints& adjoints, const ScalarSpan::Entered& e, Node& to)
{
    if (const std::size_t level = adjoints.forward_level())
        return deliver_with_tangents<T>(walk, adjoints, e, to, level);
    if (!adjoints.recorded()) {
        Ref<Block> b = make_block(dtype_of<T>(), e.tensor.value->shape);
        const bool any = adjoints.take(e.begin, e.count, b->template as<T>());
        if (any)
            walk.deliver(to, {made_in_run(placed(std::move(b))),
                              {}});  // else a checkpoint before it need not run again
        return;
    }
    std::vector<Real<T>> g(e.count);
    bool any = false;
    for (std::uint32_t k = 0; k < e.count; ++k) {
        const Real<double> taken = adjoints.take(e.begin + k);
        g[k] = Real<T>(static_cast<T>(taken.plain()), taken.handle());
        any = any || taken.is_active() || taken.plain() != 0.0;
    }
    if (!any) return;
    walk.deliver(to, gathered<T>(g.data(), g.size(), e.tensor.value->shape, to.at));
}

WENGERT_INLINE void scalar_vjp(const Node& n, const AnyTensor&, Cotangents& out)
{
    Walk& walk = out.walk();
    auto& span = *static_cast<ScalarSpan*>(n.op);
    ScalarStream& stream = ScalarStream::of(walk.tape());
    ScalarAdjoints& adjoints = ScalarAdjoints::of(walk);
    if (stream.find(span.begin) == &span && stream.end_of(span) == stream.end()) stream.close();
    stream.find_older(span);
    adjoints.serve(walk.recording(n, {}), stream.end_of(span));
    adjoints.cover(span.begin);
    for (const auto& older : span.older)
        if (walk.reaches(older.get())) adjoints.cover(static_cast<ScalarSpan*>(older->op)->begin);
    ScalarPosition from = span.begin;
    for (const ScalarSpan::Entered& e : span.entered)  // a level's variables are where its sweep ends
        if (e.variables && walk.reaches(e.tensor.node.get())) from = e.begin + e.count;
    adjoints.sweep(span, from, !walk.tape().allow_nan);
    for (const ScalarSpan::Entered& e : span.entered) {
        Node* const to = e.tensor.node.get();
        if (!walk.reaches(to)) {
            adjoints.leave(e);
            continue;
        }
        e.deliver(walk, adjoints, e, *to);
    }
    adjoints.done(span);
    for (const auto& older : span.older) announce(walk, *older);
    if (!walk.retains(n)) stream.consume(span);
}

}  // namespace detail
}  // namespace wengert

// The bodies of traced_call.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <tuple>

#include "../../../base/separate.hpp"
#include "../check.hpp"
#include "../frozen_derivatives.hpp"
#include "../traced_call.hpp"
#include "../../ir/traced_inputs.hpp"

namespace wengert::detail {

WENGERT_INLINE TracedInputs::TracedInputs(const std::vector<Ref<Block>>& inputs,
                                          const std::vector<AnyTensor*>& live, bool bodies_twice,
                                          const Site& at)
    : trace_(std::make_shared<Trace>()), live_(live)
{
    trace_->bodies_twice = bodies_twice;
    for (const Ref<Block>& b : inputs) all_.push_back(traced_input(*trace_, b, at));
    for (const AnyTensor* t : live_) {
        before_.push_back(*t);
        nodes_.push_back(t->node ? std::pair(t->node->flags, t->node->at)
                                 : std::pair(std::uint8_t{0}, Site{}));
    }
    for (std::size_t i = 0; i < live_.size(); ++i) {
        live_[i]->value = all_[first_live() + i].value;
        if (depends_now(before_[i])) live_[i]->node = {};
    }
}

WENGERT_INLINE Recorder& TracedInputs::recorder() const noexcept { return *trace_; }

WENGERT_INLINE TracedInputs::~TracedInputs()
{
    for (std::size_t i = 0; i < live_.size(); ++i) {
        AnyTensor& t = *live_[i];
        if (!ended_ || !updated(i))
            t = before_[i];
        else if (is_variable(t) && is_variable(before_[i]))
            t.node = before_[i].node;  // as in a replay
        if (is_variable(before_[i])) std::tie(before_[i].node->flags, before_[i].node->at) = nodes_[i];
    }
}

WENGERT_INLINE LiveRestore::LiveRestore(const std::vector<AnyTensor*>& live) : live_(live)
{
    for (const AnyTensor* t : live) before_.push_back(*t);
}

WENGERT_INLINE LiveRestore::~LiveRestore()
{
    for (std::size_t i = 0; i < before_.size(); ++i) *live_[i] = std::move(before_[i]);
}

WENGERT_INLINE void finish_trace(FrozenTrace& t, TracedInputs& in, TreeReader result, HeldBlocks held,
                                 const Site& at)
{
    Trace& trace = in.trace();
    held.add(in.all());
    for (const AnyTensor* l : in.live()) held.add(*l);
    const auto add = [&](AnyTensor y) {
        t.depends = t.depends || depends_now(y);
        trace.output(y.value, at);
        held.add(y);
        t.values.push_back(std::move(y.value));
    };
    t.numbers = std::move(result.plain.signature);
    t.results = result.leaves.size();
    for (AnyTensor& y : result.leaves) add(std::move(y));
    for (std::size_t i = 0; i < in.live().size(); ++i) {
        if (!in.updated(i)) continue;
        const AnyTensor& now = *in.live()[i];
        if (!now.value) refuse_empty("freeze", now, at);
        t.live.push_back(i);
        trace.graph().update(in.first_live() + i, trace.graph().outputs().size());
        add(now);
    }
    for (const ValueId v : host_values(trace.graph())) add({trace.blocks()[v], {}});
    trace.stop();
    t.varies = trace.varies();
    const std::vector<ValueId> outside = escaped(trace, held);
    t.escaped = outside.empty() ? no_value : outside.front();
    t.constants = trace.from_outside();
    t.graph = std::move(trace.graph());
    in.stop();
}

WENGERT_INLINE void drop_refuted(FrozenEntry& entry, std::shared_ptr<FrozenPath>& path, const FrozenTrace& t)
{
    if (!path || !t.depends || !(path->varies || t.varies)) return;
    entry.paths.clear();
    path = nullptr;
}

WENGERT_INLINE bool take_trace(FrozenCore& core, FrozenEntry& entry, std::shared_ptr<FrozenPath>& path,
                               FrozenTrace t, bool recorded, std::vector<Ref<Block>>& values, const Site& at)
{
    const CallArguments& a = core.call.arguments;
    if (path) {
        compare_calls(*path, core.call.outputs, t, at);
        note_variables(*path);
        values = std::move(t.values);
        return true;
    }
    values = std::move(t.values);
    path = core.add(entry, std::move(t), a.family, a.extent);
    core.report_retraces(at);
    return !recorded || (path && !derivative_calls_host(entry));
}

WENGERT_INLINE const FrozenPath* fitting_path(const FrozenEntry& e, const std::vector<Ref<Block>>& inputs)
{
    for (const auto& p : e.paths) {
        std::vector<Ref<Block>> in = inputs, out;
        if (p->optimized.guards().empty() || p->effects ||
            p->executable->run(in, out) == p->optimized.guards().size())
            return p.get();
    }
    return nullptr;
}

}  // namespace wengert::detail

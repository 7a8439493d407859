// Control flow while a graph is being traced: bodies become graphs of their own, and the loop one operation.
#pragma once

#include <functional>
#include <optional>

#include "../ops/choices.hpp"
#include "../ops/reductions.hpp"
#include "../ops/view.hpp"
#include "ir/arguments.hpp"
#include "ir/trace.hpp"
#include "loops/loop_graphs.hpp"
#include "loops/speculation.hpp"
#include "traced_inputs.hpp"

namespace wengert::detail {

/// The trace in progress, null where loops run as they are.
Trace* current_trace();

/// What a tree holds: its tensors and the data of its keys, which are values of the graph that a trace makes if there is one, and
/// its numbers and texts.
struct TreeReader {
    Recorder* recorder;
    std::vector<AnyTensor> leaves = {};
    CallArguments plain = {};
    template <class T, class D> void tensor(const Tensor<T, D>& t) { leaves.push_back(t.any()); }
    void key(const Key& k)
    {
        Ref<Block> b = k.origin && recorder ? recorder->key(k.origin) : Ref<Block>();
        leaves.push_back({b ? b : block_of_key(k), {}});
    }
    template <class N> void number(const N& n) { plain.number(n); }
    template <class S> void text(const S& s) { plain.text(s); }
};
template <class X> TreeReader read_tree(Recorder* recorder, const X& x)
{
    TreeReader reader{recorder};
    visit_argument(reader, x);
    return reader;
}

/// Gives a tree other tensors and keys.
struct TreeWriter {
    Trace* trace;
    const AnyTensor* next;
    template <class T, class D> void tensor(Tensor<T, D>& t) { t = Tensor<T, D>(*next++); }
    void key(Key& k)
    {
        const Ref<Block> b = (next++)->value;
        k = key_of_block(*contiguous(b));
        if (!trace) return;
        k.origin = trace->new_origin();
        trace->remember_key(k.origin, b);
    }
};
template <class X> void write_tree(Trace* trace, X& x, const std::vector<AnyTensor>& leaves)
{
    TreeWriter writer{trace, leaves.data()};
    visit_argument(writer, x);
}

/// A scope in which a body is traced.
class BodyTrace {
public:
    /// `real`: the example is one that occurs.
    explicit BodyTrace(bool real) : speculation_(!real) { ++depth(); }
    BodyTrace(const BodyTrace&) = delete;
    BodyTrace& operator=(const BodyTrace&) = delete;
    ~BodyTrace() { --depth(); }
    static int& depth();
    Trace& trace() noexcept { return trace_; }
    std::vector<AnyTensor> inputs(const std::vector<AnyTensor>& examples, const Site& at);
    void outputs(const std::vector<AnyTensor>& values, const Site& at);

private:
    NoGrad unrecorded_;
    Speculation speculation_;
    Trace trace_;
};

/// Guards of a body become a truth value that the body returns: whether it would do the same again. Those that read captured
/// values are the enclosing trace's. Empty where a guard cannot be put like that.
class BodyGuards {
public:
    BodyGuards(BodyTrace& body, std::size_t first_captured);
    bool possible() const noexcept { return possible_; }
    bool any() const noexcept { return holds_.has_value(); }
    const Site& at() const noexcept { return at_; }
    /// The truth value, true where there was no guard.
    Tensor<bool> holds() const { return holds_ ? *holds_ : Tensor<bool>(true); }
    /// Tells the enclosing trace what it has to guard itself.
    void hand_on(Recorder& outer) const;

private:
    void add(const Guard& g);

    Trace& trace_;
    std::size_t first_captured_;
    bool possible_ = true;
    Site at_{};
    std::optional<Tensor<bool>> holds_;
    std::vector<std::tuple<Ref<Block>, Read, Site>> outside_;
};

/// A loop that is recorded as an operation, and its results. The flag that its bodies' guards have become is guarded in the enclosing
/// trace, at the line `guard`; nothing where it does not hold.
std::optional<std::vector<AnyTensor>> record_loop(std::shared_ptr<LoopParameters> p,
                                                  std::vector<AnyTensor> in, const Site& guard,
                                                  const Site& at);

/// Slices of xs at step 0, or zeros where there is none.
std::vector<AnyTensor> example_slices(const std::vector<AnyTensor>& xs);

/// What the trace of a body gives.
template <class Y> struct TracedBody {
    Graph
        graph;  ///< inputs: those given, then the captured ones, then the flag of the guards before the step if there is one
    std::vector<AnyTensor> captured;
    std::optional<Y> shell;  ///< the results that are no state, to be filled
    bool flag = false, effects = false;
    Site guard;
};

/// Does something outside of a body hold what the body has computed or was given? A rule that was made there and has captured it, a
/// variable: each step would leave another one.
template <class Y>
bool is_held_outside(Trace& body, const std::vector<AnyTensor>& in, const std::vector<AnyTensor>& out,
                     const std::optional<Y>& shell)
{
    HeldBlocks held;
    for (const auto* list : {&in, &out})
        for (const AnyTensor& t : *list) ++held.count[t.value.get()];
    if (shell) visit_argument(held, *shell);
    if (body.effect) ++held.count[body.effect.get()];
    return escaped(body, std::move(held), in.size()) != no_value;
}

/// Traces a function of trees: call(inputs, trace) -> leaves of the outputs. Null where its guards cannot be hoisted, or where it
/// lets out what is its own.
template <class Y, class Call>
std::optional<TracedBody<Y>> trace_body(Trace& outer, const std::vector<AnyTensor>& examples, bool real,
                                        bool with_flag, const Call& call, const Site& at)
{
    TracedBody<Y> made;
    BodyTrace body(real);
    const std::vector<AnyTensor> in = body.inputs(examples, at);
    const std::optional<std::vector<AnyTensor>> out = call(in, body.trace(), made.shell);
    if (!out || is_held_outside(body.trace(), in, *out, made.shell)) return {};
    const BodyGuards guards(body, in.size());
    if (!guards.possible() || (guards.any() && !with_flag)) return {};
    body.outputs(*out, at);
    made.captured = body.trace().captured();
    if (guards.any()) {
        made.flag = true;
        made.guard = guards.at();
        body.outputs({guards.holds().any()}, at);
    }
    made.effects = has_effects(body.trace().graph());
    body.trace().stop();
    guards.hand_on(outer);
    const Graph& g = body.trace().graph();
    made.graph = compacted(rearranged(g, all_of(0, g.inputs().size()), all_of(0, g.outputs().size())));
    return made;
}

/// Two graphs, the captured values of both behind the first `own` inputs of a.
struct CapturedByBoth {
    Graph graphs[2];
    std::vector<AnyTensor> all;
};
CapturedByBoth with_all_captured(const Graph& a, const std::vector<AnyTensor>& by_a, const Graph& b,
                                 const std::vector<AnyTensor>& by_b, std::size_t own);

/// Adds the flag as the last state: flag' = flag and this step's guards.
Graph with_flag(const Graph& g, std::size_t states, bool flag);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "loops/loop_source.hpp"
#include "control_trace_source.hpp"
#endif

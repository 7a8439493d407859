// Trace: the recorder that writes down everything a piece of code does, as a graph.
//
// Values are known by their blocks. A trace holds every block that it has seen, so no address comes twice and nothing is
// written in place. A block that no operation of the trace has made is a constant, or, when an enclosing trace knows it, a
// captured input; so are variables in a trace within another one, also those that the enclosing trace takes for constants, as
// the loop that the inner trace becomes has to hand their derivatives on.
#pragma once

#include <atomic>
#include <unordered_map>

#include "../../array/layout.hpp"
#include "../../base/key.hpp"
#include "../../ops/random.hpp"
#include "fields.hpp"
#include "id_table.hpp"

namespace wengert {

class Trace : public BasicRecorder, public KeyHook {
public:
    /// Records the calling thread's operations from here on; nested traces hide outer ones.
    explicit Trace(const Table& table = recorder_table<Trace>) : BasicRecorder(table), KeyHook{child_of}
    {
        const Tape& tape = Tape::current();
        start_ = tape.mark().sequence;
        // Last: what fails before leaves no recorder behind.
        outer_ = std::exchange(tape.thread().recorder, this);
        outer_keys_ = std::exchange(key_hook, this);
        running_ = true;
    }
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;
    ~Trace() { stop(); }
    void stop() noexcept
    {
        if (std::exchange(running_, false)) {
            current_thread().recorder = outer_;
            key_hook = outer_keys_;
        }
        effect = {};
    }

    /// Declares a block as the next input.
    ValueId input(const Ref<Block>& b, const Site& at)
    {
        return remember(b, graph_.input(b->dtype, b->shape, at));
    }

    void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at)
    {
        if (known_.contains(key_of(out)))
            return;  // handed through, or made of operations that have been seen
        ValueList inputs;
        inputs.resize(n);
        for (std::size_t i = 0; i < n; ++i) inputs[i] = value_of(*in[i], at);
        remember(Ref<Block>(&out),
                 graph_.operation(p, keep_parameters(p, op), std::move(inputs), out.shape, at, segment));
    }

    /// What a nested trace takes from outside is an input of its own, known by its node: the same elements may also come
    /// without one (detach), or with another.
    const Block& variable(const AnyTensor& t)
    {
        if (!outer_) return *t.value;
        if (!outer_->holds()) return outer_->variable(t);
        if (t.node->sequence >= start_) return *t.value;
        if (const auto at = variables_.find(t.node.get()); at != variables_.end())
            return *blocks_[at->second];
        const Strides strides = t.value->strides();
        const Ref<Block> own = make_view(t.value, t.value->shape, &strides, 0);
        captured_.push_back(t);
        variables_[t.node.get()] = input(own, {});
        return *own;
    }
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at)
    {
        know(*as, value_of(of.node ? variable(of) : *of.value, at));
        aliases_.push_back(as);
    }

    void read(const Block& x, Read what, const Site& at)
    {
        const ValueId v = value_of(x, at);
        if (graph_.node(v).kind == Graph::Kind::constant) return;
        for (const Guard& g : graph_.guards())
            if (g.value == v) return;
        graph_.guard({v, copy_of(x), what, at.line ? at : graph_.node(v).at});
    }

    Ref<Block> key(std::uint64_t origin)
    {
        const auto at = keys_.find(origin);
        if (at != keys_.end()) return at->second;
        return outer_ ? outer_->key(origin) : Ref<Block>();
    }
    /// A child of a key of this trace is an operation on it.
    std::uint64_t child(const Key& parent, std::uint64_t i, std::uint32_t domain, const Key& made)
    {
        const Ref<Block> from = key(parent.origin);
        if (!from) return 0;
        const std::uint64_t origin = new_origin();
        keys_[origin] = detail::draw_key(*this, from, i, domain, made);
        return origin;
    }
    static std::uint64_t new_origin()
    {
        static std::atomic<std::uint64_t> last{0};  // a key may be handed to another thread
        return ++last;
    }
    /// Gives a key a block of this trace.
    void remember_key(std::uint64_t origin, Ref<Block> b) { keys_[origin] = std::move(b); }

    void by_value()
    {
        varies_ = true;
        if (outer_) outer_->by_value();
    }
    /// Has it recorded something by its value that on other values would be an operation?
    bool varies() const noexcept { return varies_; }
    inline std::shared_ptr<const Inside> inside(const std::vector<Ref<Block>>& in, const InsideFunction& f,
                                                Ref<Block>& out, const Site& at);

    [[noreturn]] void refuse(std::string_view what, const Site& at)
    {
        fail<TapeError>("freeze", std::string(what), at);
    }

    /// The value that a block holds: known, captured from an enclosing trace, or a constant.
    ValueId value_of(const Block& b, const Site& at)
    {
        if (const ValueId known = known_.find(key_of(b)); known != no_value) return known;
        const Ref<Block> block(const_cast<Block*>(&b));
        if (outer_ && outer_->knows(b)) {
            captured_.push_back({block, {}});
            return input(block, at);
        }
        if (b.writers) return graph_.constant(copy_of(b), at);  // its elements may change
        return remember(block, graph_.constant(contiguous(block), at));
    }
    bool knows(const Block& b) const { return known_.contains(key_of(b)) || (outer_ && outer_->knows(b)); }
    void output(const Ref<Block>& b, const Site& at) { graph_.output(value_of(*b, at)); }
    void output(const AnyTensor& t, const Site& at)
    {
        graph_.output(value_of(t.node ? variable(t) : *t.value, at));
    }

    Trace* trace() noexcept { return this; }
    Graph& graph() noexcept { return graph_; }
    const std::vector<Ref<Block>>& blocks() const noexcept { return blocks_; }
    /// Values of the enclosing trace and variables that this one met, in the order of the inputs added for them.
    const std::vector<AnyTensor>& captured() const noexcept { return captured_; }
    const std::unordered_map<std::uint64_t, Ref<Block>>& keys() const noexcept { return keys_; }
    const std::vector<Ref<Block>>& aliases() const noexcept { return aliases_; }

private:
    static std::uint64_t child_of(KeyHook& hook, const Key& parent, std::uint64_t i, std::uint32_t domain,
                                  const Key& made)
    {
        return static_cast<Trace&>(hook).child(parent, i, domain, made);
    }
    static IdTable::Key key_of(const Block& b) noexcept { return reinterpret_cast<std::uintptr_t>(&b); }
    /// A block that has a value keeps it.
    void know(const Block& b, ValueId v)
    {
        ValueId& known = known_[key_of(b)];
        if (known == no_value) known = v;
    }
    ValueId remember(const Ref<Block>& b, ValueId v)
    {
        know(*b, v);
        blocks_.resize(graph_.size());
        blocks_[v] = b;
        return v;
    }

    Recorder* outer_ = nullptr;
    KeyHook* outer_keys_ = nullptr;
    bool running_ = false, varies_ = false;
    std::uint64_t start_ = 0;  ///< nodes before it come from outside
    Graph graph_;
    IdTable known_;                   ///< by block
    std::vector<Ref<Block>> blocks_;  ///< of every value
    std::vector<AnyTensor> captured_;
    std::unordered_map<const Node*, ValueId> variables_;  ///< those of them with a node
    std::vector<Ref<Block>> aliases_;
    std::unordered_map<std::uint64_t, Ref<Block>> keys_;
};

/// What an operation with a rule of the user's consists of: a graph from its inputs to its result.
class InsideGraph : public Inside {
public:
    explicit InsideGraph(Graph g) : graph(std::move(g)) {}
    const Graph graph;
};

namespace detail {

/// The trace of such an operation's inside. It may be given up, which is no error.
class InsideTrace : public Trace {
public:
    struct GivenUp {};
    InsideTrace() : Trace(recorder_table<InsideTrace>) {}
    [[noreturn]] void refuse(std::string_view, const Site&) { throw GivenUp(); }

    /// It depends on nothing but its inputs and numbers, and does nothing but compute.
    bool whole()
    {
        const auto plain = [](const GraphNode& n) {
            if (n.kind == Graph::Kind::constant) return n.shape.empty();
            return n.kind == Graph::Kind::input ||
                   (n.kind == Graph::Kind::operation && !n.primitive->effects);
        };
        const Graph& g = graph();
        return captured().empty() && g.guards().empty() &&
               std::all_of(g.nodes().begin(), g.nodes().end(), plain);
    }
};

}  // namespace detail

inline std::shared_ptr<const Inside> Trace::inside(const std::vector<Ref<Block>>& in, const InsideFunction& f,
                                                   Ref<Block>& out, const Site& at)
{
    detail::InsideTrace trace;
    std::vector<Ref<Block>> headers;
    for (const Ref<Block>& b : in) {
        headers.push_back(make_view(b, b->shape, b->strided ? &b->view_strides : nullptr, 0));
        trace.input(headers.back(), at);
    }
    try {
        out = f(headers);
    } catch (const detail::InsideTrace::GivenUp&) {
        return nullptr;
    }
    trace.output(out, at);
    if (!trace.whole()) return nullptr;
    trace.stop();
    return std::make_shared<InsideGraph>(std::move(trace.graph()));
}

/// Nothing is recorded while it lives: for work that is no part of the program traced.
class Untraced {
public:
    Untraced()
        : recorder_(std::exchange(current_thread().recorder, nullptr)),
          keys_(std::exchange(key_hook, nullptr))
    {}
    Untraced(const Untraced&) = delete;
    Untraced& operator=(const Untraced&) = delete;
    ~Untraced()
    {
        current_thread().recorder = recorder_;
        key_hook = keys_;
    }

private:
    Recorder* recorder_;
    KeyHook* keys_;
};

/// The graph of f, a function from blocks to blocks made of the library's operations, on inputs like these.
template <class F> Graph trace_graph(F&& f, const std::vector<Ref<Block>>& inputs, const Site& at = {})
{
    Trace trace;
    std::vector<AnyTensor> in;
    for (const auto& b : inputs) {
        trace.input(b, at);
        in.push_back({b, {}});
    }
    const std::vector<AnyTensor> out = f(in);
    for (const AnyTensor& t : out) trace.output(t.value, at);
    trace.stop();
    return std::move(trace.graph());
}

}  // namespace wengert

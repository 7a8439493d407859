// Trace: the recorder that writes down everything a piece of code does, as a graph.
//
// Values are known by their blocks. A trace holds every block that it has seen, so no address comes twice and nothing is
// written in place. Of results that nobody else holds it gives the elements back from time to time. A block that no operation
// of the trace has made is a constant, or, when an enclosing trace knows it, a captured input; so are variables in a trace
// within another one, also those that the enclosing trace takes for constants, as the loop that the inner trace becomes has to
// hand their derivatives on.
#pragma once

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
    Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;
    ~Trace();
    void stop() noexcept;

    /// Declares a block as the next input.
    ValueId input(const Ref<Block>& b, const Site& at);

    void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at);

    /// A value that a nested trace takes from outside becomes an input of the nested trace. It is identified by its node, since the
    /// same elements may also come without a node (detach), or with another.
    const Block& variable(const AnyTensor& t);
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at);

    void read(const Block& x, Read what, const Site& at);

    Ref<Block> key(std::uint64_t origin);
    /// A child of a key of this trace is an operation on it.
    std::uint64_t child(const Key& parent, std::uint64_t i, std::uint32_t domain, const Key& made);
    void enter_key(Key& k, const Ref<Block>& b);

    void by_value();
    std::shared_ptr<const void> settle(const Finding& f, const Site& at);
    /// Has it recorded something by its value that on other values would be an operation?
    bool varies() const noexcept { return varies_; }
    std::shared_ptr<const Inside> inside(const std::vector<Ref<Block>>& in, const InsideFunction& f,
                                         Ref<Block>& out, const Site& at);

    [[noreturn]] void refuse(std::string_view what, const Site& at);

    /// The value that a block holds: known, captured from an enclosing trace, or a constant.
    ValueId value_of(const Block& b, const Site& at);
    bool knows(const Block& b) const { return known_.contains(key_of(b)) || (outer_ && outer_->knows(b)); }
    void output(const Ref<Block>& b, const Site& at) { output(AnyTensor{b, {}}, at); }
    void output(const AnyTensor& t, const Site& at);

    Trace* trace() noexcept { return this; }
    Recorder* trace_of_loops() noexcept { return this; }
    void constant(const Block& b, const Site& at)
    {
        from_outside_.push_back(Ref<Block>(const_cast<Block*>(&b)));
        ++references_from_outside_[&b];
        if (outer_ && !again) outer_->constant(b, at);
    }
    /// What is constant in the graph and in bodies of its loops, as the function captures it.
    const std::vector<Ref<Block>>& from_outside() const noexcept { return from_outside_; }
    /// How often a block stands there.
    std::int64_t references_from_outside(const Block& b) const
    {
        const auto at = references_from_outside_.find(&b);
        return at == references_from_outside_.end() ? 0 : at->second;
    }
    /// The trace in which this one is of a body, or null.
    const Trace* around() const;
    /// A value of a body that has been traced, and that the program holds on to: it is that of no step, and must not be read. One that
    /// is constant may be made once for all steps: it must not be read in the line that makes it, which changes it then.
    struct Left {
        Ref<Block> block;
        bool constant;
        Site at;
    };
    void leave(Left l) { left_.push_back(std::move(l)); }
    const std::vector<Left>& left() const noexcept { return left_; }
    Graph& graph() noexcept { return graph_; }
    const std::vector<Ref<Block>>& blocks() const noexcept { return blocks_; }
    /// Values of the enclosing trace and variables that this one met, in the order of the inputs added for them.
    const std::vector<AnyTensor>& captured() const noexcept { return captured_; }
    const std::unordered_map<std::uint64_t, Ref<Block>>& keys() const noexcept { return keys_; }
    const std::vector<Ref<Block>>& aliases() const noexcept { return aliases_; }

    bool bodies_twice = true;  ///< traces the bodies of loops in it a second time, and compares
    bool again = false;  ///< it is such a second one: a checkpoint around has noted what the first one read
    std::string_view body_of = "freeze";  ///< the loop whose body it traces
    Site body_at = {};                    ///< the line of that loop
    int lowered_around = 0;               ///< Tape::lowered where that loop is called

    /// Tape::lowered without what the bodies that are traced add to it: 0 where no rule runs, and an operand that has escaped from
    /// a transform is refused.
    int lowered_outside() const noexcept
    {
        const int now = Tape::current().lowered;
        return now == lowered_ ? lowered_around : now;
    }

protected:
    explicit Trace(const Table& table);

private:
    static std::uint64_t new_origin();
    static std::uint64_t child_of(KeyHook& hook, const Key& parent, std::uint64_t i, std::uint32_t domain,
                                  const Key& made);
    static IdTable::Key key_of(const Block& b) noexcept { return reinterpret_cast<std::uintptr_t>(&b); }
    /// Is it a constant of the innermost trace around this one that knows it? Then it is one here, whether this one or that met it
    /// first.
    bool is_constant_around(const Block& b) const;
    /// Throws TapeError where another thread has used a value of the trace (Thread::used_elsewhere).
    void demand_one_thread(const Site& at) const;
    /// Throws TapeError for what a body has left behind, in this trace or in one around it.
    void demand_not_left(const Block& b, const Site& at) const;
    /// A block that has a value keeps it.
    void know(const Block& b, ValueId v);
    ValueId remember(const Ref<Block>& b, ValueId v);
    /// Gives back the elements of results that only this trace holds.
    void drop_dead_elements();
    /// v, or where it has been computed under NoGrad its stop_gradient: what is used outside of that scope.
    ValueId as_constant(ValueId v);

    Recorder* outer_ = nullptr;
    KeyHook* outer_keys_ = nullptr;
    bool running_ = false, varies_ = false;
    std::uint64_t start_ = 0;  ///< nodes before it come from outside
    int constants_ = 0;        ///< Tape::constants when it began
    int lowered_ = 0;          ///< Tape::lowered when it began: higher in a rule that runs meanwhile
    Graph graph_;
    IdTable known_;                       ///< by block
    std::vector<Ref<Block>> blocks_;      ///< of every value
    std::vector<ValueId> with_elements_;  ///< results whose elements do not lie in the block itself
    std::size_t bytes_with_elements_ = 0, most_bytes_ = std::size_t{64} << 20;
    std::vector<AnyTensor> captured_;
    std::unordered_map<const Node*, ValueId> variables_;  ///< those of them with a node
    std::vector<Ref<Block>> aliases_, from_outside_;
    std::unordered_map<const Block*, std::int64_t> references_from_outside_;
    std::vector<Left> left_;
    std::unordered_map<ValueId, ValueId>
        unrecorded_;  ///< computed under NoGrad; its stop_gradient once there is one
    std::unordered_map<std::uint64_t, Ref<Block>> keys_;
};

/// Is it a stop_gradient?
bool stops_gradient(const GraphNode& n);

/// What an operation with a rule of the user's consists of: a graph from its inputs to its result.
class InsideGraph : public Inside {
public:
    explicit InsideGraph(Graph g) : graph(std::move(g)) {}
    const Graph graph;
};

/// The graph of f, a function from blocks to blocks made of the library's operations, on inputs like these.
template <class F>
Graph trace_graph(F&& f, const std::vector<Ref<Block>>& inputs, const Site& at = {}, bool bodies_twice = true)
{
    Trace trace;
    trace.bodies_twice = bodies_twice;
    std::vector<AnyTensor> in;
    for (const auto& b : inputs) {  // one block in two places is two inputs
        in.push_back({trace.knows(*b) ? another_header(b) : b, {}});
        trace.input(in.back().value, at);
    }
    const std::vector<AnyTensor> out = f(in);
    for (const AnyTensor& t : out) trace.output(t.value, at);
    trace.stop();
    return std::move(trace.graph());
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/trace.ipp"
#endif

// The bodies of trace.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <atomic>

#include "../../../base/separate.hpp"
#include "../../../ops/elementwise/arithmetic.hpp"
#include "../trace.hpp"

namespace wengert {

#ifdef WENGERT_COMPILED
namespace detail {
void know_control() noexcept;  // graph/control/tracing.hpp
}
#endif

WENGERT_INLINE Trace::Trace() : Trace(recorder_table<Trace>) {}

WENGERT_INLINE Trace::Trace(const Table& table) : BasicRecorder(table), KeyHook{child_of}
{
#ifdef WENGERT_COMPILED  // with headers alone freeze tells: a trace by itself does not know control flow
    detail::know_control();
#endif
    const Tape& tape = Tape::current();
    if (!tape.thread().recorder) tape.thread().used_elsewhere = nullptr;
    start = start_ = tape.next_sequence();
    constants_ = tape.constants;
    lowered_ = lowered_around = tape.lowered;
    // Last: what fails before leaves no recorder behind.
    outer_ = std::exchange(tape.thread().recorder, this);
    outer_keys_ = std::exchange(key_hook, this);
    running_ = true;
}

WENGERT_INLINE Trace::~Trace() { stop(); }

WENGERT_INLINE void Trace::stop() noexcept
{
    if (std::exchange(running_, false)) {
        current_thread().recorder = outer_;
        key_hook = outer_keys_;
        const auto release = [&](const Ref<Block>& b) {
            if (b && !(outer_ && outer_->knows(*b))) b->access.traced = false;
        };
        std::for_each(blocks_.begin(), blocks_.end(), release);
        std::for_each(aliases_.begin(), aliases_.end(), release);
    }
    effect = {};
}

WENGERT_INLINE ValueId Trace::input(const Ref<Block>& b, const Site& at)
{
    return remember(b, graph_.input(b->dtype, b->shape, at));
}

WENGERT_INLINE void Trace::operation(const Primitive& p, const void* op, const Block* const* in,
                                     std::size_t n, Block& out, const Site& at)
{
    if (known_.contains(key_of(out))) return;  // handed through, or made of operations that have been seen
    ValueList inputs;
    inputs.resize(n);
    const bool unrecorded = Tape::current().constants > constants_;
    for (std::size_t i = 0; i < n; ++i) {
        inputs[i] = value_of(*in[i], at);
        const bool is_order = p.effects && i + 1 == n && in[i] == effect.get();
        if (!unrecorded && !is_order) inputs[i] = as_constant(inputs[i]);
    }
    const auto varies = [&](ValueId v) { return graph_.node(v).kind != Graph::Kind::constant; };
    // of a loop the results: each is taken out by an operation of its own
    const bool hides = unrecorded && !p.loop && differentiable(out.dtype) &&
                       std::any_of(inputs.begin(), inputs.end(), varies);
    const ValueId v = graph_.operation(p, keep_parameters(p, op), std::move(inputs), out.shape, at, segment);
    if (hides) unrecorded_[v] = no_value;
    remember(Ref<Block>(&out), v);
    out.access.traced = true;
    if (p.effects || (!out.capacity && !out.base)) return;
    with_elements_.push_back(v);
    bytes_with_elements_ += out.capacity;
    if (bytes_with_elements_ > most_bytes_) drop_dead_elements();
}

WENGERT_INLINE void Trace::drop_dead_elements()
{
    const auto drop = [&](bool views) {
        std::erase_if(with_elements_, [&](ValueId v) {
            Block& b = *blocks_[v];
            const bool dead = b.is_view() == views && is_unique(&b);
            if (dead) drop_elements(b);
            return dead;
        });
    };
    drop(true);  // a view holds what it shows
    drop(false);
    bytes_with_elements_ = 0;
    for (const ValueId v : with_elements_) bytes_with_elements_ += blocks_[v]->capacity;
    most_bytes_ = std::max(most_bytes_, 2 * bytes_with_elements_);
}

struct StopGradientOf {
    template <class T> static const Primitive& of()
    {
        return detail::elementwise_of<StopGradient, xsimd::default_arch, T, T>();
    }
};
WENGERT_INLINE bool stops_gradient(const GraphNode& n)
{
    return n.primitive && differentiable(n.dtype) && n.primitive == &of_real<StopGradientOf>(n.dtype);
}
WENGERT_INLINE ValueId Trace::as_constant(ValueId v)
{
    const auto found = unrecorded_.find(v);
    if (found == unrecorded_.end()) return v;
    if (found->second == no_value) {
        const GraphNode n = graph_.node(v);
        const Primitive& stop = of_real<StopGradientOf>(n.dtype);
        found->second = graph_.operation(stop, {}, {v}, n.shape, n.at, n.segment);
        blocks_.resize(graph_.size());
    }
    return found->second;
}

WENGERT_INLINE const Block& Trace::variable(const AnyTensor& t)
{
    if (!outer_) return *t.value;
    if (!outer_->holds()) return outer_->variable(t);
    if (t.node->sequence >= start_) return *t.value;
    if (Tape& tape = Tape::current(); tape.lowered == lowered_) {
        const Restore<int> strict(tape.lowered, lowered_around);
        const AnyTensor* const one = &t;
        static_cast<void>(tape.dependence(&one, 1, body_of, body_at));
    }
    if (const auto at = variables_.find(t.node.get()); at != variables_.end()) return *blocks_[at->second];
    const Ref<Block> own = another_header(t.value);
    captured_.push_back(t);
    variables_[t.node.get()] = input(own, {});
    return *own;
}

WENGERT_INLINE void Trace::alias(const AnyTensor& of, const Ref<Block>& as, const Site& at)
{
    know(*as, value_of(of.node ? variable(of) : *of.value, at));
    as->access.traced = true;
    aliases_.push_back(as);
}

WENGERT_INLINE void Trace::read(const Block& x, Read what, const Site& at)
{
    const ValueId v = value_of(x, at);
    if (graph_.node(v).kind == Graph::Kind::constant) return;
    for (const Guard& g : graph_.guards())
        if (g.value == v) return;
    graph_.guard(
        {v, copy_of(*on_host(Ref<Block>(const_cast<Block*>(&x)))), what, at.line ? at : graph_.node(v).at});
}

WENGERT_INLINE Ref<Block> Trace::key(std::uint64_t origin)
{
    const auto at = keys_.find(origin);
    if (at != keys_.end()) return at->second;
    return outer_ ? outer_->key(origin) : Ref<Block>();
}

WENGERT_INLINE std::uint64_t Trace::child(const Key& parent, std::uint64_t i, std::uint32_t domain,
                                          const Key& made)
{
    const Ref<Block> from = key(parent.origin);
    if (!from) return 0;
    const std::uint64_t origin = new_origin();
    keys_[origin] = detail::draw_key(*this, from, i, domain, made);
    return origin;
}

WENGERT_INLINE void Trace::enter_key(Key& k, const Ref<Block>& b)
{
    k.origin = new_origin();
    keys_[k.origin] = b;
}

WENGERT_INLINE std::uint64_t Trace::new_origin()
{
    static std::atomic<std::uint64_t> last{0};  // a key may be handed to another thread
    return ++last;
}

WENGERT_INLINE void Trace::by_value()
{
    varies_ = true;
    if (outer_) outer_->by_value();
}

WENGERT_INLINE std::shared_ptr<const void> Trace::settle(const Finding& f, const Site& at)
{
    return outer_ && !again ? outer_->settle(f, at) : f.find();
}

WENGERT_INLINE void Trace::refuse(std::string_view what, const Site& at)
{
    fail<TapeError>("freeze", std::string(what), at);
}

WENGERT_INLINE const Trace* Trace::around() const
{
    return static_cast<const Trace*>(outer_ ? outer_->trace_of_loops() : nullptr);
}

WENGERT_INLINE bool Trace::is_constant_around(const Block& b) const
{
    for (const Trace* t = around(); t; t = t->around())
        if (const ValueId there = t->known_.find(key_of(b)); there != no_value)
            return t->graph_.node(there).kind == Graph::Kind::constant;
    return false;
}

WENGERT_INLINE void Trace::demand_not_left(const Block& b, const Site& at) const
{
    const auto same = [&](const Left& left) {
        const bool changes =
            left.at.line == at.line && std::string_view(left.at.file) == std::string_view(at.file);
        return left.block.get() == &b && (!left.constant || (changes && at.line > 0));
    };
    for (const Trace* t = this; t; t = t->around())
        if (std::any_of(t->left_.begin(), t->left_.end(), same))
            fail<TapeError>("freeze",
                            "the body of a loop or branch has put a tensor of shape " + to_string(b.shape) +
                                " into a variable from outside, which is read here. The body runs once for "
                                "the graph, not once in each step: make what it changes a part of the state, "
                                "or of what the branch returns",
                            at);
}

WENGERT_INLINE ValueId Trace::value_of(const Block& b, const Site& at)
{
    if (const ValueId known = known_.find(key_of(b)); known != no_value) return known;
    const Ref<Block> block(const_cast<Block*>(&b));
    if (outer_ && outer_->knows(b) && !is_constant_around(b)) {
        captured_.push_back({block, {}});
        return input(block, at);
    }
    demand_not_left(b, at);
    if (b.access.unrecorded && Tape::current().records_function()) detail::refuse_operand(body_of, b, at);
    constant(b, at);
    if (b.access.writers) return graph_.constant(copy_of(*on_host(block)), at);  // its elements may change
    return remember(block, graph_.constant(readable(block), at));
}

WENGERT_INLINE void Trace::demand_one_thread(const Site& at) const
{
    const Thread& thread = current_thread();
    const char* const file = thread.used_elsewhere.load(std::memory_order_acquire);
    const std::uint64_t origin = origin_elsewhere.load(std::memory_order_relaxed);
    const bool draws = origin && keys_.contains(origin);
    if (!file && !draws) return;
    const Site where{file ? file : "", thread.line_elsewhere.load(std::memory_order_relaxed)};
    fail<TapeError>(body_of,
                    std::string("another thread ") + (file ? "computes with a value" : "draws by a key") +
                        " of the function that is being recorded" +
                        (file && where.line ? ", in " + to_string(where) : std::string()) +
                        ": the graph cannot see what it does. Compute on the thread that calls the "
                        "function; host_callback runs code that the graph need not look into",
                    at);
}

WENGERT_INLINE void Trace::output(const AnyTensor& t, const Site& at)
{
    demand_one_thread(at);
    graph_.output(as_constant(value_of(t.node ? variable(t) : *t.value, at)));
}

WENGERT_INLINE std::uint64_t Trace::child_of(KeyHook& hook, const Key& parent, std::uint64_t i,
                                             std::uint32_t domain, const Key& made)
{
    return static_cast<Trace&>(hook).child(parent, i, domain, made);
}

WENGERT_INLINE void Trace::know(const Block& b, ValueId v)
{
    ValueId& known = known_[key_of(b)];
    if (known == no_value) known = v;
}

WENGERT_INLINE ValueId Trace::remember(const Ref<Block>& b, ValueId v)
{
    know(*b, v);
    blocks_.resize(graph_.size());
    blocks_[v] = b;
    return v;
}

}  // namespace wengert

#include "inside_trace.ipp"

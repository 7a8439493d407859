// Recorder: sees every operation that a thread carries out, whether or not anything is differentiated. The trace of a
// frozen function is one (graph/ir/trace.hpp). While one is there, it holds every block, so nothing is written in place.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../base/key.hpp"
#include "primitive.hpp"

namespace wengert {

/// What a recorder keeps of an operation whose rule is the user's: the operations that it consists of.
class Inside {
protected:
    ~Inside() = default;
};

/// What plain C++ learned from a tensor.
enum class Read : std::uint8_t { truth, item, elements };

/// An operation of which a recorder may keep what it consists of.
using InsideFunction = std::function<Ref<Block>(const std::vector<Ref<Block>>&)>;

/// What the library finds out once for a run: `of` are equal only where the same code asks.
struct Finding {
    const void* of;
    std::string_view name;
    std::function<std::shared_ptr<const void>()> find;
};

class Trace;

/// What the library tells. A table of functions, and nothing virtual, as a trace reaches the compiler of graphs: see
/// FieldVisitor.
class Recorder {
public:
    /// `out` has been computed from `in` by p. A block met for the first time as an operand is a constant.
    void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at)
    {
        table_->operation(*this, p, op, in, n, out, at);
    }
    /// An operand that depends on the tape: what a loop's body captures keeps its derivative. Returns the block that stands
    /// for it in this recorder.
    const Block& variable(const AnyTensor& t) { return table_->variable(*this, t); }
    /// `as` is another handle on a value, told apart from it by the tape: a variable of an inner transform.
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at)
    {
        table_->alias(*this, of, as, at);
    }
    /// The program has looked at elements.
    void read(const Block& x, Read what, const Site& at) { table_->read(*this, x, what, at); }
    /// Is this block a value of the trace, or of one that encloses it?
    bool knows(const Block& b) const { return table_->knows(*this, b); }
    /// The block that stands for a random key of this trace (base/key.hpp), null for a constant one.
    Ref<Block> key(std::uint64_t origin) { return table_->key(*this, origin); }
    /// Runs f, which is one operation of the trace, on the inputs; its result in `out`. Returns what it consists of where that is
    /// all there is to know of it, else null. Where `out` stays null f is to be run as any other function, unseen.
    std::shared_ptr<const Inside> inside(const std::vector<Ref<Block>>& in, const InsideFunction& f,
                                         Ref<Block>& out, const Site& at)
    {
        return table_->inside(*this, in, f, out, at);
    }
    /// The program does what no trace can hold.
    [[noreturn]] void refuse(std::string_view what, const Site& at)
    {
        table_->refuse(*this, what, at);
        __builtin_unreachable();
    }
    /// Something has been recorded by its value that on other values would be an operation: two traces may differ there.
    void by_value() { table_->by_value(*this); }
    /// What is found out; in a run that is done again (checkpoint) what its first run found.
    std::shared_ptr<const void> settle(const Finding& f, const Site& at)
    {
        return table_->settle(*this, f, at);
    }
    /// Does it keep the blocks that it sees?
    bool holds() const { return table_->holds(*this); }
    /// May this one not be written in place, as it is kept, or compared later with what it is now?
    bool keeps(const Block& b) const { return table_->keeps(*this, b); }
    /// Has it seen the operations of this graph, and does not need to again? Of none (null): are there such at all?
    bool seen(const void* graph) { return table_->seen(*this, graph); }
    /// From here on the block stands for the key.
    void enter_key(Key& key, const Ref<Block>& b) { table_->enter_key(*this, key, b); }
    /// Itself, where it writes a graph (graph/ir/trace.hpp), else null.
    Trace* trace() { return table_->trace(*this); }
    /// The trace in which a loop is one operation, its own or an enclosing one's; null where each step is to be seen.
    Recorder* trace_of_loops() { return table_->trace_of_loops(*this); }
    /// A loop's body has taken this block for a constant. What other operations take is an operand of theirs.
    void constant(const Block& b, const Site& at) { table_->constant(*this, b, at); }

    std::uint64_t start = 0;    ///< of a trace: the tape's next number when it began
    std::uint16_t segment = 0;  ///< operations of different segments are not to be merged (checkpoint)
    Ref<Block>
        effect;  ///< result of the last operation with effects: the next one takes it as an operand, which orders them
    /// Is operand i of n only there to put p in order? Then it is no value.
    bool is_order(const Primitive& p, std::size_t i, std::size_t n, const Block& operand) const noexcept
    {
        return p.effects && i + 1 == n && &operand == effect.get();
    }

    struct Table {
        void (*operation)(Recorder&, const Primitive&, const void* op, const Block* const* in, std::size_t n,
                          Block& out, const Site&);
        const Block& (*variable)(Recorder&, const AnyTensor&);
        void (*alias)(Recorder&, const AnyTensor& of, const Ref<Block>& as, const Site&);
        void (*read)(Recorder&, const Block&, Read, const Site&);
        bool (*knows)(const Recorder&, const Block&);
        Ref<Block> (*key)(Recorder&, std::uint64_t origin);
        void (*enter_key)(Recorder&, Key&, const Ref<Block>&);
        std::shared_ptr<const Inside> (*inside)(Recorder&, const std::vector<Ref<Block>>&,
                                                const InsideFunction&, Ref<Block>& out, const Site&);
        void (*refuse)(Recorder&, std::string_view what, const Site&);
        void (*by_value)(Recorder&);
        std::shared_ptr<const void> (*settle)(Recorder&, const Finding&, const Site&);
        bool (*holds)(const Recorder&);
        bool (*keeps)(const Recorder&, const Block&);
        bool (*seen)(Recorder&, const void* graph);
        Trace* (*trace)(Recorder&);
        Recorder* (*trace_of_loops)(Recorder&);
        void (*constant)(Recorder&, const Block&, const Site&);
    };

protected:
    explicit Recorder(const Table& table) : table_(&table) {}
    ~Recorder() = default;

private:
    const Table* table_;
};

/// The base of recorders. A recorder has functions of the same names, or else these, and recorder_table<Mine> for the constructor.
class BasicRecorder : public Recorder {
public:
    const Block& variable(const AnyTensor& t) { return *t.value; }
    std::shared_ptr<const Inside> inside(const std::vector<Ref<Block>>&, const InsideFunction&, Ref<Block>&,
                                         const Site&)
    {
        return nullptr;
    }
    void enter_key(Key& /* key */, const Ref<Block>& /* block */) {}
    void by_value() {}
    std::shared_ptr<const void> settle(const Finding& f, const Site&) { return f.find(); }
    bool holds() const { return true; }
    bool keeps(const Block&) const { return true; }
    bool seen(const void* /* graph */) { return false; }
    Trace* trace() { return nullptr; }
    Recorder* trace_of_loops() { return nullptr; }
    void constant(const Block&, const Site&) {}

protected:
    using Recorder::Recorder;
    ~BasicRecorder() = default;
};

template <class R>
inline constexpr Recorder::Table recorder_table = {
    [](Recorder& r, const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
       const Site& at) { static_cast<R&>(r).operation(p, op, in, n, out, at); },
    [](Recorder& r, const AnyTensor& t) -> const Block& { return static_cast<R&>(r).variable(t); },
    [](Recorder& r, const AnyTensor& of, const Ref<Block>& as, const Site& at) {
        static_cast<R&>(r).alias(of, as, at);
    },
    [](Recorder& r, const Block& x, Read what, const Site& at) { static_cast<R&>(r).read(x, what, at); },
    [](const Recorder& r, const Block& b) { return static_cast<const R&>(r).knows(b); },
    [](Recorder& r, std::uint64_t origin) { return static_cast<R&>(r).key(origin); },
    [](Recorder& r, Key& key, const Ref<Block>& b) { static_cast<R&>(r).enter_key(key, b); },
    [](Recorder& r, const std::vector<Ref<Block>>& in, const InsideFunction& f, Ref<Block>& out,
       const Site& at) { return static_cast<R&>(r).inside(in, f, out, at); },
    [](Recorder& r, std::string_view what, const Site& at) { static_cast<R&>(r).refuse(what, at); },
    [](Recorder& r) { static_cast<R&>(r).by_value(); },
    [](Recorder& r, const Finding& f, const Site& at) { return static_cast<R&>(r).settle(f, at); },
    [](const Recorder& r) { return static_cast<const R&>(r).holds(); },
    [](const Recorder& r, const Block& b) { return static_cast<const R&>(r).keeps(b); },
    [](Recorder& r, const void* graph) { return static_cast<R&>(r).seen(graph); },
    [](Recorder& r) { return static_cast<R&>(r).trace(); },
    [](Recorder& r) -> Recorder* { return static_cast<R&>(r).trace_of_loops(); },
    [](Recorder& r, const Block& b, const Site& at) { static_cast<R&>(r).constant(b, at); }};

/// The calling thread's recorder or null.
inline Recorder* recorder() noexcept { return this_thread ? this_thread->recorder : nullptr; }

/// Nothing is recorded while it lives: for work that is no part of the program traced.
class Untraced {
public:
    Untraced()
        : recorder_(std::exchange(current_thread().recorder, nullptr)),
          keys_(std::exchange(key_hook, &untraced_keys))
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

/// An operation on tensors, for the recorder if there is one.
inline void note(Recorder* r, const Primitive& p, const void* op, const AnyTensor* const* in, std::size_t n,
                 Block& out, const Site& at)
{
    std::vector<const Block*> blocks(n);
    for (std::size_t i = 0; i < n; ++i) {
        blocks[i] = in[i]->node ? &r->variable(*in[i]) : in[i]->value.get();
    }
    r->operation(p, op, blocks.data(), n, out, at);
}

namespace detail {
/// A value of a trace is used. Where another thread does so, the graph does not see it: the tracing thread is told (Trace::output).
inline void note_used(const Block& x, const Site& at) noexcept
{
    Thread& tracing = *x.owner;
    if (&tracing == &current_thread()) return;
    tracing.line_elsewhere.store(at.line, std::memory_order_relaxed);
    tracing.used_elsewhere.store(at.file ? at.file : "", std::memory_order_release);
}
/// A value for a function that a trace does not look into: it may use threads, and so gets a header without the mark.
inline Ref<Block> unmarked(const Ref<Block>& b) { return b->access.traced ? another_header(b) : b; }
}  // namespace detail

inline void note_read(const Block& x, Read what, const Site& at)
{
    if (x.access.traced) [[unlikely]]
        detail::note_used(x, at);
    if (Recorder* r = recorder()) [[unlikely]]
        r->read(x, what, at);
}

}  // namespace wengert

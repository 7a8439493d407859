// ScalarStream: what scalar code has recorded on a tape, one entry an operation, in the order of time.
//
//  - The stream is cut into spans. Each is one node of the tape, so a sweep meets it where it belongs among the tensors'
//    operations: after all that was made from its numbers, before the tensors whose elements it took in.
//  - A span ends where a tensor comes in that is newer than its node; the next one begins after that tensor. It goes on with the
//    numbers of the one before, so operations on older values stay the usual case.
//  - Entries name their operands in 32 bits: the stream is cut into chunks, too, and a span ends with its chunk. An operand of
//    an older chunk comes in by a link, an entry that has its whole position. Positions count on from chunk to chunk; an index is a
//    position less that of its chunk, and no entry has index 0.
//  - Numbers are plain values and hold nothing: a span lives as long as a level on whose variables it depends, and its
//    entries as long as its node. Numbers that are used later are refused: the number of a span is never used again.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include "../../tape/apply.hpp"
#include "budget.hpp"
#include "cursor.hpp"
#include "lines.hpp"
#include "recording.hpp"
#include "span.hpp"
#include "spill.hpp"

namespace wengert {

namespace detail {

struct PathRun;
void scalar_vjp(const Node&, const AnyTensor&, Cotangents&);  // scalar/transforms/sweep.hpp
[[noreturn]] void refuse_unrolled(std::size_t most);
/// Numbers come once in a process, so that a number of another thread is nobody's here.
std::uint32_t next_span_number() noexcept;
void drop_severed(ScalarStream& s, std::uint64_t since) noexcept;  // impl/severed.ipp

}  // namespace detail

/// All members are for the library.
class ScalarStream : public TapeExtension, private ScalarCursor {
public:
    static ScalarStream& of(Tape& tape)
    {
        if (!tape.extension) tape.extension = new ScalarStream(tape);
        return *static_cast<ScalarStream*>(tape.extension);
    }
    ScalarStream(const ScalarStream&) = delete;
    ScalarStream& operator=(const ScalarStream&) = delete;

    /// Where the operation's result is recorded; a handle of zeros where nothing that records depends on it. x and z are the
    /// values of the operands, y that of the result.
    static ScalarHandle note(ScalarOp op, ScalarHandle a, double x, ScalarHandle b, double z, double y);
    static ScalarHandle note(ScalarOp op, ScalarHandle a, double x, double y);

    /// Is there a Real on that tape that is a variable, or recorded?
    static bool has_numbers(const Tape& tape) noexcept;

    Tape& tape() const noexcept { return tape_; }
    /// Of the newest chunk, by index.
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ScalarCursor::size); }
    const ScalarEntry* entries() const noexcept { return ScalarCursor::entries; }
    /// Where the newest chunk begins, and the stream's end.
    ScalarPosition chunk() const noexcept { return newest_; }
    ScalarPosition end() const noexcept { return chunk() + size(); }
    /// The begin of the chunk of a position; the end of that chunk.
    ScalarPosition chunk_of(ScalarPosition p) const noexcept
    {
        if (p >= chunk()) [[likely]]
            return chunk();
        return *(std::upper_bound(chunks_.begin(), chunks_.end(), p) - 1);
    }
    ScalarPosition chunk_end(ScalarPosition p) const noexcept
    {
        if (p >= chunk()) [[likely]]
            return end();
        return *std::upper_bound(chunks_.begin(), chunks_.end(), p);
    }
    const ScalarEntry& entry(ScalarPosition p) const noexcept { return memory_[offset(p)]; }
    std::uint64_t mask_of(const ScalarEntry& e) const noexcept { return masks_[e.mask()]; }
    std::uint64_t mask_of(ScalarPosition p) const noexcept { return mask_of(entry(p)); }
    const std::vector<ScalarSpan*>& spans() const noexcept { return spans_; }
    /// So many spans have begun so far.
    std::uint64_t begun() const noexcept { return begun_; }
    /// The span whose node that is, or null.
    ScalarSpan* span_of(const Node& n) const noexcept;
    /// The span of a position, or null.
    ScalarSpan* find(ScalarPosition p) const noexcept
    {
        const auto after =
            std::upper_bound(spans_.begin(), spans_.end(), p,
                             [](ScalarPosition i, const ScalarSpan* s) { return i < s->begin; });
        if (after == spans_.begin()) return nullptr;
        ScalarSpan* s = *(after - 1);
        return p < end_of(*s) ? s : nullptr;
    }
    /// The span that a handle names. Null for variables and for numbers that are refused.
    ScalarSpan* find(ScalarHandle m) const noexcept
    {
        const auto in = [&](ScalarPosition chunk) {
            ScalarSpan* s = find(chunk + m.index());
            return s && s->chunk == chunk && s->has(m.span()) ? s : nullptr;
        };
        if (ScalarSpan* s = in(newest_); s || chunks_.size() == 1) return s;
        if (found_ < chunks_.size())
            if (ScalarSpan* s = in(chunks_[found_])) return s;
        for (std::size_t k = chunks_.size() - 1; k-- > 0;)
            if (ScalarSpan* s = in(chunks_[k])) {
                found_ = k;
                return s;
            }
        return nullptr;
    }
    /// Where a number is that is somewhere in the stream.
    ScalarPosition position(ScalarHandle m) const noexcept
    {
        return ((m.word ^ usual) >> 32 == 0 ? chunk() : find(m)->chunk) + m.index();
    }
    /// Is it of the newest chunk, from that index on?
    bool is_from(std::uint32_t first, ScalarHandle m) const noexcept
    {
        const ScalarSpan* s = m.index() >= first ? find(m) : nullptr;
        return s && s->chunk == chunk();
    }
    ScalarPosition end_of(const ScalarSpan& s) const noexcept { return &s == open_ ? end() : s.end; }
    /// Nobody will read a chunk for some time: where it is on disk, it leaves memory.
    void rest(ScalarPosition chunk) const noexcept
    {
        if (file_)
            file_->rest(offset(chunk) * sizeof(ScalarEntry), offset(chunk_end(chunk)) * sizeof(ScalarEntry));
    }

    /// Does a level that records depend on it? Asks, and refuses nothing.
    bool records(ScalarHandle m) noexcept
    {
        if (tape_.active == 0) return false;
        if (variable(m)) return true;
        const ScalarSpan* from = find(m);
        return from && (mask_of(from->chunk + m.index()) & tape_.active);
    }
    /// Returns the budget before.
    ScalarBudget set_budget(ScalarBudget budget);
    const ScalarBudget& budget() const noexcept { return budget_; }
    /// Where the numbers were made, under AnomalyMode; a line of 0 otherwise.
    Site made_at(ScalarHandle m) const;
    Site made_at(ScalarPosition p) const;
    /// The levels that a number depends on and that record. Refuses numbers of other tapes and of levels that have ended.
    std::uint64_t dependence(ScalarHandle m, std::string_view operation, const Site& at = {}) const;
    /// The operand's position in the stream: a variable enters it where it is used.
    ScalarHandle operand(ScalarHandle m, double value);
    /// The variable that a handle names, or null.
    ScalarVariable* variable(ScalarHandle m) noexcept
    {
        const std::uint32_t k = m.index() & ~ScalarVariable::bit;
        const bool named = (m.index() & ScalarVariable::bit) && k < variables.size();
        return named && variables[k].id == m.span() ? &variables[k] : nullptr;
    }
    /// A leaf of the tape as a variable of backward(); it is one until it is ended, or its tape is.
    ScalarHandle begin_variable(const AnyTensor& leaf, ScalarSpan::Deliver* deliver, const Site& at);
    void end_variable(ScalarVariable& v) noexcept
    {
        free_variable_ = std::min(free_variable_, static_cast<std::size_t>(&v - variables.data()));
        v = {};
    }
    /// An entry as an operand, where a level that records depends on it.
    ScalarHandle handle(ScalarPosition p);
    /// Elements of a tensor at the end of the stream; gives the first one's handle.
    ScalarHandle enter(const AnyTensor& x, std::uint64_t mask, std::span<const double> values,
                       ScalarSpan::Deliver* deliver);
    /// Numbers as they are below an open level: where they are recorded, or nowhere. Gives the levels that they depend on.
    std::uint64_t find_below(std::size_t level, std::vector<ScalarNumber>& x, std::string_view transform,
                             const Site& at);
    /// Numbers as variables of an open level, side by side; gives the first one's position. Each is a copy of what it was made from where a
    /// level below depends on that, else an input.
    ScalarPosition lift(std::size_t level, std::vector<ScalarNumber>& x, std::string_view transform,
                        const Site& at);
    /// Closes the open span, which a sweep has passed: what comes next is in a new one.
    void close() noexcept;
    /// Before a span is swept: puts those from which it reads, and whose numbers it went on with, among the older ones.
    void find_older(ScalarSpan& s) const;
    /// Tells a recorder on what a number depends, even if nothing records: the first run of a checkpoint needs it.
    static void tell(ScalarHandle m);
    void drop_dead(std::uint64_t start) noexcept;
    void release(ScalarSpan& s) noexcept;
    /// The sweep has used a span up.
    void consume(ScalarSpan& s) noexcept;
    /// Called where the span's node ends.
    void forget(ScalarSpan& s) noexcept;
    /// The same, and the span's memory serves a later one: a gradient of few operations has a span of its own.
    void put_away(ScalarSpan& s) noexcept;

    std::vector<ScalarTangents> tangents;
    std::vector<ScalarVariable> variables;
    std::vector<double> zeros;                   ///< memory for a walk's adjoints
    std::vector<double> dots;                    ///< memory for a level's tangents, empty
    std::vector<ScalarNumber> numbers;           ///< on their way into a level, or out of it
    std::vector<ScalarGuard>* guards = nullptr;  ///< of a kernel's recording
    ScalarOutcomes* outcomes = nullptr;          ///< of the same, or null
    CellTensors* cell_tensors = nullptr;         ///< of the same
    detail::PathRun* run = nullptr;              ///< that recording
    /// Enters a number with which a kernel's recording begins; take_back() drops the entries from an index on.
    ScalarHandle enter_number(double value)
    {
        if (!open_) open_for(Tape::bit(0), 0, 1, Site{}, false);  // a level of the cell's own has closed it
        reserve(1);
        if (!steady_) settle(number_for(*open_, static_cast<std::uint8_t>(levels >> 40)));
        const ScalarHandle made = append(ScalarOp::input, ScalarForm::unary, 0, value);
        if (!steady_) settle(nothing);
        return made;
    }
    void take_back(std::uint32_t to) noexcept { ScalarCursor::size = to; }
    /// Where this thread has recorded last, or null.
    static ScalarStream* current() noexcept
    {
        return current_ == &no_scalar_cursor ? nullptr : static_cast<ScalarStream*>(current_);
    }
    [[noreturn]] static void refuse(std::string_view operation, const Site& at = {});

private:
    explicit ScalarStream(Tape& tape);
    ~ScalarStream()
    {
        give_up_entries();
        while (spares_) delete spare_[--spares_];
    }
    std::unique_ptr<ScalarSpan> new_span()
    {
        return spares_ ? std::unique_ptr<ScalarSpan>(spare_[--spares_]) : std::make_unique<ScalarSpan>();
    }
    void give_up_entries() noexcept
    {
        if (!std::exchange(file_, nullptr)) std::free(memory_);
        memory_ = nullptr;
        held_entries_ = 0;
        look_at_newest();
    }
    /// Points the cursor at the newest chunk.
    void look_at_newest() noexcept;
    /// The offset of a position in memory.
    std::size_t offset(ScalarPosition p) const noexcept { return p - oldest_; }
    void* moved(std::size_t bytes);
    static ScalarHandle note_pair(ScalarOp op, ScalarHandle a, double x, ScalarHandle b, double z, double y);
    static ScalarHandle note_of_variables(ScalarOp op, ScalarHandle a, double x, ScalarHandle b, double z,
                                          double y);
    static ScalarHandle note_slowly(ScalarOp op, ScalarHandle a, double x, ScalarHandle b, double z,
                                    double y);
    /// Records an operation whose operands are in the newest chunk. One that is no operand has index 0.
    ScalarHandle append_operation(ScalarOp op, ScalarHandle a, double x, ScalarHandle b, double z,
                                  double y) noexcept;
    /// Makes operands of this span the usual case. With `nothing` there is none.
    void settle(std::uint32_t span) noexcept
    {
        const Word word = Word{span} << 32;
        if (usual != word) std::fill(std::begin(known_), std::end(known_), Known{});
        usual = word;
    }
    /// May it be an operand as one of the usual case may, although it is from an older span?
    bool is_known(ScalarHandle m) const noexcept
    {
        return std::any_of(std::begin(known_), std::end(known_), [&](const Known& k) {
            return k.number == m.span() && m.index() - k.first < k.length;
        });
    }
    void reserve(std::size_t more)
    {
        if (offset(end()) + more > held_entries_) hold(offset(end()) + more);
    }
    void hold(std::size_t wanted);
    void open_for(std::uint64_t mask, std::uint64_t newer_than, std::size_t more, Site line,
                  bool goes_on = false);
    void be_on(std::uint64_t mask);
    /// The line of the span where a number was recorded, for a new span that goes on from it.
    Site line_of(ScalarHandle m) const noexcept
    {
        const ScalarSpan* const s = open_ || m.index() == 0 ? nullptr : find(m);
        return s ? s->node->at : Site{};
    }
    void begin_chunk(std::size_t more);
    ScalarHandle near(ScalarHandle m, double value);
    std::uint8_t index_of(std::uint64_t mask);
    std::uint32_t number_for(ScalarSpan& s, std::uint8_t mask);
    void end_level() noexcept;
    void drop(ScalarSpan& s) noexcept;
    void forget_rewound_tangents() noexcept;

    Tape& tape_;
    void keep_line(ScalarHandle m);

    ScalarBudget budget_;
    std::unique_ptr<detail::SpillFile> file_;  ///< where the entries are, if not in memory
    ScalarEntry* memory_ = nullptr;            ///< all entries
    std::size_t held_entries_ = 0;             ///< for so many there is room
    std::vector<ScalarPosition> chunks_{0};    ///< where they begin, in order
    mutable std::size_t found_ = 0;            ///< where a handle's span was found last
    ScalarPosition oldest_ = 0, newest_ = 0;   ///< the first of them and the last

    /// Where an operation was called, under AnomalyMode.
    struct Made {
        std::uint32_t span, stack;
    };
    std::vector<Made> made_;
    std::vector<CallStack> stacks_;
    std::size_t free_variable_ = 0;  // all before it are in use
    /// Older spans: of the newest chunk, held by the open span, the number that is on the levels of the usual case.
    struct Known {
        std::uint32_t number = nothing, first = 0, length = 0;
    };
    Known known_[4];
    std::size_t next_known_ = 0;
    bool steady_ = false;  // the next operation on the same levels may be recorded without another look
    ScalarSpan* open_ = nullptr;
    std::uint64_t begun_ = 0;
    std::vector<ScalarSpan*> spans_;  // in order
    static constexpr std::size_t most_spares = 4;
    ScalarSpan* spare_[most_spares] = {};
    std::size_t spares_ = 0;
    std::vector<Ref<Node>> held_;  // nodes of those that a level still needs
    std::vector<std::uint64_t> masks_;
    static inline constinit thread_local ScalarCursor* current_ __attribute__((visibility("default"))) =
        &no_scalar_cursor;
};

inline ScalarSpan::~ScalarSpan()
{
    if (stream) stream->forget(*this);
}

// The usual case lies where the operation is written: a call would put what the caller has in registers into memory and back.
// Which operand is a constant is then most often known when that is compiled.
__attribute__((always_inline)) inline ScalarHandle ScalarStream::note(ScalarOp op, ScalarHandle a, double x,
                                                                      ScalarHandle b, double z, double y)
{
    ScalarCursor& c = *current_;
    const std::uint64_t i = a.word ^ c.usual, k = b.word ^ c.usual;
    if (__builtin_constant_p(b.word) && b.word == 0) {
        if (c.takes(i, i)) [[likely]]
            return c.append(op, ScalarForm::right_constant, i, z, y);
    } else if (__builtin_constant_p(a.word) && a.word == 0) {
        if (c.takes(k, k)) [[likely]]
            return c.append(op, ScalarForm::left_constant, k, x, y);
    } else if (c.takes(i, k)) [[likely]] {
        return c.append(op, i, k, y);
    }
    return note_pair(op, a, x, b, z, y);
}
__attribute__((always_inline)) inline ScalarHandle ScalarStream::note(ScalarOp op, ScalarHandle a, double x,
                                                                      double y)
{
    ScalarCursor& c = *current_;
    const std::uint64_t i = a.word ^ c.usual;
    if (c.takes(i, i)) [[likely]]
        return c.append(op, ScalarForm::unary, i, y);
    return note_of_variables(op, a, x, {}, 0, y);
}
__attribute__((noinline)) inline ScalarHandle ScalarStream::note_pair(ScalarOp op, ScalarHandle a, double x,
                                                                      ScalarHandle b, double z, double y)
{
    ScalarCursor& c = *current_;
    const std::uint64_t i = a.word ^ c.usual, k = b.word ^ c.usual;
    if (a.word == 0 && c.takes(k, k)) return c.append(op, ScalarForm::left_constant, k, x, y);
    if (b.word == 0 && c.takes(i, i)) return c.append(op, ScalarForm::right_constant, i, z, y);
    return note_of_variables(op, a, x, b, z, y);
}

namespace detail {

inline void destroy_span(void* op) noexcept
{
    auto* const span = static_cast<ScalarSpan*>(op);
    if (span->stream)
        span->stream->put_away(*span);
    else
        delete span;
}

inline constexpr Primitive scalar_primitive = [] {
    Primitive p;
    p.name = "scalar code";
    p.differentiable = true;
    p.vjp = scalar_vjp;
    p.destroy = destroy_span;
    return p;
}();

}  // namespace detail

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/note.ipp"
#include "impl/memory.ipp"
#include "impl/severed.ipp"
#endif

// ScalarStream: what scalar code has recorded on a tape, one entry an operation, in the order of time.
//
//  - The stream is cut into stretches. Each is one node of the tape, so a sweep meets it where it belongs among the tensors'
//    operations: after all that was made from its numbers, before the tensors whose elements it took in.
//  - A stretch ends where a tensor comes in that is newer than its node; the next one begins after that tensor.
//  - Numbers are plain values and hold nothing: a stretch lives as long as a level on whose variables it depends, and its
//    entries as long as its node. What is then used is refused by the number of its stretch, which comes only once.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include "../tape/apply.hpp"
#include "entry.hpp"

namespace wengert {

class ScalarStream;

/// A part of the stream: the parameters of its node.
struct ScalarStretch {
    struct Entered {
        std::uint32_t begin, count;
        AnyTensor tensor;
    };
    struct Number {
        std::uint8_t mask;
        std::uint32_t id;
    };
    ScalarStream* stream = nullptr;  ///< null once the tape has gone
    Node* node = nullptr;
    std::uint32_t begin = 0, end = 0;  ///< while it is open, the end is the stream's
    std::vector<Entered> entered;      ///< tensors whose elements are here
    std::vector<Ref<Node>> older;      ///< stretches from which it reads
    std::vector<Number> numbers;       ///< what marks say, one number for each mask

    ScalarStretch() = default;
    ScalarStretch(const ScalarStretch&) = delete;
    ScalarStretch& operator=(const ScalarStretch&) = delete;
    ~ScalarStretch();
    bool has(std::uint32_t id) const noexcept
    {
        return std::any_of(numbers.begin(), numbers.end(), [&](const Number& n) { return n.id == id; });
    }
};

/// A comparison that a kernel's recording has met: which way it went.
struct ScalarGuard {
    enum class Kind : std::uint8_t { less, less_equal, equal } kind;
    bool outcome;
    std::uint32_t at;    ///< entries before it
    std::uint32_t a, b;  ///< 0: the constants below
    double left, right;
};

/// Tangents of a forward level, computed when they are asked for.
struct ScalarTangents {
    std::size_t level = 0;
    std::uint64_t start = 0;  ///< of that level, so that one opened later is told apart
    std::uint32_t base = 0;
    struct Dot {
        double value;
        ScalarMark mark;
    };
    std::vector<Dot> dots;  ///< of the entries from `base` on
};

/// A variable of backward(), kept until its tape ends: marks name it by its number, with the highest bit set.
struct ScalarVariable {
    static constexpr std::uint32_t bit = std::uint32_t{1} << 31;
    std::uint32_t id = 0;  ///< 0 when it is no variable any more
    AnyTensor leaf;
    ScalarMark entered;  ///< where the stream has it
};

/// All members are for the library.
class ScalarStream : public TapeExtension {
public:
    static ScalarStream& of(Tape& tape)
    {
        if (!tape.extension) tape.extension = new ScalarStream(tape);
        return *static_cast<ScalarStream*>(tape.extension);
    }
    ScalarStream(const ScalarStream&) = delete;
    ScalarStream& operator=(const ScalarStream&) = delete;

    /// Where the operation's result is recorded; a mark of zeros where nothing that records depends on it. x and z are the
    /// values of the operands, y that of the result.
    static ScalarMark note(ScalarOp op, ScalarMark a, double x, ScalarMark b, double z, double y);
    static ScalarMark note(ScalarOp op, ScalarMark a, double x, double y);

    Tape& tape() noexcept { return tape_; }
    std::uint32_t size() const noexcept { return size_; }
    const ScalarEntry* entries() const noexcept { return entries_; }
    std::uint64_t mask_of(std::uint32_t i) const noexcept { return masks_[entries_[i].mask]; }
    const std::vector<ScalarStretch*>& stretches() const noexcept { return stretches_; }
    /// The stretch of a place, or null.
    ScalarStretch* find(std::uint32_t index) const noexcept
    {
        const auto after =
            std::upper_bound(stretches_.begin(), stretches_.end(), index,
                             [](std::uint32_t i, const ScalarStretch* s) { return i < s->begin; });
        if (after == stretches_.begin()) return nullptr;
        ScalarStretch* s = *(after - 1);
        return index < end_of(*s) ? s : nullptr;
    }
    std::uint32_t end_of(const ScalarStretch& s) const noexcept { return &s == open_ ? size_ : s.end; }

    /// The levels that a number depends on and that record. Refuses numbers of other tapes and of levels that have ended.
    std::uint64_t dependence(ScalarMark m, std::string_view operation) const;
    /// The operand's place in the stream: a variable enters it where it is used.
    ScalarMark place(ScalarMark m, double value);
    /// The variable that a mark names, or null.
    ScalarVariable* variable(ScalarMark m) noexcept
    {
        const std::uint32_t k = m.index & ~ScalarVariable::bit;
        const bool named = (m.index & ScalarVariable::bit) && k < variables.size();
        return named && variables[k].id == m.stretch ? &variables[k] : nullptr;
    }
    /// An entry as an operand, where a level that records depends on it.
    ScalarMark mark(std::uint32_t index);
    /// Elements of a tensor at the end of the stream; gives the first one's mark.
    ScalarMark enter(const AnyTensor& x, std::uint64_t mask, const double* values, std::size_t count);
    /// What comes next is in a stretch of its own: a sweep is past the one that is open.
    void close() noexcept;
    /// Tells a recorder, where there is one, on what a number depends though nothing records: a checkpoint's first run asks.
    static void tell(ScalarMark m);
    void drop_dead(std::uint64_t start) noexcept;
    /// The sweep has used a stretch up.
    void consume(ScalarStretch& s) noexcept;
    /// Called where the stretch's node ends.
    void forget(ScalarStretch& s) noexcept;

    std::vector<ScalarTangents> tangents;
    std::vector<ScalarVariable> variables;
    std::vector<ScalarGuard>* guards = nullptr;  ///< of a kernel's recording
    static ScalarStream*& current() noexcept { return current_; }
    [[noreturn]] static void refuse(std::string_view operation);

private:
    explicit ScalarStream(Tape& tape);
    ~ScalarStream() { std::free(entries_); }
    static ScalarMark note_slowly(ScalarOp op, ScalarMark a, double x, ScalarMark b, double z, double y);
    ScalarMark append(ScalarOp op, ScalarForm form, std::uint32_t a, double y) noexcept;
    ScalarMark append(ScalarOp op, std::uint32_t a, std::uint32_t b, double y) noexcept;
    ScalarMark append(ScalarOp op, ScalarForm form, std::uint32_t a, double c, double y) noexcept;
    /// All levels on which the usual mask depends record, on this thread, and there is room.
    bool is_ready() const noexcept
    {
        return tape_.active == usual_active_ && this_thread->tape == &tape_ && !tape_.anomaly &&
               size_ < capacity_;
    }
    void reserve(std::size_t more);
    void open_for(std::uint64_t mask, std::uint64_t newer_than);
    void reads(ScalarMark m);
    std::uint8_t index_of(std::uint64_t mask);
    std::uint32_t number_for(ScalarStretch& s, std::uint8_t mask);
    void end_level() noexcept;
    void drop(ScalarStretch& s) noexcept;
    void release(ScalarStretch& s) noexcept;

    // What note() looks at: operands of one stretch and one mask, all of whose levels record, are the usual case.
    Tape& tape_;
    ScalarEntry* entries_ = nullptr;
    std::uint32_t size_ = 1, capacity_ = 0;  // place 0 is no place
    std::uint32_t usual_ = 0;
    std::uint8_t usual_mask_ = 0;
    std::uint64_t usual_active_ = 0;

    ScalarStretch* open_ = nullptr;
    std::vector<ScalarStretch*> stretches_;  // in order
    std::vector<Ref<Node>> held_;            // nodes of those that a level still needs
    std::vector<std::uint64_t> masks_;
    static inline constinit thread_local ScalarStream* current_ __attribute__((visibility("default"))) =
        nullptr;
};

inline ScalarStretch::~ScalarStretch()
{
    if (stream) stream->forget(*this);
}

inline ScalarMark ScalarStream::append(ScalarOp op, ScalarForm form, std::uint32_t a, double y) noexcept
{
    ScalarEntry& e = entries_[size_];
    e.value = y;
    e.a = a;
    e.code = ScalarEntry::code_of(op, form);
    e.mask = usual_mask_;
    return std::bit_cast<ScalarMark>(std::uint64_t{usual_} << 32 | size_++);
}
inline ScalarMark ScalarStream::append(ScalarOp op, std::uint32_t a, std::uint32_t b, double y) noexcept
{
    entries_[size_].b = b;
    return append(op, ScalarForm::both, a, y);
}
inline ScalarMark ScalarStream::append(ScalarOp op, ScalarForm form, std::uint32_t a, double c,
                                       double y) noexcept
{
    entries_[size_].c = c;
    return append(op, form, a, y);
}

__attribute__((noinline)) inline ScalarMark ScalarStream::note(ScalarOp op, ScalarMark a, double x,
                                                               ScalarMark b, double z, double y)
{
    ScalarStream* const s = current_;
    if (a.index == 0) {
        if (s && b.stretch == s->usual_ && s->is_ready()) [[likely]]
            return s->append(op, ScalarForm::left_constant, b.index, x, y);
    } else if (b.index == 0) {
        if (s && a.stretch == s->usual_ && s->is_ready()) [[likely]]
            return s->append(op, ScalarForm::right_constant, a.index, z, y);
    } else if (s && a.stretch == s->usual_ && b.stretch == s->usual_ && s->is_ready()) [[likely]] {
        return s->append(op, a.index, b.index, y);
    }
    return note_slowly(op, a, x, b, z, y);
}
__attribute__((noinline)) inline ScalarMark ScalarStream::note(ScalarOp op, ScalarMark a, double x, double y)
{
    ScalarStream* const s = current_;
    if (s && a.stretch == s->usual_ && s->is_ready()) [[likely]]
        return s->append(op, ScalarForm::unary, a.index, y);
    return note_slowly(op, a, x, {}, 0, y);
}

}  // namespace wengert

#include "stream_impl.hpp"

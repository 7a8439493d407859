// The Wengert tape: the live nodes of a thread in time order, and the levels of the transforms in flight.
//
// Three things to know before reading on:
//  - A node lives as long as a handle or a later node needs it (tape/node.hpp); the tape only threads a list through.
//  - Level 0 belongs to requires_grad/backward; every transform in flight (grad, jvp, …) has a level of its own, and a
//    node's mask says on which levels' variables it depends. `active` are the levels that record at the moment.
//  - An operation is recorded when the masks of its inputs meet `active` (tape/apply.hpp).
#pragma once

#include <bit>
#include <limits>
#include <unordered_map>

#include "../base/arithmetic_options.hpp"
#include "../kernels/cpu/elementwise.hpp"
#include "hooks.hpp"
#include "node.hpp"

namespace wengert {

class SweepObserver;

/// One transform in flight. Nodes older than `start` cannot depend on its variables.
struct Level {
    bool forward = false;
    std::uint64_t start = 0;
    bool was_read = false;              ///< a number that depends on it has left for plain C++,
    Site read_at = {};                  ///< first here
    SweepObserver* observer = nullptr;  ///< of its sweep
};

struct TapeReport;

/// The events of a tape that scalar code (scalar/stream/stream.hpp) is told of. They are plain functions, so programs without such code
/// contain none of it.
struct TapeExtension {
    void (*level_ended)(TapeExtension&) noexcept;
    void (*rewound)(TapeExtension&) noexcept;
    /// What is recorded next is apart from what has been: a position is marked, or a sweep runs a checkpoint again.
    void (*set_apart)(TapeExtension&) noexcept;
    void (*used_up)(TapeExtension&,
                    std::uint64_t since) noexcept;  ///< by backward, nodes from this sequence number on
    /// Other levels record, another tape is the thread's, or AnomalyMode is on.
    void (*changed)(TapeExtension&) noexcept;
    void (*tape_ended)(TapeExtension&) noexcept;
    std::int64_t (*bytes_of)(const TapeExtension&, const Node&) noexcept;  ///< that it holds for a node
    /// References to a leaf that it holds for a node.
    std::size_t (*references)(const TapeExtension&, const Node&, const Node& leaf) noexcept;
};

/// The levels that record at the moment. Scalar code takes it from one operation to the next that they are the same, and is
/// told where they are not.
class ActiveLevels {
public:
    ActiveLevels(std::uint64_t levels) noexcept : levels_(levels) {}
    ActiveLevels(const ActiveLevels&) noexcept = default;
    ActiveLevels& operator=(const ActiveLevels& o) noexcept
    {
        levels_ = o.levels_;
        if (listener) [[unlikely]]
            listener->changed(*listener);
        return *this;
    }
    operator std::uint64_t() const noexcept { return levels_; }
    TapeExtension* listener = nullptr;  ///< of the tape whose levels these are

private:
    std::uint64_t levels_;
};

/// A thread's record of what depends on variables, in the order of time.
class Tape {
public:
    static constexpr std::size_t max_levels = 64;

    explicit Tape(Thread& owner);
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;
    ~Tape();

    /// The calling thread's tape: the one that the next operation is recorded on.
    [[gnu::always_inline]] static Tape& current()
    {
        Thread& t = current_thread();
        if (t.tape == nullptr) [[unlikely]]
            start<detail::is_optimized>(t);
        return *static_cast<Tape*>(t.tape);
    }

    /// A position to come back to.
    struct Position {
        std::uint64_t sequence = 0;
    };
    Position mark() const noexcept
    {
        if (extension) extension->set_apart(*extension);
        return {next_sequence_};
    }
    /// The sequence number of the node that is recorded next.
    std::uint64_t next_sequence() const noexcept { return next_sequence_; }
    /// Drops everything that has been recorded since `position`: for loops that record, use and discard. Tensors made since
    /// then keep their values; using one as a variable throws a TapeError. Throws TapeError inside a transform that was
    /// begun since then.
    void rewind(Position position, Site at = {__builtin_FILE(), __builtin_LINE()});
    /// Saved bytes by primitive and source line (tape/report.hpp).
    TapeReport report() const;
    /// Live nodes, leaves included.
    std::size_t size() const noexcept { return size_; }
    const Node* first() const noexcept { return first_; }
    const Node* last() const noexcept { return last_; }
    Thread& thread() const noexcept { return *owner_; }

    /// Hands what a new node has saved to the hooks.
    void pack(Node& n);
    /// Brings it back for as long as the derivative needs it.
    void unpack(Node& n);
    Node* new_node(const Primitive& primitive, std::size_t inputs, const Site& at);
    void append(Node* n) noexcept;
    void unlink(Node* n) noexcept;

    std::size_t push_level(bool forward)
    {
        if (depth_ == max_levels) throw TapeError("[tape] more than 63 nested transforms");
        levels_[depth_] = Level{forward, next_sequence_};
        active = active | bit(depth_);
        if (forward) {
            forward_levels |= bit(depth_);
        } else {
            levels_[depth_].observer = std::exchange(observer, nullptr);
        }
        return depth_++;
    }
    void pop_level() noexcept
    {
        --depth_;
        active = active & ~bit(depth_);
        forward_levels &= ~bit(depth_);
        if (!obliged.empty()) [[unlikely]]
            release_obliged(depth_);
        if (extension) [[unlikely]]
            extension->level_ended(*extension);
    }
    /// Opens a closed level again, for a sweep that records at it; gives the depth to go back to. Levels between are dead.
    std::size_t reopen(std::size_t level, std::uint64_t start) noexcept
    {
        const std::size_t before = depth_;
        for (; depth_ < level; ++depth_)
            levels_[depth_] = Level{false, std::numeric_limits<std::uint64_t>::max()};
        if (depth_ == level) levels_[depth_++] = Level{false, start};
        return before;
    }
    void go_back(std::size_t depth) noexcept { depth_ = depth; }
    /// Takes the tangents of a closed level from every node recorded since `start`.
    void drop_tangents(std::size_t level, std::uint64_t start) noexcept;
    const Level& level(std::size_t l) const noexcept { return levels_[l]; }
    /// A number leaves for plain C++, where its derivative ends: noted at the innermost level that it depends on.
    void note_number_read(const Node& n, const Site& at) noexcept
    {
        const std::uint64_t levels = n.mask & active & ~bit(0);
        if (n.tape != this || levels == 0 || in_rule) return;
        Level& level = levels_[std::bit_width(levels) - 1];
        if (n.sequence < level.start || std::exchange(level.was_read, true)) return;
        level.read_at = at;
    }
    std::size_t depth() const noexcept { return depth_; }
    void tell_change() noexcept
    {
        if (extension) extension->changed(*extension);
    }
    /// Does n depend on that level? A number of a level is used again, and nodes from before its beginning may bear that of an
    /// earlier one: what a checkpoint has captured does, while it runs again.
    bool is_of(const Node& n, std::size_t level) const noexcept
    {
        return (n.mask & bit(level)) && n.sequence >= levels_[level].start;
    }
    /// Does it depend on any of these?
    bool depends(const Node& n, std::uint64_t levels) const noexcept
    {
        std::uint64_t rest = n.mask & levels;  // most often of one level; level 0 never ends
        for (; rest; rest &= rest - 1)
            if (n.sequence >= levels_[std::countr_zero(rest)].start) [[likely]]
                return true;
        return false;
    }
    /// Those of its levels that have not ended.
    std::uint64_t living_levels(const Node& n) const noexcept
    {
        std::uint64_t living = 0;
        for (std::uint64_t rest = n.mask & below(depth_); rest; rest &= rest - 1)
            if (const auto l = static_cast<std::size_t>(std::countr_zero(rest)); is_of(n, l))
                living |= bit(l);
        return living;
    }
    static constexpr std::uint64_t bit(std::size_t level) { return std::uint64_t{1} << level; }
    static constexpr std::uint64_t below(std::size_t level) { return bit(level) - 1; }

    /// The levels at which an operation on these inputs is recorded. Refuses tensors of other tapes.
    [[gnu::always_inline]] std::uint64_t dependence(const AnyTensor* const* in, std::size_t n,
                                                    std::string_view primitive, const Site& at)
    {
        std::uint64_t raw = 0, oldest = std::numeric_limits<std::uint64_t>::max();
        for (std::size_t i = 0; i < n; ++i)
            if (const Node* node = in[i]->node.get()) {
                if (node->tape != this) [[unlikely]]
                    refuse(*node, primitive, at);
                raw |= node->mask;
                if (node->mask > 1 && node->sequence < oldest) oldest = node->sequence;
            }
        if (raw <= 1) return raw & active;
        // One level beside 0 that lives, as inside of grad: nothing more to ask.
        const auto level = static_cast<std::size_t>(std::bit_width(raw)) - 1;
        if ((raw & (bit(level) - 2)) == 0 && level < depth_ && oldest >= levels_[level].start) [[likely]]
            return raw & active;
        return nested_dependence(in, n, primitive, at);
    }

    /// Is more kept of an operation at these levels than its rule asks for?
    bool keeps_more(std::uint64_t mask) const noexcept
    {
        return save_all || hooks || (mask & forward_levels);
    }

    ActiveLevels active = 1;
    std::uint64_t forward_levels = 0;
    std::uint64_t levels_of_loops = 0;  ///< levels at which loops record whose bodies are being traced
    int constants = 0;                  ///< scopes of NoGrad that are open
    /// What the library runs, if it is not the user's program: a rule of the sweep; a function again, recorded for the sweep (a
    /// checkpoint's second run); or a function without recording.
    enum class Quiet : std::uint8_t { no, rule, again, run } quiet = Quiet::no;
    /// Is a function being recorded, the first time or again, and no rule?
    bool records_function() const noexcept
    {
        return (quiet == Quiet::no || quiet == Quiet::again) && !in_rule;
    }
    /// Does a value that comes from a run without recording pass that on to what is made of it? No rule and no NoGrad does.
    bool passes_marks() const noexcept { return quiet != Quiet::rule && !in_rule && constants == 0; }
    int lowered = 0;  ///< > 0 while a rule runs: values of inner levels are then legitimate
    bool anomaly = false;
    bool save_all = false;              ///< nodes keep every input and the output (audit)
    bool allow_nan = false;             ///< switches the zero-cotangent rule off
    std::shared_ptr<SavedHooks> hooks;  ///< what is saved goes through them
    /// Values that nodes flagged `packed` have packed.
    std::unordered_map<const Node*, PackedValues> packed;
    Site site_override;  ///< the user's line while a rule of his operation runs
    bool in_rule = false;
    std::uint64_t run = 0;      ///< of the checkpoint's function that runs, as Block::run
    int unlogged = 0;           ///< > 0 in what another run does on threads, where no log sees it
    int walks = 0;              ///< sweeps in progress, one in another
    bool pull_follows = false;  ///< what is recorded now is swept next: sections may keep what that reads
    TapeExtension* extension = nullptr;
    /// What every sweep of its levels passes, whoever used the results, in the order of time (tape/obliged.hpp).
    std::vector<Ref<Node>> obliged;
    SweepObserver* observer = nullptr;  ///< of the next transform in reverse mode
    std::uint64_t communications = 0;   ///< so far, whether recorded or not

private:
    /// Those of a level that has ended, on which no level below depends.
    void release_obliged(std::size_t level) noexcept;
    template <bool optimized> static void start(Thread& t);
    [[noreturn]] void refuse(const Node& n, std::string_view primitive, const Site& at) const;
    std::uint64_t nested_dependence(const AnyTensor* const* in, std::size_t n, std::string_view primitive,
                                    const Site& at);

    Thread* owner_;
    Node* first_ = nullptr;
    Node* last_ = nullptr;
    std::size_t size_ = 0;
    std::uint64_t next_sequence_ = 1;
    std::size_t depth_ = 1;
    Level levels_[max_levels] = {};
};

/// Restores a value when the scope ends.
template <class T> class Restore {
public:
    Restore(T& variable, T value) : variable_(variable), old_(std::exchange(variable, value)) {}
    Restore(const Restore&) = delete;
    Restore& operator=(const Restore&) = delete;
    ~Restore() { variable_ = old_; }

private:
    T& variable_;
    T old_;
};

/// An array that no operation has made, and that comes from inside of the run all the same.
inline Ref<Block> made_in_run(Ref<Block> b)
{
    b->run = Tape::current().run;
    return b;
}

/// Does x depend on a level at which operations are recorded now?
inline bool depends_now(const AnyTensor& x)
{
    const Tape& tape = Tape::current();
    return x.node && tape.depends(*x.node, tape.active);
}

namespace detail {
/// Nothing is recorded while it lives: the library's own scope.
class Unrecorded {
public:
    Unrecorded()
        : active_(Tape::current().active, 0), lowered_(Tape::current().lowered, Tape::current().lowered + 1),
          quiet_(Tape::current().quiet, Tape::Quiet::run)
    {}

private:
    Restore<ActiveLevels> active_;
    Restore<int> lowered_;
    Restore<Tape::Quiet> quiet_;
};
}  // namespace detail

}  // namespace wengert

#include "scopes.hpp"
#include "tape_impl.hpp"
#include "report.hpp"

// The reverse sweep: hands cotangents from a result back to the leaves of one level, newest node first.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "apply.hpp"
#include "sweep_observer.hpp"

namespace wengert {

namespace detail {

/// What `backward` may add to; filled by the walk, committed at its end.
struct WalkFailure {
    std::uint64_t first = 0, last = 0;
    std::string text;
};
WalkFailure& last_failure();

}  // namespace detail

/// While a sweep runs a rule, or an observer: what that computes is recorded for the levels below alone.
class InSweep {
public:
    InSweep(Tape& tape, std::uint64_t lower)
        : active_(tape.active, lower), lowered_(tape.lowered, tape.lowered + 1), rule_(tape.in_rule, true)
    {}

private:
    Restore<ActiveLevels> active_;
    Restore<int> lowered_;
    Restore<bool> rule_;
};

/// A reverse sweep at one level. After run() the leaves' cotangents are in leaves().
class Walk {
public:
    /// Within the level's scope; level 0 is always in scope.
    Walk(Tape& tape, std::size_t level, bool retain)
        : Walk(tape, level, level ? tape.level(level).start : 0, Tape::below(level), retain)
    {
        if (level) observer_ = tape.level(level).observer;
    }
    /// After it, too: `start` is the level's first sequence number, `lower` the levels that may record the sweep.
    Walk(Tape& tape, std::size_t level, std::uint64_t start, std::uint64_t lower, bool retain);
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    ~Walk();

    /// Sweeps back from `out`, whose cotangent is g.
    void run(const Ref<Node>& out, AnyTensor g);
    /// Sweeps back from several results at once, and from what it is obliged to pass: the tape's list if none is given.
    void run(std::pair<Node*, AnyTensor>* roots, std::size_t count,
             const std::vector<Ref<Node>>* obliged = nullptr);
    /// Is there something to pass, or to tell, although no result depends on it?
    bool is_obliged() const noexcept { return !tape_.obliged.empty() || observer_; }

    /// True when n is a variable of this sweep or depends on one.
    bool reaches(const Node* n) const noexcept { return n && (n->mask & bit_) && n->sequence >= start_; }

    /// Adds g to n's cotangent, in place where nobody else can see it.
    void deliver(Node& n, AnyTensor&& g)
    {
        if (tape_.anomaly && !all_finite(*g.value)) report_birth(*g.value);
        if (n.cotangent.value) return accumulate(n, g);
        if (n.primitive->zero_rule && !n.pending) [[unlikely]]
            return hand_on(n, g);
        hold(n, std::move(g));
    }
    /// n's cotangent so far, also where n has handed it on.
    const AnyTensor& so_far(Node& n)
    {
        if (!n.cotangent.value && n.primitive->zero_rule) [[unlikely]]
            take_back(n);
        return n.cotangent;
    }
    /// The first contribution, to which others are added.
    void hold(Node& n, AnyTensor&& g)
    {
        if (!n.pending) [[likely]]
            announce(n);
        n.cotangent = std::move(g);
    }

    /// The block to add a contribution into: n's cotangent made writable, zeros at first. Null where it is recorded.
    Block* writable(Node& n)
    {
        if (so_far(n).node || tape_.thread().recorder) return nullptr;
        AnyTensor& c = n.cotangent;
        if (!c.value) {
            auto zeros = zeros_block(n.dtype, n.shape);
            if (!n.pending) announce(n);
            c.value = std::move(zeros);
        } else if (!may_write(*c.value) || c.value->strided) {
            c.value = copy_of(*c.value);
        }
        return c.value.get();
    }

    /// The cotangent of one of several results, kept until the sweep reaches the operation (tape/section.hpp, graph/loops/loop.hpp).
    void add_part(Node& hub, std::size_t k, const AnyTensor& g);
    std::vector<AnyTensor> take_parts(const Node& hub);

    /// Records operations at this level in the middle of the sweep and goes on from their results.
    template <class F> void rerun(const F& f, std::vector<AnyTensor> cotangents)
    {
        const std::size_t depth = tape_.reopen(level_, start_);
        struct Close {
            Tape& tape;
            std::size_t depth;
            ~Close() { tape.go_back(depth); }
        } const close{tape_, depth};
        if (level_ > 0 && tape_.level(level_).start != start_)
            fail<TapeError>("checkpoint",
                            "a pullback (vjp) with a checkpoint inside cannot be called inside another "
                            "transform that was "
                            "begun after it: use grad",
                            {});
        const Restore<ActiveLevels> active(tape_.active, lower_ | bit_);
        const Restore<Site> site(tape_.site_override, Site{});  // errors inside name their own lines
        const Restore<bool> rule(tape_.in_rule, false);
        const Restore<Tape::Quiet> quiet(tape_.quiet, std::max(tape_.quiet, Tape::Quiet::again));
        if (tape_.extension) tape_.extension->set_apart(*tape_.extension);
        const std::size_t before = tape_.obliged.size();
        if (keep_ || lower_ != 0) runs_.push_back({Ref<Node>(current_->previous), tape_.next_sequence()});
        const std::vector<AnyTensor> y = f();
        extended_ = true;
        current_ = const_cast<Node*>(tape_.last());
        if (tape_.obliged.size() > before) take_obliged(before);
        for (std::size_t k = 0; k < y.size(); ++k)
            if (cotangents[k].value && reaches(y[k].node.get()))
                deliver(*y[k].node, std::move(cotangents[k]));
    }

    /// The levels that want the derivative of what n's rule does.
    std::uint64_t recording(const Node& n, const AnyTensor& g) const
    {
        return (n.mask | (g.node ? g.node->mask : 0)) & (lower_ | of_loops_);
    }
    bool records(const Node& n, const AnyTensor& g) const { return recording(n, g) != 0; }
    /// Of nodes from this sequence number on.
    std::uint64_t start() const noexcept { return start_; }
    /// Is what n's derivative needs still wanted after this sweep?
    bool retains(const Node& n) const noexcept { return keep_ || (n.mask & lower_) != 0; }
    const std::vector<Ref<Node>>& leaves() const noexcept { return leaves_; }
    /// The sequence number of the oldest node that it has passed.
    std::uint64_t oldest() const noexcept { return current_ ? current_->sequence : tape_.next_sequence(); }
    Tape& tape() noexcept { return tape_; }
    std::size_t level() const noexcept { return level_; }

    std::shared_ptr<void>
        attached;  ///< what a rule keeps for the time of the sweep: the adjoints of scalar code

private:
    [[gnu::always_inline]] void announce(Node& n)
    {
        if (n.leaf() && n.level == level_) {
            leaves_.push_back(Ref<Node>(&n));
        } else {
            retain(&n);
            n.pending = true;
            ++pending_;
        }
    }

    /// To be passed, with a cotangent of zeros where none arrives.
    bool owes(const Node& n) const noexcept
    {
        return reaches(&n) && !n.pending && !(n.flags & Node::consumed);
    }
    /// Those that a second run has recorded belong to this sweep.
    void take_obliged(std::size_t first);

    /// May leave g without a value.
    void accumulate(Node& n, AnyTensor& g)
    {
        AnyTensor& c = n.cotangent;
        if (c.value->shape.size() < n.shape.size() && n.primitive->loop) [[unlikely]] {  // add_part()'s token
            c = std::move(g);
            return;
        }
        if (c.node || g.node || tape_.thread().recorder) {
            const Restore<Site> site(tape_.site_override, n.at);
            const Restore<bool> rule(tape_.in_rule, true);
            c = n.primitive->add(c, g);
            return;
        }
        if (!may_write(*c.value) || c.value->strided) {
            if (may_write(*g.value) && !g.value->strided)
                std::swap(c.value, g.value);
            else {
                c.value = sum_of(*c.value, *g.value);
                return;
            }
        }
        add_into(*c.value, *g.value);
    }

    /// The cotangent of a pending node.
    AnyTensor take(Node& n)
    {
        if (n.previous)  // most likely the next one; on a long tape it left the caches long ago
            for (std::size_t line = 0; line < sizeof(Node); line += 64)
                __builtin_prefetch(reinterpret_cast<const char*>(n.previous) + line);
        AnyTensor g = std::move(n.cotangent);
        n.pending = false;
        --pending_;
        held_ = Ref<Node>::adopt(&n);  // the reference that announce() took, kept until the next step
        if (n.flags & Node::consumed) refuse_consumed(n);
        return g;
    }

    /// Done with n, on to the newest pending node before it.
    void advance(Node& n)
    {
        if (!retains(n) && !n.leaf()) consume(n);
        if (n.flags & Node::packed) [[unlikely]]
            drop_unpacked(n);
        if (pending_ == 0) return;
        const Node* const from = std::exchange(extended_, false) ? tape_.last() : n.previous;
        current_ = has_run_again_ || !runs_.empty() ? newest_of_runs(from) : newest(from);
    }
    /// What was unpacked for the derivative, and stays packed for another one.
    void drop_unpacked(Node& n) noexcept;
    static Node* newest(const Node* n);
    Node* newest_of_runs(const Node* n);

    void hand_on(Node& n, AnyTensor& g);
    void take_back(Node& n);
    void differentiate(Node& n, AnyTensor& g);
    void pull_elementwise(Node& n, AnyTensor& g);
    void pull_input(Node& n, std::size_t i, AnyTensor& g, bool last);
    void pull_whole(Node& n, Node& to, const Pull& pull, const void* const* data, AnyTensor& g, bool last);
    static void add_tiles(const Pull& pull, const void* const* data, std::size_t count, Block& sum);
    void pull_tiles(Node& n, Node& to, const Pull& pull, const Block* const* read, AnyTensor& g);
    static void run_pull(const Pull& pull, const Shape& shape, const Block* const* read, Block& out);
    static void run_tiles(const Pull& pull, const Shape& shape, const Block* const* read, Block& out,
                          kernels::Store mode);
    AnyTensor pull_recorded(Node& n, std::size_t i, const AnyTensor& g);
    AnyTensor pull_elsewhere(Node& n, std::size_t i, const AnyTensor& g);
    void pull_reduced(Node& n, std::size_t i, const AnyTensor& g);

    static void consume(Node& n) noexcept
    {
        n.flags |= Node::consumed;
        detail::clear_saved(n);
        for (std::size_t i = 0; i < n.input_count; ++i)
            if (Node* in = std::exchange(n.inputs[i], nullptr)) release(in, Node::disposal);
    }

    [[noreturn]] void refuse_consumed(const Node& n) const;

    [[noreturn]] void report_birth(const Block& g) const;

    void find_variables();
    void tell_observer();
    void end_observed();

    /// After a failure nothing may stay behind on the nodes that were not reached.
    void abandon() noexcept;

    /// Cotangents that nodes hold for a walk that is in progress around this one; they are put back at the end. A checkpoint that is run
    /// again during a sweep may call a pullback, which sweeps the same nodes.
    struct SetAside {
        struct Held {
            Ref<Node> node;
            AnyTensor cotangent;
            bool pending;
        };
        std::vector<Held> held;
        ~SetAside();
    };
    void set_aside();

    /// The cotangents of an operation's several results, by its node.
    using Parts = std::unordered_map<const Node*, std::vector<AnyTensor>>;

    Tape& tape_;
    std::size_t level_;
    std::uint64_t bit_, start_, lower_, of_loops_;
    bool keep_;
    bool extended_ = false;  ///< there are newer nodes than the one being differentiated
    std::vector<std::pair<Ref<Node>, std::uint64_t>> runs_;  ///< second runs: the node below, their first one
    bool has_run_again_ = false;                             ///< one of them has been
    std::size_t pending_ = 0;
    std::uint64_t highest_ = 0;
    Node* current_ = nullptr;
    Ref<Node> held_;
    std::unique_ptr<SetAside> aside_;  ///< null unless there are such
    std::vector<Ref<Node>> leaves_, rerun_;
    std::unique_ptr<Parts> parts_;  ///< null until there is one
    SweepObserver* observer_ = nullptr;
    std::optional<detail::FinalCotangents> observed_;
};

/// How a structural primitive's rule returns what it computed.
class Cotangents {
public:
    Cotangents(Walk& walk, const Node& n) : walk_(walk), node_(n) {}
    bool wanted(std::size_t i) const { return walk_.reaches(node_.inputs[i]); }
    void add(std::size_t i, AnyTensor g) { walk_.deliver(*node_.inputs[i], std::move(g)); }
    const AnyTensor& so_far(std::size_t i) { return walk_.so_far(*node_.inputs[i]); }
    /// For rules that write a part only: the cotangent's own memory, or null when it has to be recorded.
    Block* writable(std::size_t i) { return walk_.writable(*node_.inputs[i]); }
    /// A cotangent that has the one so far in it.
    void replace(std::size_t i, AnyTensor g)
    {
        AnyTensor so_far = std::exchange(node_.inputs[i]->cotangent, {});
        if (so_far.value) {
            node_.inputs[i]->cotangent = std::move(g);
        } else {
            walk_.hold(*node_.inputs[i], std::move(g));
        }
    }
    Walk& walk() { return walk_; }

private:
    Walk& walk_;
    const Node& node_;
};

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/walk_elementwise.ipp"
#include "impl/walk.ipp"
#endif

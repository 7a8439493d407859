// What a piece of code took from outside while it ran: values that none of its operations made, and what it learned from
// tensors in plain C++. A second run that takes the same does the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "../array/layout.hpp"
#include "apply.hpp"
#include "recorder.hpp"
#include "tape.hpp"

namespace wengert {

/// One run's list, in order. Large values that live on elsewhere are held, all others kept as a hash of their bits.
class RunLog {
public:
    struct Entry {
        Ref<Block> held;
        std::uint64_t bits = 0;
        DType dtype{};
        Shape shape;
        std::string_view primitive;  ///< whose operand it is, or what was read
        Site at;
        std::shared_ptr<const void> found = nullptr;  ///< see Recorder::settle
        bool made_here = false;                       ///< by the run, of arguments that hooks keep
    };
    std::vector<Entry> entries;
    std::vector<std::uint64_t> arguments;  ///< the bits of those that hooks may bring back with fewer digits

    /// Values that nobody but the list holds were temporaries of the run.
    void close();

    /// FNV-1a over the words of the elements (Fowler, Noll & Vo 1991), eight streams wide.
    static std::uint64_t hash(const Block& block);
};

/// What a run depends on beside its arguments.
struct Captured {
    std::uint64_t levels = 0;
    std::vector<std::uint64_t> variables = {};  ///< the sequence numbers of leaves, sorted
    std::vector<Ref<Node>> held =
        {};  ///< older than the run, no leaves: a Real does not hold its node. Sorted, too

    void add(const Node& n)
    {
        levels |= Tape::current().living_levels(n);
        if (n.leaf()) add_variable(n.sequence);
    }
    void add(const Captured& other)
    {
        levels |= other.levels;
        for (const std::uint64_t v : other.variables) add_variable(v);
        for (const Ref<Node>& n : other.held) hold(n);
    }
    void hold(const Ref<Node>& n)
    {
        const auto is_older = [](const Ref<Node>& a, const Ref<Node>& b) {
            return a->sequence < b->sequence;
        };
        const auto at = std::lower_bound(held.begin(), held.end(), n, is_older);
        if (at == held.end() || at->get() != n.get()) held.insert(at, n);
    }

private:
    void add_variable(std::uint64_t v)
    {
        const auto at = std::lower_bound(variables.begin(), variables.end(), v);
        if (at == variables.end() || *at != v) variables.insert(at, v);
    }
};

/// Looks for the levels that operands depend on, also where nothing is recorded. All is handed on to an enclosing recorder.
class MaskRecorder : public BasicRecorder {
public:
    /// `seen`: the graphs that were looked into before; they run as they are. `recorded`: in a run that is not recorded, the levels
    /// at which its results will be. What depends on a variable of these is marked (Block::Access::unrecorded).
    explicit MaskRecorder(std::string_view who, std::vector<const void*>* seen = nullptr,
                          std::uint64_t recorded = 0, const Table& table = recorder_table<MaskRecorder>);
    MaskRecorder(const MaskRecorder&) = delete;
    MaskRecorder& operator=(const MaskRecorder&) = delete;
    ~MaskRecorder();

    /// Of the operands seen.
    const Captured& captured() const noexcept { return captured_; }

    void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at);
    void by_value();
    std::shared_ptr<const void> settle(const Finding& f, const Site& at);
    std::shared_ptr<const Inside> inside(const std::vector<Ref<Block>>& in, const InsideFunction& f,
                                         Ref<Block>& out, const Site& at);
    void read(const Block& x, Read what, const Site& at);
    const Block& variable(const AnyTensor& t);
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at);
    bool knows(const Block& b) const { return outer_ && outer_->knows(b); }
    bool holds() const { return outer_ && outer_->holds(); }
    bool keeps(const Block& b) const { return outer_ && outer_->keeps(b); }
    bool seen(const void* graph);
    Recorder* trace_of_loops() { return outer_ ? outer_->trace_of_loops() : nullptr; }
    void constant(const Block& b, const Site& at)
    {
        if (outer_) outer_->constant(b, at);
    }
    Ref<Block> key(std::uint64_t origin) { return outer_ ? outer_->key(origin) : Ref<Block>(); }
    [[noreturn]] void refuse(std::string_view what, const Site& at);

protected:
    std::string_view who_;

private:
    /// Does this operation's result depend on a variable of the levels that will be recorded? Does this tensor?
    bool depends(const Primitive& p, const Block* const* in, std::size_t n, const Block& out);
    bool depends(const AnyTensor& t) const
    {
        return recorded_ && t.node && &Tape::current() == tape_ && tape_->depends(*t.node, recorded_);
    }

    std::vector<const void*>* seen_;
    Recorder* outer_ = nullptr;
    Captured captured_;
    std::uint64_t recorded_;
    const Tape* tape_ = &Tape::current();  ///< the levels' own
    std::uint64_t start_ = tape_->next_sequence();
    bool takes_variable_ = false;  ///< the next operation does
    std::unordered_map<const Block*, Ref<Block>>
        variables_;  ///< of these levels, as sweeps inside of the run read them
    int constants_ = Tape::current().constants;
};

/// Writes a log, or compares a run with one. Runs are numbered: what an operation made since the beginning of this one, in
/// a run inside of it too, does not come from outside.
class RunRecorder : public MaskRecorder {
public:
    /// The first run. `recorded`: see MaskRecorder. `refuses`: it is the outermost run that is not recorded, and what another one has
    /// left would be a constant of it.
    RunRecorder(RunLog& log, std::uint64_t recorded, bool refuses);
    /// A run that must be like the first. Differences throw a TapeError in the name of `who`.
    RunRecorder(const RunLog& log, std::string_view who);

    void finish(const Site& at) const;
    /// Refuses a result that an operation of another run made, if the run refuses what those have left.
    void demand_own(const AnyTensor& result, const Site& at) const
    {
        if (!refuses_ || !result.value || result.node) return;
        const Block& b = unaliased(*result.value);
        if (b.access.unrecorded && b.run < run_) detail::refuse_operand(who_, b, at);
    }

    void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at);
    bool keeps(const Block& b) const { return b.run < run_ || MaskRecorder::keeps(b); }
    void read(const Block& x, Read what, const Site& at);
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at);
    void constant(const Block& b, const Site& at);
    std::shared_ptr<const void> settle(const Finding& f, const Site& at);
    /// An argument of the run, under another handle. The log records only its use, since hooks may bring it back elsewhere or with
    /// fewer digits. If the run captures the same tensor, the captured tensor comes from outside.
    Ref<Block> argument(const AnyTensor& x, const Site& at);

private:
    /// While something is handed on: an enclosing run is in a rule of its own transform if it was when this one began.
    Restore<bool> as_outside() const
    {
        bool& in_rule = Tape::current().in_rule;
        return {in_rule, in_rule || began_in_rule_};
    }
    /// The value that a handle stands for.
    const Block& unaliased(const Block& b) const;
    void take(const Block& operand, std::string_view primitive, const Site& at);
    void enter(RunLog::Entry e);
    /// The first run's entries from here on that the second one need not have.
    std::size_t next_needed() const
    {
        std::size_t k = next_;
        while (exact_ && k < log_.entries.size() && log_.entries[k].made_here) ++k;
        return k;
    }
    static std::uint64_t bits_of(const RunLog::Entry& e) { return e.held ? RunLog::hash(*e.held) : e.bits; }
    [[noreturn]] void differ(const RunLog::Entry& e, const std::string& how, const Site& at) const;

    static std::uint64_t next_run() noexcept;

    RunLog& log_;
    bool checks_, refuses_ = false;
    /// Is it this run's function that does something now?
    bool is_logged() const noexcept
    {
        return !Tape::current().in_rule && Tape::current().unlogged == unlogged_;
    }
    bool began_in_rule_ = Tape::current().in_rule;
    int unlogged_ = Tape::current().unlogged;
    Restore<bool> not_in_rule_{Tape::current().in_rule,
                               false};  ///< what runs is a function, whoever calls it
    std::uint64_t run_ = next_run();
    Restore<std::uint64_t> innermost_{Tape::current().run, run_};
    std::size_t next_ = 0;
    std::vector<Ref<Block>> given_;
    std::unordered_multimap<const void*, Ref<Block>> held_;  ///< taken, by the place of their elements
    bool exact_ =
        true;  ///< what has been given has the bits of the first run. What follows from it follows again
    std::unordered_map<const Block*, std::pair<Ref<Block>, Ref<Block>>>
        aliases_;  ///< itself, and what it stands for
};

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/run_log.ipp"
#endif

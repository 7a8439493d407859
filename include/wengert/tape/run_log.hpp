// What a piece of code took from outside while it ran: values that none of its operations made, and what it learned from
// tensors in plain C++. A second run that takes the same does the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "../array/layout.hpp"
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
    };
    std::vector<Entry> entries;

    /// Values that nobody but the list holds were temporaries of the run.
    void close()
    {
        for (Entry& e : entries)
            if (e.held && is_unique(e.held.get())) {
                e.bits = hash(*e.held);
                e.held = {};
            }
    }

    /// FNV-1a over the words of the elements (Fowler, Noll & Vo 1991), eight streams wide.
    static std::uint64_t hash(const Block& block)
    {
        const Ref<Block> b = contiguous(Ref<Block>(const_cast<Block*>(&block)));
        constexpr std::size_t lanes = 8;
        constexpr std::uint64_t prime = 0x100000001b3;
        std::uint64_t h[lanes], w = 0;
        for (std::size_t l = 0; l < lanes; ++l) h[l] = 0xcbf29ce484222325 + l;
        std::size_t i = 0;
        for (; i + 8 * lanes <= b->bytes(); i += 8 * lanes)
            for (std::size_t l = 0; l < lanes; ++l) {
                std::memcpy(&w, b->data + i + 8 * l, 8);
                h[l] = (h[l] ^ w) * prime;
                h[l] ^= h[l] >> 29;
            }
        for (; i < b->bytes(); ++i) h[0] = (h[0] ^ static_cast<std::uint64_t>(b->data[i])) * prime;
        for (std::size_t l = 1; l < lanes; ++l) h[0] = (h[0] ^ h[l]) * prime;
        return h[0];
    }
};

/// Looks for the levels that operands depend on, also where nothing is recorded. All is handed on to an enclosing recorder.
class MaskRecorder : public BasicRecorder {
public:
    /// `seen`: the graphs that were looked into before; they run as they are.
    explicit MaskRecorder(std::string_view who, std::vector<const void*>* seen = nullptr,
                          const Table& table = recorder_table<MaskRecorder>)
        : BasicRecorder(table), who_(who), seen_(seen)
    {
        outer_ = std::exchange(current_thread().recorder, this);
        if (outer_) segment = outer_->segment;
    }
    MaskRecorder(const MaskRecorder&) = delete;
    MaskRecorder& operator=(const MaskRecorder&) = delete;
    ~MaskRecorder() { current_thread().recorder = outer_; }

    /// Levels that the operands seen depend on.
    std::uint64_t mask() const noexcept { return mask_; }

    void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at)
    {
        if (outer_) outer_->operation(p, op, in, n, out, at);
    }
    void by_value()
    {
        if (outer_) outer_->by_value();
    }
    std::shared_ptr<const Inside> inside(const std::vector<Ref<Block>>& in, const InsideFunction& f,
                                         Ref<Block>& out, const Site& at)
    {
        return outer_ ? outer_->inside(in, f, out, at) : nullptr;
    }
    void read(const Block& x, Read what, const Site& at)
    {
        if (outer_) outer_->read(x, what, at);
    }
    const Block& variable(const AnyTensor& t)
    {
        mask_ |= t.node->mask;
        return outer_ ? outer_->variable(t) : *t.value;
    }
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at)
    {
        if (outer_) outer_->alias(of, as, at);
    }
    bool knows(const Block& b) const { return outer_ && outer_->knows(b); }
    bool holds() const { return outer_ && outer_->holds(); }
    bool keeps(const Block& b) const { return outer_ && outer_->keeps(b); }
    bool seen(const void* graph)
    {
        if (outer_ || !seen_) return false;
        if (!graph || std::find(seen_->begin(), seen_->end(), graph) != seen_->end()) return true;
        seen_->push_back(graph);
        return false;
    }
    Ref<Block> key(std::uint64_t origin) { return outer_ ? outer_->key(origin) : Ref<Block>(); }
    [[noreturn]] void refuse(std::string_view what, const Site& at)
    {
        if (outer_) outer_->refuse(what, at);
        fail<TapeError>(who_, std::string(what), at);
    }

protected:
    std::string_view who_;

private:
    std::vector<const void*>* seen_;
    Recorder* outer_ = nullptr;
    std::uint64_t mask_ = 0;
};

/// Writes a log, or compares a run with one. Runs are numbered: what an operation made since the beginning of this one, in
/// a run inside of it too, does not come from outside.
class RunRecorder : public MaskRecorder {
public:
    /// The first run.
    explicit RunRecorder(RunLog& log)
        : MaskRecorder("checkpoint", nullptr, recorder_table<RunRecorder>), log_(log), checks_(false)
    {}
    /// A run that must be like the first. Differences throw a TapeError in the name of `who`.
    RunRecorder(const RunLog& log, std::string_view who)
        : MaskRecorder(who, nullptr, recorder_table<RunRecorder>), log_(const_cast<RunLog&>(log)),
          checks_(true)
    {}

    void finish(const Site& at) const
    {
        if (checks_ && next_ < log_.entries.size()) differ(log_.entries[next_], "is not reached", at);
    }

    void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at)
    {
        // The rules of an inner transform run as kernels where nothing is recorded, and as tensors with literals of their own
        // where it is; what they read of the function has been an operand before.
        const bool in_rule = Tape::current().in_rule;
        for (std::size_t i = 0; i < n && !in_rule; ++i)
            if (in[i]->run < run_) take(*in[i], p.name, at);
        MaskRecorder::operation(p, op, in, n, out, at);
        out.run = run_;
    }
    bool keeps(const Block& b) const { return b.run < run_ || MaskRecorder::keeps(b); }
    void read(const Block& x, Read what, const Site& at)
    {
        MaskRecorder::read(x, what, at);
        if (Tape::current().in_rule) return;
        constexpr std::string_view names[] = {"branch", "item", "elements read"};
        enter({{}, RunLog::hash(x), x.dtype, x.shape, names[static_cast<int>(what)], at});
    }
    void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at)
    {
        MaskRecorder::alias(of, as, at);
        if (of.value->run < run_)
            aliases_.emplace(as.get(), std::pair(as, of.value));
        else
            as->run = run_;
    }
    /// What the run is given, by another handle. Of it the log says only where it is used: hooks may bring it back elsewhere,
    /// or with less of its digits. Where the run captures the same tensor, that comes from outside.
    Ref<Block> argument(const AnyTensor& x, const Site& at)
    {
        const Strides strides = x.value->strides();
        given_.push_back(make_view(x.value, x.value->shape, &strides, 0));
        MaskRecorder::alias(x, given_.back(), at);
        return given_.back();
    }

private:
    /// The value that a handle stands for.
    const Block& meant(const Block& b) const
    {
        const Block* of = &b;
        for (auto i = aliases_.find(of); i != aliases_.end(); i = aliases_.find(of))
            of = i->second.second.get();
        return *of;
    }
    void take(const Block& operand, std::string_view primitive, const Site& at)
    {
        const Block& b = aliases_.empty() ? operand : meant(operand);
        for (const auto& h : held_)
            if (h.get() == &b) return;
        RunLog::Entry e{{}, 0, b.dtype, b.shape, primitive, at};
        const auto given =
            std::find_if(given_.begin(), given_.end(), [&](const auto& g) { return g.get() == &b; });
        if (given != given_.end()) {
            e.bits = static_cast<std::uint64_t>(given - given_.begin());
        } else if (b.bytes() <= sizeof(std::uint64_t)) {
            const Ref<Block> elements = contiguous(Ref<Block>(const_cast<Block*>(&b)));
            std::memcpy(&e.bits, elements->data, elements->bytes());
            return enter(std::move(e));
        }
        held_.emplace_back(const_cast<Block*>(&b));
        if (given == given_.end()) e.held = held_.back();
        enter(std::move(e));
    }
    void enter(RunLog::Entry e)
    {
        if (!checks_) {
            log_.entries.push_back(std::move(e));
            return;
        }
        if (next_ == log_.entries.size()) differ(e, "was not there", e.at);
        const RunLog::Entry& then = log_.entries[next_++];
        if (then.dtype != e.dtype || !(then.shape == e.shape) || then.primitive != e.primitive)
            differ(e,
                   "was an operand of " + std::string(then.primitive) + ", shape " + to_string(then.shape) +
                       ", at " + to_string(then.at),
                   e.at);
        if (then.held && then.held.get() == e.held.get()) return;
        if (bits_of(then) != bits_of(e)) differ(e, "had other elements", e.at);
    }
    static std::uint64_t bits_of(const RunLog::Entry& e) { return e.held ? RunLog::hash(*e.held) : e.bits; }
    [[noreturn]] void differ(const RunLog::Entry& e, const std::string& how, const Site& at) const
    {
        fail<TapeError>(
            who_,
            "the recomputation does not do what the first run did: a value from outside (" +
                std::string(e.primitive) + ", shape " + to_string(e.shape) + ", at " + to_string(e.at) +
                ") " + how +
                " in the first run; what the function reads must not change before the backward pass",
            at);
    }

    static std::uint64_t next_run() noexcept
    {
        static std::atomic<std::uint64_t> last = 0;
        return ++last;
    }

    RunLog& log_;
    bool checks_;
    std::uint64_t run_ = next_run();
    std::size_t next_ = 0;
    std::vector<Ref<Block>> given_, held_;
    std::unordered_map<const Block*, std::pair<Ref<Block>, Ref<Block>>>
        aliases_;  ///< itself, and what it stands for
};

}  // namespace wengert

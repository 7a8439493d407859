// The bodies of run_log.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../apply.hpp"
#include "../run_log.hpp"

namespace wengert {

WENGERT_INLINE void RunLog::close()
{
    for (Entry& e : entries)
        if (e.held && is_unique(e.held.get())) {
            e.bits = hash(*e.held);
            e.held = {};
        }
}

WENGERT_INLINE std::uint64_t RunLog::hash(const Block& block)
{
    const Ref<Block> b = readable(Ref<Block>(const_cast<Block*>(&block)));
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

WENGERT_INLINE MaskRecorder::MaskRecorder(std::string_view who, std::vector<const void*>* seen,
                                          std::uint64_t recorded, const Table& table)
    : BasicRecorder(table), who_(who), seen_(seen), recorded_(recorded)
{
    outer_ = std::exchange(current_thread().recorder, this);
    if (outer_) segment = outer_->segment, effect = outer_->effect, start = outer_->start;
}

WENGERT_INLINE MaskRecorder::~MaskRecorder()
{
    if (outer_) outer_->effect = std::move(effect);  // what comes later comes after the run
    current_thread().recorder = outer_;
}

WENGERT_INLINE void MaskRecorder::operation(const Primitive& p, const void* op, const Block* const* in,
                                            std::size_t n, Block& out, const Site& at)
{
    if (outer_) outer_->operation(p, op, in, n, out, at);
    if (depends(p, in, n, out)) out.access.unrecorded = true;
}

WENGERT_INLINE bool MaskRecorder::depends(const Primitive& p, const Block* const* in, std::size_t n,
                                          const Block& out)
{
    const bool of_variable = std::exchange(takes_variable_, false);
    if (!recorded_ || p.is_flat() || !differentiable(out.dtype)) return false;
    if (Tape::current().constants != constants_) return false;  // the function's own NoGrad
    if (of_variable) return true;
    const bool in_sweep = Tape::current().in_rule;
    const auto is_of_variable = [&](const Block* b) {
        return b->access.unrecorded || (in_sweep && variables_.contains(b));
    };
    const bool ordered = n > 0 && is_order(p, n - 1, n, *in[n - 1]);
    return std::any_of(in, in + (ordered ? n - 1 : n), is_of_variable);
}

WENGERT_INLINE void MaskRecorder::by_value()
{
    if (outer_) outer_->by_value();
}

WENGERT_INLINE std::shared_ptr<const void> MaskRecorder::settle(const Finding& f, const Site& at)
{
    return outer_ ? outer_->settle(f, at) : f.find();
}

WENGERT_INLINE std::shared_ptr<const Inside> MaskRecorder::inside(const std::vector<Ref<Block>>& in,
                                                                  const InsideFunction& f, Ref<Block>& out,
                                                                  const Site& at)
{
    return outer_ ? outer_->inside(in, f, out, at) : nullptr;
}

WENGERT_INLINE void MaskRecorder::read(const Block& x, Read what, const Site& at)
{
    takes_variable_ = false;
    if (outer_) outer_->read(x, what, at);
}

WENGERT_INLINE const Block& MaskRecorder::variable(const AnyTensor& t)
{
    captured_.add(*t.node);
    if (depends(t)) {
        takes_variable_ = true;
        const bool is_new = variables_.emplace(t.value.get(), t.value).second;
        if (is_new && !t.node->leaf() && t.node->sequence < start_) captured_.hold(t.node);
    }
    return outer_ ? outer_->variable(t) : *t.value;
}

WENGERT_INLINE void MaskRecorder::alias(const AnyTensor& of, const Ref<Block>& as, const Site& at)
{
    if (of.node) captured_.add(*of.node);  // an inner transform's variable stands for it from here on
    if (outer_) outer_->alias(of, as, at);
    if (depends(of) || of.value->access.unrecorded) as->access.unrecorded = true;
}

WENGERT_INLINE bool MaskRecorder::seen(const void* graph)
{
    if (outer_ || !seen_) return false;
    if (!graph || std::find(seen_->begin(), seen_->end(), graph) != seen_->end()) return true;
    seen_->push_back(graph);
    return false;
}

WENGERT_INLINE void MaskRecorder::refuse(std::string_view what, const Site& at)
{
    if (outer_) outer_->refuse(what, at);
    fail<TapeError>(who_, std::string(what), at);
}

WENGERT_INLINE RunRecorder::RunRecorder(RunLog& log, std::uint64_t recorded, bool refuses)
    : MaskRecorder("checkpoint", nullptr, recorded, recorder_table<RunRecorder>), log_(log), checks_(false),
      refuses_(refuses)
{}

WENGERT_INLINE RunRecorder::RunRecorder(const RunLog& log, std::string_view who)
    : MaskRecorder(who, nullptr, 0, recorder_table<RunRecorder>), log_(const_cast<RunLog&>(log)),
      checks_(true)
{}

WENGERT_INLINE void RunRecorder::finish(const Site& at) const
{
    const std::size_t left = next_needed();
    if (checks_ && left < log_.entries.size()) differ(log_.entries[left], "is not reached", at);
}

WENGERT_INLINE void RunRecorder::operation(const Primitive& p, const void* op, const Block* const* in,
                                           std::size_t n, Block& out, const Site& at)
{
    // The rules of an inner transform run as kernels where nothing is recorded, and as tensors with literals of their own
    // where it is; what they read of the function has been an operand before.
    const bool logged = is_logged();
    for (std::size_t i = 0; i < n && logged; ++i) {
        // A loop may be given one value several times: as often as there are levels that it depends on.
        const auto is_same = [&](const Block* b) { return &unaliased(*b) == &unaliased(*in[i]); };
        if (in[i]->run >= run_ || is_order(p, i, n, *in[i])) continue;
        if (refuses_ && unaliased(*in[i]).access.unrecorded && given_.empty())
            detail::refuse_operand(p.name, *in[i], at);
        if (std::none_of(in, in + i, is_same)) take(*in[i], p.name, at);
    }
    const auto outside = as_outside();
    MaskRecorder::operation(p, op, in, n, out, at);
    out.run = run_;
}

WENGERT_INLINE void RunRecorder::read(const Block& x, Read what, const Site& at)
{
    if (const auto outside = as_outside(); true) MaskRecorder::read(x, what, at);
    // What was made in the run follows from what has been noted, unless hooks have given the arguments back with fewer digits. Reals
    // make tensors of their own, recorded or not.
    const bool made_here = x.run >= run_;
    if (!is_logged() || (made_here && (given_.empty() || (checks_ && exact_)))) return;
    constexpr std::string_view names[] = {"branch", "item", "elements read"};
    enter({{}, RunLog::hash(x), x.dtype, x.shape, names[static_cast<int>(what)], at, nullptr, made_here});
}

WENGERT_INLINE void RunRecorder::alias(const AnyTensor& of, const Ref<Block>& as, const Site& at)
{
    MaskRecorder::alias(of, as, at);
    if (of.value->run < run_)
        aliases_.emplace(as.get(), std::pair(as, of.value));
    else
        as->run = run_;
}

WENGERT_INLINE void RunRecorder::constant(const Block& b, const Site& at)
{
    if (const auto outside = as_outside(); true) MaskRecorder::constant(b, at);
    if (is_logged() && b.run < run_) take(b, "loop", at);
}

WENGERT_INLINE std::shared_ptr<const void> RunRecorder::settle(const Finding& f, const Site& at)
{
    const bool logged = is_logged();
    const auto outside = as_outside();
    if (!logged) return MaskRecorder::settle(f, at);
    RunLog::Entry e{{}, reinterpret_cast<std::uintptr_t>(f.of), {}, {}, f.name, at};
    if (!checks_) {
        e.found = MaskRecorder::settle(f, at);
        enter(e);
        return e.found;
    }
    enter(std::move(e));
    const std::shared_ptr<const void> first = log_.entries[next_ - 1].found;
    return MaskRecorder::settle({f.of, f.name, [&] { return first; }}, at);
}

WENGERT_INLINE Ref<Block> RunRecorder::argument(const AnyTensor& x, const Site& at)
{
    const std::uint64_t bits = RunLog::hash(*x.value);
    if (!checks_)
        log_.arguments.push_back(bits);
    else
        exact_ = exact_ && given_.size() < log_.arguments.size() && log_.arguments[given_.size()] == bits;
    given_.push_back(another_header(x.value));
    MaskRecorder::alias(x, given_.back(), at);
    return given_.back();
}

WENGERT_INLINE const Block& RunRecorder::unaliased(const Block& b) const
{
    const Block* of = &b;
    for (auto i = aliases_.find(of); i != aliases_.end(); i = aliases_.find(of)) of = i->second.second.get();
    return *of;
}

WENGERT_INLINE void RunRecorder::take(const Block& operand, std::string_view primitive, const Site& at)
{
    const Block& b = aliases_.empty() ? operand : unaliased(operand);
    // A trace gives a value that it captures another header. Hooks give arguments back in other memory.
    const auto is_same = [&](const Block& h) {
        return &h == &b || (given_.empty() && h.shape == b.shape && h.strides() == b.strides());
    };
    const auto [first, last] = held_.equal_range(b.data);
    if (std::any_of(first, last, [&](const auto& h) { return is_same(*h.second); })) return;
    RunLog::Entry e{{}, 0, b.dtype, b.shape, primitive, at};
    const auto given =
        std::find_if(given_.begin(), given_.end(), [&](const auto& g) { return g.get() == &b; });
    if (given != given_.end()) {
        e.bits = static_cast<std::uint64_t>(given - given_.begin());
    } else if (b.bytes() <= sizeof(std::uint64_t)) {
        const Ref<Block> elements = readable(Ref<Block>(const_cast<Block*>(&b)));
        std::memcpy(&e.bits, elements->data, elements->bytes());
        return enter(std::move(e));
    }
    const Ref<Block> held(const_cast<Block*>(&b));
    held_.emplace(b.data, held);
    if (given == given_.end()) e.held = held;
    enter(std::move(e));
}

WENGERT_INLINE void RunRecorder::enter(RunLog::Entry e)
{
    if (!checks_) {
        log_.entries.push_back(std::move(e));
        return;
    }
    next_ = next_needed();
    if (next_ == log_.entries.size()) differ(e, "was not there", e.at);
    const RunLog::Entry& then = log_.entries[next_++];
    if (then.dtype != e.dtype || !(then.shape == e.shape) || then.primitive != e.primitive)
        differ(e,
               "was an operand of " + std::string(then.primitive) + ", shape " + to_string(then.shape) +
                   ", at " + to_string(then.at),
               e.at);
    if (then.held && then.held.get() == e.held.get()) return;
    if (bits_of(then) != bits_of(e))
        differ(e, then.found ? "was another function" : "had other elements", e.at);
}

WENGERT_INLINE void RunRecorder::differ(const RunLog::Entry& e, const std::string& how, const Site& at) const
{
    fail<TapeError>(who_,
                    "the recomputation does not do what the first run did: a value from outside (" +
                        std::string(e.primitive) + ", shape " + to_string(e.shape) + ", at " +
                        to_string(e.at) + ") " + how +
                        " in the first run; what the function reads must not change before the backward pass",
                    at);
}

WENGERT_INLINE std::uint64_t RunRecorder::next_run() noexcept
{
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

}  // namespace wengert

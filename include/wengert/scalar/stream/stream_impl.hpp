// The stream's slower paths: spans' birth and death, refusals, operands from elsewhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "stream.hpp"

namespace wengert {

namespace detail {

void scalar_vjp(const Node&, const AnyTensor&, Cotangents&);
inline void destroy_span(void* op) noexcept { delete static_cast<ScalarSpan*>(op); }

inline constexpr Primitive scalar_primitive = [] {
    Primitive p;
    p.name = "scalar code";
    p.differentiable = true;
    p.vjp = scalar_vjp;
    p.destroy = destroy_span;
    return p;
}();

[[noreturn]] inline void refuse_unrolled(std::size_t most)
{
    const ScalarStream* const s = ScalarStream::current();
    fail<TapeError>(s && s->cell_tensors ? s->cell_tensors->who : "kernel",
                    "more than " + std::to_string(most) +
                        " operations or comparisons are recorded: a plain loop is written out, step by step. "
                        "A loop whose "
                        "steps are many or are a matter of data is a while_loop; for kernels "
                        "KernelOptions::most_operations allows more",
                    line_of_user());
}

/// Numbers come once in a process, so that a number of another thread is nobody's here.
inline std::uint32_t next_span_number() noexcept
{
    static std::atomic<std::uint32_t> last{0};
    std::uint32_t n = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return n ? n : next_span_number();
}

}  // namespace detail

inline ScalarStream::ScalarStream(Tape& tape) : tape_(tape)
{
    tape.active.listener = this;
    level_ended = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).end_level(); };
    rewound = [](TapeExtension& e) noexcept {
        auto& s = static_cast<ScalarStream&>(e);
        for (std::size_t i = s.spans_.size(); i-- > 0;)
            if (i < s.spans_.size() && s.spans_[i]->node->flags & Node::rewound) s.drop(*s.spans_[i]);
        for (ScalarVariable& v : s.variables)
            if (v.leaf.node && (v.leaf.node->flags & Node::rewound)) v = {};
    };
    rerun = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).close(); };
    changed = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).settle(nothing); };
    bytes_of = [](const TapeExtension& e, const Node& n) noexcept -> std::int64_t {
        const auto& s = static_cast<const ScalarStream&>(e);
        const auto at = std::lower_bound(
            s.spans_.begin(), s.spans_.end(), n.sequence,
            [](const ScalarSpan* span, std::uint64_t sequence) { return span->node->sequence < sequence; });
        if (at == s.spans_.end() || (*at)->node != &n) return 0;
        return static_cast<std::int64_t>((s.end_of(**at) - (*at)->begin) * sizeof(ScalarEntry));
    };
    tape_ended = [](TapeExtension& e) noexcept {
        auto& s = static_cast<ScalarStream&>(e);
        if (current_ == &s) current_ = &no_scalar_cursor;
        for (ScalarSpan* span : s.spans_) span->stream = nullptr;
        s.tape_.extension = s.tape_.active.listener = nullptr;
        s.held_.clear();
        delete &s;
    };
}

inline void ScalarStream::end_level() noexcept
{
    const std::size_t level = tape_.depth();
    if (open_ && (open_->node->mask & ~Tape::below(level))) close();
    settle(nothing);
    drop_dead(tape_.level(level).start);
    std::erase_if(tangents, [&](const ScalarTangents& t) { return t.level >= level; });
}

/// Lets go of what no open level depends on, of the time since `start`.
inline void ScalarStream::drop_dead(std::uint64_t start) noexcept
{
    const std::uint64_t alive = Tape::below(tape_.depth());
    for (std::size_t i = spans_.size(); i-- > 0;) {
        if (i >= spans_.size()) continue;  // one that went took others along
        ScalarSpan& s = *spans_[i];
        if (s.node->sequence < start) break;
        if ((s.node->mask & alive) == 0) release(s);
    }
}

inline void ScalarStream::close() noexcept
{
    if (open_) open_->end = end();
    open_ = nullptr;
    settle(nothing);
}

/// Its numbers are refused from now on; its entries go with its node.
inline void ScalarStream::drop(ScalarSpan& s) noexcept
{
    s.numbers.clear();
    release(s);
}

/// No level needs it. A pullback may, and opens its level again when it is called: its numbers are then what they were.
inline void ScalarStream::release(ScalarSpan& s) noexcept
{
    if (&s == open_) close();
    settle(nothing);
    const auto at =
        std::find_if(held_.rbegin(), held_.rend(), [&](const Ref<Node>& n) { return n.get() == s.node; });
    if (at == held_.rend()) return;
    const Ref<Node> last = std::move(*at);
    held_.erase(at.base() - 1);
}

inline void ScalarStream::consume(ScalarSpan& s) noexcept
{
    s.entered.clear();
    s.older.clear();
    drop(s);
}

inline void ScalarStream::forget(ScalarSpan& s) noexcept
{
    if (&s == open_) close();
    if (!spans_.empty() && spans_.back() == &s)
        spans_.pop_back();
    else
        std::erase(spans_, &s);
    if (guards) return;  // a kernel's recording keeps what it did
    const ScalarPosition last = spans_.empty() ? chunks_.front() + 1 : end_of(*spans_.back());
    while (chunks_.back() >= last) chunks_.pop_back();
    ScalarCursor::size = static_cast<Count>(last - chunks_.back());
    look_at_newest();
    for (ScalarTangents& t : tangents)
        if (t.dots.size() > last - std::min(last, t.base)) t.dots.resize(last - std::min(last, t.base));
    if (!spans_.empty()) return;
    masks_.clear();
    if (file_) give_up_entries();
}

inline void ScalarStream::refuse(std::string_view operation, const Site& at)
{
    if (const ScalarStream* s = current(); s && s->cell_tensors)
        fail<TapeError>(
            s->cell_tensors->who,
            "the function captures a Real that is recorded, and whose derivative would be "
            "lost: pass it as an argument, a tensor of rank 0 (tensor(x)) where it is the same for all "
            "cells",
            detail::line_of_user());
    fail<TapeError>(
        operation,
        "an operand, a Real, was recorded by another thread, on another tape, or on a part of this "
        "one that has ended: its transform is over, backward has used it up (with {.retain = true} it "
        "does not), or it has been rewound; pass its value() instead",
        at.line > 0 ? at : detail::line_of_user());
}

inline bool CellTensors::is_cells(const Block& b) const
{
    const Gathered* const g = find(b);
    return g && std::any_of(g->positions.begin(), g->positions.end(), [&](std::uint64_t position) {
               return position != 0 && (stream_.mask_of(position) & 1);
           });
}

inline void ScalarStream::tell(ScalarHandle m)
{
    Recorder* const r = recorder();
    auto* const s = static_cast<ScalarStream*>(Tape::current().extension);
    if (!s || m.index() == 0) return;
    if (s->cell_tensors && s->tape().active == 0)
        fail<TapeError>(s->cell_tensors->who,
                        "under NoGrad a cell's numbers would be constants, the same for all cells",
                        detail::line_of_user());
    if (!r) return;
    const ScalarVariable* v = s->variable(m);
    const ScalarSpan* span = v ? nullptr : s->find(m);
    if (!v && !span) return;
    if (r->trace())
        r->refuse("a Real that is recorded is captured here: pass it as an argument, in a tensor", {});
    r->variable({token_block(), Ref<Node>(v ? v->leaf.node.get() : span->node)});
}

inline std::uint64_t ScalarStream::dependence(ScalarHandle m, std::string_view operation,
                                              const Site& at) const
{
    if (m.index() == 0) return 0;
    if ((m.word ^ usual) >> 32 == 0) return masks_[levels >> 40];
    if (m.index() & ScalarVariable::bit) {
        if (!const_cast<ScalarStream*>(this)->variable(m)) refuse(operation, at);
        return 1 & tape_.active;
    }
    const ScalarSpan* s = find(m);
    if (!s) refuse(operation, at);
    const std::uint64_t mask = mask_of(s->chunk + m.index());
    std::uint64_t all = 0;
    for (std::uint64_t rest = mask; rest; rest &= rest - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(rest));
        if (l == 0 || (l < tape_.depth() && s->node->sequence >= tape_.level(l).start))
            all |= Tape::bit(l);
        else if (!tape_.lowered)
            fail<TapeError>(
                operation,
                "an operand, a Real, escaped from a transform (grad, jvp, …) that has ended; return "
                "it from the transformed function or pass its value()",
                at.line > 0 ? at : detail::line_of_user());
    }
    return all & tape_.active;
}

inline std::uint8_t ScalarStream::index_of(std::uint64_t mask)
{
    const auto at = std::find(masks_.begin(), masks_.end(), mask);
    if (at != masks_.end()) return static_cast<std::uint8_t>(at - masks_.begin());
    if (masks_.size() == 255)
        fail<TapeError>("scalar code", "more than 255 combinations of nested transforms",
                        detail::line_of_user());
    masks_.push_back(mask);
    return static_cast<std::uint8_t>(masks_.size() - 1);
}

inline std::uint32_t ScalarStream::number_for(ScalarSpan& s, std::uint8_t mask)
{
    for (const auto& n : s.numbers)
        if (n.mask == mask) return n.id;
    s.numbers.push_back({mask, detail::next_span_number()});
    return s.numbers.back().id;
}

inline ScalarHandle ScalarStream::handle(ScalarPosition p)
{
    const ScalarEntry& e = entry(p);
    if ((mask_of(e) & tape_.active) == 0) return {};
    if (e.op() == ScalarOp::link) [[unlikely]]
        p = e.far;  // a link serves one operation
    ScalarSpan* s = find(p);
    return {static_cast<std::uint32_t>(p - s->chunk), number_for(*s, e.mask())};
}

/// Afterwards a span for operations on `mask` is open, its node newer than that sequence number.
/// There is room for so many entries then. `line` is the user's line of what begins here: of elements, or of where operands come from.
inline void ScalarStream::open_for(std::uint64_t mask, std::uint64_t newer_than, std::size_t more, Site line)
{
    current_ = this;
    if (open_ && open_->node->sequence < newer_than) close();
    if (size() > 1 && size() + more > budget_.in_chunk())
        begin_chunk(more);
    else
        reserve(more);
    if (!open_) {
        auto node = Ref<Node>::adopt(tape_.new_node(detail::scalar_primitive, 0, line));
        auto span = std::make_unique<ScalarSpan>();
        spans_.reserve(spans_.size() + 1);
        held_.push_back(node);
        span->node = node.get();
        span->begin = end();
        span->chunk = chunk();
        spans_.push_back(span.get());
        span->stream = this;
        open_ = span.get();
        node->op = span.release();
        tape_.append(node.get());
    }
    const std::uint8_t at = index_of(mask);
    levels = ScalarEntry::word_of(at);
    settle(number_for(*open_, at));
    steady_ = (mask & ~tape_.active) == 0 && !tape_.anomaly;
    open_->node->mask |= mask;
}

/// The operand in the newest chunk. A sweep goes on in the span where it comes from. Links are not shared: a sum of what several
/// operations send back through one would be rounded otherwise than without it.
inline ScalarHandle ScalarStream::near(ScalarHandle m, double value)
{
    if (m.index() == 0 || (m.word ^ usual) >> 32 == 0) return m;
    const bool alone = chunks_.size() == 1;  // then an index tells the position
    if (alone && chunk() + m.index() >= open_->begin) return m;
    const ScalarSpan* const from = alone ? find(chunk() + m.index()) : find(m);
    if (from == open_) return m;
    const auto is_from = [&](const Ref<Node>& n) { return n.get() == from->node; };
    if (std::none_of(open_->older.begin(), open_->older.end(), is_from))
        open_->older.push_back(Ref<Node>(from->node));
    if (from->chunk == chunk()) return m;
    const ScalarPosition at = from->chunk + m.index();
    const Restore<Word> own(levels, ScalarEntry::word_of(entry(at).mask()));
    ScalarCursor::entries[size()].far = at;
    return append(ScalarOp::link, ScalarForm::unary, 0, value);
}

template <class T>
ScalarHandle ScalarStream::enter(const AnyTensor& x, std::uint64_t mask, const T* values, std::size_t count)
{
    if (count >= ScalarBudget::most_in_chunk)
        fail<MemoryError>("scalar code",
                          "the elements of one tensor: at most 2^31, not " + std::to_string(count),
                          detail::line_of_user());
    open_for(mask, x.node ? x.node->sequence : 0, count, x.node ? x.node->at : Site{});
    open_->entered.push_back({end(), static_cast<std::uint32_t>(count), x});
    const ScalarHandle first(usual | size());
    for (std::size_t i = 0; i < count; ++i)
        append(ScalarOp::input, ScalarForm::unary, 0, static_cast<double>(values[i]));
    if (!steady_) settle(nothing);
    return first;
}

inline ScalarHandle ScalarStream::operand(ScalarHandle m, double value)
{
    if ((m.index() & ScalarVariable::bit) == 0) return m;
    ScalarVariable& v = *variable(m);
    const ScalarSpan* s = find(v.entered);
    if (!s || entry(s->chunk + v.entered.index()).value != value) v.entered = enter(v.leaf, 1, &value, 1);
    return v.entered;
}

/// Code that loops comes from few places, and last from the same.
inline void ScalarStream::keep_line(ScalarHandle m)
{
    const CallStack from = detail::call_stack();
    std::size_t k = stacks_.size();
    while (k > 0 && stacks_[k - 1] != from) --k;
    if (k == 0) {
        stacks_.push_back(from);
        k = stacks_.size();
    }
    const std::size_t at = offset(chunk() + m.index());
    if (made_.size() <= at) made_.resize(2 * at + 64);
    made_[at] = {m.span(), static_cast<std::uint32_t>(k - 1)};
}

__attribute__((noinline, cold)) inline ScalarHandle ScalarStream::note_slowly(ScalarOp op, ScalarHandle a,
                                                                              double x, ScalarHandle b,
                                                                              double z, double y)
{
    Tape& tape = Tape::current();
    if (tape.active == 0) {
        tell(a);
        tell(b);
        return {};
    }
    if (!tape.extension) refuse(name_of(op));
    auto& s = static_cast<ScalarStream&>(*tape.extension);
    const std::uint64_t in_a = s.dependence(a, name_of(op)), in_b = s.dependence(b, name_of(op));
    if (Recorder* r = recorder(); r && !r->trace()) [[unlikely]] {  // preaccumulate asks what f captures
        if (!in_a) tell(a);
        if (!in_b) tell(b);
    }
    if ((in_a | in_b) == 0) return {};
    if (tape.anomaly && !std::isfinite(y) && std::isfinite(x) && std::isfinite(z))
        fail<NumericError>(name_of(op), "a NaN or Inf was born here from finite operands, Reals",
                           tape.in_rule ? tape.site_override : detail::line_of_user());
    a = in_a ? s.operand(a, x) : ScalarHandle();
    b = in_b ? s.operand(b, z) : ScalarHandle();
    s.open_for(in_a | in_b, 0, s.chunks_.size() > 1 ? 3 : 1, s.line_of(a.index() ? a : b));
    b = s.near(b, z);  // a's is next to the operation: what is sent back goes to a first
    a = s.near(a, x);
    const ScalarHandle made = !is_pair(op)             ? s.append(op, ScalarForm::unary, a.index(), y)
                              : a.index() && b.index() ? s.append(op, a.index(), b.index(), y)
                              : a.index() ? s.append(op, ScalarForm::right_constant, a.index(), z, y)
                                          : s.append(op, ScalarForm::left_constant, b.index(), x, y);
    if (tape.anomaly) s.keep_line(made);
    if (!s.steady_) s.settle(nothing);
    return made;
}

}  // namespace wengert

// The bodies of stream.hpp: spans' birth and death, refusals. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "../../../base/separate.hpp"
#include "../memory.hpp"
#include "../stream.hpp"

namespace wengert {

namespace detail {

[[noreturn]] WENGERT_INLINE void refuse_unrolled(std::size_t most)
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

WENGERT_INLINE std::uint32_t next_span_number() noexcept
{
    static std::atomic<std::uint32_t> last{0};
    std::uint32_t n = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return n ? n : next_span_number();
}

}  // namespace detail

WENGERT_INLINE ScalarStream::ScalarStream(Tape& tape) : tape_(tape)
{
    tape.active.listener = this;
    level_ended = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).end_level(); };
    rewound = [](TapeExtension& e) noexcept {
        auto& s = static_cast<ScalarStream&>(e);
        s.forget_rewound_tangents();
        for (std::size_t i = s.spans_.size(); i-- > 0;)
            if (i < s.spans_.size() && s.spans_[i]->node->flags & Node::rewound) s.drop(*s.spans_[i]);
        for (ScalarVariable& v : s.variables)
            if (v.leaf.node && (v.leaf.node->flags & Node::rewound)) s.end_variable(v);
    };
    set_apart = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).close(); };
    used_up = [](TapeExtension& e, std::uint64_t since) noexcept {
        detail::drop_severed(static_cast<ScalarStream&>(e), since);
    };
    changed = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).settle(nothing); };
    bytes_of = [](const TapeExtension& e, const Node& n) noexcept -> std::int64_t {
        const auto& s = static_cast<const ScalarStream&>(e);
        const ScalarSpan* const span = s.span_of(n);
        return span ? static_cast<std::int64_t>((s.end_of(*span) - span->begin) * sizeof(ScalarEntry)) : 0;
    };
    references = [](const TapeExtension& e, const Node& n, const Node& leaf) noexcept -> std::size_t {
        const ScalarSpan* const span = static_cast<const ScalarStream&>(e).span_of(n);
        if (!span) return 0;
        return static_cast<std::size_t>(
            std::count_if(span->entered.begin(), span->entered.end(),
                          [&](const ScalarSpan::Entered& in) { return in.tensor.node.get() == &leaf; }));
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

WENGERT_INLINE void ScalarStream::look_at_newest() noexcept
{
    oldest_ = chunks_.front(), newest_ = chunks_.back();
    const std::size_t before = std::min(held_entries_, offset(chunk())), room = held_entries_ - before;
    ScalarCursor::entries = memory_ + before;
    capacity = static_cast<Count>(std::min(room, std::max<std::size_t>(budget_.in_chunk(), size())));
}

WENGERT_INLINE ScalarSpan* ScalarStream::span_of(const Node& n) const noexcept
{
    const auto at = std::lower_bound(
        spans_.begin(), spans_.end(), n.sequence,
        [](const ScalarSpan* span, std::uint64_t sequence) { return span->node->sequence < sequence; });
    return at != spans_.end() && (*at)->node == &n ? *at : nullptr;
}

WENGERT_INLINE void ScalarStream::end_level() noexcept
{
    const std::size_t level = tape_.depth();
    if (open_ && (open_->node->mask & ~Tape::below(level))) close();
    if (open_)  // its own numbers are of levels that go on
        std::erase_if(open_->numbers, [&](const ScalarSpan::Number& n) {
            return (masks_[n.mask] & ~Tape::below(level)) != 0;
        });
    settle(nothing);
    drop_dead(tape_.level(level).start);
    for (ScalarTangents& t : tangents)
        if (t.level >= level && !file_ && t.dots.capacity() > dots.capacity()) {
            dots = std::move(t.dots);
            dots.clear();
        }
    std::erase_if(tangents, [&](const ScalarTangents& t) { return t.level >= level; });
}

/// Lets go of what no open level depends on, of the time since `start`.
WENGERT_INLINE void ScalarStream::drop_dead(std::uint64_t start) noexcept
{
    const std::uint64_t alive = Tape::below(tape_.depth());
    for (std::size_t i = spans_.size(); i-- > 0;) {
        if (i >= spans_.size()) continue;  // one that went took others along
        ScalarSpan& s = *spans_[i];
        if (s.node->sequence < start) break;
        if ((s.node->mask & alive) == 0) release(s);
    }
}

WENGERT_INLINE void ScalarStream::close() noexcept
{
    if (open_) open_->end = end();
    open_ = nullptr;
    settle(nothing);
}

/// Tangents that are recorded in a rewound span end with it, and are computed again when they are asked for, as are those after them.
/// Entries that have been given a tangent since the mark are rewound as well, so none of those is lost.
WENGERT_INLINE void ScalarStream::forget_rewound_tangents() noexcept
{
    auto since = spans_.end();
    while (since != spans_.begin() && ((*(since - 1))->node->flags & Node::rewound)) --since;
    const auto is_rewound = [&](ScalarHandle m) {
        return m.word && std::any_of(since, spans_.end(), [&](const ScalarSpan* s) {
                   const ScalarPosition at = s->chunk + m.index();
                   return at >= s->begin && at < end_of(*s) && s->has(m.span());
               });
    };
    if (since == spans_.end()) return;
    for (ScalarTangents& t : tangents) {
        const auto first = std::find_if(t.handles.begin(), t.handles.end(), is_rewound);
        if (first != t.handles.end()) t.cut(static_cast<std::size_t>(first - t.handles.begin()));
    }
}

/// Its numbers are refused from now on; its entries go with its node.
WENGERT_INLINE void ScalarStream::drop(ScalarSpan& s) noexcept
{
    s.numbers.clear();
    release(s);
}

/// No level needs it. A pullback may, and opens its level again when it is called: its numbers are then what they were.
WENGERT_INLINE void ScalarStream::release(ScalarSpan& s) noexcept
{
    if (&s == open_ || (open_ && open_->previous)) close();  // it may go on with numbers of s
    settle(nothing);
    const auto at =
        std::find_if(held_.rbegin(), held_.rend(), [&](const Ref<Node>& n) { return n.get() == s.node; });
    if (at == held_.rend()) return;
    const Ref<Node> last = std::move(*at);
    held_.erase(at.base() - 1);
}

/// `previous` stays: a later span, which goes on with the same numbers, finds by their positions what is used up.
WENGERT_INLINE void ScalarStream::consume(ScalarSpan& s) noexcept
{
    s.entered.clear();
    s.older.clear();
    drop(s);
}

WENGERT_INLINE void ScalarStream::forget(ScalarSpan& s) noexcept
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
    for (ScalarTangents& t : tangents) {
        t.base = std::min(t.base, last);  // the next entries are of its level, and have dots
        t.cut(last - t.base);
    }
    if (!spans_.empty()) return;
    masks_.clear();
    if (file_) give_up_entries();
}

WENGERT_INLINE void ScalarStream::put_away(ScalarSpan& s) noexcept
{
    constexpr std::size_t most_kept = 64;  // of what its lists have room for
    forget(s);
    s.stream = nullptr;  // it has been forgotten
    s.node = nullptr;
    s.entered.clear(), s.older.clear(), s.numbers.clear();
    s.previous = {};
    s.searched = false;
    const std::size_t kept = s.entered.capacity() + s.older.capacity() + s.numbers.capacity();
    if (spares_ < most_spares && kept <= most_kept)
        spare_[spares_++] = &s;
    else
        delete &s;
}

WENGERT_INLINE void ScalarStream::refuse(std::string_view operation, const Site& at)
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
        "an operand, a Real, was recorded by another thread, on another tape (sparse_jacobian, "
        "sparse_hessian and parallel_for record f on tapes of their own: give it to f as an argument), or on "
        "a part of this one that has ended: its transform is over, backward has used it up (with {.retain = "
        "true} it "
        "does not), or it has been rewound; pass its value() instead",
        at.line > 0 ? at : detail::line_of_user());
}

WENGERT_INLINE bool CellTensors::is_cells(const Block& b) const
{
    const Gathered* const g = find(b);
    return g && std::any_of(g->positions.begin(), g->positions.end(), [&](std::uint64_t position) {
               return position != 0 && (stream_.mask_of(position) & 1);
           });
}

WENGERT_INLINE void ScalarStream::tell(ScalarHandle m)
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
    ScalarSpan* span = v ? nullptr : s->find(m);
    if (!v && !span) return;
    if (r->trace())
        r->refuse("a Real that is recorded is captured here: pass it as an argument, in a tensor", {});
    if (v) return static_cast<void>(r->variable(v->leaf));
    if (!span->told) span->told = token_block();
    r->variable({span->told, Ref<Node>(span->node)});
}

WENGERT_INLINE std::uint64_t ScalarStream::dependence(ScalarHandle m, std::string_view operation,
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

}  // namespace wengert

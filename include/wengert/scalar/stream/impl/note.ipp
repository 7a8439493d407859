// The bodies of stream.hpp: operations that are not the usual case, and what enters the stream. With WENGERT_COMPILED only
// wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "../../../base/report.hpp"
#include "../../../base/separate.hpp"
#include "stream.ipp"

namespace wengert {

WENGERT_INLINE bool ScalarStream::has_numbers(const Tape& tape) noexcept
{
    const auto* const s = static_cast<const ScalarStream*>(tape.extension);
    const auto is_one = [](const ScalarVariable& v) { return v.id != 0; };
    return s && (!s->spans_.empty() || std::any_of(s->variables.begin(), s->variables.end(), is_one));
}

WENGERT_INLINE std::uint8_t ScalarStream::index_of(std::uint64_t mask)
{
    const auto at = std::find(masks_.begin(), masks_.end(), mask);
    if (at != masks_.end()) return static_cast<std::uint8_t>(at - masks_.begin());
    if (masks_.size() == 255)
        fail<TapeError>("scalar code", "more than 255 combinations of nested transforms",
                        detail::line_of_user());
    masks_.push_back(mask);
    return static_cast<std::uint8_t>(masks_.size() - 1);
}

WENGERT_INLINE std::uint32_t ScalarStream::number_for(ScalarSpan& s, std::uint8_t mask)
{
    for (const auto& n : s.numbers)
        if (n.mask == mask) return n.id;
    s.numbers.push_back({mask, detail::next_span_number()});
    return s.numbers.back().id;
}

WENGERT_INLINE ScalarHandle ScalarStream::handle(ScalarPosition p)
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
/// A new span goes on with the numbers of the open one, if it may.
WENGERT_INLINE void ScalarStream::open_for(std::uint64_t mask, std::uint64_t newer_than, std::size_t more,
                                           Site line, bool goes_on)
{
    current_ = this;
    ScalarSpan* before = nullptr;
    if (open_ && open_->node->sequence < newer_than) {
        before = goes_on ? open_ : nullptr;
        close();
        if (before) find_older(*before);  // while its entries are in the caches
    }
    if (size() > 1 && size() + more > budget_.in_chunk())
        begin_chunk(more);
    else
        reserve(more);
    if (!open_) {
        auto node = Ref<Node>::adopt(tape_.new_node(detail::scalar_primitive, 0, line));
        auto span = new_span();
        if (spans_.size() == spans_.capacity()) spans_.reserve(2 * spans_.size() + 8);
        held_.push_back(node);
        span->node = node.get();
        span->begin = end();
        span->chunk = chunk();
        if (before && before->chunk == chunk()) {
            span->numbers = before->numbers;
            span->previous = Ref<Node>(before->node);
        }
        spans_.push_back(span.get());
        span->stream = this;
        open_ = span.get();
        ++begun_;
        node->op = span.release();
        tape_.append(node.get());
    }
    be_on(mask);
}

/// What is recorded next is on these levels.
WENGERT_INLINE void ScalarStream::be_on(std::uint64_t mask)
{
    const std::uint8_t at = index_of(mask);
    levels = ScalarEntry::word_of(at);
    settle(number_for(*open_, at));
    steady_ = (mask & ~tape_.active) == 0 && !tape_.anomaly;
    open_->node->mask |= mask;
}

/// The operand in the newest chunk. A sweep goes on in the span where it comes from. Links are not shared: a sum of what several
/// operations send back through one would be rounded otherwise than without it.
WENGERT_INLINE ScalarHandle ScalarStream::near(ScalarHandle m, double value)
{
    if (m.index() == 0 || (m.word ^ usual) >> 32 == 0) return m;
    const bool alone = chunks_.size() == 1;  // then an index tells the position
    if (alone && chunk() + m.index() >= open_->begin) return m;
    const ScalarSpan* const from = alone ? find(chunk() + m.index()) : find(m);
    if (from == open_) return m;
    const auto is_from = [&](const Ref<Node>& n) { return n.get() == from->node; };
    if (std::none_of(open_->older.begin(), open_->older.end(), is_from))
        open_->older.push_back(Ref<Node>(from->node));
    if (from->chunk == chunk()) {
        const bool same_levels = mask_of(chunk() + m.index()) == masks_[levels >> 40];
        if (steady_ && same_levels && !is_known(m))
            known_[next_known_++ % std::size(known_)] = {m.span(),
                                                         static_cast<std::uint32_t>(from->begin - chunk()),
                                                         static_cast<std::uint32_t>(from->end - from->begin)};
        return m;
    }
    const ScalarPosition at = from->chunk + m.index();
    const Restore<Word> own(levels, ScalarEntry::word_of(entry(at).mask()));
    ScalarCursor::entries[size()].far = at;
    return append(ScalarOp::link, ScalarForm::unary, 0, value);
}

WENGERT_INLINE void ScalarStream::find_older(ScalarSpan& s) const
{
    if (!s.previous || s.searched) return;
    const auto first = static_cast<std::uint32_t>(s.begin - s.chunk);
    const auto last = static_cast<std::uint32_t>(end_of(s) - s.chunk);
    std::uint32_t from = 0, length = 0;  // the indices of the span that was found last
    // index 0 is no operand; without a jump, as operands of this span and of an older one come by turns
    const auto is_new = [&](std::uint32_t k) {
        return static_cast<bool>(static_cast<int>(k - 1 < first - 1) & static_cast<int>(k - from >= length));
    };
    const auto add = [&](std::uint32_t k) {
        const ScalarSpan* const read = find(s.chunk + k);
        from = static_cast<std::uint32_t>(read->begin - s.chunk);
        length = static_cast<std::uint32_t>(read->end - read->begin);
        const auto is_it = [&](const Ref<Node>& n) { return n.get() == read->node; };
        if (std::none_of(s.older.begin(), s.older.end(), is_it)) s.older.push_back(Ref<Node>(read->node));
    };
    const ScalarEntry* const entries = memory_ + offset(s.chunk);
    for (const ScalarEntry* e = entries + first; e != entries + last; ++e) {
        const std::uint32_t a = e->a(), b = e->form() == ScalarForm::both ? e->b : 0;
        if (is_new(a)) [[unlikely]]
            add(a);
        if (is_new(b)) [[unlikely]]
            add(b);
    }
    s.searched = &s != open_;
}

WENGERT_INLINE ScalarHandle ScalarStream::enter(const AnyTensor& x, std::uint64_t mask,
                                                std::span<const double> values, ScalarSpan::Deliver* deliver)
{
    const std::size_t count = values.size();
    if (count >= ScalarBudget::most_in_chunk)
        fail<MemoryError>("scalar code",
                          "the elements of one tensor: at most 2^31, not " + std::to_string(count),
                          detail::line_of_user());
    open_for(mask, x.node ? x.node->sequence : 0, count, x.node ? x.node->at : Site{}, !guards);
    open_->entered.push_back({end(), static_cast<std::uint32_t>(count), x, deliver});
    const ScalarHandle first(usual | size());
    for (const double v : values) append(ScalarOp::input, ScalarForm::unary, 0, v);
    if (!steady_) settle(nothing);
    return first;
}

WENGERT_INLINE std::uint64_t ScalarStream::find_below(std::size_t level, std::vector<ScalarNumber>& x,
                                                      std::string_view transform, const Site& at)
{
    if (std::all_of(x.begin(), x.end(), [](const ScalarNumber& n) { return n.handle.word == 0; })) return 0;
    const Restore<ActiveLevels> outside(tape_.active, tape_.active & ~Tape::bit(level));
    Recorder* const r = recorder();
    std::uint64_t all = 0;
    for (ScalarNumber& n : x) {
        const std::uint64_t mask = tape_.active ? dependence(n.handle, transform, at) : 0;
        if (!mask && (tape_.active == 0 || (r && !r->trace()))) tell(n.handle);
        n.handle = mask ? operand(n.handle, n.value) : ScalarHandle();
        all |= mask;
    }
    return all;
}

WENGERT_INLINE ScalarPosition ScalarStream::lift(std::size_t level, std::vector<ScalarNumber>& x,
                                                 std::string_view transform, const Site& at)
{
    const std::uint64_t below = find_below(level, x, transform, at), own = Tape::bit(level);
    const std::size_t links = below && chunks_.size() > 1 ? 2 * x.size() : 0;
    open_for(own | below, tape_.level(level).start, x.size() + links, at);
    if (below)
        for (ScalarNumber& n : x) n.handle = near(n.handle, n.value);
    const ScalarPosition first = end();
    open_->entered.push_back({first, static_cast<std::uint32_t>(x.size()), {}, nullptr, true});
    if (cell_tensors) {
        std::vector<std::uint64_t> from;
        for (const ScalarNumber& n : x) from.push_back(n.handle.index());
        cell_tensors->entered.push_back({size(), std::move(from)});
    }
    for (ScalarNumber& n : x) {
        const std::uint32_t from = n.handle.index();
        if (below) be_on(own | (from ? mask_of(chunk() + from) & below : 0));
        n.handle = append(from ? ScalarOp::copy : ScalarOp::input, ScalarForm::unary, from, n.value);
    }
    if (!steady_) settle(nothing);
    return first;
}

WENGERT_INLINE ScalarHandle ScalarStream::begin_variable(const AnyTensor& leaf, ScalarSpan::Deliver* deliver,
                                                         const Site& at)
{
    constexpr std::size_t many = 1 << 16;
    std::size_t& k = free_variable_;
    while (k < variables.size() && variables[k].id) ++k;
    if (k == variables.size()) variables.emplace_back();
    if (k == many)
        detail::report(
            "[requires_grad] " + std::to_string(many) +
                " Reals of this thread's tape are variables, and each is kept until it ends: a Real does "
                "not say when it is gone. Call requires_grad(false) on it, Tape::rewind, or take a "
                "TapeScope; grad needs no variables",
            at);
    variables[k] = {detail::next_span_number(), leaf, deliver, {}};
    return {ScalarVariable::bit | static_cast<std::uint32_t>(k), variables[k].id};
}

WENGERT_INLINE ScalarHandle ScalarStream::operand(ScalarHandle m, double value)
{
    if ((m.index() & ScalarVariable::bit) == 0) return m;
    ScalarVariable& v = *variable(m);
    const ScalarSpan* s = find(v.entered);
    if (!s || entry(s->chunk + v.entered.index()).value != value)
        v.entered = enter(v.leaf, 1, {&value, 1}, v.deliver);
    return v.entered;
}

/// A loop records from few call sites, and usually from the last one again.
WENGERT_INLINE void ScalarStream::keep_line(ScalarHandle m)
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

WENGERT_INLINE Site ScalarStream::made_at(ScalarHandle m) const
{
    const ScalarSpan* const s = find(m);
    const std::size_t at = offset((s ? s->chunk : chunk()) + m.index());
    const bool kept = at < made_.size() && made_[at].span == m.span();
    return kept ? detail::site_of(stacks_[made_[at].stack]) : Site{};
}

WENGERT_INLINE Site ScalarStream::made_at(ScalarPosition p) const
{
    const ScalarSpan* const s = find(p);
    if (!s) return {};
    for (const auto& n : s->numbers)
        if (n.mask == entry(p).mask())
            return made_at(ScalarHandle{static_cast<std::uint32_t>(p - s->chunk), n.id});
    return {};
}

WENGERT_INLINE ScalarHandle ScalarStream::append_operation(ScalarOp op, ScalarHandle a, double x,
                                                           ScalarHandle b, double z, double y) noexcept
{
    if (!is_pair(op)) return append(op, ScalarForm::unary, a.index(), y);
    if (a.index() && b.index()) return append(op, a.index(), b.index(), y);
    return a.index() ? append(op, ScalarForm::right_constant, a.index(), z, y)
                     : append(op, ScalarForm::left_constant, b.index(), x, y);
}

/// Variables of backward() are operands of the usual case, once the open span has them. So are numbers of older spans, once one
/// of the same number has been looked at.
__attribute__((noinline)) WENGERT_INLINE ScalarHandle
ScalarStream::note_of_variables(ScalarOp op, ScalarHandle a, double x, ScalarHandle b, double z, double y)
{
    ScalarStream* const s = current();
    if (!s) return note_slowly(op, a, x, b, z, y);
    const auto is_usual = [&](ScalarHandle m) { return (m.word ^ s->usual) >> 32 == 0 || s->is_known(m); };
    const auto entered = [&](ScalarHandle m, double value) {
        const ScalarVariable* const v = m.word & ScalarVariable::bit ? s->variable(m) : nullptr;
        const bool serves = v && is_usual(v->entered) && s->entries()[v->entered.index()].value == value;
        return serves ? v->entered : m;
    };
    const ScalarHandle p = entered(a, x), q = entered(b, z);
    const bool usual_case = (p.word == 0 || is_usual(p)) && (q.word == 0 || is_usual(q));
    if (!usual_case || s->ScalarCursor::size >= s->capacity) return note_slowly(op, a, x, b, z, y);
    return s->append_operation(op, p, x, q, z, y);
}

__attribute__((noinline, cold)) WENGERT_INLINE ScalarHandle
ScalarStream::note_slowly(ScalarOp op, ScalarHandle a, double x, ScalarHandle b, double z, double y)
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
    const ScalarHandle made = s.append_operation(op, a, x, b, z, y);
    if (tape.anomaly) s.keep_line(made);
    if (!s.steady_) s.settle(nothing);
    return made;
}

}  // namespace wengert

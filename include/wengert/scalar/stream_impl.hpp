// The stream's slower paths: stretches' birth and death, refusals, operands from elsewhere.
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
inline void destroy_stretch(void* op) noexcept { delete static_cast<ScalarStretch*>(op); }

inline constexpr Primitive scalar_primitive = [] {
    Primitive p;
    p.name = "scalar code";
    p.differentiable = true;
    p.vjp = scalar_vjp;
    p.destroy = destroy_stretch;
    return p;
}();

[[noreturn]] inline void refuse_unrolled(std::size_t most)
{
    fail<TapeError>("kernel",
                    "one cell does more than " + std::to_string(most) +
                        " operations or comparisons: a plain loop is written out, step by step. A loop whose "
                        "steps are many or are a matter of data is a while_loop; "
                        "KernelOptions::most_operations allows more",
                    line_of_user());
}

/// Numbers come once in a process, so that a number of another thread is nobody's here.
inline std::uint32_t next_stretch_number() noexcept
{
    static std::atomic<std::uint32_t> last{0};
    std::uint32_t n = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return n ? n : next_stretch_number();
}

}  // namespace detail

inline ScalarStream::ScalarStream(Tape& tape) : tape_(tape)
{
    tape.active.listener = this;
    level_ended = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).end_level(); };
    rewound = [](TapeExtension& e) noexcept {
        auto& s = static_cast<ScalarStream&>(e);
        for (std::size_t i = s.stretches_.size(); i-- > 0;)
            if (i < s.stretches_.size() && s.stretches_[i]->node->flags & Node::rewound)
                s.drop(*s.stretches_[i]);
        for (ScalarVariable& v : s.variables)
            if (v.leaf.node && (v.leaf.node->flags & Node::rewound)) v = {};
    };
    rerun = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).close(); };
    changed = [](TapeExtension& e) noexcept { static_cast<ScalarStream&>(e).settle(nothing); };
    bytes_of = [](const TapeExtension& e, const Node& n) noexcept -> std::int64_t {
        const auto& s = static_cast<const ScalarStream&>(e);
        const auto at = std::lower_bound(s.stretches_.begin(), s.stretches_.end(), n.sequence,
                                         [](const ScalarStretch* stretch, std::uint64_t sequence) {
                                             return stretch->node->sequence < sequence;
                                         });
        if (at == s.stretches_.end() || (*at)->node != &n) return 0;
        return static_cast<std::int64_t>((s.end_of(**at) - (*at)->begin) * sizeof(ScalarEntry));
    };
    tape_ended = [](TapeExtension& e) noexcept {
        auto& s = static_cast<ScalarStream&>(e);
        if (current_ == &s) current_ = &no_scalar_cursor;
        for (ScalarStretch* stretch : s.stretches_) stretch->stream = nullptr;
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
    for (std::size_t i = stretches_.size(); i-- > 0;) {
        if (i >= stretches_.size()) continue;  // one that went took others along
        ScalarStretch& s = *stretches_[i];
        if (s.node->sequence < start) break;
        if ((s.node->mask & alive) == 0) release(s);
    }
}

inline void ScalarStream::close() noexcept
{
    if (open_) open_->end = size();
    open_ = nullptr;
    settle(nothing);
}

/// Its numbers are refused from now on; its entries go with its node.
inline void ScalarStream::drop(ScalarStretch& s) noexcept
{
    s.numbers.clear();
    release(s);
}

/// No level needs it. A pullback may, and opens its level again when it is called: its numbers are then what they were.
inline void ScalarStream::release(ScalarStretch& s) noexcept
{
    if (&s == open_) close();
    settle(nothing);
    const auto at =
        std::find_if(held_.rbegin(), held_.rend(), [&](const Ref<Node>& n) { return n.get() == s.node; });
    if (at == held_.rend()) return;
    const Ref<Node> last = std::move(*at);
    held_.erase(at.base() - 1);
}

inline void ScalarStream::consume(ScalarStretch& s) noexcept
{
    s.entered.clear();
    s.older.clear();
    drop(s);
}

inline void ScalarStream::forget(ScalarStretch& s) noexcept
{
    if (&s == open_) close();
    if (!stretches_.empty() && stretches_.back() == &s)
        stretches_.pop_back();
    else
        std::erase(stretches_, &s);
    ScalarCursor::size = stretches_.empty() ? 1 : end_of(*stretches_.back());
    for (ScalarTangents& t : tangents)
        if (t.dots.size() > size() - std::min(size(), t.base))
            t.dots.resize(size() - std::min(size(), t.base));
    if (!stretches_.empty()) return;
    masks_.clear();
    if (file_) give_up_entries();
}

inline void ScalarStream::refuse(std::string_view operation)
{
    fail<TapeError>(
        operation,
        "an operand, a Real, was recorded by another thread, on another tape, or on a part of this "
        "one that has ended: its transform is over, backward has used it up, or it has been "
        "rewound; pass its value() instead",
        detail::line_of_user());
}

inline void ScalarStream::tell(ScalarMark m)
{
    Recorder* const r = recorder();
    auto* const s = static_cast<ScalarStream*>(Tape::current().extension);
    if (!r || !s || m.index() == 0) return;
    const ScalarVariable* v = s->variable(m);
    const ScalarStretch* stretch = v ? nullptr : s->find(m.index());
    if (stretch && !stretch->has(m.stretch())) stretch = nullptr;
    if (!v && !stretch) return;
    if (r->trace())
        r->refuse("a Real that is recorded is captured here: pass it as an argument, in a tensor", {});
    r->variable({token_block(), Ref<Node>(v ? v->leaf.node.get() : stretch->node)});
}

inline std::uint64_t ScalarStream::dependence(ScalarMark m, std::string_view operation) const
{
    if (m.index() == 0) return 0;
    if ((m.word ^ usual) >> 32 == 0) return masks_[levels >> 40];
    if (m.index() & ScalarVariable::bit) {
        if (!const_cast<ScalarStream*>(this)->variable(m)) refuse(operation);
        return 1 & tape_.active;
    }
    const ScalarStretch* s = find(m.index());
    if (!s || !s->has(m.stretch())) refuse(operation);
    const std::uint64_t mask = mask_of(m.index());
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
                detail::line_of_user());
    }
    return all & tape_.active;
}

inline std::uint8_t ScalarStream::index_of(std::uint64_t mask)
{
    const auto at = std::find(masks_.begin(), masks_.end(), mask);
    if (at != masks_.end()) return static_cast<std::uint8_t>(at - masks_.begin());
    if (masks_.size() == 255)
        throw TapeError("[scalar code] more than 255 combinations of nested transforms");
    masks_.push_back(mask);
    return static_cast<std::uint8_t>(masks_.size() - 1);
}

inline std::uint32_t ScalarStream::number_for(ScalarStretch& s, std::uint8_t mask)
{
    for (const auto& n : s.numbers)
        if (n.mask == mask) return n.id;
    s.numbers.push_back({mask, detail::next_stretch_number()});
    return s.numbers.back().id;
}

inline ScalarMark ScalarStream::mark(std::uint32_t index)
{
    if ((mask_of(index) & tape_.active) == 0) return {};
    ScalarStretch* s = find(index);
    return {index, number_for(*s, entries()[index].mask())};
}

inline void ScalarStream::reserve(std::size_t more)
{
    const std::size_t wanted = size() + more, held = static_cast<std::size_t>(capacity);
    if (wanted <= held) return;
    const std::size_t in_memory = room_.bytes / sizeof(ScalarEntry);
    const std::size_t numbers = ScalarVariable::bit - 1;
    const std::size_t most = room_.folder.empty() ? std::min(numbers, in_memory) : numbers;
    std::size_t roomy = 2 * held + 1024;
    if (roomy > in_memory) roomy = held < in_memory ? in_memory : held + in_memory;
    roomy = std::min(most, std::max(wanted, roomy));
    void* p = wanted > most ? nullptr : moved(roomy * sizeof(ScalarEntry));
    if (!p && guards) detail::refuse_unrolled(most);
    if (!p)
        throw MemoryError(
            "[scalar code] no memory for more operations: " + std::to_string(size()) + " are recorded, " +
            std::to_string(size() * sizeof(ScalarEntry) >> 20) + " MiB" +
            (wanted > in_memory ? ", and the limit is " + std::to_string(room_.bytes) + " bytes" : "") +
            "; checkpoint() drops those inside of a function until its derivative needs them");
    ScalarCursor::entries = static_cast<ScalarEntry*>(p);
    capacity = static_cast<Count>(roomy);
}

/// The entries in a larger piece of memory, or in a file; null where there is none.
inline void* ScalarStream::moved(std::size_t bytes)
{
    if (!file_ && bytes <= room_.bytes) return std::realloc(ScalarCursor::entries, bytes);
    if (file_) return file_->grow(bytes);
    auto file = std::make_unique<detail::SpillFile>(room_.folder);
    void* const p = file->grow(bytes);
    if (ScalarCursor::entries) std::memcpy(p, ScalarCursor::entries, size() * sizeof(ScalarEntry));
    std::free(ScalarCursor::entries);
    file_ = std::move(file);
    return p;
}

inline ScalarRoom ScalarStream::set_room(ScalarRoom room)
{
    const std::size_t most = room.bytes / sizeof(ScalarEntry);
    if (!file_ && static_cast<std::size_t>(capacity) > most) {
        if (stretches_.empty())
            give_up_entries();
        else
            capacity = static_cast<Count>(std::max(most, std::size_t{size()}));
    }
    return std::exchange(room_, std::move(room));
}

/// Afterwards a stretch for operations on `mask` is open, its node newer than that sequence number.
inline void ScalarStream::open_for(std::uint64_t mask, std::uint64_t newer_than)
{
    current_ = this;
    if (open_ && open_->node->sequence < newer_than) close();
    if (!open_) {
        auto node = Ref<Node>::adopt(tape_.new_node(detail::scalar_primitive, 0, {}));
        auto stretch = std::make_unique<ScalarStretch>();
        stretches_.reserve(stretches_.size() + 1);
        held_.push_back(node);
        stretch->node = node.get();
        stretch->begin = size();
        stretches_.push_back(stretch.get());
        stretch->stream = this;
        open_ = stretch.get();
        node->op = stretch.release();
        tape_.append(node.get());
    }
    const std::uint8_t at = index_of(mask);
    levels = ScalarEntry::word_of(at);
    settle(number_for(*open_, at));
    steady_ = (mask & ~tape_.active) == 0 && !tape_.anomaly;
    open_->node->mask |= mask;
}

/// An operand of an older stretch: the sweep goes on there.
inline void ScalarStream::reads(ScalarMark m)
{
    if (m.index() == 0 || m.index() >= open_->begin) return;
    Node* from = find(m.index())->node;
    for (const auto& n : open_->older)
        if (n.get() == from) return;
    open_->older.push_back(Ref<Node>(from));
}

template <class T>
ScalarMark ScalarStream::enter(const AnyTensor& x, std::uint64_t mask, const T* values, std::size_t count)
{
    open_for(mask, x.node ? x.node->sequence : 0);
    reserve(count);
    open_->entered.push_back({size(), static_cast<std::uint32_t>(count), x});
    const ScalarMark first(usual | size());
    for (std::size_t i = 0; i < count; ++i)
        append(ScalarOp::input, ScalarForm::unary, 0, static_cast<double>(values[i]));
    if (!steady_) settle(nothing);
    return first;
}

inline ScalarMark ScalarStream::place(ScalarMark m, double value)
{
    if ((m.index() & ScalarVariable::bit) == 0) return m;
    ScalarVariable& v = *variable(m);
    const ScalarStretch* s = find(v.entered.index());
    if (!s || !s->has(v.entered.stretch()) || entries()[v.entered.index()].value != value)
        v.entered = enter(v.leaf, 1, &value, 1);
    return v.entered;
}

/// Code that loops comes from few places, and last from the same.
inline void ScalarStream::keep_line(ScalarMark m)
{
    const CallStack from = detail::call_stack();
    std::size_t k = stacks_.size();
    while (k > 0 && stacks_[k - 1] != from) --k;
    if (k == 0) {
        stacks_.push_back(from);
        k = stacks_.size();
    }
    if (made_.size() <= m.index()) made_.resize(2 * std::size_t{m.index()} + 64);
    made_[m.index()] = {m.stretch(), static_cast<std::uint32_t>(k - 1)};
}

__attribute__((noinline, cold)) inline ScalarMark ScalarStream::note_slowly(ScalarOp op, ScalarMark a,
                                                                            double x, ScalarMark b, double z,
                                                                            double y)
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
    a = in_a ? s.place(a, x) : ScalarMark();
    b = in_b ? s.place(b, z) : ScalarMark();
    s.open_for(in_a | in_b, 0);
    s.reads(a);
    s.reads(b);
    s.reserve(1);
    const ScalarMark made = !is_pair(op)             ? s.append(op, ScalarForm::unary, a.index(), y)
                            : a.index() && b.index() ? s.append(op, a.index(), b.index(), y)
                            : a.index() ? s.append(op, ScalarForm::right_constant, a.index(), z, y)
                                        : s.append(op, ScalarForm::left_constant, b.index(), x, y);
    if (tape.anomaly) s.keep_line(made);
    if (!s.steady_) s.settle(nothing);
    return made;
}

}  // namespace wengert

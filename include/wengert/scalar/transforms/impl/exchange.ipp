// The bodies of exchange.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../real/adjoints.hpp"
#include "../../real/tangents.hpp"
#include "../exchange.hpp"

namespace wengert::detail {

/// Tangents at every forward level of `mask`, outer levels first, computed before the elements themselves are entered.
template <class T>
std::vector<std::pair<std::size_t, std::vector<Real<T>>>> element_tangents(Tape& tape, const AnyTensor& x,
                                                                           std::uint64_t mask, const Site& at)
{
    std::vector<std::pair<std::size_t, std::vector<Real<T>>>> all;
    for (std::uint64_t rest = mask & tape.forward_levels; rest; rest &= rest - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(rest));
        const AnyTensor* dot = x.node->tangent(l);
        if (!dot) continue;
        const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(l));
        const Restore<int> lowered(tape.lowered, tape.lowered + 1);
        all.emplace_back(l, elements_of<T>(*dot, at));
    }
    return all;
}

/// What a stream takes in: these numbers, or a copy that lives as long as the expression.
inline std::span<const double> as_doubles(const double* x, std::size_t n) { return {x, n}; }
inline std::vector<double> as_doubles(const float* x, std::size_t n) { return {x, x + n}; }

template <class T> Elements<T>::Elements(const AnyTensor& x, const Site& at)
{
    Tape& tape = Tape::current();
    const AnyTensor* const in[] = {&x};
    const std::uint64_t mask = tape.dependence(in, 1, "elements", at);
    const auto* const cell = cells_numbers(tape, x, mask != 0, at);
    refuse_in_graph(at);
    if (Recorder* r = recorder(); r && !cell) r->read(x.node ? r->variable(x) : *x.value, Read::elements, at);
    block_ = readable(x.value);
    values_ = block_->template as<T>();
    if (mask == 0 || block_->count == 0) return;
    const auto tangents = element_tangents<T>(tape, x, mask, at);
    ScalarStream& s = ScalarStream::of(tape);
    const ScalarHandle first = s.enter(x, mask, as_doubles(values_, block_->count), deliver_entered<T>);
    if (cell) s.cell_tensors->entered.push_back({first.index(), cell->positions});
    handle_ = first.word;
    active_ = 1;
    const ScalarPosition begin = s.chunk() + first.index();  // tangents that are recorded may begin a chunk
    for (const auto& tangent : tangents)
        ScalarForward(s, tangent.first).set(begin, tangent.second.size(), [&](std::size_t k) {
            return tangent.second[k];
        });
}

template <class T> std::vector<Real<T>> elements_of(const AnyTensor& x, const Site& at)
{
    demand_recorded(x, "elements", at);
    Elements<T> all(x, at);
    std::vector<Real<T>> out(all.count());
    for (Real<T>& r : out) r = all.next();
    return out;
}

/// Is g's tangent at this level all that depends on anything?
inline bool has_tangent_alone(const AnyTensor& g, std::size_t level)
{
    const Tape& tape = Tape::current();
    if (!level || !g.node || (g.node->mask & tape.active & ~Tape::bit(level))) return false;
    const AnyTensor* const dot = g.node->tangent(level);
    return !dot || !dot->node || (dot->node->mask & tape.active) == 0;
}

template <class T> void gather_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    Walk& walk = out.walk();
    ScalarAdjoints& adjoints = ScalarAdjoints::of(walk);
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (Node* from = n.inputs[i]; walk.reaches(from))
            adjoints.cover(static_cast<ScalarSpan*>(from->op)->begin);
    const ScalarPositions& positions = *static_cast<const ScalarPositions*>(n.op);
    if (!adjoints.recorded()) adjoints.serve(walk.recording(n, g), 0);  // no entry is swept here
    const std::size_t level = adjoints.forward_level();
    if (!adjoints.recorded() && (!g.node || has_tangent_alone(g, level)) && !recorder()) {
        const Ref<Block> b = readable(g.value);
        const AnyTensor* const dot = g.node ? g.node->tangent(level) : nullptr;
        if (!level)
            adjoints.add(positions, b->template as<T>());
        else
            adjoints.add(positions, b->template as<T>(), dot ? readable(dot->value).get() : nullptr);
    } else {
        const std::vector<Real<T>> cotangents = elements_of<T>(g, n.at);
        for (std::size_t k = 0; k < positions.size(); ++k)
            if (positions[k]) adjoints.add(positions[k], Real<double>(cotangents[k]));
    }
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (out.wanted(i)) announce(walk, *n.inputs[i]);
}

template <class T>
inline constexpr Primitive gather_primitive = [] {
    Primitive p;
    p.name = "stack of reals";
    p.dtype = dtype_of<T>();
    p.differentiable = true;
    p.vjp = gather_vjp<T>;
    p.add = add_any<T>;
    p.sum_to = sum_to_any<T>;
    p.clone = [](const void* op) -> void* {
        return new ScalarPositions(*static_cast<const ScalarPositions*>(op));
    };
    p.destroy = [](void* op) noexcept { delete static_cast<ScalarPositions*>(op); };
    return p;
}();

template <class T>
void push_gathered(Tape& tape, ScalarStream& s, const ScalarPositions& positions, Node& node, const Site& at)
{
    for (std::uint64_t rest = node.mask & tape.forward_levels; rest; rest &= rest - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(rest));
        ScalarForward forward(s, l);
        std::vector<Real<T>> dots(positions.size());
        for (std::size_t k = 0; k < positions.size(); ++k)
            if (positions[k]) dots[k] = narrowed<T>(forward.of(positions[k]));
        const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(l));
        const Restore<int> lowered(tape.lowered, tape.lowered + 1);
        node.add_tangent(l, gathered(dots.data(), dots.size(), node.shape, at));
    }
}

template <class T> AnyTensor Gathering<T>::made()
{
    out_.value = made_in_run(placed(std::move(out_.value)));
    Tape& tape = Tape::current();
    auto* const s = static_cast<ScalarStream*>(tape.extension);
    if (s && s->cell_tensors) [[unlikely]]
        s->cell_tensors->gathered.push_back(
            {out_.value, mask_ ? positions_ : ScalarPositions(out_.value->count)});
    if (mask_ == 0) return std::move(out_);
    auto node = Ref<Node>::adopt(tape.new_node(gather_primitive<T>, from_.size(), at_));
    node->dtype = dtype_of<T>();
    node->mask = mask_;
    node->shape = out_.value->shape;
    for (std::size_t i = 0; i < from_.size(); ++i) {
        retain(from_[i]);
        node->inputs[i] = from_[i];
    }
    auto* const positions = new ScalarPositions(std::move(positions_));
    node->op = positions;
    tape.append(node.get());
    if (mask_ & tape.forward_levels) push_gathered<T>(tape, ScalarStream::of(tape), *positions, *node, at_);
    out_.node = std::move(node);
    return std::move(out_);
}

template <class T> __attribute__((noinline)) void Gathering<T>::look(const Real<T>& x)
{
    positions_.resize(out_.value->count);
    known_ = x.handle().span();
    first_ = 0, length_ = ~std::uint32_t{0};
    kept_ = 0;
    Tape& tape = Tape::current();
    if (tape.active == 0) return ScalarStream::tell(x.handle());
    ScalarStream& s = stream_of(tape, name_, at_);
    const std::uint64_t own = s.dependence(x.handle(), name_, at_);
    mask_ |= own;
    if (own == 0) return;
    const ScalarHandle m = s.operand(x.handle(), static_cast<double>(x.plain()));
    if (m.word == x.handle().word)
        kept_ = ~ScalarPosition{0};
    else
        known_ = ScalarCursor::nothing;  // a variable, which may have entered anew
    const ScalarSpan& from = *s.find(m);
    chunk_ = from.chunk;
    first_ = static_cast<std::uint32_t>(from.begin - chunk_);
    length_ = static_cast<std::uint32_t>(s.end_of(from) - from.begin);
    positions_[count_] = chunk_ + m.index();
    if (std::find(from_.begin(), from_.end(), from.node) == from_.end()) from_.push_back(from.node);
}

template <class T>
AnyTensor gathered(const Real<T>* x, std::size_t n, const Shape& shape, const Site& at, std::string_view name)
{
    Gathering<T> all(shape, at, name);
    for (std::size_t k = 0; k < n; ++k) all.add(x[k]);
    return all.made();
}

}  // namespace wengert::detail

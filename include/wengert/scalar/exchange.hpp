// Between tensors and reals: elements(x) and stack(reals), in one derivative.
#pragma once

#include <span>
#include <vector>

#include "../ops/elementwise.hpp"
#include "adjoints.hpp"
#include "tangents.hpp"

namespace wengert {

namespace detail {

template <class T> std::vector<Real<T>> elements_of(const AnyTensor& x, const Site& at);
template <class T> AnyTensor gathered(const Real<T>* x, std::size_t n, const Shape& shape, const Site& at);

/// The tangents of a tensor's elements, which are the entries from `first` on.
template <class T>
void enter_tangents(ScalarStream& s, std::size_t level, std::uint32_t first, const std::vector<Real<T>>& dots)
{
    ScalarForward forward(s, level);
    forward.advance(first + static_cast<std::uint32_t>(dots.size()));
    for (std::size_t k = 0; k < dots.size(); ++k)
        forward.set(first + static_cast<std::uint32_t>(k), Real<double>(dots[k]));
}

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

template <class T> std::vector<Real<T>> elements_of(const AnyTensor& x, const Site& at)
{
    Tape& tape = Tape::current();
    const AnyTensor* const in[] = {&x};
    const std::uint64_t mask = tape.dependence(in, 1, "elements", at);
    if (Recorder* r = recorder();
        r && r->holds())  // a graph would take what is computed from them for constants
        r->refuse(
            "elements of a tensor as Reals: a graph does not see scalar code; freeze tensors, or a kernel",
            at);
    else if (r)
        r->read(x.node ? r->variable(x) : *x.value, Read::elements, at);
    const Ref<Block> b = readable(x.value);
    const T* const values = b->template as<T>();
    if (mask == 0 || b->count == 0) return {values, values + b->count};
    const auto tangents = element_tangents<T>(tape, x, mask, at);
    ScalarStream& s = ScalarStream::of(tape);
    const ScalarMark first = s.enter(x, mask, values, b->count);
    std::vector<Real<T>> out;
    out.reserve(b->count);
    for (std::size_t k = 0; k < b->count; ++k) out.emplace_back(values[k], ScalarMark(first.word + k));
    for (const auto& [level, dots] : tangents) enter_tangents(s, level, first.index(), dots);
    return out;
}

/// The parameters of the node of a tensor that was made from reals: their places, 0 for constants.
using Places = std::vector<std::uint32_t>;

template <class T> void gather_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    Walk& walk = out.walk();
    ScalarAdjoints& adjoints = ScalarAdjoints::of(walk);
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (Node* from = n.inputs[i]; walk.reaches(from))
            adjoints.cover(static_cast<ScalarStretch*>(from->op)->begin);
    const Places& places = *static_cast<const Places*>(n.op);
    if (!adjoints.recorded() && !g.node && !recorder()) {
        const Ref<Block> b = readable(g.value);
        adjoints.add(places, b->template as<T>());
    } else {
        const std::vector<Real<T>> cotangents = elements_of<T>(g, n.at);
        for (std::size_t k = 0; k < places.size(); ++k)
            if (places[k]) adjoints.add(places[k], Real<double>(cotangents[k]));
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
    p.clone = [](const void* op) -> void* { return new Places(*static_cast<const Places*>(op)); };
    p.destroy = [](void* op) noexcept { delete static_cast<Places*>(op); };
    return p;
}();

/// The nodes of the stretches that some places are in.
inline std::vector<Node*> stretches_of(const ScalarStream& s, const Places& places)
{
    std::vector<Node*> found;
    const ScalarStretch* last = nullptr;
    for (const std::uint32_t place : places) {
        if (place == 0 || (last && place >= last->begin && place < s.end_of(*last))) continue;
        last = s.find(place);
        if (std::find(found.begin(), found.end(), last->node) == found.end()) found.push_back(last->node);
    }
    return found;
}

template <class T>
void push_gathered(Tape& tape, ScalarStream& s, const Places& places, Node& node, const Site& at)
{
    node.tangents = new std::vector<Tangent>;
    for (std::uint64_t rest = node.mask & tape.forward_levels; rest; rest &= rest - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(rest));
        ScalarForward forward(s, l);
        std::vector<Real<T>> dots(places.size());
        for (std::size_t k = 0; k < places.size(); ++k)
            if (places[k]) dots[k] = narrowed<T>(forward.of(places[k]));
        const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(l));
        const Restore<int> lowered(tape.lowered, tape.lowered + 1);
        node.tangents->push_back({l, gathered(dots.data(), dots.size(), node.shape, at)});
    }
}

template <class T> AnyTensor gathered(const Real<T>* x, std::size_t n, const Shape& shape, const Site& at)
{
    AnyTensor out{make_block(dtype_of<T>(), shape), {}};
    T* const values = out.value->template as<T>();
    for (std::size_t k = 0; k < n; ++k) values[k] = x[k].plain();
    out.value = placed(std::move(out.value));
    Tape& tape = Tape::current();
    if (tape.active == 0) {
        for (std::size_t k = 0; recorder() && k < n; ++k) ScalarStream::tell(x[k].mark());
        return out;
    }
    Places places(n);
    std::uint64_t mask = 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (!x[k].is_active()) continue;
        ScalarStream& stream = stream_of(tape, "stack");
        const std::uint64_t own = stream.dependence(x[k].mark(), "stack");
        if (own) places[k] = stream.place(x[k].mark(), static_cast<double>(x[k].plain())).index();
        mask |= own;
    }
    if (mask == 0) return out;
    ScalarStream& s = ScalarStream::of(tape);
    const std::vector<Node*> from = stretches_of(s, places);
    auto node = Ref<Node>::adopt(tape.new_node(gather_primitive<T>, from.size(), at));
    node->dtype = dtype_of<T>();
    node->mask = mask;
    node->shape = shape;
    for (std::size_t i = 0; i < from.size(); ++i) {
        retain(from[i]);
        node->inputs[i] = from[i];
    }
    node->op = gather_primitive<T>.clone(&places);
    tape.append(node.get());
    if (mask & tape.forward_levels) push_gathered<T>(tape, s, places, *node, at);
    out.node = std::move(node);
    return out;
}

}  // namespace detail

/// The elements of a tensor in row-major order as numbers; they depend on it.
template <std::floating_point T>
std::vector<Real<T>> elements(const Tensor<T>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::elements_of<T>(x.any("elements", at), at);
}

/// A tensor of rank 1 that depends on these numbers.
template <std::floating_point T>
Tensor<T> stack(std::span<const Real<T>> x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return Tensor<T>(detail::gathered(x.data(), x.size(), Shape{x.size()}, at));
}
template <std::floating_point T>
Tensor<T> stack(const std::vector<Real<T>>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return stack(std::span<const Real<T>>(x), at);
}

/// Of any range of reals that lie in one piece: arrays, spans, another library's vectors.
template <class Range>
    requires requires(const Range& x) {
        x.data();
        x.size();
        requires detail::is_real<typename Range::value_type>;
    }
auto stack(const Range& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using R = std::remove_cv_t<typename Range::value_type>;
    return stack(std::span<const R>(x.data(), static_cast<std::size_t>(x.size())), at);
}

/// A number as a tensor of rank 0.
template <std::floating_point T>
Tensor<T> tensor(const Real<T>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return Tensor<T>(detail::gathered(&x, 1, Shape(), at));
}
/// The only element of a tensor. Throws ShapeError where there is not exactly one.
template <std::floating_point T>
Real<T> real(const Tensor<T>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (x.size() != 1)
        fail<ShapeError>(
            "real", "a number has one element, this tensor has shape " + to_string(x.shape("real", at)), at);
    return elements(x, at)[0];
}

namespace detail {
template <class T, class X> Real<T> only_element(const X& x, const Site& at)
{
    static_assert(std::is_same_v<typename X::value_type, T>,
                  "wengert: a tensor's element becomes a Real of its precision");
    return real(Tensor<T>(x), at);
}
}  // namespace detail

}  // namespace wengert

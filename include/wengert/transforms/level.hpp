// A transform in flight: its level, its variables, and how values enter and leave it.
#pragma once

#include <algorithm>

#include "../base/report.hpp"
#include "../ops/elementwise/elementwise.hpp"
#include "../tape/backward.hpp"
#include "closure.hpp"
#include "tree.hpp"

namespace wengert {

template <class T, class Device> inline constexpr bool tree::is_leaf<Tensor<T, Device>> = true;
/// A struct of one tensor (complex/tensor.hpp).
template <class T, class Device> inline constexpr bool tree::is_leaf<Tensor<std::complex<T>, Device>> = false;
template <class T, class Device> inline constexpr bool tree::is_array<Tensor<std::complex<T>, Device>> = true;

namespace detail {
template <class T, class D> std::type_identity<Tensor<T, D>> tensor_of(const Tensor<T, D>*);
}
template <class X>
    requires requires(const X* x) {
        requires !std::is_same_v<typename decltype(detail::tensor_of(x))::type, X>;
    }
inline constexpr bool tree::derives_from_leaf<X> = true;

namespace detail {

/// Opens a level of the tape for its lifetime (Siskind & Pearlmutter 2005: each derivative needs a tag of its own).
class LevelScope {
public:
    LevelScope(Tape& tape, bool forward);
    LevelScope(const LevelScope&) = delete;
    LevelScope& operator=(const LevelScope&) = delete;
    ~LevelScope();
    void close() noexcept;
    std::size_t level() const noexcept { return level_; }
    std::uint64_t start() const noexcept { return start_; }

private:
    Tape& tape_;
    std::size_t level_;
    std::uint64_t start_;
    bool forward_, open_ = true;
};

inline void pass_cotangent(const Node&, const AnyTensor& g, Cotangents& out)
{
    if (out.wanted(0)) out.add(0, g);
}
template <class T>
inline constexpr Primitive identity_primitive = [] {
    Primitive p;
    p.name = "identity";
    p.arity = 1;
    p.dtype = dtype_of<T>();
    p.differentiable = true;
    p.vjp = pass_cotangent;
    p.add = add_any<T>;
    return p;
}();

/// A node over x's elements for the levels in `mask`; outer derivatives pass through it unchanged.
template <class T>
Ref<Node> identity_node(const AnyTensor& x, std::uint64_t mask, std::uint64_t own, std::size_t level,
                        const Site& at)
{
    Tape& tape = Tape::current();
    const AnyTensor* in[] = {&x};
    auto node = make_node(tape, identity_primitive<T>, in, 1, *x.value, mask, 0, at);
    node->mask |= own;
    if (own) {
        node->flags = Node::is_leaf;
        node->level = static_cast<std::uint8_t>(level);
    }
    if (x.node && x.node->tangents && (mask & tape.forward_levels))
        node->tangents = new std::vector<Tangent>(*x.node->tangents);
    tape.append(node.get());
    return node;
}

/// x as a variable of `level`, still depending on what it depends on.
template <class T, class D>
Tensor<T, D> lift(const Tensor<T, D>& x, std::size_t level, std::string_view transform, const Site& at)
{
    if constexpr (!is_differentiable<T>)
        return x;
    else {
        Tape& tape = Tape::current();
        const AnyTensor* in[] = {&x.any(transform, at)};
        demand_recorded(*in[0], transform, at, tape.level(level).start);
        const std::uint64_t outer = tape.dependence(in, 1, transform, at) & Tape::below(level);
        auto node = identity_node<T>(x.any(), outer, Tape::bit(level), level, at);
        Recorder* r = recorder();
        if (!r) [[likely]]
            return Tensor<T, D>(AnyTensor{x.any().value, std::move(node)});
        AnyTensor variable{another_header(x.any().value), std::move(node)};
        r->alias(x.any(), variable.value, at);
        return Tensor<T, D>(std::move(variable));
    }
}

/// x as it is seen outside of `level`, after that level has been closed.
template <class T, class D> Tensor<T, D> lower(const Tensor<T, D>& x, std::size_t level, const Site& at)
{
    const AnyTensor& any = x.any();
    Tape& tape = Tape::current();
    if (!any.node || !tape.is_of(*any.node, level)) return x;
    const Restore<int> lowered(tape.lowered, tape.lowered + 1);
    const AnyTensor* in[] = {&any};
    const std::uint64_t outer = tape.dependence(in, 1, "identity", at);
    if (outer == 0) return Tensor<T, D>(AnyTensor{any.value, {}});
    return Tensor<T, D>(AnyTensor{any.value, identity_node<T>(any, outer, 0, 0, at)});
}

/// Are all elements 0?
template <class T, class D> bool is_zero(const Tensor<T, D>& x)
{
    const Ref<Block> b = readable(x.any().value);
    const T* const e = b->template as<T>();
    return std::all_of(e, e + b->count, [](T v) { return v == T(0); });
}

/// Refuses a result y that comes from a run without recording: its derivative would be 0. Reports a function whose numbers were read and
/// whose result depends on nothing: most likely it was computed from those numbers, and its derivative would be 0 in silence, too. A result
/// of zeros passes: a branch may be flat.
template <class Y>
void report_lost(const Tape& tape, std::size_t level, std::string_view transform, const Site& at, const Y& y)
{
    const Level& l = tape.level(level);
    tree::for_each(
        [&]<class T, class D>(const Tensor<T, D>& t) {
            if (t.defined()) demand_recorded(t.any(), transform, at);
        },
        y);
    if (!l.was_read) [[likely]]
        return;
    bool depends = false, zero = true;
    tree::for_each(
        [&]<class T, class D>(const Tensor<T, D>& t) {
            if constexpr (is_differentiable<T>) {
                if (!t.defined()) return;
                depends = depends || (t.any().node && tape.is_of(*t.any().node, level));
                zero = zero && is_zero(t);
            }
        },
        y);
    if (depends || zero) return;
    const Site& where = l.read_at.line ? l.read_at : at;
    const std::string text = "the result depends on no variable, but numbers were read from them here: the "
                             "derivative is 0. Compute "
                             "with tensors; where a constant is meant, read it from detach()";
    if (tape.anomaly) fail<TapeError>(transform, text, where);
    if (is_first_at(where)) report("[" + std::string(transform) + "] " + text, where);
}

/// Calls fn on every tensor of some arguments or of a result that is not empty, as AnyTensor&.
template <class Fn, class X> void each_tensor(Fn&& fn, X& x)
{
    tree::for_each(
        [&]<class T>(T& t) {
            if (t.defined()) fn(const_cast<std::remove_const_t<T>&>(t).any_unchecked());
        },
        x);
}
template <class X> std::vector<AnyTensor> leaves_of(X& x)
{
    std::vector<AnyTensor> out;
    each_tensor([&](AnyTensor& t) { out.push_back(t); }, x);
    return out;
}

// A shell is a tree whose tensors have been taken out: only what was empty before holds something in it.
inline void take_out(AnyTensor& t)
{
    t = t.value ? AnyTensor{} : AnyTensor{make_block(DType::boolean, Shape{0}), {}};
}
/// For a tensor of a shell: an empty one is empty again, in place of any other something is to be put.
inline bool was_empty(AnyTensor& t) noexcept
{
    if (!t.value) [[likely]]
        return false;
    t = {};
    return true;
}

/// Every tensor of a tree, lifted or lowered.
template <class X> X lift_tree(const X& x, std::size_t level, std::string_view transform, const Site& at)
{
    return tree::map([&]<class T, class D>(const Tensor<T, D>& t) { return lift(t, level, transform, at); },
                     x);
}
template <class X> X lower_tree(const X& x, std::size_t level, const Site& at)
{
    return tree::map([&]<class T, class D>(const Tensor<T, D>& t) { return lower(t, level, at); }, x);
}

/// tree::zip_for_each in the name of a transform and of the user's line.
template <class Fn, class X>
void zip_at(std::string_view transform, const Site& at, Fn&& fn, const X& x, const X& y)
{
    try {
        tree::zip_for_each(fn, x, y);
    } catch (const tree::Mismatch& e) {
        fail<ShapeError>(transform, std::string("the two structs of tensors differ: ") + e.how, at);
    }
}

/// What an argument or a result is to a transform: itself.
template <class X> struct AsArgument {
    using type = X;
    static const X& of(const X& x) { return x; }
};
template <class X> using ArgumentType = typename AsArgument<X>::type;

/// A view is the tensor that it shows, also in a pair or a tuple.
template <class X>
    requires tree::derives_from_leaf<X>
struct AsArgument<X> {
    using type = typename decltype(tensor_of(std::declval<const X*>()))::type;
    static const type& of(const X& x) { return x; }
};
template <class A, class B>
    requires(!std::is_same_v<ArgumentType<A>, A> || !std::is_same_v<ArgumentType<B>, B>)
struct AsArgument<std::pair<A, B>> {
    using type = std::pair<ArgumentType<A>, ArgumentType<B>>;
    static type of(const std::pair<A, B>& x)
    {
        return type(AsArgument<A>::of(x.first), AsArgument<B>::of(x.second));
    }
};
template <class... E>
    requires(!std::is_same_v<ArgumentType<E>, E> || ...)
struct AsArgument<std::tuple<E...>> {
    using type = std::tuple<ArgumentType<E>...>;
    static type of(const std::tuple<E...>& x)
    {
        return std::apply([](const E&... e) { return type(AsArgument<E>::of(e)...); }, x);
    }
};

template <class X> decltype(auto) argument(const X& x) { return AsArgument<X>::of(x); }
/// A text in quotes is an array, which no tuple of arguments could hold.
template <std::size_t N> const char* argument(const char (&x)[N]) { return x; }
template <class E, std::size_t N>
    requires(!std::is_same_v<E, char>)
const E* argument(const E (&x)[N])
{
    static_assert(N == 0, "wengert: a C array is no argument of a transform: pass a std::array or a tensor");
    return x;
}

/// Does not compile for an argument that cannot be looked into. The message comes before any other.
template <class... X> inline constexpr bool visible = ((tree::detail::look_into<X> || true) && ...);

template <class X> using Argument = std::remove_cvref_t<decltype(argument(std::declval<const X&>()))>;

/// The first tensor among types of arguments.
template <class... X> struct first_tensor {
    using type = Tensor<bool>;
};
template <class First, class... X> struct first_tensor<First, X...> : first_tensor<X...> {};
template <class First, class... X>
    requires requires(const First& x) { x.any(); }
struct first_tensor<First, X...> {
    using type = Tensor<typename First::value_type, typename First::device_type>;
};

/// A function of numbers that record, or with such a result: its transforms are those of a function of tensors
/// (scalar/transforms/transforms.hpp).
template <class Y, class... X>
inline constexpr bool of_numbers = (tree::contains_number<Argument<Y>> || ... || tree::contains_number<X>);
template <class... X> struct ByTensors;

/// detail::on of each.
template <class D, class T, class E> std::vector<Tensor<T, D>> on(const std::vector<Tensor<T, E>>& x)
{
    std::vector<Tensor<T, D>> y;
    for (const auto& t : x) y.push_back(on<D>(t));
    return y;
}

template <class X> inline constexpr bool is_tensor = false;
template <class T, class D> inline constexpr bool is_tensor<Tensor<T, D>> = true;
template <class T, class D> inline constexpr bool is_tensor<Tensor<std::complex<T>, D>> = false;
template <class X> inline constexpr bool is_complex_tensor = false;
template <class T, class D> inline constexpr bool is_complex_tensor<Tensor<std::complex<T>, D>> = true;
template <class X> inline constexpr bool is_truth = false;
template <class D> inline constexpr bool is_truth<Tensor<bool, D>> = true;

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/level.ipp"
#endif

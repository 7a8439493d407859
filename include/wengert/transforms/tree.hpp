// Walks of trees of tensors: tuples, pairs, arrays, vectors, maps, optionals, variants and structs of them, nested as you
// like. What a type consists of is decided in base/parts.hpp. Start at walk().
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../base/error.hpp"
#include "../base/parts.hpp"

namespace wengert::tree {

/// Two structs that are walked together are not alike.
struct Mismatch : ShapeError {
    explicit Mismatch(const char* why)
        : ShapeError(std::string("[tree] two structs of tensors differ: ") + why), how(why)
    {}
    const char* how;
};

namespace detail {

[[noreturn]] inline void differ(const char* how) { throw Mismatch(how); }

template <class Fn, class X, class... Y> void walk(Fn& fn, X& x, Y&... y);

template <class Fn, class X, class... Y> void walk_sequence(Fn& fn, X& x, Y&... y)
{
    static_assert(owns_elements<std::remove_const_t<X>>,
                  "wengert: a view does not own its tensors; use a std::vector or std::array of them.");
    if constexpr (spanned<std::remove_const_t<X>>)
        if ((false || ... || !ElementsOf<std::remove_const_t<X>>::alike(x, y)))
            differ("matrices of different shapes");
    const auto lockstep = [&](auto&& first, auto&&... more) {
        const auto step = [&](auto at, auto... other) {
            constexpr const char* sizes = "sequences of different sizes";
            for (; at != first.end(); ++at, (++other, ...)) {
                if ((false || ... || (other == more.end()))) differ(sizes);
                walk(fn, *at, *other...);
            }
            if ((false || ... || (other != more.end()))) differ(sizes);
        };
        step(first.begin(), more.begin()...);
    };
    lockstep(elements_in(x), elements_in(y)...);
}

/// By ascending key: the order of an unordered map depends on its history, and a copy's may differ.
template <class X> auto entries_in_order(X& x)
{
    std::vector<decltype(&*x.begin())> entries;
    entries.reserve(x.size());
    for (auto& entry : x) entries.push_back(&entry);
    if constexpr (requires { typename X::hasher; }) {
        static_assert(
            requires(const typename X::key_type& k) { k < k; },
            "wengert: the keys of an unordered map of tensors need operator<, which fixes their order.");
        std::sort(entries.begin(), entries.end(), [](auto* a, auto* b) { return a->first < b->first; });
    }
    return entries;
}

template <class Fn, class X, class... Y> void walk_map(Fn& fn, X& x, Y&... y)
{
    if ((false || ... || (x.size() != y.size()))) differ("maps of different sizes");
    for (auto* entry : entries_in_order(x)) {
        if ((false || ... || (y.find(entry->first) == y.end()))) differ("maps with different keys");
        walk(fn, entry->second, y.find(entry->first)->second...);
    }
}

/// What the variants hold, which must be the same alternative.
template <class Fn, std::size_t... I, class X, class... Y>
void walk_variant(Fn& fn, std::index_sequence<I...>, X& x, Y&... y)
{
    if ((false || ... || (x.index() != y.index()))) differ("a variant holds another type in one of them");
    const auto alternative = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
        if (x.index() == K) walk(fn, *std::get_if<K>(&x), *std::get_if<K>(&y)...);
    };
    (alternative(std::integral_constant<std::size_t, I>{}), ...);
}

/// Takes lvalues, and the temporary tuples of references that fields_of gives.
template <class Fn, std::size_t... I, class X, class... Y>
void walk_tuple(Fn& fn, std::index_sequence<I...>, X&& x, Y&&... y)
{
    const auto element = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
        walk(fn, std::get<K>(x), std::get<K>(y)...);
    };
    (element(std::integral_constant<std::size_t, I>{}), ...);
}

template <class Tuple, std::size_t... I> consteval bool holds_references(std::index_sequence<I...>)
{
    return (std::is_reference_v<std::tuple_element_t<I, Tuple>> || ...);
}

/// A function of arrays: walks give it complex tensors as they are, and not their parts.
template <class Fn> struct OfArrays {
    Fn& fn;
    static constexpr bool of_arrays = true;
    template <class... X> void operator()(X&... x) { fn(x...); }
};
/// Is an X given as it is?
template <class Fn, class X> consteval bool stops_at()
{
    if constexpr (requires { Fn::of_arrays; })
        return is_leaf<X> || is_array<X>;
    else
        return is_leaf<X>;
}

/// Calls fn(leaf of x, leaf of y...) for all leaves, in order of fields, elements and keys.
template <class Fn, class X, class... Y> void walk(Fn& fn, X& x, Y&... y)
{
    using Plain = std::remove_const_t<X>;
    constexpr Kind k = kind<Plain>;
    if constexpr (stops_at<Fn, Plain>()) {
        fn(x, y...);
    } else if constexpr (!contains_leaf<Plain>) {
        return;
    } else if constexpr (k == Kind::optional) {
        if ((false || ... || (x.has_value() != y.has_value()))) differ("an optional is empty in one of them");
        if (x.has_value()) walk(fn, *x, *y...);
    } else if constexpr (k == Kind::map) {
        walk_map(fn, x, y...);
    } else if constexpr (k == Kind::sequence) {
        walk_sequence(fn, x, y...);
    } else if constexpr (k == Kind::variant) {
        walk_variant(fn, std::make_index_sequence<alternatives<Plain>>{}, x, y...);
    } else if constexpr (k == Kind::tuple) {
        constexpr auto all = std::make_index_sequence<std::tuple_size<Plain>::value>{};
        static_assert(
            !holds_references<Plain>(all),
            "wengert: a tuple of references (std::tie) is no value; use std::tuple or std::pair of tensors.");
        walk_tuple(fn, all, x, y...);
    } else {
        using Fields = decltype(fields_of(x));
        walk_tuple(fn, std::make_index_sequence<std::tuple_size<Fields>::value>{}, fields_of(x),
                   fields_of(y)...);
    }
}

/// The same of types that can be looked into, all of them.
template <class Fn, class X, class... Y> void walk_all(Fn& fn, X& x, Y&... y)
{
    if constexpr (look_into<std::remove_const_t<X>>) walk(fn, x, y...);
}

/// A copy of x with tensors of its own. Throws Error where the copy constructor of a class that names its fields copies a
/// pointer to them: what is written to the copy would change x.
template <class X> X copied(const X& x)
{
    static_assert(std::is_copy_constructible_v<X>,
                  "wengert: a struct of tensors must be copyable: gradients and results are copies of it");
    X result = x;
    if constexpr (verdict<X>::hook) {
        const auto compare = [](const auto& from, const auto& to) {
            if (static_cast<const void*>(&from) == &to)
                throw Error(
                    "[tree] a copy of a class with fields() shares its tensors with the original: its copy "
                    "constructor must copy what fields() names");
        };
        walk(compare, x, result);
    }
    return result;
}

/// An empty tensor: it has no value that a function could map.
template <class X> bool is_empty_leaf(const X& x)
{
    if constexpr (requires { x.defined(); })
        return !x.defined();
    else
        return false;
}

}  // namespace detail

/// fn(leaf&) on every leaf, in a fixed order, empty tensors too: they may be given values.
template <class Fn, class X> void for_each(Fn&& fn, X&& x) { detail::walk_all(fn, x); }

/// fn(leaf of x, leaf of y…) on the leaves of two or more structs together, as an optimizer does with parameters, gradients
/// and moments. Where all have an empty tensor there is nothing to do. Throws ShapeError where they differ in sizes or keys;
/// leaves before that place have been visited then.
template <class Fn, class X, class... Y> void zip_for_each(Fn&& fn, X&& x, Y&&... y)
{
    static_assert((std::is_same_v<std::remove_cvref_t<X>, std::remove_cvref_t<Y>> && ...),
                  "wengert: zip_for_each walks structs of the same type.");
    const auto one = [&](auto& leaf, auto&... other) {
        if (detail::is_empty_leaf(leaf) && (detail::is_empty_leaf(other) && ...)) return;
        fn(leaf, other...);
    };
    detail::walk_all(one, x, y...);
}

/// A copy of x in which each leaf is fn(leaf of x); empty tensors and everything else are copied unchanged.
template <class Fn, class X> X map(Fn&& fn, const X& x)
{
    X result = detail::copied(x);
    const auto replace = [&](const auto& from, auto& to) {
        static_assert(!std::is_const_v<std::remove_reference_t<decltype(to)>>,
                      "wengert: a const tensor in a struct cannot be given a new value; drop the const.");
        if (!detail::is_empty_leaf(from)) to = fn(from);
    };
    detail::walk_all(replace, x, result);
    return result;
}

/// The same where axes are counted: of complex tensors as they are, whose parts have one more.
template <class Fn, class X> void for_each_array(Fn&& fn, const X& x)
{
    detail::OfArrays<std::remove_reference_t<Fn>> arrays{fn};
    detail::walk_all(arrays, x);
}
template <class Fn, class X> X map_arrays(Fn&& fn, const X& x)
{
    X result = detail::copied(x);
    auto replace = [&](const auto& from, auto& to) {
        if (!detail::is_empty_leaf(from)) to = fn(from);
    };
    detail::OfArrays<decltype(replace)> arrays{replace};
    detail::walk_all(arrays, x, result);
    return result;
}

/// Number of leaves.
template <class X> std::size_t count(const X& x)
{
    std::size_t n = 0;
    tree::for_each([&n](const auto&) { ++n; }, x);
    return n;
}

}  // namespace wengert::tree

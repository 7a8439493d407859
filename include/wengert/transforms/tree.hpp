// Trees of tensors: tuples, pairs, arrays, vectors, maps, optionals, variants and plain aggregates of them, nested
// as you like. Containers are recognised by their members, so that none of their headers is needed here. Start
// at walk().
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../base/error.hpp"
#include "../base/reflect.hpp"

namespace wengert::tree {

/// What a walk stops at; specialised for Tensor.
template <class X> inline constexpr bool is_leaf = false;

/// Specialise as true for a type that holds no tensors and cannot be reflected: it is then copied unchanged.
template <class X> inline constexpr bool is_opaque = false;

namespace detail {

template <class X>
concept range_like = requires(X& x) {
    typename X::value_type;
    x.begin() != x.end();
};

/// A std::multimap is a sequence of pairs here: its keys do not tell its elements apart.
template <class X>
concept map_like = range_like<X> && requires(X& x, const typename X::key_type& k) {
    typename X::mapped_type;
    x.at(k);
};

template <class X>
concept optional_like = requires(X& x) {
    typename X::value_type;
    x.has_value();
    *x;
};

/// False for std::span and other views, whose copies share their elements.
template <class X>
inline constexpr bool owns_elements =
    std::is_const_v<std::remove_reference_t<decltype(*std::declval<const X&>().begin())>>;

template <class X> inline constexpr std::size_t alternatives = 0;
template <class... A> inline constexpr std::size_t alternatives<std::variant<A...>> = sizeof...(A);

/// Seen are the types whose search is under way: a struct may hold a vector of itself.
template <class X, class... Seen> consteval bool search();

template <class Tuple, class... Seen, std::size_t... I>
consteval bool search_elements(std::index_sequence<I...>)
{
    return (search<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>, Seen...>() || ...);
}

template <class X, class... Seen, std::size_t... I>
consteval bool search_alternatives(std::index_sequence<I...>)
{
    return (search<std::variant_alternative_t<I, X>, Seen...>() || ...);
}

template <class X, class... Seen> consteval bool search()
{
    if constexpr (is_leaf<X>) {
        return true;
    } else if constexpr (!std::is_class_v<X> || is_opaque<X> || (std::is_same_v<X, Seen> || ...)) {
        return false;
    } else if constexpr (range_like<X> || optional_like<X>) {
        return search<std::remove_cv_t<typename X::value_type>, X, Seen...>();
    } else if constexpr (alternatives<X> > 0) {
        return search_alternatives<X, X, Seen...>(std::make_index_sequence<alternatives<X>>{});
    } else if constexpr (reflect::detail::tuple_like<X>) {
        return search_elements<X, X, Seen...>(std::make_index_sequence<std::tuple_size<X>::value>{});
    } else if constexpr (std::is_aggregate_v<X>) {
        using Fields = decltype(reflect::tie(std::declval<X&>()));
        return search_elements<Fields, X, Seen...>(
            std::make_index_sequence<std::tuple_size<Fields>::value>{});
    } else {
        return false;
    }
}

}  // namespace detail

/// Whether a walk of an X can meet a leaf. What is neither container nor aggregate holds none: numbers,
/// strings, functions, classes with private members, and whatever is behind a pointer.
template <class X> inline constexpr bool contains_leaf = detail::search<std::remove_cvref_t<X>>();

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
    const auto lockstep = [&](auto at, auto... other) {
        constexpr const char* sizes = "sequences of different sizes";
        for (; at != x.end(); ++at, (++other, ...)) {
            if ((false || ... || (other == y.end()))) differ(sizes);
            walk(fn, *at, *other...);
        }
        if ((false || ... || (other != y.end()))) differ(sizes);
    };
    lockstep(x.begin(), y.begin()...);
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

/// Takes lvalues, and the temporary tuples of references that reflect::tie gives.
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

/// Calls fn(leaf of x, leaf of y...) for all leaves, in order of fields, elements and keys.
template <class Fn, class X, class... Y> void walk(Fn& fn, X& x, Y&... y)
{
    using Plain = std::remove_const_t<X>;
    if constexpr (is_leaf<Plain>) {
        fn(x, y...);
    } else if constexpr (!contains_leaf<Plain>) {
        return;
    } else if constexpr (optional_like<Plain>) {
        if ((false || ... || (x.has_value() != y.has_value()))) differ("an optional is empty in one of them");
        if (x.has_value()) walk(fn, *x, *y...);
    } else if constexpr (map_like<Plain>) {
        walk_map(fn, x, y...);
    } else if constexpr (range_like<Plain>) {
        walk_sequence(fn, x, y...);
    } else if constexpr (alternatives<Plain> > 0) {
        walk_variant(fn, std::make_index_sequence<alternatives<Plain>>{}, x, y...);
    } else if constexpr (reflect::detail::tuple_like<Plain>) {
        constexpr auto all = std::make_index_sequence<std::tuple_size<Plain>::value>{};
        static_assert(
            !holds_references<Plain>(all),
            "wengert: a tuple of references (std::tie) is no value; use std::tuple or std::pair of tensors.");
        walk_tuple(fn, all, x, y...);
    } else {
        walk_tuple(fn, std::make_index_sequence<reflect::field_count<X>>{}, reflect::tie(x),
                   reflect::tie(y)...);
    }
}

}  // namespace detail

/// fn(leaf&) on every leaf, in a fixed order.
template <class Fn, class X> void for_each(Fn&& fn, X&& x) { detail::walk(fn, x); }

/// fn(leaf of x, leaf of y…) on the leaves of two or more structs together, as an optimizer does with parameters, gradients
/// and moments. Throws ShapeError where they differ in sizes or keys; leaves before that place have been visited then.
template <class Fn, class X, class... Y> void zip_for_each(Fn&& fn, X&& x, Y&&... y)
{
    static_assert((std::is_same_v<std::remove_cvref_t<X>, std::remove_cvref_t<Y>> && ...),
                  "wengert: zip_for_each walks structs of the same type.");
    detail::walk(fn, x, y...);
}

/// A copy of x in which each leaf is fn(leaf of x); everything else is copied unchanged.
template <class Fn, class X> X map(Fn&& fn, const X& x)
{
    X result = x;
    const auto replace = [&](const auto& from, auto& to) {
        static_assert(!std::is_const_v<std::remove_reference_t<decltype(to)>>,
                      "wengert: a const tensor in a struct cannot be given a new value; drop the const.");
        to = fn(from);
    };
    detail::walk(replace, x, result);
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

// What a value consists of: the one rule by which gradients, tree walks, files, frozen functions, loops and checkpoints look
// into structs (docs/structs.md). Types of the standard library are known by their members or by their names, so that none of
// their headers is needed here. Start at judge().
#pragma once

#include <cstdio>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "key.hpp"
#include "reflect.hpp"

namespace wengert {

/// A part with a name, for files.
template <class T> struct Named {
    const char* name;
    T& part;
};
/// An element of what `fields()` returns: `return std::tuple(wg::named("weight", w_), wg::named("bias", b_));`
template <class T> constexpr Named<T> named(const char* name, T& part) { return {name, part}; }

namespace tree {

/// What a walk stops at; specialised for Tensor.
template <class X> inline constexpr bool is_leaf = false;

/// A struct that is an array all the same: walks that count axes stop at it; specialised for complex tensors.
template <class X> inline constexpr bool is_array = false;

/// A view, or another class derived from a tensor: its copies share what it refers to. Specialised in transforms/level.hpp.
template <class X> inline constexpr bool derives_from_leaf = false;

/// A leaf that is a number and not a tensor; specialised for Real (scalar.hpp).
template <class X> inline constexpr bool is_number = false;

/// Specialise as true for a type that cannot be looked into and holds nothing of interest: it is then copied unchanged, and
/// freeze does not compare it.
template <class X> inline constexpr bool is_opaque = false;
template <>
inline constexpr bool is_opaque<Key> = true;  // loops and frozen functions see to keys by themselves

/// Specialise for a container of another library: `all(x)` gives its elements as a std::span, const where x is, and
/// `alike(x, y)` tells whether two have one shape. It counts as a sequence (scalar/eigen/numbers.hpp).
template <class X> struct ElementsOf {};

namespace detail {

template <class X>
concept spanned = requires(X& x) { ElementsOf<X>::all(x); };

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

/// What a sequence is iterated by: itself, or its elements.
template <class X> decltype(auto) elements_in(X& x)
{
    if constexpr (spanned<std::remove_const_t<X>>)
        return ElementsOf<std::remove_const_t<X>>::all(x);
    else
        return (x);
}

/// False for std::span and other views, whose copies share their elements.
template <class X>
inline constexpr bool owns_elements =
    std::is_const_v<std::remove_reference_t<decltype(*elements_in(std::declval<const X&>()).begin())>>;

template <class X> inline constexpr std::size_t alternatives = 0;
template <class... A> inline constexpr std::size_t alternatives<std::variant<A...>> = sizeof...(A);

// The hook: a member fields(), or a function fields(x) beside the class, that returns references to the parts.

template <class E> inline constexpr bool refers = std::is_lvalue_reference_v<E>;
template <class T> inline constexpr bool refers<Named<T>> = true;
template <class Tuple> inline constexpr bool lists_fields = false;
template <class... E> inline constexpr bool lists_fields<std::tuple<E...>> = (refers<E> && ...);

void fields();  // only functions found by their argument are meant
template <class X>
concept has_member_hook = lists_fields<decltype(std::declval<X&>().fields())>;
template <class X>
concept has_free_hook = lists_fields<decltype(fields(std::declval<X&>()))>;
template <class X>
concept hooked = has_member_hook<X> || has_free_hook<X>;

/// What the hook returns, with its names. One that is not const serves const objects too: walks add the const again.
template <class X> auto listed(const X& x)
{
    if constexpr (has_member_hook<X>)
        return const_cast<X&>(x).fields();
    else
        return fields(const_cast<X&>(x));
}
template <class E> auto& part_of(E& element)
{
    if constexpr (refers<std::remove_const_t<E>>)
        return element.part;
    else
        return element;
}

template <class X, class Part> using same_const = std::conditional_t<std::is_const_v<X>, const Part, Part>;

/// References to the fields of a struct, or to what its hook names; const where x is.
template <class X> auto fields_of(X& x)
{
    if constexpr (hooked<std::remove_const_t<X>>)
        return std::apply(
            [](auto&&... e) {
                return std::tuple<same_const<X, std::remove_reference_t<decltype(part_of(e))>>&...>(
                    part_of(e)...);
            },
            listed(x));
    else
        return reflect::tie(x);
}

// Classes of the standard library by their names.

template <class X> consteval std::string_view type_name()
{
    const std::string_view text = __PRETTY_FUNCTION__;
    return text.substr(text.find("X = ") + 4);
}

/// "mutex" for std::mutex, "chrono" for all that is in std::chrono, "" for what is not in std.
template <class X> consteval std::string_view std_name()
{
    std::string_view name = type_name<X>();
    if (name.substr(0, 5) != "std::") return {};
    name.remove_prefix(5);
    while (name.substr(0, 2) == "__" && name.find("::") < name.find_first_of("<;]"))
        name.remove_prefix(name.find("::") + 2);  // an inline namespace
    return name.substr(0, name.find_first_of("<;]:"));
}

consteval bool ends_with(std::string_view name, std::string_view end) { return name.ends_with(end); }
consteval bool one_of(std::string_view name, std::initializer_list<std::string_view> list)
{
    for (const std::string_view n : list)
        if (name == n) return true;
    return false;
}

/// Holds no object of anybody else's type.
consteval bool is_plain_name(std::string_view n)
{
    return ends_with(n, "_engine") || ends_with(n, "_distribution") || ends_with(n, "stream") ||
           ends_with(n, "streambuf") || ends_with(n, "mutex") ||
           one_of(n, {"chrono",        "filesystem",  "basic_filebuf",   "basic_stringbuf",
                      "once_flag",     "unique_lock", "shared_lock",     "condition_variable",
                      "thread",        "jthread",     "stop_token",      "stop_source",
                      "random_device", "seed_seq",    "locale",          "condition_variable_any",
                      "error_code",    "bitset",      "error_condition", "type_index",
                      "atomic_flag",   "basic_regex", "source_location", "counting_semaphore"});
}
/// Free of tensors if its argument is.
consteval bool is_holder_name(std::string_view n)
{
    return one_of(n, {"atomic", "complex", "valarray", "shared_ptr", "unique_ptr", "weak_ptr",
                      "reference_wrapper", "queue", "stack", "priority_queue"});
}

template <class X> auto held()
{
    if constexpr (requires { typename X::element_type; })
        return std::type_identity<typename X::element_type>{};
    else if constexpr (requires { typename X::value_type; })
        return std::type_identity<typename X::value_type>{};
    else
        return std::type_identity<typename X::type>{};
}

/// How to look into a type: this decides it for every walk.
enum class Kind {
    leaf,
    opaque,
    plain,    ///< numbers, enums, empty classes, engines, mutexes, streams …
    pointer,  ///< to something, which must be free of tensors
    holder,   ///< shared_ptr, atomic …: the same of its argument
    optional,
    map,
    sequence,
    variant,
    tuple,
    fields,  ///< of an aggregate, or those that a hook names
    unknown
};

template <class X> consteval Kind kind_of()
{
    static_assert(
        !derives_from_leaf<X>,
        "wengert: a view, or a class derived from Tensor, is no part of a struct or a container: hold "
        "the tensor, Tensor<T>(view(x, …))");
    if constexpr (is_leaf<X>)
        return Kind::leaf;
    else if constexpr (is_opaque<X>)
        return Kind::opaque;
    else if constexpr (std::is_pointer_v<X>)
        return Kind::pointer;
    else if constexpr (std::is_union_v<X>)
        return hooked<X> ? Kind::fields : Kind::unknown;
    else if constexpr (!std::is_class_v<X>)
        return Kind::plain;
    else if constexpr (hooked<X>)
        return Kind::fields;
    else if constexpr (spanned<X>)
        return Kind::sequence;
    else if constexpr (std::is_empty_v<X>)
        return Kind::plain;
    else if constexpr (optional_like<X>)
        return Kind::optional;
    else if constexpr (map_like<X>)
        return Kind::map;
    else if constexpr (range_like<X>)
        return Kind::sequence;
    else if constexpr (alternatives<X> > 0)
        return Kind::variant;
    else if constexpr (reflect::detail::tuple_like<X>)
        return Kind::tuple;
    else if constexpr (std::is_aggregate_v<X>)
        return Kind::fields;
    else if constexpr (is_plain_name(std_name<X>()))
        return Kind::plain;
    else if constexpr (is_holder_name(std_name<X>()))
        return Kind::holder;
    else
        return Kind::unknown;
}
template <class X> inline constexpr Kind kind = kind_of<X>();

/// What a search of a type has found: leaves, hooks, the first type that it could not look into, and leaves that are numbers.
template <bool Leaf, bool Hook, class Refused, bool Number = false> struct Verdict {
    static constexpr bool leaf = Leaf, hook = Hook, number = Number;
    using refused = Refused;
    template <bool L, bool H, class R, bool N>
    constexpr Verdict<(Leaf || L), (Hook || H), std::conditional_t<std::is_void_v<Refused>, R, Refused>,
                      (Number || N)>
    operator|(Verdict<L, H, R, N>) const
    {
        return {};
    }
};
using Free = Verdict<false, false, void>;

template <class X, class... Seen> constexpr auto judge();

template <class Tuple, class... Seen, std::size_t... I>
constexpr auto judge_elements(std::index_sequence<I...>)
{
    return (Free{} | ... | judge<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>, Seen...>());
}
template <class X, class... Seen, std::size_t... I>
constexpr auto judge_alternatives(std::index_sequence<I...>)
{
    return (Free{} | ... | judge<std::variant_alternative_t<I, X>, Seen...>());
}

/// Judges what is behind a pointer of type X. A copy of the pointer shows the same object, so a gradient could not have a tensor of
/// its own there. Void and classes without definition are refused, since nothing is known of them.
template <class X, class Held, class... Seen> constexpr auto judge_behind()
{
    using Refused = Verdict<false, false, X>;
    using P = std::remove_cv_t<std::remove_all_extents_t<Held>>;
    if constexpr (std::is_function_v<P> || std::is_same_v<P, std::FILE>) {
        return Free{};
    } else if constexpr (!requires { sizeof(P); }) {
        return Refused{};
    } else {
        using V = decltype(judge<P, X, Seen...>());
        return std::conditional_t < V::leaf || !std::is_void_v<typename V::refused>, Refused, Free > {};
    }
}

/// Searches X. Seen are the types whose search is under way: a struct may hold a vector of itself.
template <class X, class... Seen> constexpr auto judge()
{
    constexpr Kind k = kind<X>;
    if constexpr (k == Kind::leaf) {
        return Verdict<true, false, void, is_number<X>>{};
    } else if constexpr (k == Kind::opaque || k == Kind::plain || (std::is_same_v<X, Seen> || ...)) {
        return Free{};
    } else if constexpr (k == Kind::pointer) {
        return judge_behind<X, std::remove_pointer_t<X>, Seen...>();
    } else if constexpr (k == Kind::holder) {
        return judge_behind<X, typename decltype(held<X>())::type, Seen...>();
    } else if constexpr (k == Kind::optional || k == Kind::map || k == Kind::sequence) {
        return judge<std::remove_cv_t<typename X::value_type>, X, Seen...>();
    } else if constexpr (k == Kind::variant) {
        return judge_alternatives<X, X, Seen...>(std::make_index_sequence<alternatives<X>>{});
    } else if constexpr (k == Kind::tuple) {
        return judge_elements<X, X, Seen...>(std::make_index_sequence<std::tuple_size<X>::value>{});
    } else if constexpr (k == Kind::fields) {
        using Fields = decltype(fields_of(std::declval<X&>()));
        return Verdict<false, hooked<X>, void>{} |
               judge_elements<Fields, X, Seen...>(std::make_index_sequence<std::tuple_size<Fields>::value>{});
    } else {
        return Verdict<false, false, X>{};
    }
}

template <class X> using verdict = decltype(judge<std::remove_cvref_t<X>>());

template <class Refused> inline constexpr bool may_hide_tensors = true;
template <> inline constexpr bool may_hide_tensors<void> = false;

template <class X> constexpr bool checked_look()
{
    using Refused = typename verdict<X>::refused;
    static_assert(!may_hide_tensors<Refused>,
                  "wengert: this type cannot be looked into and may hide tensors: name its parts in a member "
                  "`auto fields() { return std::tie(a, b); }`, or if it holds none that matter specialise "
                  "wengert::tree::is_opaque for it; a tensor behind a pointer is to be held by value");
    return !may_hide_tensors<Refused>;
}
/// True where all of X can be looked into; does not compile elsewhere.
template <class X> inline constexpr bool look_into = checked_look<X>();

}  // namespace detail

/// Whether a walk of an X can meet a leaf.
template <class X> inline constexpr bool contains_leaf = detail::verdict<X>::leaf;
/// Whether it can meet a number that records.
template <class X> inline constexpr bool contains_number = detail::verdict<X>::number;

}  // namespace tree
}  // namespace wengert

// Fields of a plain aggregate in C++20, without macros: count what a brace-initialiser accepts, then name
// that many with a structured binding (the way of Boost.PFR, Polukhin 2016). Start reading at tie().
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace wengert::reflect {

inline constexpr std::size_t max_fields = 24;

namespace detail {

template <class X>
concept tuple_like = requires { std::tuple_size<X>::value; };

// The probes are never called; they have bodies because clang instantiates some conversions and misses a definition.

/// Stands for a field that has no default: converts to any value.
template <class S> struct AnyValue {
    template <class T>
        requires(!std::is_same_v<T, S>)
    operator T() const noexcept
    {
        __builtin_trap();
    }
};

/// Binds to a field that is an lvalue reference, which no value does.
template <class S> struct AnyLvalue {
    template <class T>
        requires(!std::is_same_v<T, S>)
    operator T&() const noexcept
    {
        __builtin_trap();
    }
};

/// Converts to bases of S only.
template <class S> struct AnyBase {
    template <class T>
        requires(std::is_base_of_v<T, S> && !std::is_same_v<T, S>)
    operator T() const noexcept
    {
        __builtin_trap();
    }
};

struct Nothing {};

/// Bases are the first elements of an aggregate. A first field that swallows everything (std::any) is none.
template <class S>
concept has_base = requires { S{AnyBase<S>{}}; } && !requires { S{Nothing{}}; };

template <class S, template <class> class Probe, std::size_t... I>
concept takes_probes = requires { S{(static_cast<void>(I), Probe<S>{})...}; };

template <class S, template <class> class Probe, std::size_t... I>
consteval bool takes(std::index_sequence<I...>)
{
    return takes_probes<S, Probe, I...>;
}

/// The largest n <= N such that n probes initialise S: a field without default makes smaller n fail too.
template <class S, template <class> class Probe, std::size_t N = max_fields + 1>
consteval std::size_t count_probes()
{
    if constexpr (N == 0 || takes<S, Probe>(std::make_index_sequence<N>{}))
        return N;
    else
        return count_probes<S, Probe, N - 1>();
}

// S{{}, {}, ...} with n pairs: each pair is one field whatever its type, C arrays included, and no conversion
// is tried, so that no greedy constructor of a field can disturb the count. `{}` cannot be a pack, hence the
// list.
template <class S, std::size_t N> inline constexpr bool takes_braces = false;
template <class S>
    requires requires { S{{}}; }
inline constexpr bool takes_braces<S, 1> = true;
template <class S>
    requires requires {
        S{{}, {}};
    }
inline constexpr bool takes_braces<S, 2> = true;
template <class S>
    requires requires {
        S{{}, {}, {}};
    }
inline constexpr bool takes_braces<S, 3> = true;
template <class S>
    requires requires {
        S{{}, {}, {}, {}};
    }
inline constexpr bool takes_braces<S, 4> = true;
template <class S>
    requires requires {
        S{{}, {}, {}, {}, {}};
    }
inline constexpr bool takes_braces<S, 5> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 6> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 7> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 8> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 9> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 10> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 11> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 12> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 13> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 14> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 15> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 16> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 17> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 18> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 19> = true;
template <class S>
    requires requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }
inline constexpr bool takes_braces<S, 20> = true;
template <class S>
    requires requires {
        S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    }
inline constexpr bool takes_braces<S, 21> = true;
template <class S>
    requires requires {
        S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    }
inline constexpr bool takes_braces<S, 22> = true;
template <class S>
    requires requires {
        S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    }
inline constexpr bool takes_braces<S, 23> = true;
template <class S>
    requires requires {
        S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    }
inline constexpr bool takes_braces<S, 24> = true;
template <class S>
    requires requires {
        S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    }
inline constexpr bool takes_braces<S, 25> = true;

template <class S, std::size_t N = 0> consteval std::size_t count_braces()
{
    if constexpr (N > max_fields || !takes_braces<S, N + 1>)
        return N;
    else
        return count_braces<S, N + 1>();
}

template <class S> consteval std::size_t count_fields()
{
    if constexpr (requires { S{}; }) {
        if constexpr (count_braces<S>() > 0 || std::is_empty_v<S>) return count_braces<S>();
    }
    if constexpr (count_probes<S, AnyValue>() > 0)
        return count_probes<S, AnyValue>();
    else
        return count_probes<S, AnyLvalue>();
}

template <class S> consteval std::size_t checked_count()
{
    if constexpr (!std::is_class_v<S> || !std::is_aggregate_v<S> || tuple_like<S>) {
        static_assert(!sizeof(S),
                      "wengert: only a plain aggregate has fields to walk; give the struct public "
                      "members and no constructor, private member or virtual function.");
    } else if constexpr (has_base<S>) {
        static_assert(!sizeof(S),
                      "wengert: a struct with a base class cannot be reflected; make the base a member.");
    } else {
        constexpr std::size_t n = count_fields<S>();
        static_assert(n <= max_fields,
                      "wengert: a struct of more than 24 fields cannot be reflected; group some of "
                      "them in a struct of their own.");
        static_assert(n > 0 || std::is_empty_v<S>,
                      "wengert: the fields of this struct cannot be counted; give each "
                      "field a type that can be default-constructed.");
        if constexpr (n <= max_fields) return n;
    }
    return 0;
}

/// D are the fields' declared types, as only decltype of a binding's name tells them.
template <class... D>
constexpr std::tuple<std::remove_reference_t<D>&...> refer(std::remove_reference_t<D>&... field)
{
    static_assert(
        !(std::is_array_v<D> || ...),
        "wengert: a struct with a C array member cannot be reflected; make the array a std::array.");
    static_assert(
        !(std::is_reference_v<D> || ...),
        "wengert: a struct with a reference member cannot be reflected; make it a value or a pointer.");
    return {field...};
}

}  // namespace detail

/// A class whose fields tie() can reach; std::array, which is an aggregate too, is not meant.
template <class S>
concept is_struct = std::is_class_v<std::remove_cvref_t<S>> && std::is_aggregate_v<std::remove_cvref_t<S>> &&
                    !detail::tuple_like<std::remove_cvref_t<S>>;

/// Number of fields. A static_assert says what to do about a type that cannot be reflected.
template <class S> inline constexpr std::size_t field_count = detail::checked_count<std::remove_cvref_t<S>>();

/// A tuple of references to all fields of s, in order, const where s is.
template <class S> constexpr auto tie(S& s)
{
    constexpr std::size_t fields = field_count<S>;
    if constexpr (fields == 0) {
        return std::tuple<>{};
    } else if constexpr (fields == 1) {
        auto& [a] = s;
        return detail::refer<decltype(a)>(a);
    } else if constexpr (fields == 2) {
        auto& [a, b] = s;
        return detail::refer<decltype(a), decltype(b)>(a, b);
    } else if constexpr (fields == 3) {
        auto& [a, b, c] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c)>(a, b, c);
    } else if constexpr (fields == 4) {
        auto& [a, b, c, d] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d)>(a, b, c, d);
    } else if constexpr (fields == 5) {
        auto& [a, b, c, d, e] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e)>(a, b, c, d, e);
    } else if constexpr (fields == 6) {
        auto& [a, b, c, d, e, f] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f)>(
            a, b, c, d, e, f);
    } else if constexpr (fields == 7) {
        auto& [a, b, c, d, e, f, g] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g)>(a, b, c, d, e, f, g);
    } else if constexpr (fields == 8) {
        auto& [a, b, c, d, e, f, g, h] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h)>(a, b, c, d, e, f, g, h);
    } else if constexpr (fields == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i)>(a, b, c, d, e, f, g, h, i);
    } else if constexpr (fields == 10) {
        auto& [a, b, c, d, e, f, g, h, i, j] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j)>(a, b, c, d, e, f, g, h, i,
                                                                                 j);
    } else if constexpr (fields == 11) {
        auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k)>(
            a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (fields == 12) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l)>(
            a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (fields == 13) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m)>(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (fields == 14) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n)>(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    } else if constexpr (fields == 15) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o)>(a, b, c, d, e, f, g, h, i, j, k, l, m, n,
                                                                    o);
    } else if constexpr (fields == 16) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p)>(a, b, c, d, e, f, g, h, i, j,
                                                                                 k, l, m, n, o, p);
    } else if constexpr (fields == 17) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q)>(
            a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
    } else if constexpr (fields == 18) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q), decltype(r)>(
            a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
    } else if constexpr (fields == 19) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q), decltype(r),
                             decltype(z)>(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z);
    } else if constexpr (fields == 20) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q), decltype(r),
                             decltype(z), decltype(t)>(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r,
                                                       z, t);
    } else if constexpr (fields == 21) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t, u] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q), decltype(r),
                             decltype(z), decltype(t), decltype(u)>(a, b, c, d, e, f, g, h, i, j, k, l, m, n,
                                                                    o, p, q, r, z, t, u);
    } else if constexpr (fields == 22) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t, u, v] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q), decltype(r),
                             decltype(z), decltype(t), decltype(u), decltype(v)>(
            a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t, u, v);
    } else if constexpr (fields == 23) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t, u, v, w] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q), decltype(r),
                             decltype(z), decltype(t), decltype(u), decltype(v), decltype(w)>(
            a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t, u, v, w);
    } else if constexpr (fields == 24) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t, u, v, w, x] = s;
        return detail::refer<decltype(a), decltype(b), decltype(c), decltype(d), decltype(e), decltype(f),
                             decltype(g), decltype(h), decltype(i), decltype(j), decltype(k), decltype(l),
                             decltype(m), decltype(n), decltype(o), decltype(p), decltype(q), decltype(r),
                             decltype(z), decltype(t), decltype(u), decltype(v), decltype(w), decltype(x)>(
            a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, z, t, u, v, w, x);
    }
}

}  // namespace wengert::reflect

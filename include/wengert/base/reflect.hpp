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

/// The largest n <= max_fields + 1 such that n probes initialise S, counted upwards from P: what initialises S is every n from
/// the last field without default to the last one that takes a probe. One function a step, nothing else is instantiated: every
/// program pays for it.
template <class S, bool Found, class Probe, class... P> consteval std::size_t count_probes()
{
    constexpr std::size_t n = 1 + sizeof...(P);
    if constexpr (requires { S{Probe{}, P{}...}; }) {
        if constexpr (n > max_fields)
            return n;
        else
            return count_probes<S, true, Probe, Probe, P...>();
    } else if constexpr (Found || n > max_fields) {
        return Found ? n - 1 : 0;
    } else {
        return count_probes<S, false, Probe, Probe, P...>();
    }
}

/// n, and so many fields after these n as probes meet, whose types `takes` is asked for: {} makes no field that has no default but one
/// in S.
template <std::size_t n, class Probe, class Takes, class... P> consteval std::size_t count_after(Takes takes)
{
    if constexpr (n + sizeof...(P) <= max_fields && decltype(takes(Probe(), P()...))::value)
        return count_after<n, Probe, Takes, Probe, P...>(takes);
    else
        return n + sizeof...(P);
}

/// The same by S{{}, {}, ...}: each pair is one field whatever its type, C arrays included, and no conversion is tried, so that
/// no greedy constructor of a field can disturb the count. `{}` cannot be a pack, hence the list.
template <class S> consteval std::size_t count_braces()
{
    // clang-format off
    using Any = AnyValue<S>;
    if constexpr (!requires { S{{}}; }) return 0;
    else if constexpr (!requires { S{{}, {}}; }) return count_after<1, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}}; }) return count_after<2, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}}; }) return count_after<3, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}}; }) return count_after<4, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}}; }) return count_after<5, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}}; }) return count_after<6, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<7, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<8, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<9, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<10, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<11, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<12, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<13, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<14, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<15, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<16, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<17, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<18, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<19, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<20, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<21, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<22, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return count_after<23, Any>([]<class... P>(P...) { return std::bool_constant<requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, P()...}; }>(); });
    else if constexpr (!requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 24;
    else return max_fields + 1;
    // clang-format on
}

template <class S> consteval std::size_t count_fields()
{
    if constexpr (requires { S{}; }) {
        if constexpr (constexpr std::size_t n = count_braces<S>(); n > 0 || std::is_empty_v<S>) return n;
    }
    if constexpr (constexpr std::size_t n = count_probes<S, false, AnyValue<S>>(); n > 0)
        return n;
    else
        return count_probes<S, false, AnyLvalue<S>>();
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

// What follows from `pull(wrt<i>, g, x…, y)` without tensors: which values it reads, its loop over a tile, and the rule as a program.
#pragma once

#include <array>
#include <bit>

#include "../../functions/rules/rule.hpp"
#include "../../functions/term.hpp"
#include "../../kernels/cpu/elementwise.hpp"

namespace wengert::detail {

/// Inputs of another type than the result's (conditions), and those that a rule leaves out, have no derivative.
template <class P, std::size_t i, class Out, class... In>
concept has_pull = std::is_same_v<std::tuple_element_t<i, std::tuple<In...>>, Out> &&
                   requires(Uses u) { P::pull(wrt<i>{}, u, (static_cast<void>(sizeof(In)), u)..., u); };

/// pull for input i over a tile, k… being 0 … n: the inputs and the output. Only what the rule uses is read. With the
/// zero-cotangent rule: where g is 0 and the derivative not finite, the result is 0. A loop of its own, without lambdas:
/// a debugger shows one frame between the walk and the rule, and its name is short.
template <class P, std::size_t i, std::size_t... k> struct PullOf {
    static constexpr unsigned bits = uses_of<P, i, sizeof...(k) - 1>().bits & ((1U << sizeof...(k)) - 1);

    template <class A, class T> static void lanes(std::size_t n, const void* const* in, void* to)
    {
        using V = Lane<T, A>;
        T* out = static_cast<T*>(to);
        std::size_t j = 0;
        for (; j + V::width <= n; j += V::width) {
            const V g = V::load(static_cast<const T*>(in[0]) + j);
            guarded(g, P::pull(wrt<i>{}, g, lane<k>(g, in, j)...)).store(out + j);
        }
        if (j == n) return;
        const V g = V::load_part(static_cast<const T*>(in[0]) + j, n - j);
        guarded(g, P::pull(wrt<i>{}, g, part<k>(g, in, j, n - j)...)).store_part(out + j, n - j);
    }
    /// In blocks, as kernels::ScalarLoop has them, which says why.
    template <class A, class T, class... Value>
    static void scalars(std::size_t n, const void* const* in, void* to)
    {
        constexpr std::size_t block = kernels::block_length;
        const void* const x[] = {in[0], (bits >> k & 1 ? in[slot(k)] : nullptr)...};
        T* const out = static_cast<T*>(to);
        const T probe = probe_of<T>(), *const g = static_cast<const T*>(in[0]);
        std::size_t j = 0;
        for (; n - j >= block; j += block) {
#ifndef __clang__
#pragma GCC ivdep
#endif
            for (std::size_t m = 0; m < block; ++m)
                out[j + m] = guarded(
                    g[j + m], static_cast<T>(P::pull(wrt<i>{}, g[j + m], scalar<k, Value>(x, j + m)...)),
                    probe);
        }
        for (; j < n; ++j)
            out[j] = guarded(g[j], static_cast<T>(P::pull(wrt<i>{}, g[j], scalar<k, Value>(x, j)...)), probe);
    }

private:
    /// Where the kernel finds value s: after g, in order.
    static constexpr std::size_t slot(std::size_t s)
    {
        return 1 + static_cast<std::size_t>(std::popcount(bits & ((1U << s) - 1)));
    }

    template <std::size_t s, class V> static V lane(const V& g, const void* const* in, std::size_t j)
    {
        if constexpr (bits >> s & 1)
            return V::load(static_cast<const typename V::value_type*>(in[slot(s)]) + j);
        else
            return g;  // never read
    }
    template <std::size_t s, class V>
    static V part(const V& g, const void* const* in, std::size_t j, std::size_t m)
    {
        if constexpr (bits >> s & 1)
            return V::load_part(static_cast<const typename V::value_type*>(in[slot(s)]) + j, m);
        else
            return g;
    }
    /// x: the cotangent, then a place for each value, null where the rule does not read it.
    template <std::size_t s, class Value> static Value scalar(const void* const* x, std::size_t j)
    {
        if constexpr (bits >> s & 1)
            return static_cast<Value>(static_cast<const kernels::Stored<Value>*>(x[1 + s])[j]);
        else
            return Value{};
    }
    template <class G> static G guarded(const G& g, const G& r) { return guarded(g, r, probe_of<G>()); }
    template <class G> static G guarded(const G& g, const G& r, const G& probe)
    {
        if constexpr (bits == 0)
            return r;
        else
            return unless_zero_cotangent(g, probe, r);
    }
    template <class G> static G probe_of()
    {
        if constexpr (bits == 0)
            return G{};
        else
            return G(static_cast<scalar_t<G>>(kernels::zero_cotangent));
    }
    template <class G> struct scalar_of {
        using type = G;
    };
    template <class G>
        requires requires { typename G::value_type; }
    struct scalar_of<G> {
        using type = typename G::value_type;
    };
    template <class G> using scalar_t = typename scalar_of<G>::type;
};

/// "tanh.pull0", made at compile time.
template <class P, std::size_t i> struct PullName {
    static constexpr std::string_view suffix = ".pull";
    static constexpr auto text = [] {
        std::array<char, P::name.size() + suffix.size() + 1> t{};
        std::size_t n = 0;
        for (char c : P::name) t[n++] = c;
        for (char c : suffix) t[n++] = c;
        t[n] = static_cast<char>('0' + i);
        return t;
    }();
};

/// The rule as a program. One that does more than numbers can (a branch on a value, a call of a library) says
/// `static constexpr bool opaque = true` and is called through its kernel by every executor.
template <class P, std::size_t... k> Term describe_value(const Term* in) { return Term(P::value(in[k]...)); }

/// That of pull i, from (g, the values that it reads), with the zero-cotangent rule as PullOf::guarded has it.
template <class P, std::size_t i, std::size_t... k> Term describe_pull(const Term* in)
{
    constexpr unsigned bits = PullOf<P, i, k...>::bits;
    const Term g = in[0];
    const auto value = [&](std::size_t s) {
        const auto below = static_cast<unsigned>(std::popcount(bits & ((1U << s) - 1)));
        return bits >> s & 1 ? in[1 + below] : g;
    };
    const Term r = P::pull(wrt<i>{}, g, value(k)...);
    if constexpr (bits == 0)
        return r;
    else
        return where(g == Term::zero_cotangent() && !is_finite(r), Term(0), r);
}

template <class P> constexpr bool opaque()
{
    if constexpr (requires { P::opaque; })
        return P::opaque;
    else
        return false;
}

/// Lanes hold one type. A value that is not read has no say.
template <class Out, class... Value> constexpr bool reads_only(unsigned bits)
{
    std::size_t s = 0;
    return (((bits >> s++ & 1) == 0 || std::is_same_v<Out, Value>)&&...);
}

}  // namespace wengert::detail

// Adjoints with their tangents, as one pass of forward over reverse has them: the numbers it computes with, and how they lie in memory.
#pragma once

#include "directions.hpp"

namespace wengert::detail {

/// An adjoint with its tangent, or a value with its one.
using WithTangent = Tangents<double, 1>;

/// WithTangent in the loop of a sweep, which takes its products and quotients in line. Elsewhere that is only longer.
struct LoopNumber : WithTangent {
    using WithTangent::WithTangent;
    [[gnu::always_inline]] LoopNumber(const WithTangent& x) : WithTangent(x) {}
    [[gnu::always_inline]] friend LoopNumber operator*(const LoopNumber& a, const LoopNumber& b)
    {
        return product(a, b);
    }
    [[gnu::always_inline]] friend LoopNumber operator/(const LoopNumber& a, const LoopNumber& b)
    {
        return quotient(a, b);
    }
    [[gnu::always_inline]] friend LoopNumber operator-(const LoopNumber& a)
    {
        LoopNumber y(-a.plain());
        y.tangent(0) = -a.tangent(0);
        return y;
    }
};

/// An adjoint and its tangent are loaded and stored as one: a load of both would wait for two stores of one each.
using AdjointPair [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = double;

/// An adjoint and its tangent, which are 0 afterwards.
[[gnu::always_inline]] inline WithTangent taken(double* from) noexcept
{
    auto* const pair = reinterpret_cast<AdjointPair*>(from);
    const AdjointPair g = *pair;
    *pair = AdjointPair{};
    WithTangent out(g[0]);
    out.tangent(0) = g[1];
    return out;
}
[[gnu::always_inline]] inline void add_pair(double* to, const WithTangent& g) noexcept
{
    *reinterpret_cast<AdjointPair*>(to) += AdjointPair{g.plain(), g.tangent(0)};
}

/// Adds r, made of g, to adjoint k. A sum of products is rounded alike in all sweeps.
[[gnu::always_inline]] inline void send(double* adjoints, std::uint32_t k, double, double r, bool) noexcept
{
    adjoints[k] += unfused(r);
}
[[gnu::always_inline]] inline void send(double* adjoints, std::uint32_t k, const WithTangent& g,
                                        const WithTangent& r, bool guarded) noexcept
{
    if (!guarded || !is_zero_by_rule(g.plain(), 0.0, r.plain())) add_pair(adjoints + 2 * k, r);
}
inline bool is_zero(double g) noexcept { return g == 0.0; }
inline bool is_zero(const WithTangent& g) noexcept { return g.plain() == 0.0 && g.tangent(0) == 0.0; }

}  // namespace wengert::detail

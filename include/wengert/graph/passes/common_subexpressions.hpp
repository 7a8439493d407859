// Common subexpressions: what has been computed already is not computed again.
#pragma once

#include <bit>

#include "../ir/fields.hpp"
#include "rewrite.hpp"

namespace wengert::passes {

namespace detail {

/// Parameters that are not shown are the same where they are one object.
std::vector<std::uint64_t> parameters_of(const GraphNode& n);

constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15ULL;
    return h ^ h >> 29;
}

/// The same for descriptors of one primitive, with rules and without (ops/describe/structural.hpp).
std::uint64_t word_of(const Primitive& p);

/// The functions whose result IEEE 754 determines to the bit: two descriptors of one are the same operation.
bool determined(Fn fn) noexcept;
inline bool commutes(Fn fn) noexcept { return fn == Fn::add || fn == Fn::multiply; }

/// Constants by their first and last bytes and size: equal ones are compared whole.
std::uint64_t hash_constant(const Block& b);

std::uint64_t hash_node(const GraphNode& n, Fn fn);

bool same_inputs(const GraphNode& a, const GraphNode& b, Fn fn);

bool same_node(const GraphNode& a, Fn fa, const GraphNode& b, Fn fb);

/// Of two nodes with one hash that are not the same the first is found: the other one stays what it is.
void remember_value(Rewrite& r, ValueId v);

ValueId common_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Two nodes of one segment with the same operation, parameters and inputs become one, as do constants with the same
/// bits. a + b is b + a, a b is b a: exact but for the payload of a NaN, which no processor promises. Values of different
/// segments are never merged: one of them is there to be computed again.
inline constexpr Pass common_subexpressions{"common_subexpressions", detail::common_rule,
                                            detail::remember_value};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/common_subexpressions.ipp"
#endif

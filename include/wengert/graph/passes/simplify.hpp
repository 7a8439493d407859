// Algebra: what is exact in IEEE 754, bit for bit, signed zeros, infinities and NaNs included (but for a NaN's sign and
// payload). Rules that round otherwise only where they are allowed. Those of shapes are in simplify_shapes.hpp.
#pragma once

#include "simplify_shapes.hpp"

namespace wengert::passes {

namespace detail {

/// x in the place of n, if it has n's shape and type, and a layout that no product can tell from n's.
ValueId instead(const Rewrite& r, const GraphNode& n, ValueId x);

ValueId number_like(Rewrite& r, const GraphNode& n, double x);

/// v = −x: x, or no_value.
ValueId negated(const Rewrite& r, const GraphNode& n, ValueId v);

/// x + (−0) = x always, x + 0 = x where x is not −0, x − 0 and x − (−0) likewise; x 1 = x / 1 = x.
ValueId drop_neutral(const Rewrite& r, const GraphNode& n, Fn fn, bool floating);

/// x + (−y) = x − y, −0 − x = −x, x − (−y) = x + y.
ValueId simplify_addition(Rewrite& r, GraphNode& n, Fn fn);

/// (x c) d = x (c d), where that is allowed.
ValueId gather_factors(Rewrite& r, GraphNode& n);

/// Is 1/c exact, so that x / c and x (1/c) are the same real number rounded once?
bool exact_reciprocal(const Block& c);

/// x (−1) = x / (−1) = −x, (−x) (−y) = x y, (−x) / (−y) = x / y, (−x) c = x (−c), x / 2ᵏ = x 2⁻ᵏ.
ValueId simplify_product(Rewrite& r, GraphNode& n, Fn fn);

/// where(c, a, a) = a; where(true, a, b) = a.
ValueId simplify_where(Rewrite& r, GraphNode& n);

/// A cast there and back is nothing where the way there keeps every number.
ValueId simplify_cast(Rewrite& r, GraphNode& n);

ValueId simplify_negative(Rewrite& r, GraphNode& n);

/// |x| = x where x has no sign; |−x| = |x| and (−x)² = x².
ValueId simplify_even(Rewrite& r, GraphNode& n, Fn fn);

/// Exact whatever the elements are.
ValueId simplify_elementwise(Rewrite& r, GraphNode& n, Fn fn);

ValueId simplify_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Operations that algebra makes unnecessary or cheaper. Exact by default; with allow_reassociation also factors
/// gathered, x (c d) for (x c) d, and divisions by a constant as products.
inline constexpr Pass simplify{"simplify", detail::simplify_rule};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/simplify.ipp"
#endif

// Removes what sweeps leave behind. These are cotangents that are one number, broadcasts before operations that broadcast by
// themselves, guards against 0 · ∞ where it cannot occur, and sums into zeros.
#pragma once

#include "simplify.hpp"

namespace wengert::passes {

namespace detail {

/// A smaller value that broadcasts to the same elements, or the one number that they are.
struct Unbroadcast {
    ValueId v;
    bool number;  ///< it is to be read as a rank-0 constant, which is made when it is used
};

Unbroadcast unbroadcast(const Rewrite& r, const GraphNode& n, ValueId v);

/// The operands of an elementwise operation, some of them unbroadcast.
struct Operands {
    std::vector<Unbroadcast> all;
    Shape shape(const Rewrite& r) const;
    std::vector<ValueId> values(Rewrite& r, const Site& at) const;
};

/// f(broadcast x) = broadcast f(x): the smaller one is computed.
ValueId push_down(Rewrite& r, const GraphNode& n, std::vector<ValueId> inputs, const Shape& small);

/// As many operands unbroadcast as leave the result its shape.
Operands kept_shape(const Rewrite& r, const GraphNode& n, const Operands& small);

/// Operands need no broadcast: elementwise operations do that by themselves.
ValueId drop_broadcasts(Rewrite& r, GraphNode& n);

/// A number that is everywhere in v and neither 0 nor NaN.
bool is_nonzero(const Rewrite& r, ValueId v);
bool finite_number(const Rewrite& r, ValueId v);

/// Where g is not 0, or b is a finite number (and, for a quotient, not 0), there is nothing to guard.
ValueId unguarded(Rewrite& r, GraphNode& n, Fn fn);

/// A guard is replaced by its value if g is nowhere 0, if the guarded value is finite or g itself, or if the same guard came before.
/// Then zero_where_undefined(g, x) = x and zero_rule(x, g) = x. Of (v, g, x) and (v, x, g) the value is v.
ValueId drop_guard(const Rewrite& r, const GraphNode& n, Fn fn);

/// Zeros plus g at a place: g put there. 0 + g is g but for −0, so that g + 0 is put there where g can be −0.
ValueId embed_first(Rewrite& r, const GraphNode& n);

/// Σ of a broadcast is a product with the count, where that is allowed.
ValueId sum_of_broadcast(Rewrite& r, GraphNode& n);

ValueId gradient_rule(Rewrite& r, GraphNode& n);

}  // namespace detail

/// Exact: broadcasts dropped before elementwise operations, which broadcast by themselves, and put after those of which
/// all operands are broadcast; guards of the zero-cotangent rule dropped where the cotangent is a number other than 0;
/// the first sum into zeros replaced by what is added. With allow_reassociation the sum of a broadcast number becomes a
/// product.
inline constexpr Pass gradients{"gradients", detail::gradient_rule};

}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/gradients.ipp"
#endif

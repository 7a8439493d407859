// Algebra of shapes: views of views collapsed, moves that move nothing removed.
#pragma once

#include "made.hpp"
#include "rewrite.hpp"

namespace wengert::passes::detail {

/// n becomes another operation of the same result; no_value.
ValueId turn_into(Rewrite& r, GraphNode& n, Fn fn, ValueList inputs, const void* op = nullptr);
ValueId make_reshape(Rewrite& r, GraphNode& n, ValueId x);
ValueId make_broadcast(Rewrite& r, GraphNode& n, ValueId x);

/// Does fn show the elements of its operand in their order?
inline bool keeps_order(Fn fn) noexcept { return fn == Fn::reshape || fn == Fn::unit_axes; }

/// reshape(fold(x)) is one fold where the reshape undoes or adds keepdims.
bool reshape_of_fold(Rewrite& r, GraphNode& n, ValueId x);

/// reshape(reshape(x)) is one reshape, or x; also with axes of extent 1 put in or taken out between.
ValueId simplify_reshape(Rewrite& r, GraphNode& n, Fn fn);

/// Axes of extent 1 in front change nothing for what is broadcast.
ValueId simplify_broadcast(Rewrite& r, GraphNode& n);

/// A part of a part is one part; a transpose of a transpose is one transpose.
ValueId simplify_part(Rewrite& r, GraphNode& n, Fn fn);

/// A sum over axes of extent 1 is its operand: sums of one number are not begun with 0.
ValueId simplify_sum(Rewrite& r, GraphNode& n);

ValueId simplify_shape(Rewrite& r, GraphNode& n, Fn fn);

}  // namespace wengert::passes::detail

#ifndef WENGERT_COMPILED
#include "impl/simplify_shapes.ipp"
#endif

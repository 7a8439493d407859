// Which elements a description moves where, as parts of axes: what passes put together, swap and drop.
#pragma once

#include "../../ops/index/index.hpp"
#include "../../ops/selection.hpp"

namespace wengert::passes {

/// A function that passes know.
enum class Fn : std::uint8_t {
    unknown,
    // elementwise
    identity,
    add,
    subtract,
    multiply,
    divide,
    negative,
    maximum,
    minimum,
    abs,
    square,
    exp,
    sqrt,
    tanh,
    where,
    relu,
    logical_not,
    logical_and,
    logical_or,
    cast,
    guarded_multiply,           ///< g b, or 0 where g is 0 and that is not finite: multiply.pull0, exp.pull0
    guarded_divide,             ///< the same of g / b
    guarded_square,             ///< the same of g (2 x)
    zero_where_undefined,       ///< of (g, r)
    zero_where_undefined_pull,  ///< of (h, g, r)
    // moves of elements (moves.hpp)
    reshape,    ///< the elements in their order, in any other shape
    unit_axes,  ///< axes of extent 1 put in or taken out
    transpose,
    broadcast_to,
    select,  ///< a Selection
    copy,
    embed,        ///< zeros with the operand at a Selection
    add_part,     ///< operand 0, with operand 1 added at a Selection
    assign_part,  ///< operand 0, with operand 1 in place of a Selection; only made
    join,         ///< one after another along an axis; only made
    // all others
    sum,
    product,      ///< of matrices, as MatrixProduct says
    product_sum,  ///< c ± α times such a product
    zero_rule     ///< Primitive::zero_rule, of (r, g) or (v, r, g)
};

namespace detail {

/// The places `at` of an array of shape `of` as a Selection, element i of which is where `i` is. False where it is none: an
/// axis that stands in no place, or two of them in one.
bool selection_of(const Index& p, const Positions& i, const Positions& at, const Shape& of, Selection& s);

/// Axis k of the result is axis a of the operand, all of it.
bool takes_axis(const Selection& s, std::size_t k, std::size_t a);
/// Every element, and nothing but axes of extent 1 is put in or taken out.
bool keeps_elements(const Selection& s);
/// Every element where it was.
inline bool selects_everything(const Selection& s) { return s.of == s.shape && keeps_elements(s); }
/// The result's axes are all of the operand's, in another order.
bool permutes(const Selection& s);
/// Axes in front, and those of extent 1, are repeated.
bool repeats(const Selection& s);

/// The function of a description that is one affine read.
Fn move_of(const Index& p, Selection& part);

}  // namespace detail
}  // namespace wengert::passes

#ifndef WENGERT_COMPILED
#include "impl/moves.ipp"
#endif

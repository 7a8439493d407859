// The library's kernels beside a description: faster for few elements, or a view without a copy, with the same elements. All that there
// are; tests/primitives/test_overrides.cpp runs each beside its description. They are the host's: other devices run the descriptions.
#pragma once

#include "../elementwise/library.hpp"

namespace wengert {

struct Concatenate;
struct Stack;
struct Unpack;

namespace detail {

// clang-format off
using Overrides = List<
    Reshape, Transpose, BroadcastTo, ExpandDims, Squeeze, Select, Split, Diagonal, Unpack,  // views
    Copy, Element, Embed, EmbedDiagonal, Tril, Triu,
    AssignView, AddView<false>, AddView<true>,
    Concatenate, Stack,
    Take, ScatterAdd, OneHot,
    ArgExtremum<true>, ArgExtremum<false>>;  // by the extremum, which vectors find
// clang-format on

template <class... P> constexpr std::size_t count_of(List<P...>) { return sizeof...(P); }
static_assert(count_of(Overrides()) <= 25, "a primitive that needs no kernel of its own has none");

/// Has a struct of the library, which has a kernel beside its description or not, said so in the table?
template <class Op> constexpr bool is_in_order(bool overridden)
{
    return !is_ours<Op>() || overridden == is_one_of<Op>(Overrides());
}

}  // namespace detail
}  // namespace wengert

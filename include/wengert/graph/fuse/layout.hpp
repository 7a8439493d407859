// Layouts: which values of a graph are views of others, and how they lie in the others' memory. Known before anything has
// a place.
#pragma once

#include "../ir/fold_of.hpp"
#include "../ir/index_program.hpp"

namespace wengert::tiling {

/// How a value lies in memory while the graph runs. Values that are no views are contiguous (row major).
struct Layout {
    ValueId root =
        no_value;  ///< whose memory it is: the value itself, or what it is a view of, which is no view
    std::int64_t offset = 0;  ///< bytes from the root's first element to the value's
    Strides strides;          ///< in elements, one for each axis, 0 along broadcast axes
    bool strided = false;     ///< not in row-major order
    bool is_view(ValueId v) const noexcept { return root != v; }
};

using Layouts = std::vector<Layout>;  ///< by value

namespace detail {

/// A stand-in for the address of elements. Views are made of headers only, and nothing is read there.
inline std::byte* placeholder_address() noexcept
{
    return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 44);
}

/// The header of a value as its layout says, on top of its root's.
Ref<Block> header_on(const Ref<Block>& root, const Shape& shape, const Layout& l);

/// A sum over extents of 1 is its operand in another shape, to the bit.
bool sums_nothing(const Graph& g, const GraphNode& n, const Layouts& layouts);

/// The layout of a view, or false: the primitive has to compute or copy.
bool view_layout(const Graph& g, const GraphNode& n, const Layouts& layouts, Layout& out);

}  // namespace detail

Layouts layouts_of(const Graph& g);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/layout.ipp"
#endif

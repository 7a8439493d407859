// What row_kernels.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../row_kernels.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE void spread_along_rows(const void* const* in, std::size_t rows, std::size_t n, std::size_t,
                                      double bytes, void* out)
{
    const auto size = static_cast<std::size_t>(bytes);
    kernels::gather_rows(static_cast<const std::byte*>(in[0]), 1, 0, size, n, rows,
                         static_cast<std::byte*>(out));
}

WENGERT_INLINE std::size_t folded_row(const Fold& f, const Shape& shape)
{
    std::size_t n = 1, left = f.maps() ? 1 : f.axes->size();
    bool outside = false;
    for (std::size_t i = shape.size(); i-- > 0;) {
        const bool folded =
            left > 0 && i == (f.maps() ? f.axis : static_cast<std::size_t>((*f.axes)[left - 1]));
        left -= folded;
        if (folded && outside && shape[i] != 1) return 0;
        if (folded) n *= static_cast<std::size_t>(shape[i]);
        outside = outside || (!folded && shape[i] != 1);
    }
    return n;
}

}  // namespace wengert::tiling::detail

namespace wengert::tiling {

WENGERT_INLINE RowOperation row_operation(const Graph& g, const GraphNode& n)
{
    Fold f;
    if (!differentiable(n.dtype) || !fold_of(n, f)) return {};
    const Shape& shape = g.node(n.inputs[0]).shape;
    const std::size_t row = detail::folded_row(f, shape);
    if (row < shortest_row || row * size_of(n.dtype) > longest_row || element_count(shape) <= row) return {};
    std::size_t last = shape.size();  // of several axes rows are no rows of the elements
    while (shape[--last] == 1) {}
    if (static_cast<std::size_t>(shape[last]) != row) return {};
    for (ValueId i : n.inputs)
        if (g.node(i).dtype != n.dtype || !(g.node(i).shape == shape)) return {};
    const FoldForm& form = *n.primitive->fold;
    return {form.run, f.number, !f.maps(), form.sums || form.means};
}

}  // namespace wengert::tiling

namespace wengert::tiling::detail {

WENGERT_INLINE bool row_sum(const Graph& g, const GraphNode& n, RowSum& r)
{
    Fold f;
    if (!differentiable(n.dtype) || !fold_of(n, f) || g.node(n.inputs[0]).dtype != n.dtype) return false;
    r.mean = n.primitive->fold->means;
    if (!r.mean && !n.primitive->fold->sums) return false;
    r.length = folded_row(f, g.node(n.inputs[0]).shape);
    return r.length > 0;
}

}  // namespace wengert::tiling::detail

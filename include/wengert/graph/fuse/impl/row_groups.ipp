// What row_groups.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../row_groups.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE Shape squeezed(const Shape& shape)
{
    Shape s;
    for (auto e : shape)
        if (e != 1) s.push_back(e);
    return s;
}

WENGERT_INLINE bool spreads_along_rows(const Shape& x, const Shape& shape)
{
    const std::size_t missing = shape.size() - x.size();
    bool last = true;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 1) continue;
        const std::int64_t e = i < missing ? 1 : x[i - missing];
        if (e != (last ? 1 : shape[i])) return false;
        last = false;
    }
    return true;
}

WENGERT_INLINE bool RowMembers::in_step(ValueId i, ValueId source, ValueId v) const
{
    return narrow_[source] == narrow_[v] || rows_[v] != 0 ||
           spreads_along_rows(g_.node(i).shape, g_.node(v).shape);
}

WENGERT_INLINE bool RowMembers::same(ValueId u, ValueId v) const
{
    return g_.node(u).segment == g_.node(v).segment &&
           squeezed(g_.node(u).shape) == squeezed(g_.node(v).shape);
}

}  // namespace wengert::tiling::detail

// Parts that are added to one array, one after the other, as the cotangents of a stencil are: row by row of the array, all
// parts of a row at once. Each element has its sums in the order of the parts, so the bits are those of one pass a part.
#pragma once

#include <algorithm>

#include "../../kernels/cpu/lane.hpp"
#include "program.hpp"

namespace wengert::tiling::detail {

template <class T> struct AddedPart {
    static constexpr std::size_t max_axes = Shape::inline_rank;
    const T* x = nullptr;
    bool minus = false;
    std::int64_t n = 0, column = 0;  ///< elements of a row, and where in the array's row they begin
    std::int64_t first[max_axes] = {}, count[max_axes] = {},
                 step[max_axes] = {};  ///< of the leading axes; step of x
    AddedPart* next = nullptr;
};

/// to[j] = to[j] ± x[0][j] ± x[1][j] ± …
template <class T, std::size_t count, bool minus = false, class A = xsimd::default_arch>
void add_all(std::size_t n, const T* const* x, T* to)
{
    using L = Lane<T, A>;
    const auto sum = [&](std::size_t j, std::size_t c) {
        L v = L::load_part(to + j, c);
        for (std::size_t k = 0; k < count; ++k)
            v = minus ? v - L::load_part(x[k] + j, c) : v + L::load_part(x[k] + j, c);
        v.store_part(to + j, c);
    };
    std::size_t j = 0;
    for (; j + L::width <= n; j += L::width) sum(j, L::width);
    if (j < n) sum(j, n - j);
}
template <class T> void add_all(std::size_t count, std::size_t n, const T* const* x, T* to)
{
    for (; count >= 5; count -= 5, x += 5) add_all<T, 5>(n, x, to);
    if (count == 4) add_all<T, 4>(n, x, to);
    if (count == 3) add_all<T, 3>(n, x, to);
    if (count == 2) add_all<T, 2>(n, x, to);
    if (count == 1) add_all<T, 1>(n, x, to);
}

template <class T> struct AddedRows {
    using Part = AddedPart<T>;
    static constexpr std::size_t at_once = 20, edge = 4;

    T* to = nullptr;
    std::size_t axes = 0;  ///< but the last
    std::int64_t extents[Part::max_axes] = {};
    std::int64_t row = 0;  ///< elements
    Part *parts = nullptr, *last = nullptr;
    std::size_t count = 0;
    bool together = true;            ///< the parts of a row can be added in one pass
    std::int64_t low = 0, high = 0;  ///< the columns that all parts have

    bool is_of(const Shape& shape) const
    {
        return axes + 1 == shape.size() && row == shape.back() &&
               std::equal(extents, extents + axes, shape.data());
    }
    void add(Part* p)
    {
        (last ? last->next : parts) = p;
        last = p;
        low = count ? std::max(low, p->column) : p->column;
        high = count ? std::min(high, p->column + p->n) : p->column + p->n;
        ++count;
        together = true;
        for (const Part* q = parts; q; q = q->next)
            together = together && !q->minus && low - q->column <= static_cast<std::int64_t>(edge) &&
                       q->column + q->n - high <= static_cast<std::int64_t>(edge);
        together = together && count <= at_once && high > low;
    }

    void operator()(Run&) const
    {
        std::int64_t index[Part::max_axes] = {};
        for (T* at = to;; at += row) {
            add_row(index, at);
            std::size_t a = axes;
            while (a > 0 && ++index[a - 1] == extents[a - 1]) index[--a] = 0;
            if (a == 0) return;
        }
    }

private:
    void add_row(const std::int64_t* index, T* to_row) const
    {
        const T* active[at_once];
        std::size_t n = 0;
        for (const Part* p = parts; p; p = p->next) {
            const T* x = row_of(*p, index);
            if (!x) continue;
            if (!together) {
                const auto length = static_cast<std::size_t>(p->n);
                if (p->minus)
                    add_all<T, 1, true>(length, &x, to_row + p->column);
                else
                    add_all<T, 1>(length, &x, to_row + p->column);
                continue;
            }
            // the few columns that not all parts have come first: no part meets another one's middle there
            for (std::int64_t j = p->column; j < low; ++j) to_row[j] += x[j - p->column];
            for (std::int64_t j = high; j < p->column + p->n; ++j) to_row[j] += x[j - p->column];
            active[n++] = x + (low - p->column);
        }
        if (n > 0) add_all<T>(n, static_cast<std::size_t>(high - low), active, to_row + low);
    }
    /// The part's row that meets this one, or null.
    const T* row_of(const Part& p, const std::int64_t* index) const
    {
        const T* x = p.x;
        for (std::size_t a = 0; a < axes; ++a) {
            const std::int64_t i = index[a] - p.first[a];
            if (i < 0 || i >= p.count[a]) return nullptr;
            x += i * p.step[a];
        }
        return x;
    }
};

}  // namespace wengert::tiling::detail

// Sorting that keeps the order of equals. (std::stable_sort of libstdc++ 12 calls std::get_temporary_buffer, of which clang
// warns in every source that instantiates it, as C++17 deprecates that.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace wengert {

namespace detail {

/// By merging runs of twice the length, from 1 on.
template <class T, class Less> void stable_sort(std::vector<T>& items, const Less& less)
{
    const std::size_t n = items.size();
    std::vector<T> merged(n);
    for (std::size_t run = 1; run < n; run *= 2) {
        auto to = merged.begin();
        const auto place = [&](std::size_t i) {
            return std::make_move_iterator(items.begin() + static_cast<std::ptrdiff_t>(std::min(i, n)));
        };
        for (std::size_t k = 0; k < n; k += 2 * run)
            to = std::merge(place(k), place(k + run), place(k + run), place(k + 2 * run), to,
                            [&](const T& a, const T& b) { return less(a, b); });
        items.swap(merged);
    }
}

}  // namespace detail

}  // namespace wengert

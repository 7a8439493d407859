// The bodies of random.hpp that no type decides. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "../../../base/separate.hpp"
#include "../random.hpp"

namespace wengert::kernels {

WENGERT_INLINE void fill_bernoulli(const Key& key, double p, bool* out, std::size_t n, std::size_t first)
{
    fill_choice(key, p, true, false, out, n, first);
}

WENGERT_INLINE void fill_permutation(const Key& key, std::int64_t* out, std::size_t n)
{
    std::vector<std::pair<std::uint64_t, std::int64_t>> order(n);
    std::vector<std::uint64_t> words(n);
    detail::fill_groups<2>(key, words.data(), n, 0, [](const auto& w, std::uint64_t* values) {
        for (std::size_t i = 0; i < detail::group_words / 2; ++i) values[i] = detail::word_pair(w + 2 * i);
    });
    for (std::size_t i = 0; i < n; ++i) order[i] = {words[i], static_cast<std::int64_t>(i)};
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < n; ++i) out[i] = order[i].second;
}

}  // namespace wengert::kernels

// Lines of convolutions: the sums of some registers of the result stay there while the shorter line passes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "../../kernels/cpu/lane.hpp"

namespace wengert::detail {

/// y[k] += Σ_j a[k + first − j] v[j] over those j of 0, 1, … m − 1 for which a has that element.
template <class T, class A> struct ConvolvedLine {
    using L = Lane<T, A>;
    static constexpr auto width = static_cast<std::int64_t>(L::width);
    const T* a;
    std::int64_t length, first;
    const T* v;
    std::int64_t m;

    [[gnu::noinline]] void add_to(T* y, std::int64_t n) const
    {
        std::int64_t k = 0;
        for (; k + 4 * width <= n; k += 4 * width) add_registers<4, 1>(y, k, width);
        for (; k + width <= n; k += width) add_registers<1, 4>(y, k, width);
        if (k < n) add_registers<1, 4>(y, k, n - k);
    }

private:
    /// To `Registers` registers of y from k on, the last of `last` elements, with so many sums for each: they hide an addition's latency.
    template <std::size_t Registers, std::size_t Sums>
    void add_registers(T* y, std::int64_t k, std::int64_t last) const
    {
        const std::int64_t count = static_cast<std::int64_t>(Registers - 1) * width + last;
        const std::int64_t begin = std::max<std::int64_t>(0, k + count + first - length),
                           end = std::max(begin, std::min(m, k + first + 1));  // of j that all of them have
        L sum[Registers][Sums];
        for (auto& of : sum)
            for (L& s : of) s = L(T(0));
        std::int64_t j = begin;
        for (; j + static_cast<std::int64_t>(Sums) <= end; j += Sums)
            add_terms<Registers, Sums>(sum, k, j, last);
        for (; j < end; ++j) add_terms<Registers, 1>(sum, k, j, last);
        for (std::size_t r = 0; r < Registers; ++r) {
            for (std::size_t s = 1; s < Sums; ++s) sum[r][0] += sum[r][s];
            T* const to = y + k + static_cast<std::int64_t>(r) * width;
            const auto c = static_cast<std::size_t>(r + 1 < Registers ? width : last);
            (L::load_part(to, c) + sum[r][0]).store_part(to, c);
        }
        if (end - begin < m) add_ends(y + k, k, count, begin, end);
    }
    template <std::size_t Registers, std::size_t Terms, class Sum>
    [[gnu::always_inline]] void add_terms(Sum& sum, std::int64_t k, std::int64_t j, std::int64_t last) const
    {
        [&]<std::size_t... t>(std::index_sequence<t...>) {
            const T* from[] = {a + (k + first - j) - static_cast<std::int64_t>(t)...};
            const L by[] = {L(v[j + static_cast<std::int64_t>(t)])...};
            for (std::size_t r = 0; r + 1 < Registers; ++r)
                ((sum[r][t] = fma(L::load(from[t] + r * L::width), by[t], sum[r][t])), ...);
            constexpr std::size_t end = Registers - 1;
            ((sum[end][t] = fma(L::load_part(from[t] + end * L::width, static_cast<std::size_t>(last)), by[t],
                                sum[end][t])),
             ...);
        }(std::make_index_sequence<Terms>());
    }
    /// The terms outside of [begin, end), which not all elements have.
    [[gnu::noinline]] void add_ends(T* y, std::int64_t k, std::int64_t count, std::int64_t begin,
                                    std::int64_t end) const
    {
        for (std::int64_t r = 0; r < count; ++r) {
            const std::int64_t at = k + r + first, least = std::max<std::int64_t>(0, at - length + 1),
                               most = std::min(m, at + 1);
            for (std::int64_t j = least; j < std::min(begin, most); ++j) y[r] += a[at - j] * v[j];
            for (std::int64_t j = std::max(end, least); j < most; ++j) y[r] += a[at - j] * v[j];
        }
    }
};

}  // namespace wengert::detail

// Loops over complex numbers that lie as pairs: a tile is taken apart into real and imaginary parts, a rule runs over registers of
// each, and the results are put together again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "lane_math.hpp"

namespace wengert {

/// Real and imaginary part of what a rule computes, over registers, tensors or numbers.
template <class V> struct Pair {
    V re, im;
};

namespace rules {

/// Constants of the precision of V's elements.
template <class V> struct Precision {
    using T = typename V::value_type;
    using Limits = std::numeric_limits<T>;
    static constexpr bool single = std::is_same_v<T, float>;
    static constexpr Literal infinity = lit(std::numeric_limits<double>::infinity());
    static constexpr Literal largest = lit(Limits::max());
    static constexpr Literal half_largest = lit(Limits::max() / 2);
    static constexpr Literal small = lit(Limits::min() * 2 / Limits::epsilon());
    static constexpr Literal up = lit(single ? 0x1p48 : 0x1p108), root_up = lit(single ? 0x1p-24 : 0x1p-54);
    static constexpr Literal rescue = lit(2 / (double(Limits::epsilon()) * double(Limits::epsilon())));
    static constexpr Literal splitter = lit(single ? 4097.0 : 134217729.0);
    static constexpr Literal far = lit(single ? 80.0 : 700.0);  ///< e^far is finite
    static constexpr Literal exp_far = lit(single ? 5.5406223843935098e34 : 1.0142320547350045e304);
    static constexpr Literal flat = lit(single ? 11.0 : 22.0);  ///< tanh is ±1 beyond
};

}  // namespace rules

namespace kernels {

/// An operand of a loop: elements that are pairs or real numbers, or one of them for all.
template <class T> struct ComplexOperand {
    const T* elements;
    bool single;
};

/// yᵢ = F::value(parts of each operand at i…) for n elements. F::pairs says which operands are pairs.
template <class F, class T, class A> class ComplexLoop {
    using L = Lane<T, A>;
    static constexpr std::size_t operands = F::pairs.size(), tile = 32 * L::width;
    static constexpr std::size_t parts_of(std::size_t operand) { return F::pairs[operand] ? 2 : 1; }
    static constexpr std::size_t first_of(std::size_t operand)
    {
        std::size_t n = 0;
        for (std::size_t k = 0; k < operand; ++k) n += parts_of(k);
        return n;
    }
    static constexpr std::size_t count = first_of(operands);

public:
    static void run(std::size_t n, const std::array<ComplexOperand<T>, operands>& in, T* y)
    {
        alignas(64) T part[count][tile];
        alignas(64) T re[tile], im[tile];
        for (std::size_t k = 0; k < operands; ++k)
            if (in[k].single)
                for (std::size_t p = 0; p < parts_of(k); ++p)
                    std::fill_n(part[first_of(k) + p], tile, in[k].elements[p]);
        for (std::size_t start = 0; start < n; start += tile) {
            const std::size_t m = std::min(tile, n - start);
            for (std::size_t k = 0; k < operands; ++k)
                if (!in[k].single) take_apart(k, m, in[k].elements + parts_of(k) * start, part);
            for (std::size_t i = 0; i < m; i += L::width) {
                const Pair<L> z = value(part, i, std::make_index_sequence<count>());
                z.re.store(re + i);
                z.im.store(im + i);
            }
            T* const to = y + 2 * start;
            for (std::size_t i = 0; i < m; ++i) {
                to[2 * i] = re[i];
                to[2 * i + 1] = im[i];
            }
        }
    }

private:
    /// And zeros behind them, up to a whole register.
    static void take_apart(std::size_t k, std::size_t m, const T* from, T (&part)[count][tile])
    {
        T *const re = part[first_of(k)], *const im = part[first_of(k) + parts_of(k) - 1];
        for (std::size_t i = m; i % L::width != 0; ++i) re[i] = im[i] = T(0);
        if (!F::pairs[k]) {
            std::copy_n(from, m, re);
            return;
        }
        for (std::size_t i = 0; i < m; ++i) {
            re[i] = from[2 * i];
            im[i] = from[2 * i + 1];
        }
    }
    template <std::size_t... p>
    static Pair<L> value(const T (&part)[count][tile], std::size_t i, std::index_sequence<p...>)
    {
        return F::value(L::load(part[p] + i)...);
    }
};

}  // namespace kernels
}  // namespace wengert

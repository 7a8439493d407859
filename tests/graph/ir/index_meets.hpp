// Scatters that meet what is there by maximum and minimum, and what plain loops make of them: for test_index_meets.cpp and devices.
#pragma once

#include "graph/c/emit_programs.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>

namespace meets {

using I = Tensor<std::int64_t>;

inline Positions list(std::initializer_list<Position> of)
{
    Positions all;
    for (const Position& p : of) all.push_back(p);
    return all;
}

/// y = z, and then y[r[i], j] meets x[i, j]
struct Met {
    static constexpr std::string_view name = "met";
    static constexpr bool flat = true;
    std::int64_t how;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(2);
        p.write_into(list({p.element(1, list({i[0]})), i[1]}), 0);
        p.combining(static_cast<Combine>(how));
        p.read(2, i);
    }
};
/// y is full of a number, and then y[i + 1 − 2 j] meets x[i, j] where it is a place
struct Crossing {
    static constexpr std::string_view name = "crossing";
    static constexpr bool flat = true;
    std::int64_t how;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        const bool most = static_cast<Combine>(how) == Combine::maximum;
        p.write(list({masked(i[0] + 1 - 2 * i[1])}), {p.shape(0)[0]}, most ? -HUGE_VAL : HUGE_VAL);
        p.combining(static_cast<Combine>(how));
        p.read(0, i);
    }
};
template <class T> Tensor<T> met(Combine how, const Tensor<T>& z, const I& r, const Tensor<T>& x)
{
    return apply<Met, T>({static_cast<std::int64_t>(how)}, Site{}, z, r, x);
}
template <class T> Tensor<T> crossing(Combine how, const Tensor<T>& x)
{
    return apply<Crossing, T>({static_cast<std::int64_t>(how)}, Site{}, x);
}

/// What becomes of y where x comes: maximum(x, y) of scalars.
template <class T> T meeting(Combine how, T y, T x)
{
    const bool taken = how == Combine::maximum ? x > y : x < y;
    return taken || x != x ? x : y;
}

/// Numbers, and among floats both NaNs, both zeros and infinities.
template <class T> Tensor<T> awkward(const Shape& shape, unsigned seed)
{
    auto b = make_block(dtype_of<T>(), shape);
    std::uint32_t s = 7u + seed;
    for (std::size_t k = 0; k < b->count; ++k) {
        s = s * 1664525u + 1013904223u;
        T v = static_cast<T>(static_cast<int>(s >> 24) % 9 - 4);
        if constexpr (std::is_floating_point_v<T>) {
            using Limits = std::numeric_limits<T>;
            const T special[] = {
                T(0), -T(0), Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), v, v, v, v};
            v = special[(s >> 8) % 9];
        }
        b->template as<T>()[k] = v;
    }
    return Tensor<T>(AnyTensor{b, {}});
}
/// Where row i of x goes.
inline std::int64_t place_of(std::size_t i)
{
    return std::array<std::int64_t, 7>{1, 0, 1, 3, 1, 3, 0}[i % 7];
}
inline I places(std::int64_t rows)
{
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < rows; ++i) all.push_back(place_of(static_cast<std::size_t>(i)));
    return I(Shape{rows}, all);
}

template <class T> Ref<Block> expected_met(Combine how, const Tensor<T>& z, const Tensor<T>& x)
{
    auto y = copy_of(*z.any().value);
    const auto m = static_cast<std::size_t>(x.shape()[1]);
    for (std::size_t k = 0; k < x.size(); ++k) {
        T& to = y->template as<T>()[static_cast<std::size_t>(place_of(k / m)) * m + k % m];
        to = meeting(how, to, x.data()[k]);
    }
    return y;
}
template <class T> Ref<Block> expected_crossing(Combine how, const Tensor<T>& x)
{
    using Limits = std::numeric_limits<T>;
    const T high = Limits::has_infinity ? Limits::infinity() : Limits::max(),
            low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const std::int64_t n = x.shape()[0], m = x.shape()[1];
    auto y = make_block(dtype_of<T>(), {n});
    std::fill_n(y->template as<T>(), n, how == Combine::maximum ? low : high);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < m; ++j)
            if (const std::int64_t at = i + 1 - 2 * j; at >= 0 && at < n) {
                T& to = y->template as<T>()[at];
                to = meeting(how, to, x.data()[i * m + j]);
            }
    return y;
}

}  // namespace meets

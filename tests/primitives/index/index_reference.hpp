/// Plain loops that the tests of index programs compare with: nothing of the library's but shapes and elements.
#pragma once

#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/scans.hpp>

#include <functional>

namespace reference {

using namespace wengert;
using At = std::vector<std::int64_t>;

/// An array of elements in row-major order, by position.
template <class T> struct Array {
    At shape;
    std::vector<T> v;

    explicit Array(At s) : shape(std::move(s))
    {
        std::size_t n = 1;
        for (auto e : shape) n *= static_cast<std::size_t>(e);
        v.resize(n);
    }
    explicit Array(const Tensor<T>& x) : Array(At(x.shape().begin(), x.shape().end()))
    {
        const auto b = readable(x.any().value);
        std::copy_n(b->template as<T>(), b->count, v.begin());
    }
    std::size_t offset(const At& at) const
    {
        std::size_t k = 0;
        for (std::size_t d = 0; d < shape.size(); ++d)
            k = k * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(at[d]);
        return k;
    }
    typename std::vector<T>::reference operator()(const At& at) { return v[offset(at)]; }
    typename std::vector<T>::const_reference operator()(const At& at) const { return v[offset(at)]; }
};

/// fn(position) for each position of a shape, in row-major order.
template <class F> void each(const At& shape, const F& fn)
{
    for (auto e : shape)
        if (e == 0) return;
    At at(shape.size(), 0);
    for (;;) {
        fn(at);
        std::size_t d = shape.size();
        while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}
/// fn(position) as the elements.
template <class T, class F> Array<T> made(const At& shape, const F& fn)
{
    Array<T> a(shape);
    each(shape, [&](const At& at) { a(at) = fn(at); });
    return a;
}
/// The same bits.
template <class T> bool same(const Tensor<T>& x, const Array<T>& y)
{
    const Array<T> a(x);
    if (a.shape != y.shape) return false;
    for (std::size_t k = 0; k < a.v.size(); ++k) {
        const T p = a.v[k], q = y.v[k];
        if (std::memcmp(&p, &q, sizeof(T)) != 0) return false;
    }
    return true;
}

/// Numbers that differ and have no order, a few of them equal.
template <class T> Tensor<T> some(const Shape& shape, int seed = 0)
{
    auto b = make_block(dtype_of<T>(), shape);
    std::uint32_t s = 12345u + static_cast<std::uint32_t>(seed);
    for (std::size_t k = 0; k < b->count; ++k) {
        s = s * 1664525u + 1013904223u;
        if constexpr (std::is_same_v<T, bool>)
            b->template as<T>()[k] = (s >> 20 & 1) != 0;
        else if constexpr (std::is_floating_point_v<T>)
            b->template as<T>()[k] = static_cast<T>(static_cast<double>(s >> 16 & 1023) / 256.0 - 2.0);
        else
            b->template as<T>()[k] = static_cast<T>(s >> 24) - 100;
    }
    return Tensor<T>(AnyTensor{placed(std::move(b)), {}});
}

/// x in layouts that are not row-major: the same elements, transposed in memory, and every second of an array.
template <class T> std::vector<Tensor<T>> layouts(const Tensor<T>& x)
{
    std::vector<Tensor<T>> all{x};
    const std::size_t r = x.shape().size();
    if (r < 2 || r > 6) return all;
    Axes turned;
    for (std::size_t d = r; d-- > 0;) turned.push_back(static_cast<std::int64_t>(d));
    all.push_back(transpose(copy(transpose(x, turned)), turned));
    all.push_back(view(repeat(x, 2, -1), ellipsis(), range(0, placeholders::_, 2)));
    return all;
}

/// fn(tensor) and its reference on shapes of all kinds, in several layouts. `least`: the rank that it needs.
template <class T, class F, class G> void on_shapes(const F& fn, const G& expected, std::size_t least = 1)
{
    static const std::vector<Shape> shapes = {Shape{},      {1},     {5},       {0},
                                              {3, 4},       {4, 1},  {2, 3, 4}, {3, 0, 2},
                                              {2, 1, 3, 2}, {3, 17}, {40, 9},   {2, 1, 2, 3, 1, 2, 2}};
    for (const Shape& s : shapes) {
        if (s.size() < least) continue;
        const Tensor<T> x = some<T>(s);
        const auto wanted = expected(Array<T>(x));
        for (const Tensor<T>& l : layouts(x)) {
            INFO(to_string(s));
            CHECK(same(fn(l), wanted));
        }
    }
}

}  // namespace reference

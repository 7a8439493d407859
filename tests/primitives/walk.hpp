/// What the walks over the list of all primitives share: operands of all kinds, results with their names, the comparison.
#pragma once

#include "catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/jvp.hpp>
#include <wengert/transforms/derivatives.hpp>

#include "entries.hpp"

namespace walk {

using namespace wengert;
using primitives::entries;
using primitives::Entry;

template <class T> using List = std::vector<Tensor<T>>;

/// Numbers between 0.2 and 0.9, all of them different: every function is smooth there.
template <class T> Tensor<T> calm(const Shape& shape, int seed)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] =
            static_cast<T>(0.2 + 0.7 * std::fmod(0.618034 * static_cast<double>(i + 1) + 0.137 * seed, 1.0));
    return Tensor<T>(AnyTensor{placed(std::move(b)), {}});
}

/// Edges, neighbours of the points where a formula gives way to another one, numbers of every size.
template <class T> const std::vector<T>& edges()
{
    static const std::vector<T> all = [] {
        using L = std::numeric_limits<T>;
        std::vector<T> v = {T(0),          T(-0.0),        L::denorm_min(), -L::denorm_min(),
                            L::min(),      -L::min(),      L::max(),        L::lowest(),
                            L::infinity(), -L::infinity(), L::quiet_NaN(),  L::epsilon()};
        const double points[] = {0.5,
                                 0.625,
                                 1.0,
                                 1.5707963267948966,
                                 2.0,
                                 2.414213562373095,
                                 0.41421356237309503,
                                 4.0,
                                 6.0,
                                 10.0,
                                 20.0,
                                 38.0,
                                 88.722,
                                 103.97,
                                 709.78,
                                 745.13,
                                 1e4,
                                 1e9,
                                 0.7071067811865476,
                                 1.4142135};
        for (const double at : points) {
            const T x = static_cast<T>(at);
            for (const T n : {x, std::nextafter(x, T(0)), std::nextafter(x, L::infinity())})
                v.insert(v.end(), {n, -n});
        }
        for (int e = L::min_exponent + 1; e < L::max_exponent; e += L::max_exponent / 25)
            v.insert(v.end(), {std::ldexp(T(1.2345678), e), std::ldexp(T(-1.7654321), e)});
        return v;
    }();
    return all;
}
template <class T> Tensor<T> wild(const Shape& shape, std::size_t step)
{
    const std::vector<T>& v = edges<T>();
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = v[(i * step + i / v.size() * 7) % v.size()];
    return Tensor<T>(AnyTensor{placed(std::move(b)), {}});
}

/// Both operands in three kinds: calm, with edges, zeros of both signs.
template <class T> std::vector<std::pair<Tensor<T>, Tensor<T>>> operands(const Shape& s)
{
    return {{calm<T>(s, 1), calm<T>(s, 5)},
            {wild<T>(s, 1), wild<T>(s, 5)},
            {full<T>(s, T(-0.0)), full<T>(s, T(0))}};
}

inline const std::vector<Shape>& shapes()
{
    static const std::vector<Shape> all = {Shape{}, {5},       {0},       {3, 4},
                                           {4, 1},  {1, 1},    {3, 0, 2}, {2, 3, 4},
                                           {17, 3}, {2, 2100}, {300, 2},  {2, 1, 2, 3, 1, 2, 2}};
    return all;
}

/// One result, and which.
struct Label {
    const char* name;
    const char* what;
    bool library;
};

/// All entries, those without a kernel of the host's, or those without products as well.
enum class Which { all, no_host_calls, described };

/// The value of each entry that takes operands of this shape; with `derivatives` its cotangents and its tangent, too.
template <class T>
void results(const Tensor<T>& a, const Tensor<T>& b, bool derivatives, List<T>& out,
             std::vector<Label>* labels = nullptr, Which which = Which::all)
{
    for (const Entry<T>& e : entries<T>()) {
        if (!e.takes(a.shape()) || (e.asks.host && which != Which::all) ||
            (e.asks.library && which == Which::described))
            continue;
        const auto add = [&](const Tensor<T>& y, const char* what) {
            out.push_back(y);
            if (labels) labels->push_back({e.name, what, e.asks.library});
        };
        if (!derivatives || e.asks.order == 0) {
            add(e.of(a, b), "value");
            continue;
        }
        const auto [y, back] = vjp(e.of, a, b);
        const auto [ga, gb] = back(ones_like(y) * T(0.75));
        const auto forward = jvp([&](const Tensor<T>& v, const Tensor<T>& w) { return e.of(v, w); },
                                 std::tuple(a, b), std::tuple(b, a));
        add(y, "value"), add(ga, "cotangent of a"), add(gb, "cotangent of b"), add(forward.second, "tangent");
    }
}

/// How many elements differ in their bits, where a NaN is a NaN; those of library calls by more than rounding.
template <class T> std::size_t different(const Block& want, const Block& got, bool library)
{
    double scale = 1;
    for (std::size_t i = 0; library && i < want.count; ++i)
        scale = std::max(scale, std::abs(static_cast<double>(want.as<T>()[i])));
    const double rounding = 64 * static_cast<double>(std::numeric_limits<T>::epsilon()) * scale;
    std::size_t n = 0;
    for (std::size_t i = 0; i < want.count; ++i) {
        const T p = want.as<T>()[i], q = got.as<T>()[i];
        if ((p != p && q != q) || std::memcmp(&p, &q, sizeof p) == 0) continue;
        n += !library || !(std::abs(static_cast<double>(p) - static_cast<double>(q)) <= rounding);
    }
    return n;
}
/// Results beside those of eager code. What library calls make of `edges`, numbers of every size, has no bits to compare.
template <class T>
void compare(const List<T>& want, const std::vector<Ref<Block>>& got, const std::vector<Label>& labels,
             bool edged = false, std::size_t first = 0)
{
    REQUIRE(want.size() == labels.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
        const Ref<Block> x = readable(want[k].any().value), y = readable(got[first + k]);
        INFO(labels[k].name << ", " << labels[k].what << ", " << to_string(x->shape) << " of "
                            << name_of(dtype_of<T>()));
        REQUIRE(x->shape == y->shape);
        if (edged && labels[k].library) continue;
        const std::size_t n = different<T>(*x, *y, labels[k].library);
        CHECK(n == 0);
    }
}
template <class T>
void compare(const List<T>& want, const List<T>& got, const std::vector<Label>& labels, bool edged = false)
{
    REQUIRE(got.size() == want.size());
    std::vector<Ref<Block>> blocks;
    for (const Tensor<T>& y : got) blocks.push_back(y.any().value);
    compare(want, blocks, labels, edged);
}

}  // namespace walk

// Numbers of long loops that are made where a join has their place, and joins of numbers in tiles.
#include "catch.hpp"
#include "draws.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/native/native_places.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/passes.hpp>
#include <wengert/transforms/grad.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;
using List = std::vector<D>;

namespace {

/// Numbers of x and n more that are computed from them, one from another.
template <class T> std::vector<wg::Tensor<T>> numbers_of(const wg::Tensor<T>& x, int n, Draws& draw)
{
    std::vector<wg::Tensor<T>> all;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(x.size()); ++k) all.push_back(view(x, k));
    for (int k = 0; k < n; ++k) {
        const auto &a = all[all.size() - 1 - draw(4)], &b = all[draw(all.size())];
        all.push_back(k % 7 == 3 ? sin(a) : T(0.6) * a - T(0.5) * b);
    }
    return all;
}
const D start{0.3, -0.7, 1.1, 0.2, 0.9, -0.4, 0.6, 0.8};

template <class T> std::vector<T> elements(const wg::Tensor<T>& t)
{
    const auto c = copy(t);
    return {c.data(), c.data() + c.size()};
}
template <class T> std::vector<T> elements(const std::vector<wg::Tensor<T>>& list)
{
    std::vector<T> out;
    for (const auto& t : list)
        for (const T x : elements(t)) out.push_back(x);
    return out;
}
/// Twice, as memory of a run before is there again.
template <class F, class X> void agrees(const F& f, const X& x)
{
    auto tile = wg::freeze(f), native = wg::freeze(f, {.backend = wg::native});
    auto threads = wg::freeze(f, {.threads = 2});
    const auto expected = elements(f(x));
    for (int run = 0; run < 2; ++run) {
        CHECK(elements(tile(x)) == expected);
        CHECK(elements(threads(x)) == expected);
        CHECK(elements(native(x)) == expected);
    }
    const X other = x + typename X::value_type(0.125);
    CHECK(elements(native(other)) == elements(f(other)));
}
template <class F> std::size_t in_place(const F& f)
{
    const wg::Graph g = wg::optimize(wg::freeze(f).graph(start));
    wg::detail::NativeGroups groups(g, wg::tiling::layouts_of(g));
    const auto made = groups.take();
    return wg::detail::PartsInPlace(g, groups).of(made).size();
}

}  // namespace

// Joins of up to some sixty numbers are stencils instead, in one pass with what they are made from.
TEST_CASE("Numbers of a long loop are made where their join has its places", "[native]")
{
    const auto joined = [](const D& x) {
        Draws draw{1};
        const List all = numbers_of(x, 700, draw);
        return wg::stack(List(all.end() - 140, all.end()), 0);
    };
    CHECK(in_place(joined) == 140);
    agrees(joined, start);

    const auto between = [](const D& x) {  // constants, one of x's, one part twice, in a join of joins
        Draws draw{2};
        List all = numbers_of(x, 700, draw), parts(all.end() - 90, all.end());
        parts.insert(parts.begin() + 2, {D(0.0), D(-0.0), D(2.5)});
        parts.push_back(all[1]);
        parts.push_back(parts[0]);
        const D first = wg::stack(parts, 0);
        return wg::concatenate({first, reshape(all[300], {1}), reshape(all[301], {1}), first}, 0);
    };
    CHECK(in_place(between) == 90);
    agrees(between, start);
}

TEST_CASE("Numbers that others need as well have places of their own", "[native]")
{
    const auto read_twice = [](const D& x) {
        Draws draw{3};
        const List all = numbers_of(x, 700, draw);
        const D j = wg::stack(List(all.end() - 80, all.end()), 0);
        return List{j * all.back(), wg::matmul(reshape(j, {8, 10}), reshape(j, {10, 8}))};
    };
    agrees(read_twice, start);
    const auto handed_out = [](const D& x) {
        Draws draw{4};
        const List all = numbers_of(x, 700, draw);
        return List{wg::stack(List(all.end() - 80, all.end()), 0), all.back(),
                    reshape(all[all.size() - 2], {1, 1})};
    };
    agrees(handed_out, start);
    const auto two_joins = [](const D& x) {
        Draws draw{5};
        const List all = numbers_of(x, 700, draw), last(all.end() - 80, all.end());
        return List{wg::stack(last, 0), wg::stack(List(last.rbegin(), last.rend()), 0)};
    };
    agrees(two_joins, start);
    const auto loop_reads = [](const D& x) {
        Draws draw{11};
        const List all = numbers_of(x, 700, draw);
        const D s = wg::while_loop([](const D& z) { return abs(z) > 1e-3; },
                                   [](const D& z) { return z * 0.5; }, all.back());
        return wg::stack(List(all.end() - 80, all.end()), 0) * s;
    };
    agrees(loop_reads, start);
}

TEST_CASE("The memory of a join is its own from its first part on", "[native]")
{
    const auto late = [](const D& x) {
        Draws draw{9};
        const List all = numbers_of(x, 700, draw);
        List parts(all.end() - 99, all.end());
        // between the loop and the join, in memory of the join's size
        D t = sin(wg::arange<double>(100.0) * all[200]);
        for (int k = 0; k < 3; ++k)
            t = reshape(0.01 * wg::matmul(reshape(t, {10, 10}), reshape(t, {10, 10})), {100});
        parts.push_back(sum(t));
        const D j = reshape(wg::stack(parts, 0), {10, 10});
        return wg::matmul(j, j);
    };
    CHECK(in_place(late) == 99);
    agrees(late, start);
}

TEST_CASE("A join of numbers that inputs take, and one that a guard looks at", "[native]")
{
    const auto next = [](const D& x) {
        Draws draw{6};
        const List all = numbers_of(x, 700, draw);
        return wg::stack(List(all.end() - 80, all.end()), 0);
    };
    const D begin = sin(wg::arange<double>(80.0));
    auto native = wg::freeze(next, {.backend = wg::native});
    D x = copy(begin), y = copy(begin);
    for (int k = 0; k < 5; ++k) {
        x = native(std::move(x));
        y = next(y);
        CHECK(elements(x) == elements(y));
    }
    const auto guarded = [&](const D& z) {
        const D j = next(z);
        const D f = j(0).item() < 0.5 ? j * 2.0 : j - 1.0;
        return f + j;
    };
    agrees(guarded, start);
}

TEST_CASE("Floats, and gradients by numbers that were joined", "[native]")
{
    const auto floats = [](const wg::Tensor<float>& x) {
        Draws draw{7};
        const auto all = numbers_of(x, 700, draw);
        return wg::stack(std::vector<wg::Tensor<float>>(all.end() - 109, all.end()), 0);
    };
    agrees(floats, wg::Tensor<float>{0.3F, -0.7F, 1.1F, 0.2F});
    const auto loss = [](const D& x) {
        Draws draw{8};
        const List all = numbers_of(x, 700, draw);
        return sum(square(wg::stack(List(all.end() - 120, all.end()), 0)));
    };
    agrees(wg::grad(loss), start);
}

TEST_CASE("Random joins of many numbers have the same bits in tiles and native code", "[native]")
{
    for (std::uint64_t seed = 10; seed < 13; ++seed) {
        INFO(seed);
        const auto f = [&](const D& x) {
            Draws draw{seed};
            List all = numbers_of(x, 500 + 20 * static_cast<int>(seed), draw), out;
            for (int j = 0; j < 4; ++j) {
                List parts;
                for (std::size_t k = 0, n = 1 + draw(150); k < n; ++k)
                    parts.push_back(draw(5) == 0 ? D(0.5 * static_cast<double>(draw(3)))
                                                 : all[all.size() - 1 - draw(200)]);
                const D joined = wg::stack(parts, 0);
                if (draw(2) == 0) all.push_back(sum(joined) * 0.125);
                for (int k = 0; k < 60; ++k) all.push_back(0.5 * all.back() + all[draw(all.size())] * 0.25);
                if (draw(3) != 0) out.push_back(joined);
            }
            out.push_back(wg::stack(List(all.end() - 70, all.end()), 0));
            return out;
        };
        agrees(f, start);
    }
}

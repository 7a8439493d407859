// Numbers of long loops that native code computes four at a time.
#include "catch.hpp"
#include "draws.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/native/native_plan.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/choices.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/passes.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/grad.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;
using List = std::vector<D>;

namespace {

const D start{0.3, -0.7, 1.1, 0.2, 0.9, -0.4, 0.6, 0.8};

std::vector<double> elements(const D& t)
{
    const D c = copy(t);
    return {c.data(), c.data() + c.size()};
}
/// Bits, so that zeros have their signs. Those of a NaN are left open: a compiler may exchange the terms of a sum.
bool same_bits(const D& a, const D& b)
{
    const auto x = elements(a), y = elements(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double p, double q) {
        return std::bit_cast<std::uint64_t>(p) == std::bit_cast<std::uint64_t>(q) || (p != p && q != q);
    });
}
template <class F> void agrees(const F& f)
{
    auto tile = wg::freeze(f), native = wg::freeze(f, {.backend = wg::native});
    for (const D& x : {start, start + 0.125, -start, start * 0.0}) {
        const D y = f(x);
        CHECK(same_bits(tile(x), y));
        CHECK(same_bits(native(x), y));
        CHECK(same_bits(native(x), y));
    }
}
/// Packs of all long loops of f; those that are left when their statements are in order; these statements, and the operations.
struct Counts {
    std::size_t packs = 0, left = 0, statements = 0, operations = 0;
};
template <class F> Counts counts_of(const F& f)
{
    const wg::Graph g = wg::optimize(wg::freeze(f).graph(start));
    const wg::detail::NativePlan native(g);
    Counts count;
    for (const auto& task : native.plan.tasks) {
        if (!native.groups.in_strips(task.group)) continue;
        const wg::detail::ResultRoots results(native.plan.layouts, task.group);
        count.packs += wg::detail::NumberPacks(g, native.plan.layouts, task.group, results).all().size();
        const wg::detail::StripPlaces places(g, native.plan.layouts, task.group);
        count.left += places.packs.all().size();
        count.statements += places.statements.size();
        count.operations += task.group.nodes.size();
    }
    return count;
}
template <class F> std::size_t packs_of(const F& f) { return counts_of(f).left; }

/// Some numbers in each of several columns, that go through the same operations.
struct Columns {
    std::vector<List> at;
    List shared;

    Columns(const D& x, std::size_t columns, std::size_t rows) : at(columns)
    {
        for (std::size_t k = 0; k < 8; ++k) shared.push_back(view(x, static_cast<std::int64_t>(k)));
        for (std::size_t c = 0; c < columns; ++c)
            for (std::size_t r = 0; r < rows; ++r)
                at[c].push_back(shared[(3 * c + r) % 8] * (0.1 * static_cast<double>(r + 1)));
    }
    static D of(std::size_t kind, const D& a, const D& b, const D& c)
    {
        switch (kind) {
        case 0: return a * c + b * 0.3;
        case 1: return a - c * b;
        case 2: return maximum(a, b) * 0.7 + c;
        case 3: return -a * 0.9 + c;
        case 4: return where(a < b, a * 0.5, c);
        case 5: return sin(a) + b * c;
        case 6: return 0.25 * (a * b) + 0.0;
        default: return (a + b) * 0.5;
        }
    }
    /// Each column's number is made from that of the one before, in this very step.
    void wait_for_each_other(int steps)
    {
        for (int k = 0; k < steps; ++k)
            for (std::size_t c = 0; c < at.size(); ++c)
                at[c].push_back(at[c == 0 ? at.size() - 1 : c - 1].back() * 0.5 + shared[c]);
    }
    /// The last row of each column, column by column in each row.
    D joined(std::size_t rows) const
    {
        List parts;
        for (std::size_t r = 0; r < rows; ++r)
            for (const List& column : at) parts.push_back(column[column.size() - 1 - r]);
        return wg::stack(parts, 0);
    }
};

/// Columns that go through drawn operations. Some lanes differ from the others, read other columns, or what is made in this very step.
auto drawn(std::uint64_t seed)
{
    return [seed](const D& x) {
        Draws draw{seed};
        const std::size_t columns = 4 + draw(9), rows = 3;
        Columns all(x, columns, rows);
        for (std::size_t step = 0, steps = 1200 / columns; step < steps; ++step) {
            const std::size_t kind = draw(8), i = draw(rows), j = draw(rows), s = draw(8);
            const bool odd = draw(6) == 0, other = draw(12) == 0, chained = draw(15) == 0,
                       turned = draw(15) == 0;
            const std::size_t lane = draw(columns);
            const auto before = all.at;
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t from = other ? (c + 1) % columns : c, n = before[from].size();
                const D &a = before[from][n - 1 - i],
                        &b = chained && c > 0 ? all.at[c - 1].back() : before[c][before[c].size() - 1 - j];
                const D& third = turned && c % 2 == 1 ? a : all.shared[s];
                all.at[c].push_back(Columns::of(odd && c == lane ? (kind + 1) % 8 : kind, a, b, third));
            }
            if (draw(20) == 0) all.shared[draw(8)] = all.at[draw(columns)].back() * 0.5;
        }
        return all.joined(100 / columns);  // fewer numbers would be a stencil
    };
}

}  // namespace

TEST_CASE("Columns of numbers that go through the same operations are computed four at a time", "[native]")
{
    const auto f = [](const D& x) {
        Columns all(x, 8, 2);
        for (int k = 0; k < 120; ++k)
            for (List& c : all.at)
                c.push_back(Columns::of(k % 2 == 0 ? 0 : 1, c.back(), c[c.size() - 2],
                                        all.shared[static_cast<std::size_t>(k) % 8]));
        return all.joined(12);
    };
    CHECK(packs_of(f) >= 60 * (3 + 2) * 2);
    agrees(f);
}

TEST_CASE("Functions of what a loop reads are computed four at a time", "[native]")
{
    const auto f = [](const D& x) {
        Columns all(x, 4, 2);
        for (std::size_t k = 0; k < 8; ++k) all.shared[k] = sin(all.shared[k]) * cos(all.shared[k]);
        D sum = all.shared[0];
        for (int k = 0; k < 200; ++k) sum = sum * 0.7 + all.shared[static_cast<std::size_t>(k) % 8];
        for (int k = 0; k < 100; ++k)
            for (List& c : all.at) c.push_back(Columns::of(0, c.back(), c[c.size() - 2], sum));
        return all.joined(20);
    };
    CHECK(packs_of(f) >= 100 * 3 + 4);
    agrees(f);
}

TEST_CASE("Numbers that wait for each other are computed one by one, each once", "[native]")
{
    const auto chain = [](const D& x) {
        Columns all(x, 1, 1);
        List& c = all.at[0];
        for (std::size_t k = 0; k < 800; ++k)
            c.push_back(c.back() * all.shared[k % 8] + all.shared[(k + 3) % 8]);
        for (int k = 0; k < 80; ++k) c.push_back(0.5 * c.back());
        return all.joined(80);
    };
    const Counts one = counts_of(chain);
    CHECK(one.statements == one.operations - 3 * one.left);
    agrees(chain);
    const auto between = [](const D& x) {  // lanes wait for each other by way of another pack
        Columns all(x, 4, 2);
        all.wait_for_each_other(400);
        return all.joined(30);
    };
    const Counts none = counts_of(between);
    CHECK(none.packs > 0);
    CHECK(none.left == 0);
    CHECK(none.statements == none.operations);
    agrees(between);
}

TEST_CASE("What is behind numbers that wait for each other is still packed", "[native]")
{
    const auto f = [](const D& x) {
        Columns all(x, 4, 1);
        all.wait_for_each_other(4);
        for (std::size_t k = 0; k < 300; ++k)
            for (std::size_t c = 0; c < 4; ++c)
                all.at[c].push_back(all.at[c].back() * all.shared[k % 8] + all.shared[c] * 0.3);
        return all.joined(25);
    };
    const Counts count = counts_of(f);
    CHECK(count.left < count.packs);
    CHECK(count.left >= 500);
    CHECK(count.statements == count.operations - 3 * count.left);
    agrees(f);
}

TEST_CASE("Packs in the steps of a loop, in branches, and behind a checkpoint", "[native]")
{
    const auto columns = [](const D& x) {
        Columns all(x, 8, 2);
        for (std::size_t k = 0; k < 60; ++k)
            for (List& c : all.at) c.push_back(Columns::of(0, c.back(), c[c.size() - 2], all.shared[k % 8]));
        return reshape(all.joined(16), {16, 8});
    };
    CHECK(packs_of(columns) > 100);
    const auto first = [&](const D& x) { return view(columns(x), 0); };
    agrees([&](const D& x) {
        return wg::scan([&](const D& s) { return std::pair(first(s), columns(s)); }, x, 3).second;
    });
    agrees([&](const D& x) {
        return wg::cond(
            view(x, 0) > 0.0, [&](const D& z) { return columns(z); },
            [&](const D& z) { return columns(-z) * 2.0; }, x);
    });
    agrees(
        [&](const D& x) { return wg::grad([&](const D& z) { return sum(wg::checkpoint(columns)(z)); })(x); });
}

TEST_CASE("A lane is read by itself where the pack is made, and behind it", "[native]")
{
    const auto f = [](const D& x) {
        Columns all(x, 4, 2);
        for (std::size_t k = 0; k < 150; ++k) {
            const auto before = all.at;
            for (std::size_t c = 0; c < 4; ++c)
                all.at[c].push_back(before[c].back() * all.shared[k % 8] - before[(c + 1) % 4].back() * 0.3);
            if (k % 40 == 10) all.shared[k % 8] = all.at[2].back() * 0.5;
        }
        return all.joined(25);
    };
    CHECK(packs_of(f) >= 400);
    agrees(f);
}

TEST_CASE("A number with another operation, or with another number in the text, is no lane", "[native]")
{
    const auto other = [](const D& x) {
        Columns all(x, 4, 1);
        for (std::size_t k = 0; k < 150; ++k)
            for (std::size_t c = 0; c < 4; ++c) {
                const D &a = all.at[c].back(), b = a * all.shared[k % 8];
                all.at[c].push_back(c == 2 && k == 20 ? b - a : b + a);
            }
        return all.joined(25);
    };
    CHECK(packs_of(other) >= 250);
    agrees(other);
    const auto literal = [](const D& x) {
        Columns all(x, 4, 1);
        for (std::size_t k = 0; k < 150; ++k)
            for (std::size_t c = 0; c < 4; ++c) {
                const D& a = all.at[c].back();
                all.at[c].push_back(a * (c == 1 && k == 140 ? 0.25 : 0.5) + all.shared[k % 8]);
            }
        return all.joined(25);
    };
    CHECK(packs_of(literal) >= 250);
    agrees(literal);
}

TEST_CASE("Random columns of numbers have the same bits in tiles and native code", "[native]")
{
    const char* const wanted = std::getenv("WENGERT_TEST_COLUMNS");
    const std::uint64_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 5;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        INFO(seed);
        CHECK(packs_of(drawn(seed)) > 0);
        agrees(drawn(seed));
    }
}

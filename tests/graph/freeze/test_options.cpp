// Options of freeze that other files do not test: background compilation, a memory limit, one trace for every batch size.
#include "catch.hpp"

#include <unistd.h>

#include <wengert/graph/native/native.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;
using D = Tensor<double>;

TEST_CASE("tiles serve while a compiler runs, and results stay")
{
    const auto f = value_and_grad([](const D& x) { return sum(x * x * (x + 1.5)); });
    const D x = normal<double>(Key(static_cast<std::uint64_t>(::getpid())), {3000});
    const auto expected = f(x);
    const auto frozen = freeze(f, {.backend = native, .background = true});
    for (int i = 0; i < 8; ++i) {
        const auto [value, gradient] = frozen(x);
        CHECK(value.item() == expected.first.item());
        CHECK(allclose(gradient, expected.second, 0.0));
        ::usleep(50000);
    }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("a backend that fails in the background says so")
{
    constexpr Backend failing{"failing", [](const Graph&, const PlanOptions&) -> std::unique_ptr<Executable> {
                                  throw Error("there is no such thing here");
                              }};
    const auto frozen = freeze([](const D& x) { return exp(x); }, {.backend = failing, .background = true});
    const D x = ones<double>({3});
    for (int i = 0; i < 500 && !contains("no such thing").match(frozen.explain()); ++i) {
        CHECK(frozen(x)(0).item() == exp(x)(0).item());
        ::usleep(10000);
    }
    CHECK_THAT(frozen.explain(), contains("no such thing") && contains("as tiles"));
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("what native leaves to the library is counted")
{
    const auto left = [](const auto& f, const D& x) {
        const auto frozen = freeze(f, {.backend = native});
        static_cast<void>(frozen(x));
        CHECK(frozen.stats().uncompiled <= frozen.stats().kernels);
        const bool compiled = !contains("as tiles").match(frozen.explain());
        return compiled ? std::optional<std::size_t>(frozen.stats().uncompiled) : std::nullopt;
    };
    const D x = ones<double>({8, 40});
    const auto all = left([](const D& y) { return exp(y) * y + 1.0; }, x);
    const auto not_all = left([](const D& y) { return amax(exp(y), {0}) * 2.0; }, x);
    CHECK((!all || *all == 0));
    CHECK((!not_all || *not_all == 1));
}

TEST_CASE("a memory limit is kept, with the same bits, or refused with the least that can be")
{
    const D w = 0.1 * normal<double>(Key(1), {32, 32}), x = normal<double>(Key(2), {64, 32});
    const auto f = grad([w](const D& x) {
        D s = x;
        for (int i = 0; i < 20; ++i) s = tanh(matmul(s, w)) + 0.5 * sin(s);
        return sum(s * s);
    });
    const auto free = freeze(f);
    const D expected = free(x);
    const std::size_t limit = free.stats().arena_bytes * 7 / 10;
    const auto limited = freeze(f, {.memory_limit = limit});
    for (int i = 0; i < 3; ++i) CHECK(allclose(limited(x), expected, 0.0));
    CHECK(limited.stats().arena_bytes <= limit);
    CHECK(limited.stats().recomputed_ops > 0);
    CHECK_THROWS_WITH(freeze(f, {.memory_limit = 1000})(x),
                      contains("1000") && contains("smallest") && contains("(test_options.cpp:"));
}

TEST_CASE("two traces serve every batch size")
{
    const auto loss = [](const D& x, const D& w) {
        const D h = tanh(matmul(x, w));
        return mean(h * h) + sum(concatenate({h, ones<double>({x.size(0), 1})}, 1));
    };
    const D w = normal<double>(Key(1), {5, 3});
    const auto eager = value_and_grad<0, 1>(loss);
    const auto frozen = freeze(eager, {.dynamic = {0}});
    for (int batch : {4, 7, 2, 9, 1, 4, 9, 30}) {
        const D x = normal<double>(Key(2), {batch, 5});
        const auto a = frozen(x, w), b = eager(x, w);
        CHECK(a.first.item() == b.first.item());
        CHECK(allclose(std::get<0>(a.second), std::get<0>(b.second), 0.0));
        CHECK(allclose(std::get<1>(a.second), std::get<1>(b.second), 0.0));
    }
    CHECK(frozen.stats().traces == 2);
    CHECK(frozen.stats().specialised == 4);
}

TEST_CASE("what depends on the extent in another way is traced again")
{
    const auto f = [](const D& x) {
        return sum(x) * static_cast<double>(x.size(0) * x.size(0)) + (x.size(0) > 5 ? 1.0 : 0.0);
    };
    const auto frozen = freeze(f, {.dynamic = {0}});
    for (int batch : {2, 3, 4, 5, 6, 7, 8}) {
        const D x = ones<double>({batch});
        CHECK(frozen(x).item() == f(x).item());
        CHECK(frozen(x).item() == f(x).item());
    }
}

TEST_CASE("graphs for other extents are used when the function does what they say")
{
    const auto head = [](const D& x) { return sum(view(x, range(0, 3)) * 2.0); };
    const auto squared_extent = [](const D& x) {
        return sum(x) * static_cast<double>(x.size(0) * x.size(0));
    };
    const auto gram = [](const D& x) { return mean(wengert::square(matmul(x, transpose(x)))); };
    const auto loop = [](const D& x) {
        return scan([](const D& s, const D& row) { return std::pair(s * 0.5 + sum(row), std::tuple()); },
                    D(0.0), x)
            .first;
    };
    const auto check = [](const auto& f, std::initializer_list<std::int64_t> extents) {
        const auto frozen = freeze(f, {.dynamic = {0}});
        const auto gradient = freeze(grad(f), {.dynamic = {0}});
        for (std::int64_t n : extents)
            for (int k = 0; k < 3; ++k) {
                const D x = normal<double>(Key(static_cast<std::uint64_t>(n + k)), {n, 2});
                CHECK(allclose(frozen(x), f(x), 1e-13));
                CHECK(allclose(gradient(x), grad(f)(x), 1e-13));
                CHECK(allclose(grad(frozen)(x), grad(f)(x), 1e-13));
            }
    };
    check(head, {50, 60, 2, 7});
    check(squared_extent, {2, 3, 5, 4});
    check(gram, {4, 6, 5, 3});
    check(loop, {2, 4, 5, 3});
}

TEST_CASE("unchecked, a graph for another extent must at least fit the arguments")
{
    const auto f = [](const D& x, const D& y) { return sum(x) + sum(y); };
    const auto frozen = freeze(f, {.check = false, .dynamic = {0, 1}});
    for (const auto& [n, m] :
         {std::pair<std::int64_t, std::int64_t>{4, 5}, {5, 7}, {6, 100}, {6, 2}, {7, 11}})
        CHECK(frozen(ones<double>({n}), ones<double>({m})).item() == static_cast<double>(n + m));
    const D bias = ones<double>({4, 3});
    const auto branches = [&](const D& x) { return x.size(0) == 4 ? sum(x + bias) : sum(x); };
    const auto other = freeze(branches, {.check = false, .dynamic = {0}});
    for (std::int64_t n : {4, 1, 5, 4})
        CHECK(other(ones<double>({n, 3})).item() == branches(ones<double>({n, 3})).item());
}

TEST_CASE("freeze: {.dynamic} names arguments that there are")
{
    const auto square = freeze([](const D& x) { return x * x; }, {.dynamic = {0, 1}});
    CHECK_THROWS_AS(square(D{1.0, 2.0}), OptionError);
    CHECK(
        allclose(freeze([](const D& x) { return x * x; }, {.dynamic = {0}})(D{1.0, 2.0}), D{1.0, 4.0}, 0.0));
}

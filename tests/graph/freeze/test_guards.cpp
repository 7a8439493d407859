// Guards: programs whose way through C++ depends on data, each path of which must be right whenever it is taken.
#include "graph/freeze/frozen_beside.hpp"

TEST_CASE("a branch on a comparison is guarded, both paths are kept")
{
    const auto f = [](const Tensor<float>& x) {
        if (sum(x) > 0.0f) return x * 2.0f;
        return x - 1.0f;
    };
    auto frozen = wg::freeze(f, unchecked());
    const Tensor<float> up{1.0f, 2.0f}, down{-1.0f, -2.0f}, zero{0.0f, -0.0f};
    check_beside(frozen, f, std::vector{up, down, zero});
    CHECK(frozen.stats().traces == 2);
    CHECK(frozen.stats().eager_calls == 0);
    CHECK(frozen.stats().guard_failures > 0);
    REQUIRE(frozen.stats().failures.size() == 1);
    CHECK(frozen.stats().failures[0].at.line > 0);
    CHECK(frozen.stats().failures[0].count == frozen.stats().guard_failures);
}

TEST_CASE("a NaN that was read is met by any NaN, whatever its sign")
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto f = [](const Tensor<double>& x) {
        const double y = x(1).item();
        return x * (y != y ? 2.0 : y);
    };
    const wg::Backend backends[] = {wg::tile, wg::interpret};
    for (const wg::Backend& backend : backends) {
        wg::FreezeOptions options = unchecked();
        options.backend = backend;
        auto frozen = wg::freeze(f, options);
        for (const double y : {nan, std::copysign(nan, -1.0), std::copysign(nan, 1.0)})
            CHECK(frozen(Tensor<double>{3.0, y})(0).item() == 6.0);
        CHECK(frozen.stats().traces == 1);
        CHECK(frozen(Tensor<double>{3.0, 5.0})(0).item() == 15.0);
        CHECK(frozen.stats().traces == 2);
    }
}

TEST_CASE("NaN takes the branch that it takes in C++")
{
    const auto f = [](const Tensor<double>& x) {
        if (sum(x) > 0.0) return x * 2.0;
        if (sum(x) <= 0.0) return x * 3.0;
        return x * 5.0;
    };
    auto frozen = wg::freeze(f, unchecked());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    check_beside(frozen, f,
                 std::vector{Tensor<double>{1.0, 1.0}, Tensor<double>{-1.0, 0.0}, Tensor<double>{nan, 1.0}});
    CHECK(frozen.stats().traces == 3);
}

TEST_CASE("the loop's trip count depends on data")
{
    const auto f = [](Tensor<double> x) {
        int steps = 0;
        while (steps < 50 && static_cast<bool>(sum(square(x)) > 1.0)) {
            x = x * 0.5 + 0.01;
            ++steps;
        }
        return x * static_cast<double>(steps);
    };
    auto frozen = wg::freeze(f, unchecked());
    std::vector<Tensor<double>> calls;
    for (double scale : {0.1, 3.0, 5.0, 9.0, 20.0, 40.0, 77.0})
        calls.push_back(Tensor<double>{scale, -scale, 0.3 * scale});
    check_beside(frozen, f, calls);
    CHECK(frozen.stats().traces <= 8);
    CHECK(frozen.stats().replays > 0);
}

TEST_CASE("more paths than are kept: the rest runs eagerly and right")
{
    const auto f = [](Tensor<double> x) {
        while (sum(x) < 20.0) x += 1.0;
        return x;
    };
    wg::FreezeOptions o = unchecked();
    o.paths = 3;
    auto frozen = wg::freeze(f, o);
    std::vector<Tensor<double>> calls;
    for (int k = 0; k < 12; ++k) calls.push_back(Tensor<double>{static_cast<double>(k)});
    check_beside(frozen, f, calls);
    CHECK(frozen.stats().traces == 3);
    CHECK(frozen.stats().eager_calls > 0);
    CHECK_THAT(frozen.explain(), contains("options.paths"));
}

namespace {

struct Tree {
    Tensor<double> value;
    std::vector<Tree> children;
};

Tree tree(int depth, double seed)
{
    Tree t{Tensor<double>{seed, 1.0 - seed}, {}};
    for (int k = 0; k < depth; ++k) t.children.push_back(tree(depth - 1 - k, seed * 0.7 + k));
    return t;
}

Tensor<double> folded(const Tree& t, const Tensor<double>& w)
{
    Tensor<double> h = tanh(t.value * w);
    for (const Tree& c : t.children) h = h + folded(c, w) * sum(h);
    return h;
}

/// Depth by data: it goes on into the half whose sum is larger.
Tensor<double> descend(const Tensor<double>& x, const Tensor<double>& w)
{
    if (x.size() == 1) return sum(x * w);
    const auto half = static_cast<std::int64_t>(x.size() / 2);
    const Tensor<double> a = view(x, wg::range(0, half)), b = view(x, wg::range(half, wg::placeholders::_));
    if (sum(a) > sum(b)) return descend(a, w) * 2.0;
    if (sum(b) > 1.0) return descend(b, w) + 1.0;
    return sum(b) * sum(w);
}

}  // namespace

TEST_CASE("recursive structs: their structure is guarded, their tensors are inputs")
{
    const auto f = [](const Tree& t, const Tensor<double>& w) { return folded(t, w); };
    auto frozen = wg::freeze(f, unchecked());
    const Tensor<double> w{0.5, -0.25};
    for (int round = 0; round < 3; ++round)
        for (int depth = 0; depth < 4; ++depth) {
            const Tree t = tree(depth, 0.1 * (round + 1));
            CHECK(same_bits(frozen(t, w), f(t, w)));
        }
    CHECK(frozen.stats().traces == 4);
    CHECK(frozen.stats().replays == 8);
}

TEST_CASE("recursion whose depth depends on data, and its gradient")
{
    const auto f = [](const Tensor<double>& x, const Tensor<double>& w) { return descend(x, w); };
    auto frozen = wg::freeze(f, unchecked());
    const auto g = wg::grad<0>(f);
    auto frozen_gradient = wg::freeze(g, unchecked());
    std::vector<std::tuple<Tensor<double>, Tensor<double>>> calls;
    const Tensor<double> w{0.5, -1.25};
    calls.emplace_back(Tensor<double>{1.0, 2.0, 3.0, 4.0}, w);
    calls.emplace_back(Tensor<double>{9.0, 2.0, 3.0, 4.0}, w);
    calls.emplace_back(Tensor<double>{0.0, 0.0, 0.5, 0.0}, w);
    calls.emplace_back(Tensor<double>{1.0, 2.0, -3.0, 4.0}, w);
    check_beside(frozen, f, calls);
    check_beside(frozen_gradient, g, calls);
    CHECK(frozen.stats().replays > 0);
    CHECK(frozen_gradient.stats().replays > 0);
}

TEST_CASE("values that escape to plain C++ are guarded exactly")
{
    const auto by_item = [](const Tensor<double>& x) { return x * std::cos(sum(x).item()); };
    const auto by_data = [](const Tensor<double>& x) {
        const Tensor<double> y = x + 1.0;
        double worst = 0;
        for (std::size_t i = 0; i < y.size(); ++i) worst = std::max(worst, y.data()[i]);
        return x / worst;
    };
    const auto by_array = [](const Tensor<double>& x) {
        const Tensor<double> y = x * 2.0;
        return x + y.array()(1);
    };
    const auto by_write = [](const Tensor<double>& x) {
        Tensor<double> y = x * 3.0;
        {
            auto w = write(y);
            w.data()[0] += w.data()[1];
        }
        return y * x;
    };
    const auto by_conversion = [](const Tensor<double>& x) { return x * static_cast<double>(x(0)); };
    const auto by_closeness = [](const Tensor<double>& x) {
        return wg::allclose(x, Tensor<double>{1.0, 2.0}) ? x * 2.0 : x * 3.0;
    };
    const auto by_index = [](const Tensor<double>& x) { return x(argmax(x).item()) * x; };
    const std::vector<Tensor<double>> calls{Tensor<double>{1.0, 2.0}, Tensor<double>{2.0, 1.0},
                                            Tensor<double>{1.0, 2.0 + 1e-12}};
    const auto check = [&](const auto& f) {
        auto frozen = wg::freeze(f, unchecked());
        check_beside(frozen, f, calls);
        CHECK(frozen.stats().traces <= 3);
    };
    check(by_item);
    check(by_data);
    check(by_array);
    check(by_write);
    check(by_conversion);
    check(by_closeness);
    check(by_index);
}

TEST_CASE("a value that escapes and always changes ends in eager calls")
{
    const auto f = [](const Tensor<double>& x) { return x * sum(x).item(); };
    auto frozen = wg::freeze(f, unchecked());
    for (int k = 0; k < 40; ++k) {
        const Tensor<double> x{0.1 * k, 1.0};
        CHECK(same_bits(frozen(x), f(x)));
    }
    CHECK(frozen.stats().traces <= 16);
    CHECK(frozen.stats().eager_calls > 0);
    CHECK_THAT(frozen.explain(), contains("escapes") && contains("test_guards.cpp"));
}

TEST_CASE("an operation that only the other branch allows does not throw before the guard is looked at")
{
    const auto f = [](const Tensor<double>& x, const Tensor<std::int64_t>& i) {
        if (i < std::int64_t(3)) return take(x, i, 0) * 2.0;
        return sum(x);
    };
    auto frozen = wg::freeze(f, unchecked());
    std::vector<std::tuple<Tensor<double>, Tensor<std::int64_t>>> calls;
    for (int i : {0, 2, 7, 1000000})
        calls.emplace_back(Tensor<double>{1.0, 2.0, 4.0}, Tensor<std::int64_t>(i));
    check_beside(frozen, f, calls);
    CHECK(frozen.stats().traces == 2);
}

TEST_CASE("an index out of range throws in a replay as it does in f")
{
    const auto f = [](const Tensor<double>& x, const Tensor<std::int64_t>& i) { return take(x, i, 0) * 2.0; };
    const auto g =
        wg::grad<0>([&](const Tensor<double>& x, const Tensor<std::int64_t>& i) { return sum(f(x, i)); });
    const auto h = [](const Tensor<std::int64_t>& i) { return wg::one_hot<double>(i, 3); };
    const auto s = [](const Tensor<double>& x, const Tensor<std::int64_t>& i) {
        return scatter_add(x, i, x * 2.0, 0);
    };
    const auto c = [](const Tensor<double>& x, const Tensor<std::int64_t>& i) {
        return cross_entropy(outer(x, x), i);
    };
    const Tensor<double> x{1.0, 2.0, 4.0};
    const Tensor<std::int64_t> good{0, -1, 2}, also{2, 2, 0}, bad{0, 3, 1}, labels{0, 1, 2};
    const auto check = [&](const auto& call, const auto& eager, const Tensor<std::int64_t>& fits) {
        CHECK(same_bits(call(fits), eager(fits)));
        CHECK(same_bits(call(fits), eager(fits)));
        CHECK_THROWS_AS(call(bad), wg::IndexError);
        CHECK(same_bits(call(fits), eager(fits)));
    };
    auto ff = wg::freeze(f, unchecked());
    check([&](auto& i) { return ff(x, i); }, [&](auto& i) { return f(x, i); }, also);
    auto fg = wg::freeze(g, unchecked());
    check([&](auto& i) { return fg(x, i); }, [&](auto& i) { return g(x, i); }, good);
    auto fh = wg::freeze(h, unchecked());
    check(fh, h, labels);
    auto fs = wg::freeze(s, unchecked());
    check([&](auto& i) { return fs(x, i); }, [&](auto& i) { return s(x, i); }, good);
    auto fc = wg::freeze(c, unchecked());
    check([&](auto& i) { return fc(x, i); }, [&](auto& i) { return c(x, i); }, labels);
}

TEST_CASE("an exception thrown by f while it is traced leaves nothing behind")
{
    bool fail = true;
    const auto f = [&](const Tensor<double>& x) {
        Tensor<double> y = x * 2.0;
        if (fail) throw std::runtime_error("no");
        return y;
    };
    auto frozen = wg::freeze(f, unchecked());
    const Tensor<double> x{1.0, 2.0};
    CHECK_THROWS_AS(frozen(x), std::runtime_error);
    CHECK(wg::recorder() == nullptr);
    fail = false;
    CHECK(same_bits(frozen(x), f(x)));
    CHECK(same_bits(frozen(x), f(x)));
    CHECK(frozen.stats().traces == 1);
    CHECK(frozen.stats().replays == 1);
}

TEST_CASE("cotangents that are all zero at the trace are no reason to leave a rule out")
{
    const auto f = wg::grad([](const Tensor<double>& x) {
        const Tensor<double> h =
            relu(matmul(reshape(relu(x), {2, 2}), Tensor<double>{{1.0, -2.0}, {3.0, 4.0}}));
        return sum(square(var(h, {0}))) + sum(softmax(h)) + prod(sum(h, {0}));
    });
    auto frozen = wg::freeze(f, unchecked());
    check_beside(frozen, f,
                 std::vector{Tensor<double>{-1.0, -2.0, -3.0, -4.0}, Tensor<double>{1.0, 2.0, 3.0, -4.0},
                             Tensor<double>{0.0, 1.0, 0.0, 2.0}});
    CHECK(frozen.stats().traces == 1);
}

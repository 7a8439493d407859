// What a frozen function takes and returns, what it keeps, what it says about itself.
#include "graph/freeze/frozen_beside.hpp"

#include <array>
#include <map>
#include <optional>

namespace {

using D = Tensor<double>;

enum class Kind { sum, product };

struct Settings {
    double rate = 1.0;
    int steps = 2;
    bool twice = false;
    Kind kind = Kind::sum;
    std::string name = "a";
    std::optional<D> bias;
};
struct Batch {
    std::array<D, 2> parts;
    std::map<std::string, D> named;
    Tensor<std::int64_t> labels;
    Settings settings;
};

D combined(const Batch& b)
{
    const Settings& s = b.settings;
    D y = b.parts[0] + b.parts[1] * s.rate;
    for (int k = 0; k < s.steps; ++k) y = tanh(y) * (s.twice ? 2.0 : 1.0);
    for (const auto& [name, t] : b.named) y = name == s.name ? y * t : y + t;
    if (s.bias) y = y + *s.bias;
    y = take(y, b.labels, 0);
    return s.kind == Kind::sum ? sum(y) : prod(y);
}
Batch batch(double seed)
{
    return {
        {D{seed, 1.0, -seed}, D{0.5, seed, 2.0}}, {{"a", D(seed)}, {"b", D{1.0, 2.0, seed}}}, {0, 2, 2}, {}};
}

}  // namespace

TEST_CASE("arguments of any struct: tensors are inputs, everything else is guarded by value")
{
    auto frozen = wg::freeze(combined, unchecked());
    std::vector<std::tuple<Batch>> calls;
    const auto with = [&](const auto& change) {
        for (double seed : {0.3, -1.2}) {
            Batch b = batch(seed);
            change(b);
            calls.emplace_back(b);
        }
    };
    with([](Batch&) {});
    with([](Batch& b) { b.settings.rate = 0.5; });
    with([](Batch& b) { b.settings.rate = -0.0; });
    with([](Batch& b) { b.settings.rate = 0.0; });
    with([](Batch& b) { b.settings.steps = 3; });
    with([](Batch& b) { b.settings.twice = true; });
    with([](Batch& b) { b.settings.kind = Kind::product; });
    with([](Batch& b) { b.settings.name = "b"; });
    with([](Batch& b) { b.settings.bias = D(1.0); });
    with([](Batch& b) { b.settings.bias = D{1.0, 2.0, 3.0}; });
    with([](Batch& b) { b.named.erase("b"); });
    with([](Batch& b) { b.named["c"] = D(2.0); });
    with([](Batch& b) { b.labels = Tensor<std::int64_t>{1}; });
    check_beside(frozen, combined, calls);
    CHECK(frozen.stats().traces == 13);
    CHECK(frozen.stats().eager_calls == 0);
}

TEST_CASE("results of any struct, numbers and texts among them")
{
    struct Report {
        D loss;
        std::vector<D> parts;
        std::map<std::string, D> named;
        std::optional<D> extra;
        int count;
        std::string text;
    };
    const auto f = [](const D& x) {
        Report r{sum(x), {}, {}, {}, 0, "small"};
        for (const D& row : x) {
            r.parts.push_back(row * 2.0);
            ++r.count;
        }
        r.named["square"] = square(x);
        if (sum(x) > 3.0) {
            r.extra = x;
            r.text = "large";
        }
        return r;
    };
    auto frozen = wg::freeze(f);
    for (int round = 0; round < 4; ++round)
        for (const D& x : {D{1.0, 1.0}, D{2.0, 3.0}, D{1.0, 1.0, 0.5}}) {
            const Report r = frozen(x), e = f(x);
            CHECK(same_bits(r.loss, e.loss));
            REQUIRE(r.parts.size() == e.parts.size());
            for (std::size_t k = 0; k < r.parts.size(); ++k) CHECK(same_bits(r.parts[k], e.parts[k]));
            CHECK(same_bits(r.named.at("square"), e.named.at("square")));
            CHECK(r.extra.has_value() == e.extra.has_value());
            CHECK(r.count == e.count);
            CHECK(r.text == e.text);
        }
    CHECK(frozen.stats().traces == 3);
    CHECK(frozen.stats().replays == 9);
}

TEST_CASE("texts in quotes: a graph for each text, wherever it lies")
{
    const auto f = [](const D& x, const char* mode) {
        return sum(std::string(mode ? mode : "none") == "twice" ? x * 2.0 : sin(x));
    };
    const D x{1.0, 2.0};
    auto frozen = wg::freeze(f, unchecked());
    char text[] = "twice";
    const char* const pointer = text;
    for (int round = 0; round < 3; ++round) {
        CHECK(same_bits(frozen(x, "twice"), sum(x * 2.0)));
        CHECK(same_bits(frozen(x, pointer), sum(x * 2.0)));
        CHECK(same_bits(frozen(x, "other"), sum(sin(x))));
    }
    CHECK(frozen.stats().traces == 2);
    text[0] = 'T';
    CHECK(same_bits(frozen(x, pointer), sum(sin(x))));
    CHECK(same_bits(frozen(x, ""), sum(sin(x))));
    CHECK(same_bits(frozen(x, static_cast<const char*>(nullptr)), sum(sin(x))));
    CHECK(frozen.stats().traces == 5);
    CHECK(same_bits(wg::grad(frozen)(x, "twice"), x * 0.0 + 2.0));
    auto gradient = wg::freeze(wg::grad(f), unchecked());
    for (int round = 0; round < 3; ++round) CHECK(same_bits(gradient(x, "twice"), x * 0.0 + 2.0));
    D y = D(0.0);
    auto into = frozen.into(y);
    into(x, "twice");
    CHECK(same_bits(y, sum(x * 2.0)));
    auto of_string =
        wg::freeze([](const D& t, const std::string& by) { return by == "twice" ? t * 2.0 : t; });
    for (int round = 0; round < 3; ++round) CHECK(same_bits(of_string(x, "twice"), x * 2.0));
    CHECK(same_bits(of_string(x, "once"), x));
}

TEST_CASE("no arguments, void of tensors, and moved-from arguments")
{
    const D c{1.0, 2.0};
    auto frozen = wg::freeze([&](int n) { return c * static_cast<double>(n); }, unchecked());
    CHECK(same_bits(frozen(2), c * 2.0));
    CHECK(same_bits(frozen(3), c * 3.0));
    CHECK(same_bits(frozen(2), c * 2.0));
    CHECK(frozen.stats().traces == 2);
    D gone{1.0};
    const D taken = std::move(gone);
    auto other = wg::freeze([](const D& x) { return x * 2.0; });
    CHECK_THROWS_AS(other(gone), wg::TapeError);
    CHECK(other(taken).size() == 1);
}

TEST_CASE("integers, bools and casts")
{
    using W = Tensor<std::int64_t>;
    const auto f = [](const W& n, const Tensor<bool>& b) {
        const W m = where(b, n * n, -n) + std::int64_t(1);
        return std::pair(sum(m), wg::cast<double>(m) / 3.0);
    };
    auto frozen = wg::freeze(f, unchecked());
    for (int round = 0; round < 3; ++round)
        for (const W& n : {W{1, 2, 3}, W{-4, 5, 1000000007}}) {
            const Tensor<bool> b = n > std::int64_t(1);
            CHECK(same_bits(frozen(n, b).first, f(n, b).first));
            CHECK(same_bits(frozen(n, !b).second, f(n, !b).second));
        }
    CHECK(frozen.stats().traces == 1);
}

TEST_CASE("the least recently used shape goes")
{
    wg::FreezeOptions o = unchecked();
    o.shapes = 3;
    auto frozen = wg::freeze([](const D& x) { return sum(x); }, o);
    const auto of = [&](std::int64_t n) { return frozen(wg::full<double>({n}, 1.0)).item(); };
    for (std::int64_t n : {1, 2, 3, 1, 4}) CHECK(of(n) == static_cast<double>(n));
    CHECK(frozen.stats().traces == 4);
    CHECK(frozen.stats().evictions == 1);
    CHECK(of(1) == 1.0);
    CHECK(frozen.stats().traces == 4);  // 2 has gone, not 1
    CHECK(of(2) == 2.0);
    CHECK(frozen.stats().traces == 5);
}

TEST_CASE("stats and explain say what happened")
{
    auto frozen = wg::freeze(
        [](const D& x) {
            if (x(0) > 0.0) return tanh(x) * 2.0;
            return x * 3.0;
        },
        unchecked());
    CHECK_THAT(frozen.explain(), contains("not been called"));
    frozen(D{1.0, 2.0});
    CHECK_THAT(frozen.explain(), contains("first call"));
    frozen(D{1.0, 2.0, 3.0});
    CHECK_THAT(frozen.explain(), contains("shapes"));
    frozen(D{-1.0, 2.0});
    CHECK_THAT(frozen.explain(), contains("branch at") && contains("test_freeze.cpp"));
    frozen(D{2.0, 2.0});
    std::ostringstream text;
    text << frozen.stats();
    CHECK_THAT(text.str(), contains("3 traces") && contains("1 replays") && contains("guard at"));
    const wg::Graph& g = frozen.graph(D{-5.0, 1.0});
    CHECK(g.guards().size() == 1);
    CHECK(frozen.stats().traces == 3);
    bool tripled = false;
    for (const auto& n : frozen.recorded(D{-5.0, 1.0}).nodes())
        tripled = tripled || (n.constant && n.constant->count == 1 && n.dtype == wg::DType::float64 &&
                              *n.constant->as<double>() == 3.0);
    CHECK(tripled);  // the graph of these arguments, not of the last call
}

TEST_CASE("random keys are arguments")
{
    const auto f = [](const wg::Key& key, const D& x) {
        const auto [a, b] = wg::split(key);
        const D noise = wg::normal<double>(a, {4}) + wg::uniform<double>(wg::fold_in(b, 3), {4}, -1.0, 1.0);
        const auto keys = wg::split(b, 3);
        return noise * x + where(wg::bernoulli(keys[2], {4}, 0.3), x, x * 2.0) +
               wg::cast<double>(wg::randint(keys[1], {4}, 0, 10)) +
               wg::dropout_mask<double>(keys[0], {4}, 0.5) + wg::cast<double>(wg::permutation(a, 4));
    };
    auto frozen = wg::freeze(f, unchecked());
    std::vector<std::tuple<wg::Key, D>> calls;
    for (std::uint64_t seed : {1u, 2u, 77u}) calls.emplace_back(wg::Key(seed), D{1.0, 2.0, 3.0, 4.0});
    check_beside(frozen, f, calls);
    CHECK(frozen.stats().traces == 1);
    const auto next = [](const wg::Key& key) {
        const auto [a, b] = wg::split(key);
        return std::pair(wg::normal<double>(a, {2}), b);
    };
    auto chain = wg::freeze(next);
    wg::Key k(5), e(5);
    for (int i = 0; i < 6; ++i) {
        auto [x, k1] = chain(k);
        auto [y, e1] = next(e);
        CHECK(same_bits(x, y));
        CHECK((k1.secret == e1.secret && k1.stream == e1.stream));
        k = k1;
        e = e1;
    }
    CHECK(chain.stats().traces == 1);
}

TEST_CASE("node by node with a callback")
{
    std::vector<std::string> seen;
    wg::FreezeOptions o = unchecked();
    o.backend = wg::interpret;
    o.optimize = false;
    o.callback = [&](const wg::GraphNode& n, wg::ValueId, const wg::Block& value) {
        if (n.primitive) seen.push_back(std::string(n.primitive->name) + wg::to_string(value.shape));
    };
    auto frozen = wg::freeze([](const D& x) { return sum(sin(x)); }, o);
    frozen(D{1.0, 2.0});
    CHECK(seen.empty());
    frozen(D{1.0, 2.0});
    CHECK(seen == std::vector<std::string>{"sin(2)", "sum()"});
}

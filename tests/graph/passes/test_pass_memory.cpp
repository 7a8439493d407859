// Rematerialisation: the limit holds, the bits stay, and what cannot be done is refused with the number that can.
#include "catch.hpp"
#include "graph/passes/pass_graphs.hpp"

#include <charconv>
#include <random>

#include <wengert/graph/passes/memory_limit.hpp>
#include <wengert/ops/random.hpp>

using namespace pass_graphs;

namespace {

constexpr std::int64_t n = 1000;  // 8,000 bytes
constexpr std::size_t each = 8000;
constexpr double tanh_time = wg::CostModel{}.f64.transcendental;
bool close(double x, double y) { return std::abs(x - y) <= 1e-9 * std::abs(y); }

/// h ← tanh(h) `depth` times, and the derivative of Σ h with respect to the first.
Graph chain(std::size_t depth)
{
    Builder<double> b;
    std::vector<ValueId> h = {b.input({n})};
    for (std::size_t k = 0; k < depth; ++k) h.push_back(b.one<wg::Tanh>(h.back()));
    b.g.output(b.sum(h.back(), {0}, false));
    ValueId g = b.input({n});
    for (std::size_t k = depth; k > 0; --k) g = b.pull<wg::Tanh, 1>(0, {g, h[k]});
    b.g.output(g);
    return std::move(b.g);
}

/// liveness_peak by its definition: at each node what is made by then and still read, through views, then or later.
std::size_t peak_by_definition(const Graph& g)
{
    const auto layouts = wg::tiling::layouts_of(g);
    std::vector<std::size_t> last(g.size(), 0);
    for (ValueId v = 0; v < g.size(); ++v) {
        last[layouts[v].root] = std::max<std::size_t>(last[layouts[v].root], v);
        for (ValueId i : g.node(v).inputs)
            last[layouts[i].root] = std::max<std::size_t>(last[layouts[i].root], v);
    }
    for (const wg::Guard& guard : g.guards()) last[layouts[guard.value].root] = g.size();
    std::size_t peak = 0;
    for (ValueId now = 0; now < g.size(); ++now) {
        std::size_t bytes = 0;
        for (ValueId v = 0; v <= now; ++v) {
            bool counts = g.node(v).kind == Kind::operation && layouts[v].root == v && last[v] >= now;
            for (ValueId o : g.outputs()) counts = counts && layouts[o].root != v;
            if (counts)
                bytes += (element_count(g.node(v).shape) * wg::size_of(g.node(v).dtype) + 63) / 64 * 64;
        }
        peak = std::max(peak, bytes);
    }
    return peak;
}

std::size_t smallest_limit(const Graph& g)
{
    wg::RematReport report;
    try {
        wg::rematerialise(g, 0, report);
        return 0;
    } catch (const wg::MemoryError& e) {
        const std::string text = e.what(), mark = "cannot be kept: ";
        const char* from = text.c_str() + text.find(mark) + mark.size();
        std::size_t bytes = 0;
        std::from_chars(from, text.c_str() + text.size(), bytes);
        return bytes;
    }
}

}  // namespace

TEST_CASE("the liveness peak, counted by hand")
{
    Builder<double> b;
    const ValueId x = b.input({10}), y = b.one<wg::Exp>(x), z = b.one<wg::Tanh>(y);  // 80 bytes take 128
    const ValueId w = b.reshape(b.add(y, z), {2, 5}), s = b.sum(w, {0, 1}, false);
    b.g.output(b.one<wg::Abs>(s));
    CHECK(wg::liveness_peak(b.g) == 3 * 128);  // y, z and their sum
    CHECK(peak_by_definition(b.g) == 3 * 128);
    CHECK(wg::liveness_peak(Graph()) == 0);
    CHECK(wg::liveness_peak(chain(8)) == 8 * each + each);  // h1 … h8 and one cotangent
}

TEST_CASE("a limit holds")
{
    const Graph g = chain(24);
    const Blocks in = {block<double>({n}, {0.5, -0.25, 2}), block<double>({n}, {1})};
    const std::size_t before = wg::liveness_peak(g);
    double extra = 0;
    for (const std::size_t part : {100U, 70U, 50U, 35U}) {
        wg::RematReport report;
        const std::size_t limit = before * part / 100;
        const Graph h = wg::rematerialise(g, limit, report);
        CHECK(wg::liveness_peak(h) <= limit);
        CHECK(peak_by_definition(h) == report.peak_after);
        CHECK(report.peak_before == before);
        CHECK(h.size() == g.size() + report.recomputed);
        CHECK(report.extra_work >= extra);  // less memory, more work
        CHECK(close(report.extra_work, static_cast<double>(report.recomputed) * n * tanh_time));
        extra = report.extra_work;
        CHECK(same_values(run(g, in), run(h, in)));
        CHECK(wg::liveness_peak(wg::passes::common_subexpressions(h)) <= limit);  // no pass undoes it
    }
    CHECK(extra > 0);
}

TEST_CASE("the smallest limit is named, and can be had")
{
    const Graph g = chain(16);
    const std::size_t smallest = smallest_limit(g);
    CHECK(smallest < wg::liveness_peak(g) / 2);
    CHECK(smallest >= 3 * each);  // a cotangent, its successor and what it is made of
    wg::RematReport report;
    CHECK(wg::liveness_peak(wg::rematerialise(g, smallest, report)) <= smallest);
    CHECK_THROWS_AS(wg::rematerialise(g, smallest - 64, report), wg::MemoryError);
}

TEST_CASE("products are repeated only where nothing else helps, draws never")
{
    Builder<double> b;
    const ValueId x = b.input({50, 50}), p = b.matmul(x, x), q = b.one<wg::Exp>(x);
    ValueId v = b.one<wg::Tanh>(x);
    for (int k = 0; k < 3; ++k) v = b.add(b.one<wg::Tanh>(v), v);
    b.g.output(b.add(b.multiply(v, q), p));
    const std::size_t matrix = 20032;  // 20,000 in units of 64
    wg::RematReport report;
    REQUIRE(wg::liveness_peak(b.g) == 5 * matrix);
    const Graph four = wg::rematerialise(b.g, 4 * matrix, report);
    CHECK(report.recomputed == 1);
    CHECK(close(report.extra_work, 2500 * wg::CostModel{}.f64.transcendental));  // exp
    const Graph three = wg::rematerialise(b.g, 3 * matrix, report);
    CHECK(report.recomputed >= 2);
    CHECK(report.extra_work >= 125000 * wg::CostModel{}.f64.product);  // and the product
    const Blocks in = {block<double>({50, 50}, {0.01, 0.02, -0.03})};
    CHECK(same_values(run(b.g, in), run(three, in)));

    Builder<double> c;
    const ValueId key = c.g.input(wg::DType::int64, {2});
    using Draw = wg::Draw<wg::detail::NormalFill>;
    const Draw draw{{{n}}};
    const auto& normal = wg::structural_primitive<Draw, xsimd::default_arch, double, std::int64_t>;
    const ValueId r = c.g.operation(normal, wg::keep_parameters(normal, &draw), {key}, {n});
    ValueId w = c.input({n});
    for (int k = 0; k < 3; ++k) w = c.add(c.one<wg::Tanh>(w), w);
    c.g.output(c.add(w, r));
    CHECK(smallest_limit(c.g) == wg::liveness_peak(c.g));
}

TEST_CASE("views of what is recomputed are made again")
{
    Builder<double> b;
    const ValueId x = b.input({n}), y = b.one<wg::Exp>(x), z = b.reshape(y, {10, 100}),
                  t = b.transpose(z, {1, 0});
    ValueId v = b.one<wg::Tanh>(x);
    for (int k = 0; k < 4; ++k) v = b.add(b.one<wg::Tanh>(v), v);
    b.g.output(b.add(b.reshape(v, {100, 10}), t));
    b.g.output(b.sum(z, {0}, false));
    wg::RematReport report;
    const Graph h = wg::rematerialise(b.g, 3 * each, report);
    CHECK(wg::liveness_peak(b.g) == 4 * each);
    CHECK(wg::liveness_peak(h) == 3 * each);
    const Blocks in = {block<double>({n}, {0.5, -0.25, 2})};
    CHECK(same_values(run(b.g, in), run(h, in)));
}

TEST_CASE("random graphs keep their bits and their limits")
{
    std::mt19937_64 random(7);
    const auto pick = [&](std::size_t m) { return static_cast<std::size_t>(random() % m); };
    for (int round = 0; round < 60; ++round) {
        INFO("round " << round);
        Builder<double> b;
        std::vector<ValueId> values = {b.input({20, 20}), b.input({20, 20})};
        for (std::size_t k = 0; k < 60; ++k) {
            const ValueId x = values[pick(values.size())], y = values[values.size() - 1 - pick(2)];
            switch (pick(5)) {
            case 0: values.push_back(b.one<wg::Tanh>(x)); break;
            case 1: values.push_back(b.transpose(x, {1, 0})); break;
            case 2: values.push_back(pick(4) ? b.one<wg::Abs>(y) : b.matmul(x, y)); break;
            default: values.push_back(b.add(x, y));
            }
        }
        b.g.output(values.back());
        b.g.output(values[values.size() - 3]);
        const Graph g = wg::passes::dead_code(b.g);
        const Blocks in = {block<double>({20, 20}, {0.1, -0.2, 0.3}),
                           block<double>({20, 20}, {0.01, 0.5, -1})};
        const std::size_t before = wg::liveness_peak(g), least = smallest_limit(g);
        CHECK(before == peak_by_definition(g));
        CHECK(least <= before);
        for (const std::size_t limit : {least, (least + before) / 2}) {
            wg::RematReport report;
            const Graph h = wg::rematerialise(g, limit, report);
            CHECK(peak_by_definition(h) <= limit);
            CHECK(same_values(run(g, in), run(h, in)));
            for (ValueId v = 0; v < h.size(); ++v)
                for (ValueId i : h.node(v).inputs) REQUIRE(i < v);
        }
    }
}

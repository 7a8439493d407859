// Plans of graphs that are really run: groups, buffers and lifetimes, and the time of each kernel.
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/look/plan.hpp>
#include <wengert/graph/run/program.hpp>

#include <set>

#include "graph/look/look_check.hpp"
#include "graph/plan/plan_check.hpp"
#include "graph/look/reading.hpp"
#include "graph/tile/tile_common.hpp"

using namespace tile_test;
using F = Tensor<float>;
using List = std::vector<F>;

namespace {

/// A small network's loss and gradients: products, views, sums, chains, small inputs that are copied into the arena.
struct Example {
    Blocks inputs{random_block<float>({16, 8}), random_block<float>({8, 32}, 2), random_block<float>({32}, 3),
                  random_block<float>({32, 4}, 4)};
    Graph graph = graph_of<float>(
        [](const List& w) {
            const auto loss = [](const List& p) {
                const F h = tanh(matmul(p[0], p[1]) + p[2]);
                return mean(square(transpose(matmul(h, p[3])) - 0.5f) * sum(h, {1}));
            };
            const auto [value, gradients] = value_and_grad(loss)(w);
            List out{value};
            for (const F& g : gradients) out.push_back(g);
            return out;
        },
        inputs);
};

std::vector<std::string> names_in(const std::string& list)
{
    std::vector<std::string> names;
    for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = std::min(list.find(", ", at), list.size());
        names.push_back(list.substr(at, end - at));
        at = end + 2;
    }
    return names;
}

}  // namespace

TEST_CASE("the plan of a graph: groups in order, buffers apart, lifetimes that cover all readers")
{
    const Example example;
    const auto executable = Backend(tile).compile(example.graph, {});
    const GraphPlan plan = inspect(example.graph, tile);
    CHECK(plan.kernels.size() == executable->stats.kernels);
    CHECK(plan.arena_bytes == executable->stats.arena_bytes);
    CHECK(plan.lower_bound == executable->stats.arena_lower_bound);
    CHECK(plan.memory.size() > 2);
    look::check_plan(example.graph, plan);
    bool fused = false;
    for (const PlannedKernel& k : plan.kernels) {
        const auto names = names_in(k.name);
        fused = fused || names.size() > 1;
        CHECK(k.at.line > 0);
        std::set<std::string> own;
        for (ValueId v : k.nodes) own.insert(std::string(example.graph.node(v).primitive->name));
        if (k.name.find("...") == std::string::npos)
            for (const std::string& name : names) CHECK(own.count(name) == 1);
    }
    CHECK(fused);
}

TEST_CASE("text with a plan's comments reads back; Graphviz gets a cluster for each group")
{
    const Example example;
    const GraphPlan plan = inspect(example.graph, tile);
    const std::string text = to_text(example.graph, plan.notes);
    CHECK_THAT(text, contains("(matmul), "));
    CHECK_THAT(text, contains("buffer 0 @ "));
    CHECK_THAT(text, contains("view of %"));
    CHECK_THAT(text, contains("in output 1, live "));
    CHECK_THAT(text, contains("test_look_plan.cpp:"));
    CHECK(look::unsaid(example.graph, text) == "");
    const std::string dot = to_dot(example.graph, plan.notes);
    for (std::size_t k = 0; k < plan.kernels.size(); ++k)
        CHECK_THAT(dot, contains("subgraph cluster_" + std::to_string(k) + " {"));
    CHECK(look::accepted(dot, "dot", "-Tsvg -o /dev/null"));
}

TEST_CASE("a profiled run: an event for each kernel, in order, named as the groups")
{
    const Example example;
    const Blocks before = copies(example.inputs);
    const auto events = profile(example.graph, example.inputs, tile, 3);
    const GraphPlan plan = inspect(example.graph, tile);
    REQUIRE(events.size() == 3 * plan.kernels.size());
    for (std::size_t e = 0; e < events.size(); ++e) {
        const PlannedKernel& kernel = plan.kernels[e % plan.kernels.size()];
        CHECK(events[e].group == static_cast<std::int32_t>(e % plan.kernels.size()));
        CHECK(events[e].name == kernel.name);
        CHECK(events[e].site == to_string(kernel.at));
        CHECK(events[e].seconds >= 0);
        if (e > 0) CHECK(events[e].start >= events[e - 1].start + events[e - 1].seconds - 1e-12);
    }
    const auto times = kernel_times(events);
    CHECK(times.size() == plan.kernels.size());
    for (const KernelTime& t : times) CHECK(t.calls == 3);
    CHECK(look::accepted(to_chrome_trace(events), "python3",
                         "-c 'import json, sys; e = json.load(open(sys.argv[1]))[\"traceEvents\"]; "
                         "groups = {x[\"args\"][\"group\"] for x in e}; "
                         "sys.exit(len(e) != " +
                             std::to_string(events.size()) +
                             " or len(groups) != " + std::to_string(plan.kernels.size()) + ")'"));
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(identical(*before[i], *example.inputs[i]));
}

TEST_CASE("a watched program computes the same bits; one that is not timed has no step more")
{
    const Example example;
    PlanWatch watch;
    watch.timed = true;
    PlanOptions options;
    options.watch = &watch;
    const auto timed = Backend(tile).compile(example.graph, options);
    Blocks in = copies(example.inputs), out, plain = copies(example.inputs), expected;
    timed->run(in, out);
    Backend(tile).compile(example.graph, {})->run(plain, expected);
    REQUIRE(out.size() == expected.size());
    for (std::size_t k = 0; k < out.size(); ++k) CHECK(identical(*out[k], *expected[k]));
    for (std::size_t k = 0; k + 1 < watch.ticks.size(); ++k) CHECK(watch.ticks[k] <= watch.ticks[k + 1]);
    CHECK(watch.ticks.front() > 0);

    // three library calls are three steps
    const Graph products =
        graph_of<float>([](const List& x) { return List{matmul(matmul(matmul(x[0], x[0]), x[0]), x[0])}; },
                        {random_block<float>({30, 30})});
    const auto steps = [&](PlanWatch* to) {
        PlanOptions with;
        with.watch = to;
        const auto program = Backend(tile).compile(products, with);
        return static_cast<tiling::Program&>(*program).steps().size();
    };
    PlanWatch quiet;
    CHECK(steps(nullptr) == 3);
    CHECK(steps(&quiet) == 3);
    CHECK(quiet.ticks.empty());
    CHECK(steps(&watch) == 9);
}

TEST_CASE("updated inputs, guards and inputs that do not fit")
{
    const Blocks in{random_block<float>({300, 4}), random_block<float>({300, 4}, 2)};
    Graph g = graph_of<float>([](const List& x) { return List{x[0] - 0.5f * tanh(x[1])}; }, in);
    g.update(0, 0);
    const Blocks before = copies(in);
    CHECK(profile(g, in, tile, 2).size() == 2 * inspect(g, tile).kernels.size());
    CHECK(identical(*in[0], *before[0]));
    CHECK(profile(g, in, tile, 0).empty());

    CHECK_THROWS_AS(profile(g, {in[0]}, tile), ShapeError);
    CHECK_THROWS_AS(profile(g, {in[0], random_block<float>({4})}, tile), ShapeError);
    CHECK_THROWS_AS(profile(g, {in[0], random_block<double>({300, 4})}, tile), DTypeError);

    const auto no = make_block(DType::float32, Shape{300, 4});
    std::memset(no->data, 0, no->bytes());
    g.guard({g.outputs()[0], no, Read::elements, {"here.cpp", 7}});
    CHECK_THROWS_WITH(profile(g, in, tile), contains("does not hold") && contains("here.cpp:7"));
}

TEST_CASE("native code's groups; a backend that plans nothing; a graph without operations")
{
    const Example example;
    const GraphPlan plan = inspect(example.graph, native);
    CHECK(plan.kernels.size() == native.compile(example.graph, {})->stats.kernels);
    look::check_plan(example.graph, plan);
    CHECK(profile(example.graph, example.inputs, native, 2).size() == 2 * plan.kernels.size());

    CHECK(inspect(example.graph, interpret).kernels.empty());
    CHECK(profile(example.graph, example.inputs, interpret, 2).empty());

    Graph empty;
    const auto x = empty.input(DType::float32, {3});
    empty.output(x);
    CHECK(inspect(empty, tile).kernels.empty());
    CHECK(profile(empty, {random_block<float>({3})}, tile, 2).empty());
}

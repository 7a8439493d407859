// What emitted functions return: 0, the number of the first guard that does not hold, or that of what met a wrong index.
#include "graph/c/emit_programs.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/ops/view.hpp>

namespace {

using D = Tensor<double>;
using Count = Tensor<std::int64_t>;

std::vector<Ref<Block>> blocks(const D& x) { return {x.any().value}; }

/// Halved until it is short: the number of halvings is that of the guards that say "go on".
Program halvings(const std::string& name, const D& x)
{
    return program<double>(name, {x}, [](const std::vector<D>& w, const auto& out) {
        D y = w[0];
        while (static_cast<bool>(sum(square(y)) > 1.0)) y = y * 0.5;
        out(y);
    });
}
/// A whole number and an element of the argument read by plain C++, the number second.
Program reading(const D& x)
{
    return program<double>("reading", {x}, [](const std::vector<D>& w, const auto& out) {
        const double first = w[0](0).item();
        const auto n = static_cast<double>(cast<std::int64_t>(sum(w[0])).item());
        out(w[0] * (n + first));
    });
}
/// The gradient of a program with a branch.
Program branching(const D& x)
{
    return gradient<double>("branching", {x}, [](const std::vector<D>& w) {
        return static_cast<bool>(sum(w[0]) > 0.0) ? sum(exp(w[0])) : sum(square(w[0]));
    });
}
/// Doubled in each step, as long as the numbers are small: plain C++ decides.
Program growing(const D& x)
{
    return program<double>("growing", {x}, [](const std::vector<D>& w, const auto& out) {
        const auto step = [](const D& s) {
            return std::pair(static_cast<bool>(sum(s) < 4.0) ? s * 2.0 : s * 0.5, s);
        };
        const auto [end, path] = scan(step, w[0], 3);
        out(end), out(path);
    });
}
Count places(const D& x) { return cast<std::int64_t>(x); }

}  // namespace

TEST_CASE("emitted functions return the number of the first guard that fails", "[emit]")
{
    const std::vector<Program> list = {halvings("two", D{3.0, 0.0}), halvings("none", D{0.5, 0.5}),
                                       reading(D{1.5, 2.0}), branching(D{1.0, -0.5}), growing(D{0.25})};
    CHECK(list[0].graph.guards().size() == 3);
    const Compiled run(list);
    if (!run.object) return;
    for (const Program& p : list) check(p, *run.object);
    CHECK(run(list[0], blocks(D{0.0, 2.5})) == 0);   // two halvings as well
    CHECK(run(list[0], blocks(D{0.1, 0.1})) == 1);   // none
    CHECK(run(list[0], blocks(D{1.5, 0.1})) == 2);   // one
    CHECK(run(list[0], blocks(D{30.0, 0.1})) == 3);  // more
    CHECK(run(list[1], blocks(D{30.0, 0.1})) == 1);
    CHECK(run(list[2], blocks(D{1.5, 2.25})) == 0);
    CHECK(run(list[2], blocks(D{1.25, 2.0})) == 1);  // both numbers the program reads, the first one reported
    CHECK(run(list[2], blocks(D{1.5, 3.0})) == 2);
    CHECK(run(list[3], blocks(D{0.25, -0.125})) == 0);
    CHECK(run(list[3], blocks(D{0.25, -0.5})) == 1);
    CHECK(list[4].graph.guards().size() == 1);
    CHECK(run(list[4], blocks(D{0.75})) == 0);
    CHECK(run(list[4], blocks(D{1.25})) == 1);  // 1.25, 2.5, 5: the third step is another one
    const std::string header = emit_cpp(list[0].graph, "two");
    CHECK_THAT(header, contains("3: the branch of line"));
    CHECK(header.find("4: the branch") == std::string::npos);
}

TEST_CASE("emitted functions return minus the number of what met an index which is none", "[emit]")
{
    const auto table = Tensor<double>{1.0, 2.0, 4.0};
    const std::vector<Program> list = {
        program<double>("taken", {D{0.0, 2.0}},
                        [&](const std::vector<D>& w, const auto& out) { out(take(table, places(w[0]), 0)); }),
        program<double>("steps", {D{0.0, 2.0}},
                        [&](const std::vector<D>& w, const auto& out) {
                            out(scan(
                                    [&](const D& s, const D& x) {
                                        return std::pair(s + take(table, places(expand_dims(x, 0)), 0),
                                                         std::tuple());
                                    },
                                    D{0.0}, w[0])
                                    .first);
                        }),
        program<double>("gathered", {D{0.0, 2.0}}, [&](const std::vector<D>& w, const auto& out) {
            const bool inside = static_cast<bool>(amax(w[0]) < 3.0);
            out(inside ? take(table, places(w[0]), 0) : w[0]);
        })};
    const Compiled run(list);
    if (!run.object) return;
    for (const Program& p : list) check(p, *run.object);
    for (std::size_t i = 0; i < 2; ++i) {
        const Graph& g = list[i].graph;
        const int status = run(list[i], blocks(D{0.0, 3.0}));
        REQUIRE(status < 0);
        REQUIRE(static_cast<std::size_t>(-status) < g.size());
        const GraphNode& n = g.node(static_cast<ValueId>(-status));
        CHECK(n.primitive->name == (i ? "scan" : "take"));
        CHECK_THAT(emit_cpp(g, list[i].name),
                   contains(std::to_string(status) + ": " + std::string(n.primitive->name)));
    }
    CHECK(run(list[2], blocks(D{0.0, 3.0})) == 1);  // not taken at all where the branch is another one
}

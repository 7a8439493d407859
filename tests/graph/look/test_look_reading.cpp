// Graphs as text: nothing is left out of it, and nothing else is in it.
#include "graph/look/reading.hpp"

#include <set>

#include <wengert/ops/every_primitive.hpp>

#include "graph/look/look_graphs.hpp"
#include "graph/plan/plan_check.hpp"
#include "primitives/walk.hpp"

using namespace look;

namespace {

/// A user's operation: x times a factor.
struct Half {
    static constexpr std::string_view name = "half \"of\" it";
    static constexpr bool flat = true;
    double factor = 0.5;
    template <class T> wg::Ref<wg::Block> value(const wg::Ref<wg::Block>& x, const wg::Site&) const
    {
        return wg::copy_of(*x);
    }
};

/// y = 2x, called like something else.
struct Twice {
    static constexpr std::string_view name = "copy";
    template <class V> static V value(const V& x) { return wg::lit(2) * x; }
    template <class V> static constexpr V pull(wg::wrt<0>, const V& g, const V&, const V&)
    {
        return wg::lit(2) * g;
    }
};

/// The names of the library's primitives that may have parameters (each_primitive).
struct WithParameters {
    std::set<std::string> names;
    template <class P, class Out, class... In> void add_elementwise() {}
    template <class To, class From> void add_cast() {}
    template <class Op, class Out, class... In> void add_structural() { names.emplace(Op::name); }
    template <class Op, class T> void add_variadic() { names.emplace(Op::name); }
};

/// Is text[i] a digit behind a point? Several such decimals are one number.
bool in_fraction(const std::string& text, std::size_t i)
{
    const std::size_t before = text.find_last_not_of("0123456789", i);
    return before < i && text[before] == '.';
}

/// Guards, updates, segments and lines of source.
struct Everything {
    Graph graph;
    Everything()
    {
        const auto x = graph.input(wg::DType::float32, {2}, {"/home/someone/heat.cpp", 3});
        const auto y = graph.input(wg::DType::float32, {2});
        const auto& add = wg::elementwise_primitive<wg::Add, xsimd::default_arch, float, float, float>;
        const auto z = graph.operation(add, {}, {x, y}, {2}, {"step.cpp", 12}, 3);
        graph.output(y), graph.output(z);
        graph.update(0, 1);
        graph.guard({z, Tensor<float>{1.0f, 2.5f}.any().value, wg::Read::elements, {"step.cpp", 14}});
    }
};

}  // namespace

TEST_CASE("the text of programs and their gradients says all of their graphs")
{
    for (const auto& [name, graph] : graphs()) {
        INFO(name << "\n" << graph);
        REQUIRE(graph.size() > 1);
        CHECK(unsaid(graph, wg::to_text(graph)) == "");
    }
}

TEST_CASE("their plans are sound, and leave the text as it is but for comments")
{
    for (const auto& [name, graph] : graphs()) {
        INFO(name << "\n" << graph);
        const wg::GraphPlan plan = wg::inspect(graph, wg::tile);
        check_plan(graph, plan);
        CHECK(unsaid(graph, wg::to_text(graph, plan.notes)) == "");
    }
}

TEMPLATE_TEST_CASE("the text of every public function and its derivatives says all of its graph", "", float,
                   double)
{
    using T = TestType;
    for (const wg::Shape& s : {wg::Shape{5}, wg::Shape{2, 3, 4}}) {
        const auto [a, b] = walk::operands<T>(s).front();
        const Graph g = traced(
            [](const std::vector<AnyTensor>& in) {
                walk::List<T> out;
                walk::results(Tensor<T>(in[0]), Tensor<T>(in[1]), true, out);
                std::vector<AnyTensor> any;
                for (const Tensor<T>& y : out) any.push_back(y.any());
                return any;
            },
            {a.any(), b.any()});
        REQUIRE(g.size() > 100);
        CHECK(unsaid(g, wg::to_text(g)) == "");
    }
}

TEST_CASE("every primitive with parameters is in the graphs above")
{
    WithParameters all;
    wg::detail::each_primitive(all);
    for (const auto& named : graphs())
        for (const auto& n : named.graph.nodes())
            if (n.primitive) all.names.erase(std::string(n.primitive->name));
    std::string missing;
    for (const std::string& name : all.names) missing += " " + name;
    CHECK(missing == "");
}

TEST_CASE("every number is there with all its bits")
{
    using Limits = std::numeric_limits<double>;
    const auto odd = std::bit_cast<double>(std::uint64_t{0xfff800000000beefULL});
    const auto quiet = std::bit_cast<float>(std::uint32_t{0xffc00001U});
    const Tensor<double> d{0.1,
                           -0.0,
                           0.0,
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::max(),
                           Limits::lowest(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           -Limits::quiet_NaN(),
                           odd,
                           1.0 / 3};
    const Tensor<float> f{0.1f, -0.0f, 1e-45f, 3e38f, quiet, -1.0f / 3};
    Graph g;
    const auto add = [&](const auto& x) { g.output(g.constant(x.any().value)); };
    add(d), add(f);
    add(Tensor<std::int64_t>{std::numeric_limits<std::int64_t>::min(),
                             std::numeric_limits<std::int64_t>::max(), -1});
    add(Tensor<std::int32_t>{std::numeric_limits<std::int32_t>::min(), 7});
    add(Tensor<bool>{true, false, true});
    add(Tensor<double>(odd)), add(Tensor<bool>(true)), add(Tensor<float>(-0.0f));
    add(wg::zeros<float>({0, 3})), add(wg::zeros<bool>({2, 0}));
    add(wg::full<double>({40, 50}, -0.0)), add(wg::full<float>({1000}, quiet)), add(wg::ones<bool>({3, 3}));
    for (std::int64_t n : {33, 34, 35, 200}) {
        add(wg::arange<double>(static_cast<double>(n)) / 7.0);
        add(wg::arange<float>(static_cast<float>(n)));
        add(wg::arange<double>(static_cast<double>(n)) < 20.0);
        add(wg::arange<std::int64_t>(n));
    }
    add(wg::transpose(wg::reshape(wg::arange<double>(60.0), {6, 10})));
    const std::string text = wg::to_text(g);
    CHECK(unsaid(g, text) == "");
    CHECK_THAT(text, contains("constant splat -0 : f64(40, 50)"));
    CHECK_THAT(text, contains("constant true : bool()"));
    CHECK_THAT(text, contains("constant [] : f32(0, 3)"));
}

TEST_CASE("guards, updates, segments and lines of source are in the text")
{
    const Graph g = Everything().graph;
    const std::string text = wg::to_text(g);
    CHECK(unsaid(g, text) == "");
    for (const char* part : {"# heat.cpp:3\n", "segment 3  # step.cpp:12\n",
                             "guard elements %2 = [1, 2.5]  # step.cpp:14\n", "update 0 by 1\n"})
        CHECK_THAT(text, contains(part));
}

TEST_CASE("a text that says anything else is noticed, whatever character differs")
{
    std::vector<Graph> all{Everything().graph};
    for (const auto& named : graphs())
        if (named.graph.size() < 40) all.push_back(named.graph);
    REQUIRE(all.size() > 10);
    for (const Graph& g : all) {
        const std::string text = wg::to_text(g);
        std::size_t unnoticed = 0;
        for (std::size_t i = 0; i < text.size(); i += &g == &all.front() ? 1 : 7) {
            if (in_fraction(text, i)) continue;
            std::string other = text;
            other[i] = text[i] == '7' ? '8' : '7';
            unnoticed += unsaid(g, other).empty();
            unnoticed += unsaid(g, text.substr(0, i)).empty();
        }
        INFO(text);
        CHECK(unnoticed == 0);
    }
}

TEST_CASE("a graph of which any part differs is noticed")
{
    const std::string text = wg::to_text(Everything().graph);
    const auto differs = [&](auto change) {
        Everything other;
        change(other.graph);
        return unsaid(other.graph, text) != "";
    };
    const auto of = [](Graph& g, wg::ValueId v) -> wg::GraphNode& {
        return const_cast<wg::GraphNode&>(g.node(v));
    };
    CHECK(differs([&](Graph& g) { of(g, 0).dtype = wg::DType::float64; }));
    CHECK(differs([&](Graph& g) { of(g, 1).shape = {3}; }));
    CHECK(differs([&](Graph& g) { of(g, 2).inputs = {1, 0}; }));
    CHECK(differs([&](Graph& g) { of(g, 2).segment = 2; }));
    CHECK(differs([&](Graph& g) { of(g, 2).at.line = 13; }));
    CHECK(differs([&](Graph& g) { of(g, 1).at = {"heat.cpp", 4}; }));
    CHECK(differs([&](Graph& g) {
        of(g, 2).primitive =
            &wg::elementwise_primitive<wg::Subtract, xsimd::default_arch, float, float, float>;
    }));
    CHECK(differs([&](Graph& g) { g.output(0); }));
    CHECK(differs([&](Graph& g) { g.set_outputs({2, 1}); }));
    CHECK(differs([&](Graph& g) { g.update(1, 0); }));
    CHECK(differs([&](Graph& g) { g.guard(g.guards().front()); }));
    CHECK(differs([&](Graph& g) { g.input(wg::DType::float32, {}); }));
}

TEST_CASE(
    "a program's own primitives are in quotes, whatever they are called, and their parameters are there")
{
    Graph g;
    const Half half{0.25};
    const auto& p = wg::structural_primitive<Half, xsimd::default_arch, double, double>;
    g.output(g.operation(p, wg::keep_parameters(p, &half), {g.input(wg::DType::float64, {2})}, {2}));
    const std::string text = wg::to_text(g);
    CHECK_THAT(text, contains(R"(= "half \"of\" it"(%0) {0.25} : f64(2))"));
    CHECK(unsaid(g, text) == "");

    const auto f = [](const std::vector<wg::AnyTensor>& in) {
        const wg::Tensor<float> x(in[0]);
        return std::vector{wg::apply_elementwise<Twice, float>({__FILE__, __LINE__}, x).any()};
    };
    const Graph twice = wg::trace_graph(f, {wg::ones<float>({3}).any().value});
    CHECK_THAT(wg::to_text(twice), contains("= \"copy\"(%0)"));
    CHECK(unsaid(twice, wg::to_text(twice)) == "");
}

// Graphs written as text and read back: the same graph, bit for bit, and clear errors for what is none.
#include "graph/look/reading/parse.hpp"

#include <set>

#include "graph/look/look_graphs.hpp"
#include "graph/plan/plan_check.hpp"

using namespace look;

namespace {

/// The error of a text that is no graph.
struct Refusal {
    std::size_t line = 0;
    std::string what;
};
Refusal refusal(const std::string& text)
{
    try {
        reading::parse_graph(text);
    } catch (const reading::GraphTextError& e) {
        return {e.line, e.what()};
    }
    return {};
}

/// A user's operation: x times a factor.
struct Half {
    static constexpr std::string_view name = "half of it";
    static constexpr bool flat = true;
    double factor = 0.5;
    template <class T> wg::Ref<wg::Block> value(const wg::Ref<wg::Block>& x, const wg::Site&) const
    {
        auto out = wg::copy_of(*x);
        for (std::size_t i = 0; i < out->count; ++i) out->template as<T>()[i] *= static_cast<T>(factor);
        return out;
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

const std::string head = "wengert graph 1\n";

}  // namespace

TEST_CASE("graphs of programs and their gradients read back as they were")
{
    for (const auto& [name, graph] : graphs()) {
        INFO(name << "\n" << graph);
        REQUIRE(graph.size() > 1);
        const std::string text = wg::to_text(graph);
        const Graph read = reading::parse_graph(text);
        CHECK(difference(graph, read) == "");
        CHECK(wg::to_text(read) == text);
    }
}

TEST_CASE("their plans are sound, and text with a plan reads back")
{
    for (const auto& [name, graph] : graphs()) {
        INFO(name << "\n" << graph);
        const wg::GraphPlan plan = wg::inspect(graph, wg::tile);
        check_plan(graph, plan);
        CHECK(wg::to_text(reading::parse_graph(wg::to_text(graph, plan.notes))) == wg::to_text(graph));
    }
}

TEST_CASE("what has been read computes the same bits")
{
    for (const auto& [name, graph] : graphs()) {
        INFO(name);
        const Graph read = reading::parse_graph(wg::to_text(graph));
        std::vector<wg::Ref<wg::Block>> in;
        for (wg::ValueId v : graph.inputs()) {
            const auto& n = graph.node(v);
            in.push_back(wg::zeros_block(n.dtype, n.shape));
            if (n.dtype == wg::DType::float64) in.back() = numbers<double>(n.shape, 0.4).any().value;
            if (n.dtype == wg::DType::float32) in.back() = numbers<float>(n.shape, 0.4).any().value;
        }
        const auto a = outputs_of(graph, in), b = outputs_of(read, in);
        for (std::size_t k = 0; k < a.size(); ++k) CHECK(wg::same_elements(*a[k], *b[k]));
    }
}

TEST_CASE("every primitive of the registry reads back; those with parameters are all in the graphs above")
{
    std::set<std::string> seen;
    for (const auto& named : graphs())
        for (const auto& n : named.graph.nodes())
            if (n.primitive) seen.insert(std::string(n.primitive->name));
    std::string missing;
    reading::registry().each([&](const reading::RegistryEntry& e) {
        const wg::Primitive& p = *e.primitive;
        if (p.value) {
            Graph g;
            std::vector<wg::ValueId> in;
            for (wg::DType d : e.operands) in.push_back(g.input(d, {2, 3}));
            g.output(g.operation(p, {}, in, {2, 3}));
            CHECK(difference(g, reading::parse_graph(wg::to_text(g))) == "");
        } else if (!seen.contains(std::string(p.name)))
            missing += " " + std::string(p.name);
    });
    CHECK(missing == "");
}

TEST_CASE("every number reads back to the same bits")
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
    const Graph read = reading::parse_graph(text);
    CHECK(difference(g, read) == "");
    CHECK_THAT(text, contains("constant splat -0 : f64(40, 50)"));
    CHECK_THAT(text, contains("constant true : bool()"));
    CHECK_THAT(text, contains("constant [] : f32(0, 3)"));
}

TEST_CASE("guards, updates, segments and lines of source read back")
{
    Graph g;
    const auto x = g.input(wg::DType::float32, {2}, {"/home/someone/heat.cpp", 3});
    const auto y = g.input(wg::DType::float32, {2});
    const auto& add = wg::elementwise_primitive<wg::Add, xsimd::default_arch, float, float, float>;
    const auto z = g.operation(add, {}, {x, y}, {2}, {"step.cpp", 12}, 3);
    g.output(y), g.output(z);
    g.update(0, 1);
    g.guard({z, Tensor<float>{1.0f, 2.5f}.any().value, wg::Read::elements, {"step.cpp", 14}});
    const Graph read = reading::parse_graph(wg::to_text(g));
    CHECK(difference(g, read) == "");
    CHECK(wg::to_string(read.node(x).at) == "heat.cpp:3");
    CHECK(wg::to_string(read.node(z).at) == "step.cpp:12");
    CHECK(wg::to_string(read.guards().at(0).at) == "step.cpp:14");
    CHECK(read.node(z).segment == 3);
    CHECK(read.updates() == std::vector<wg::ValueId>{1, wg::no_value});
}

TEST_CASE("text written by hand: labels, types left out, comments")
{
    const Graph g = reading::parse_graph(R"(
# the sum of squares
wengert graph 1
%weights = input : f64(2, 2)

%s=square( %weights )  # heat.cpp:7 | group 3
   %total = sum(%s) {(0, 1) false (2, 2)}
output %total
end # of it
)");
    REQUIRE(g.size() == 3);
    CHECK(wg::to_string(g.node(1).at) == "heat.cpp:7");
    const auto out = outputs_of(g, {Tensor<double>{{1.0, 2.0}, {3.0, 4.0}}.any().value});
    CHECK(*out[0]->as<double>() == 30.0);
}

TEST_CASE("an edited graph computes what the edit says")
{
    std::string text = wg::to_text(
        with_gradients<double>([](const Many<double>& v) { return wg::sin(v[0]); }, {numbers<double>({3})}));
    const auto at = text.find("sin(");
    REQUIRE(at != std::string::npos);
    text.replace(at, 4, "cos(");
    const auto x = Tensor<double>{0.1, 0.2, 0.3};
    const auto out = outputs_of(reading::parse_graph(text), {x.any().value});
    CHECK(*out[0]->as<double>() == Approx(wg::sum(wg::square(wg::cos(x))).item()));
}

TEST_CASE("errors name the line and what is wrong")
{
    const auto check = [](const std::string& text, std::size_t line, const std::string& what) {
        const Refusal r = refusal(text);
        CAPTURE(text);
        CHECK(r.line == line);
        CHECK_THAT(r.what, contains(what));
    };
    check("", 1, "empty");
    check("hello\n", 1, "not a graph");
    check("wengert graph 2\nend\n", 1, "newer");
    check("wengert graph 99999999999999999999\nend\n", 1, "version");
    check(head, 1, "before 'end'");
    check(head + "end\nend\n", 3, "behind the graph's end");
    check(head + "%0 = input : f16(3)\nend\n", 2, "a type such as");
    check(head + "%0 = input : f32(-3)\nend\n", 2, "negative");
    check(head + "%0 = input : f32(99999999999, 99999999999)\nend\n", 2, "too many elements");
    check(head + "%0 = input : f32(3)\n%0 = input : f32(3)\nend\n", 3, "%0 is defined twice");
    check(head + "%0 = tanh(%1) : f32(3)\nend\n", 2, "%1 is not defined");
    check(head + "%0 = input : f32(3)\n%1 = tan(%0) : f32(4)\nend\n", 3, "shape (3), not (4)");
    check(head + "%0 = input : f32(3)\n%1 = frobnicate(%0)\nend\n", 3, "no primitive has this name");
    check(head + "%0 = input : i64(3)\n%1 = tanh(%0)\nend\n", 3, "none that it takes");
    check(head + "%0 = input : f32(3)\n%1 = cast(%0)\nend\n", 3, "do not tell the result's dtype");
    check(head + "%0 = input : f32(3)\n%1 = tanh(%0, %0)\nend\n", 3, "none that it takes");
    check(head + "%0 = input : f32(3)\n%1 = input : f32(4)\n%2 = add(%0, %1)\nend\n", 4, "broadcast");
    check(head + "%0 = input : f32(3)\n%1 = sum(%0) {(1) false (3)}\nend\n", 3, "axes (1)");
    check(head + "%0 = input : f32(3)\n%1 = sum(%0) {(0) false (4)}\nend\n", 3, "say shape (4)");
    check(head + "%0 = input : f32(3)\n%1 = sum(%0) {(0) maybe (3)}\nend\n", 3, "true or false");
    check(head + "%0 = input : f32(3)\n%1 = sum(%0)\nend\n", 3, "is missing");
    check(head + "%0 = input : f32(3)\n%1 = tanh(%0) {1}\nend\n", 3, "is missing");
    check(head + "%0 = constant splat 0 : f64(10000000000)\nend\n", 2, "limit");
    check(head + "%0 = constant [1, 2] : f64(3)\nend\n", 2, "','");
    check(head + "%0 = constant [1, 2, 3, 4] : f64(3)\nend\n", 2, "']'");
    check(head + "%0 = constant [1, 2, 3] : f64(10000000000)\nend\n", 2, "fewer elements");
    check(head + "%0 = constant base64 AAAA : f64(10000000000)\nend\n", 2, "length");
    check(head + "%0 = constant base64 AAA* : i32()\nend\n", 2, "length");
    check(head + "%0 = constant base64 AAAAA*== : i32()\nend\n", 2, "no base64");
    check(head + "%0 = constant base64 Ag== : bool()\nend\n", 2, "neither true nor false");
    check(head + "%0 = input : f32(3)\noutput %1\nend\n", 3, "%1 is not defined");
    check(head + "%0 = input : f32(3)\nupdate 0 by 0\nend\n", 3, "no output 0");
    check(head + "graph @0\n%0 = input : f32(3)\n", 3, "before 'end'");
    check(head + "graph @0\nend\ngraph @0\nend\nend\n", 4, "defined twice");
    check(head + "graph @0\ngraph @1\nend\nend\nend\n", 3, "inside of another");
    const std::string body =
        "graph @0\n%0 = input : f32(3)\n%1 = sin(%0)\noutput %1\nend\n%0 = input : f32(3)\n";
    check(head + body + "%1 = scan(%0) {body @1 steps 3 states 1 xs 0 results (f32(3) at 0) size 3}\nend\n",
          8, "not defined above");
    check(head + body + "%1 = scan(%0) {body @0 steps 3 states 2 xs 0 results (f32(3) at 0) size 3}\nend\n",
          8, "operands are missing");
    check(head + body + "%1 = scan(%0) {body @0 steps 3 states 1 xs 0 results (f32(3) at 1) size 3}\nend\n",
          8, "does not lie in the packed block");
    check(head + body + "%1 = scan(%0) {body @0 steps 3 states 1 xs 0 results (f32(4) at 0) size 9}\nend\n",
          8, "another type");
    const auto bounded = [&](const char* rest) {
        return head + body + "%1 = scan(%0) {body @0 steps 3 states 1 xs 0 snapshots " + rest + "\nend\n";
    };
    check(bounded("3 results (f32(3) at 0) size 3}"), 8, "number of snapshots");
    check(bounded("-1 results (f32(3) at 0) size 3}"), 8, "number of snapshots");
    check(head + body + "%1 = scan_pull(%0) {body @0 steps 3 states 1 snapshots 1 results () size 0}\nend\n",
          8, "a graph is missing");
    check(head + "%0 = input : f32(3)\nguard hope %0 = [1, 2, 3]\nend\n", 3, "truth, item or elements");
}

TEST_CASE("a text truncated at any byte is refused")
{
    const std::string text = wg::to_text(graphs().front().graph);
    for (std::size_t n = 0; n + 1 < text.size(); ++n)
        CHECK_THROWS_AS(reading::parse_graph(text.substr(0, n)), reading::GraphTextError);
}

TEST_CASE("a program's own primitives can be registered")
{
    reading::Registry own = reading::registry();
    own.add_structural<Half, double, double>();
    Graph g;
    const Half half{0.25};
    const auto& p = wg::structural_primitive<Half, xsimd::default_arch, double, double>;
    g.output(g.operation(p, wg::keep_parameters(p, &half), {g.input(wg::DType::float64, {2})}, {2}));
    const std::string text = wg::to_text(g);
    CHECK_THROWS_AS(reading::parse_graph(text), reading::GraphTextError);
    const Graph read = reading::parse_graph(text, own);
    CHECK(difference(g, read) == "");
    CHECK(outputs_of(read, {Tensor<double>{4.0, 8.0}.any().value})[0]->as<double>()[1] == 2.0);
}

TEST_CASE("a primitive of the program's own is never read as the library's of that name")
{
    const auto f = [](const std::vector<wg::AnyTensor>& in) {
        const wg::Tensor<float> x(in[0]);
        return std::vector{wg::apply_elementwise<Twice, float>({__FILE__, __LINE__}, x).any()};
    };
    const std::string text = wg::to_text(wg::trace_graph(f, {wg::ones<float>({3}).any().value}));
    CHECK_THROWS_AS(reading::parse_graph(text), wg::Error);  // not in the registry
    reading::registry().add_elementwise<Twice, float, float>();
    const Graph read = reading::parse_graph(text);
    CHECK(wg::to_text(read) == text);
    CHECK(!read.node(1).primitive->ours);
    const Graph library =
        reading::parse_graph(head + "%0 = input : f32(3)\n%1 = copy(%0) : f32(3)\noutput %1\nend\n");
    CHECK(library.node(1).primitive->ours);
}

TEST_CASE("lines in files of any number, and of long names, read back")
{
    std::string text = head + "%0 = input : f64(3)\n";
    for (int i = 1; i <= 5000; ++i)
        text += "%" + std::to_string(i) + " = tanh(%" + std::to_string(i - 1) + ") : f64(3)  # file" +
                std::to_string(i) + (i == 7 ? std::string(300, 'x') : "") + ".cpp:" + std::to_string(i) +
                "\n";
    text += "output %5000\nend\n";
    CHECK(wg::to_text(reading::parse_graph(text)) == text);
}

// Graphs shown: text, Graphviz, SVG, one page of HTML, traces of a profile.
#include <wengert/graph/look/html.hpp>

#include <wengert/ops/sum.hpp>
#include <wengert/ops/elementwise/trigonometry.hpp>

#include <limits>
#include <sstream>

#include "catch.hpp"
#include "graph/look/look_check.hpp"

namespace wg = wengert;

using look::accepted;
using look::is_xml;

namespace {

/// sum(tanh(x)) + 0.5, with what a user's line and a guard look like.
wg::Graph example()
{
    wg::Graph g;
    const auto& tanh = wg::elementwise_primitive<wg::Tanh, xsimd::default_arch, float, float>;
    const auto& sum = wg::structural_primitive<wg::Sum, xsimd::default_arch, float, float>;
    const auto& add = wg::elementwise_primitive<wg::Add, xsimd::default_arch, float, float, float>;
    const wg::Sum over{{0, 1}, false, {2, 3}};
    const auto x = g.input(wg::DType::float32, {2, 3}, {"/home/me/heat.cpp", 12});
    const auto t = g.operation(tanh, {}, {x}, {2, 3}, {"/home/me/heat.cpp", 13});
    const auto s = g.operation(sum, wg::keep_parameters(sum, &over), {t}, {}, {}, 2);
    const auto half = wg::make_block(wg::DType::float32, {});
    *half->as<float>() = 0.5f;
    const auto y = g.operation(add, {}, {s, g.constant(half)}, {});
    g.output(y);
    g.guard({s, half, wg::Read::item, {"heat.cpp", 15}});
    return g;
}

/// Every tag that is opened is closed, in order; what Python's parser of XML says is tested in CI's scripts.
std::string unclosed(const std::string& page)
{
    std::vector<std::string> open;
    for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
        const std::size_t end = page.find('>', at);
        if (end == std::string::npos) return "a tag without end";
        std::string tag = page.substr(at + 1, end - at - 1);
        if (tag.starts_with("!--")) continue;
        if (tag.starts_with("!") || tag.back() == '/') continue;
        const std::string name =
            tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" \n") - (tag[0] == '/' ? 1 : 0));
        if (tag[0] != '/') {
            open.push_back(name);
        } else {
            if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
            open.pop_back();
        }
    }
    return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

}  // namespace

TEST_CASE("a graph's text has one line a node")
{
    const std::string expected = "wengert graph 1\n"
                                 "%0 = input : f32(2, 3)  # heat.cpp:12\n"
                                 "%1 = tanh(%0) : f32(2, 3)  # heat.cpp:13\n"
                                 "%2 = sum(%1) {(0, 1) false (2, 3)} : f32() segment 2\n"
                                 "%3 = constant 0.5 : f32()\n"
                                 "%4 = add(%2, %3) : f32()\n"
                                 "guard item %2 = 0.5  # heat.cpp:15\n"
                                 "output %4\n"
                                 "end\n";
    CHECK(wg::to_text(example()) == expected);
    std::ostringstream s;
    s << example();
    CHECK(s.str() == expected);
}

TEST_CASE("annotations are comments behind the line")
{
    wg::Annotations notes;
    notes.group = {-1, 0, 0};
    notes.group_name = {"rows"};
    notes.text = {"", "buffer 1 @ 64,\nlive 1-2"};
    const std::string text = wg::to_text(example(), notes);
    CHECK_THAT(
        text,
        contains("%1 = tanh(%0) : f32(2, 3)  # heat.cpp:13 | group 0 (rows), buffer 1 @ 64, live 1-2\n"));
    CHECK_THAT(text, contains("segment 2  # | group 0 (rows)\n"));
}

TEST_CASE("Graphviz takes the graph; groups are clusters; names are escaped")
{
    wg::Annotations notes;
    notes.group = {-1, 0, 0};
    notes.group_name = {"a \"quoted\" \\ name <b> \x80\n"};
    const std::string dot = wg::to_dot(example(), notes);
    CHECK_THAT(dot, contains("subgraph cluster_0"));
    CHECK_THAT(dot, contains("heat.cpp:13"));
    CHECK_THAT(dot, contains("n1 -> n2;"));
    CHECK(accepted(dot, "dot", "-Tsvg -o /dev/null"));
    CHECK(accepted(wg::to_dot(wg::Graph()), "dot", "-Tsvg -o /dev/null"));
}

TEST_CASE("the picture is XML with Graphviz and without")
{
    CHECK(unclosed(wg::to_svg(example(), {}, false)) == "");
    CHECK(is_xml(wg::to_svg(example(), {}, false)));
    CHECK(is_xml(wg::to_svg(example())));
    CHECK(is_xml(wg::to_svg(wg::Graph(), {}, false)));
}

TEST_CASE("the page is XML whatever names hold, and needs no other file")
{
    wg::GraphPage page;
    page.title = "<script>&\"'\x80\xff\x01";
    page.plan.notes.text = {"<&>"};
    page.plan.memory = {{1, 0, 24, 1, 2, "tanh <&>"}, {2, 64, 4, 2, 4, ""}};
    page.plan.arena_bytes = 128;
    page.plan.lower_bound = 28;
    page.times = {{"tanh & sum", 3e-6, 2}, {"<add>", 1e-6, 2}};
    for (bool graphviz : {true, false}) {
        page.graphviz = graphviz;
        const std::string html = wg::to_html(example(), page);
        CHECK(is_xml(html));
        CHECK_THAT(html, contains("75 %"));
        CHECK_THAT(html, contains("tanh &lt;&amp;&gt;: 24 bytes at 0, steps 1 to 2"));
        CHECK(html.find("<script") == std::string::npos);
        CHECK(html.find("href=") == std::string::npos);
        CHECK(html.find("src=") == std::string::npos);
    }
}

TEST_CASE("the memory plan's rectangles lie where the buffers do")
{
    const std::string svg = wg::memory_plan_svg({{7, 0, 100, 0, 0, "low"}, {8, 100, 100, 1, 3, "high"}}, 200);
    // 900 wide for 4 steps, 320 high for 200 bytes, from (70, 10)
    CHECK_THAT(svg, contains("x=\"70\" y=\"170\" width=\"225\" height=\"160\""));
    CHECK_THAT(svg, contains("x=\"295\" y=\"10\" width=\"675\" height=\"160\""));
    CHECK(is_xml(svg));
    CHECK(is_xml(wg::memory_plan_svg({})));
}

TEST_CASE("a profile is valid JSON in microseconds")
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<wg::ProfileEvent> events{
        {"a \"b\" \\ \x80", 0.5, 1.25e-6, 1, "heat.cpp:3"}, {"c\n", 1, -1, 0, ""}, {"c\n", nan, 2e-6, 0, ""}};
    const std::string json = wg::to_chrome_trace(events);
    CHECK_THAT(json,
               contains("\"ts\":500000,\"dur\":1.25,\"pid\":1,\"tid\":1,\"args\":{\"at\":\"heat.cpp:3\"}"));
    CHECK(accepted(json, "python3", "-m json.tool"));
    CHECK(accepted(wg::to_chrome_trace({}), "python3", "-m json.tool"));
    const auto times = wg::kernel_times({{"a", 0, 1, 0, ""}, {"b", 0, 3, 0, ""}, {"a", 0, 1, 0, ""}});
    REQUIRE(times.size() == 2);
    CHECK(times[0].name == "b");
    CHECK(times[1].calls == 2);
    CHECK(times[1].seconds == 2.0);
    const std::vector<wg::ProfileEvent> numbered{{"a", 0, 1, 0, "h:1", 4}, {"a", 0, 2, 0, "h:1", 5}};
    CHECK_THAT(wg::to_chrome_trace(numbered), contains("\"args\":{\"at\":\"h:1\",\"group\":4}"));
    const auto apart = wg::kernel_times(numbered);  // kernels of one name are two
    REQUIRE(apart.size() == 2);
    CHECK(apart[0].group == 5);
    CHECK(apart[0].site == "h:1");
    CHECK(wg::kernel_times({{"a", 0, 3}, {"a", 4, 2}, {"a", 8, 5}})[0].least == 2.0);
}

// save_report: what is written of a frozen function, and that nothing else happens.
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/look/report.hpp>
#include <wengert/wengert.hpp>

#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "graph/look/look_check.hpp"
#include "graph/look/reading.hpp"

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

std::string content(const std::string& path)
{
    std::ifstream in(path);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
}

/// The files of a report, read and removed.
struct Written {
    std::string html, text, dot, trace;
    explicit Written(const wg::ReportFiles& f)
        : html(content(f.html)), text(content(f.text)), dot(content(f.dot)),
          trace(f.trace.empty() ? "" : content(f.trace))
    {
        for (const std::string& path : {f.html, f.text, f.dot, f.trace}) std::remove(path.c_str());
    }
};

std::string path(const char* name) { return std::string(name) + "." + std::to_string(::getpid()); }

std::size_t times_in(const std::string& text, const std::string& part)
{
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

}  // namespace

TEST_CASE("a frozen training step in files; live tensors stay as they are")
{
    D w = wg::normal<double>(wg::Key(1), {6, 3}), b = wg::zeros<double>({3});
    auto step = wg::freeze([&](const D& x, const D& y) {
        const auto loss = [&](const D& v, const D& c) { return mean(square(tanh(matmul(x, v) + c) - y)); };
        const auto [value, gw, gb] = std::tuple_cat(std::tuple(loss(w, b)), wg::grad<0, 1>(loss)(w, b));
        w -= 0.1 * gw;
        b -= 0.1 * gb;
        return value;
    });
    step.live(w, b);
    const D x = wg::normal<double>(wg::Key(2), {40, 6}), y = wg::normal<double>(wg::Key(3), {40, 3});
    step(x, y);
    const D w0 = copy(w), b0 = copy(b);
    const auto replays = step.stats().replays;
    const wg::ReportFiles files = wg::save_report(path("report"), step, x, y);
    CHECK(files.html == path("report") + ".html");
    const Written written(files);
    CHECK(all(w == w0).item());
    CHECK(all(b == b0).item());
    CHECK(step.stats().replays == replays);
    CHECK(step.stats().traces == 1);

    const std::size_t kernels = step.stats().kernels;
    CHECK(look::is_xml(written.html));
    CHECK_THAT(written.html, contains(", " + std::to_string(kernels) + " kernels"));
    CHECK_THAT(written.html, contains("<h2>Time</h2>"));
    CHECK_THAT(written.html, contains("<h2>Memory</h2>"));
    CHECK_THAT(written.html, contains("<td>test_look_report.cpp:"));
    CHECK(look::unsaid(step.graph(x, y), written.text) == "");
    CHECK_THAT(written.text, contains(" | group 0 ("));
    CHECK(times_in(written.dot, "subgraph cluster_") == kernels);
    CHECK(times_in(written.trace, "\"ph\":\"X\"") == 10 * kernels);
    CHECK(look::accepted(written.trace, "python3", "-m json.tool"));
}

TEST_CASE("a report by the function's own backend and options; without a timed run")
{
    auto frozen = wg::freeze([](const D& x) { return exp(x) * sin(x) + sum(x); }, {.backend = wg::native});
    const D x = wg::linspace<double>(0.0, 1.0, 1000);
    const Written written(
        wg::save_report({.path = path("native"), .title = "a <title>", .runs = 0}, frozen, x));
    CHECK_THAT(written.html, contains("<h1>a &lt;title&gt;</h1>"));
    CHECK(written.html.find("<h2>Time</h2>") == std::string::npos);
    CHECK(written.trace == "");
    CHECK(times_in(written.dot, "subgraph cluster_") == frozen.stats().kernels);
}

TEST_CASE("a report of what cannot be frozen, or where nothing can be written, is an error")
{
    auto eager = wg::freeze([](const D& x) { return x * 2.0; });
    const std::string line = "(test_look_report.cpp:" + std::to_string(__LINE__ + 1) + ")";
    CHECK_THROWS_WITH(wg::save_report("/nonexistent/folder/report", eager, D{1.0}), contains(line));
    D kept;
    auto escaping = wg::freeze([&](const D& x) {
        kept = x * 2.0;
        return kept;
    });
    CHECK_THROWS_WITH(wg::save_report(path("none"), escaping, D{1.0}), contains("declare that tensor live"));
}

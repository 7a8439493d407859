// What the library reports: numbers read from variables that leave a result without a derivative.
#include "catch.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/io/print.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/preaccumulate.hpp>

#include <sstream>

namespace wg = wengert;
using T = wg::Tensor<double>;

namespace {

std::vector<std::pair<std::string, wg::Site>> reports;

struct Listening {
    Listening()
        : before(wg::set_report_handler([](const std::string& text, const wg::Site& at) {
              reports.push_back({text, at});
          }))
    {
        reports.clear();
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() { wg::set_report_handler(before); }
    wg::ReportHandler before;
};

}  // namespace

TEST_CASE("a result computed from numbers that were read is reported, once a line", "[reports]")
{
    const Listening on;
    const T x(0.5);
    const int line = __LINE__ + 1;
    const auto f = [](const T& a) { return T(std::sin(a.item())); };
    for (int i = 0; i < 3; ++i) CHECK(wg::grad(f)(x).item() == 0.0);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].first.find("[grad]") == 0);
    CHECK(reports[0].first.find("detach()") != std::string::npos);
    CHECK(reports[0].second.line == line);
    CHECK(std::string(reports[0].second.file).find("test_reports.cpp") != std::string::npos);

    const T v{1.0, 2.0};
    wg::value_and_grad([](const T& a) { return T(a.data()[1]); })(v);
    wg::vjp([](const T& a) { return T{a(0).item(), 1.0}; }, v);
    wg::jvp([](const T& a) { return T(a.array()(0)); }, v, v);
    wg::jacobian([](const T& a) { return T{a(0).item(), a(1).item()}; })(v);
    CHECK(reports.size() == 5);
    wg::grad([](const T& a) {
        return sum(wg::preaccumulate([](const T& b) { return T(b.item() + 1.0); })(a * a));
    })(x);
    CHECK(reports.size() == 6);
    wg::freeze(wg::grad([](const T& a) { return T(a.item() + 2.0); }))(x);
    CHECK(reports.size() == 7);
}

TEST_CASE("reads that cost no derivative are not reported", "[reports]")
{
    const Listening on;
    const T x(-0.5), v{1.0, 2.0};
    wg::grad([](const T& a) { return a.item() <= 0 ? T(0.0) : a * a; })(x);
    wg::grad([](const T& a) { return bool(a <= 0.0) ? T(1.0) : a * a; })(x);
    wg::grad([](const T& a) { return T(a.detach().item()); })(x);
    wg::grad([](const T& a) { return a * a.item(); })(x);
    wg::grad([](const T& a) {
        std::ostringstream out;
        out << a;
        return T(3.0);
    })(x);
    wg::grad([](const T& a) {
        const wg::NoGrad off;
        return T(a.item());
    })(x);
    const auto square = wg::custom_vjp([](const T& a) { return T(a.item() * a.item()); },
                                       [](const T& g, const T&, const T& a) { return 2.0 * a * g; });
    CHECK(wg::grad([&](const T& a) { return square(a) + 0.0; })(x).item() == -1.0);
    CHECK(wg::grad(wg::checkpoint([](const T& a) { return a * a + T(a.item()); }))(x).item() == -1.0);
    const T outer_read = wg::grad(
        [&](const T& a) { return a * wg::grad([&](const T& b) { return b * b + T(a.item()); })(a); })(x);
    CHECK(outer_read.item() == -2.0);
    CHECK(reports.empty());
}

TEST_CASE("a read counts at the innermost level that it depends on", "[reports]")
{
    const Listening on;
    const T x(0.5);
    // the inner result depends on nothing of the inner level, and the number read is the outer variable's
    const auto outer = [](const T& a) { return a * wg::grad([&](const T&) { return T(a.item()); })(a); };
    wg::grad(outer)(x);
    CHECK(reports.empty());
    const auto inner = [](const T& a) { return a * wg::grad([](const T& b) { return T(b.item()); })(a); };
    wg::grad(inner)(x);
    CHECK(reports.size() == 1);
}

TEST_CASE("under AnomalyMode it throws, and the tape is as before", "[reports]")
{
    const Listening on;
    const T x(0.5);
    const auto before = wg::Tape::current().size();
    {
        const wg::AnomalyMode careful;
        CHECK_THROWS_WITH(wg::grad([](const T& a) { return T(a.item() * 2.0); })(x),
                          Catch::Contains("test_reports.cpp"));
    }
    CHECK(wg::Tape::current().size() == before);
    CHECK(reports.empty());
    CHECK(wg::grad([](const T& a) { return a * a; })(x).item() == 1.0);
}

TEST_CASE("a frozen function that is traced in each call says so once", "[reports]")
{
    const Listening on;
    auto f = wg::freeze([](const T& x, double t) { return x * t; });
    for (int i = 0; i < 40; ++i) f(T(1.0), 0.1 * i);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].first.find("[freeze]") == 0);
    CHECK(reports[0].second.line == __LINE__ - 3);
    auto g = wg::freeze([](const T& x, const T& t) { return x * t; });
    for (int i = 0; i < 40; ++i) g(T(1.0), T(0.1 * i));
    CHECK(reports.size() == 1);
}

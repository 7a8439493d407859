// The report of a function that is traced again and again counts traces: a graph for all extents says nothing.
#include "catch.hpp"

#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

int reports = 0;

struct Counting {
    wg::ReportHandler before = wg::set_report_handler([](const std::string& text, const wg::Site&) {
        reports += text.find("this function has been traced for") != std::string::npos;
    });
    Counting() { reports = 0; }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    ~Counting() { wg::set_report_handler(before); }
};

const auto total = [](const D& x) { return sum(sin(x) * 2.0); };
const auto slopes = [](const D& x) { return wg::grad(total)(x); };
/// Another graph for each extent.
const auto other = [](const D& x) {
    D y = x;
    for (std::int64_t k = 0; k < x.shape()[0]; ++k) y = sin(y);
    return y;
};

template <class F> wg::FreezeStats called(const F& f, wg::FreezeOptions options, std::int64_t last)
{
    auto frozen = wg::freeze(f, std::move(options));
    for (std::int64_t n = 1; n <= last; ++n)
        if (!allclose(frozen(wg::ones<double>({n})), f(wg::ones<double>({n})), 1e-12)) FAIL("another value");
    return frozen.stats();
}

}  // namespace

TEST_CASE("a graph for all extents is no retrace, checked or not")
{
    for (const bool check : {true, false}) {
        wg::FreezeOptions options;
        options.dynamic = {0}, options.check = check;
        const Counting counting;
        // one element has no axis to sum over, so that it may have a graph of its own
        CHECK(called(total, options, 40).traces <= 3);
        CHECK(called(slopes, options, 40).traces <= 3);
        CHECK(reports == 0);
    }
}

TEST_CASE("what is traced in each call is reported, with .dynamic and without")
{
    for (const bool dynamic : {true, false}) {
        wg::FreezeOptions options;
        if (dynamic) options.dynamic = {0};
        const Counting counting;
        CHECK(called(other, options, 12).traces == 12);
        CHECK(reports == 1);
    }
    const Counting counting;
    CHECK(called(total, {}, 12).traces == 12);
    CHECK(reports == 1);
}

TEST_CASE("extents of several arguments and plain numbers are told apart")
{
    wg::FreezeOptions options;
    options.dynamic = {0};
    const Counting counting;
    auto scaled = wg::freeze([](const D& x, double w) { return sum(x * w); }, options);
    for (std::int64_t n = 2; n < 14; ++n) CHECK(scaled(wg::ones<double>({n}), 2.0).item() == 2.0 * double(n));
    CHECK(reports == 0);
    for (int k = 0; k < 12; ++k) CHECK(scaled(wg::ones<double>({4}), 3.0 + k).item() == 4.0 * (3.0 + k));
    CHECK(reports <= 1);
    CHECK(scaled.stats().traces >= 12);
}

// mean, prod, amax, amin, var, stddev, norm, logsumexp and sum against the fixtures.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>

using namespace wengert;
using fixtures::Case;
using fixtures::Inputs;

namespace {

/// A public reduction called as the case says: with and without axes.
template <class T, class All, class Over>
void check(const std::string& name, const All& all, const Over& over)
{
    const auto fn = [&](const Inputs<T>& x, const Case& c) {
        const bool keep = c.params.integer("keepdims", 0) != 0;
        if (c.params.has("axes")) return over(x[0], c.params.shape("axes"), keep, c);
        if (!keep && !c.params.has("ddof")) return all(x[0]);
        Axes every;
        for (std::size_t i = 0; i < x[0].dimension(); ++i) every.push_back(static_cast<std::int64_t>(i));
        return over(x[0], every, keep, c);
    };
    constexpr bool single = std::is_same_v<T, float>;
    fixtures::check_cases<T>("reductions", name, fn,
                             single ? fixtures::Tolerance{2e-6, 2e-5} : fixtures::Tolerance{1e-14, 1e-12});
}

std::size_t ddof_of(const Case& c) { return static_cast<std::size_t>(c.params.integer("ddof", 0)); }

}  // namespace

#define OVER(f)                                                                                              \
    [](const auto& x) { return f(x); },                                                                      \
        [](const auto& x, const Axes& a, bool k, const Case&) { return f(x, a, k); }

TEMPLATE_TEST_CASE("reductions: sum, mean, prod against fixtures", "", float, double)
{
    using T = TestType;
    check<T>("sum", OVER(sum));
    check<T>("mean", OVER(mean));
    check<T>("prod", OVER(prod));
}
TEMPLATE_TEST_CASE("reductions: amax, amin against fixtures", "", float, double)
{
    using T = TestType;
    check<T>("amax", OVER(amax));
    check<T>("amin", OVER(amin));
}
TEMPLATE_TEST_CASE("reductions: norm, logsumexp against fixtures", "", float, double)
{
    using T = TestType;
    check<T>("norm", OVER(norm));
    check<T>("logsumexp", OVER(logsumexp));
}
TEMPLATE_TEST_CASE("reductions: var, stddev against fixtures", "", float, double)
{
    using T = TestType;
    const auto var_over = [](const auto& x, const Axes& a, bool k, const Case& c) {
        return var(x, a, k, ddof_of(c));
    };
    const auto std_over = [](const auto& x, const Axes& a, bool k, const Case& c) {
        return stddev(x, a, k, ddof_of(c));
    };
    check<T>(
        "var", [](const auto& x) { return var(x); }, var_over);
    check<T>(
        "stddev", [](const auto& x) { return stddev(x); }, std_over);
}

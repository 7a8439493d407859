// Coarse primitives as finer ones: the same functions, at edges too.
#include "catch.hpp"
#include "graph/passes/pass_graphs.hpp"

#include <wengert/graph/passes/lowering.hpp>

using namespace pass_graphs;

namespace {

const std::vector<double> numbers = {0.5, -1, 2, 3.5, -0.25, 700, 1e-3, 4, -800, 1, 2, 3};

/// The lowered graph's values are the kernel's to a few units in the last place of 1, at these numbers.
template <class F> std::string lowered(const F& f, const std::vector<double>& x = numbers)
{
    Builder<double> b;
    b.g.output(f(b, b.input({3, 4})));
    wg::PassOptions options;
    options.lower = wg::passes::lowering;
    const Graph h = wg::optimize(b.g, options);
    CHECK(same_graph(h, wg::optimize(h, options)));
    const Blocks in = {block<double>({3, 4}, x)}, expected = run(b.g, in), got = run(h, in);
    REQUIRE(got[0]->shape == expected[0]->shape);
    for (std::size_t i = 0; i < got[0]->count; ++i) {
        const double p = got[0]->as<double>()[i], q = expected[0]->as<double>()[i];
        if (std::isfinite(q))
            CHECK(p == Approx(q).epsilon(1e-14).margin(1e-15));
        else
            CHECK((p == q || (p != p && q != q)));
    }
    return names(h);
}

const std::vector<double> infinite = {-infinity, -infinity, -infinity, -infinity, 1, -infinity,
                                      2,         3,         infinity,  1,         2, 3};

}  // namespace

// clang-format off
TEST_CASE("lowered and not")
{
    const auto softmax = [](auto& b, auto x) { return b.on(wg::Softmax{1}, x); };
    CHECK(lowered(softmax) == "amax is_finite where subtract exp sum divide multiply");
    CHECK(lowered(softmax, infinite) == "amax is_finite where subtract exp sum divide multiply");
    const auto log_softmax = [](auto& b, auto x) { return b.on(wg::LogSoftmax{0}, x); };
    CHECK(lowered(log_softmax) == "amax is_finite where subtract exp sum log subtract");
    CHECK(lowered([](auto& b, auto x) { return b.on(wg::SoftmaxPull{1}, x, b.template one<wg::Tanh>(x)); }) == "tanh multiply sum subtract multiply");
    CHECK(lowered([](auto& b, auto x) { return b.on(wg::LogSoftmaxPull{1}, x, b.template one<wg::Tanh>(x)); }) == "tanh sum exp multiply subtract");
    for (bool keepdims : {false, true}) {
        CHECK(lowered([&](auto& b, auto x) { return b.on(wg::Mean{{{1}, keepdims, {3, 4}}}, x); }) == "sum multiply");  // by 1/4
        CHECK(lowered([&](auto& b, auto x) { return b.on(wg::Mean{{{0}, keepdims, {3, 4}}}, x); }) == "sum divide");
        const auto var = [&](auto& b, auto x) { return b.on(wg::Var{{{0, 1}, keepdims, {3, 4}}, 1}, x); };
        lowered(var);
        lowered(var, std::vector<double>(12, 0.1));  // 0, whatever the mean rounds to
        lowered([&](auto& b, auto x) { return b.on(wg::Var{{{0}, keepdims, {3, 4}}, 5}, x); });  // over no degrees of freedom
        const auto logsumexp = [&](auto& b, auto x) { return b.on(wg::LogSumExp{{{1}, keepdims, {3, 4}}}, x); };
        lowered(logsumexp);
        lowered(logsumexp, infinite);
    }
}
// clang-format on

TEST_CASE("mean keeps its bits, and nothing is lowered unless it is asked for")
{
    Builder<float> b;
    const ValueId x = b.input({7, 5});
    b.g.output(b.on(wg::Mean{{{0}, false, {7, 5}}}, x));
    const Blocks in = {block<float>({7, 5}, {0.1, 0.7, -3, 1e-4, 55})};
    const Graph h = wg::passes::lowering(b.g);
    CHECK(names(h) == "sum divide");
    CHECK(same_values(run(b.g, in), run(h, in)));
    CHECK(names(wg::optimize(b.g)) == "mean");
}

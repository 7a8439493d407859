// jacobian and hessian while a graph is traced: one loop over rows or columns, with the values of eager code.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/control.hpp>
#include <wengert/graph/look/graph_text.hpp>
#include <wengert/native.hpp>
#include <wengert/passes.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

D numbers(std::int64_t n) { return sin(wg::arange<double>(static_cast<double>(n)) * 0.7 + 0.3); }

std::size_t loops_in(const wg::Graph& g)
{
    std::size_t n = 0;
    for (const wg::GraphNode& node : g.nodes()) n += wg::loop_parameters(node) != nullptr;
    return n;
}

/// The bits of eager code on every executor, or its values to some rounding errors; returns the graph.
template <class F> wg::Graph check(const F& f, const D& x, double rounding = 0)
{
    wg::Graph g;
    const D wanted = f(x);
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native}) {
        auto frozen = wg::freeze(f, {.backend = backend});
        for (int i = 0; i < 3; ++i)
            CHECK((same_bits(frozen(x), wanted) ||
                   (rounding > 0 && wg::allclose(frozen(x), wanted, rounding))));
        CHECK(frozen.stats().eager_calls == 0);
        g = frozen.graph(x);
    }
    return g;
}

}  // namespace

TEST_CASE("jacobian: a trace has one loop for all rows, or for all columns", "[control]")
{
    const D w = wg::normal<double>(wg::Key(1), {12, 7});
    const auto wide = [=](const D& t) { return tanh(matmul(w, t)) * t(0); };
    const auto tall = [=](const D& t) { return exp(sin(matmul(t, w))); };
    const wg::Graph columns = check(wg::jacobian(wide), numbers(7));
    CHECK((loops_in(columns) == 0 && columns.size() < 30));  // the pass `rows` does all of them at once
    CHECK(loops_in(check(wg::jacobian(tall), numbers(12))) == 1);
    const auto loss = [=](const D& t) { return sum(square(tall(t))) + t(3) * t(4); };
    CHECK(loops_in(check(wg::hessian(loss), numbers(12))) == 1);
    const auto of_matrix = [](const D& t) { return reshape(cos(t) * t(0), {2, 3}) + reshape(t, {2, 3}); };
    CHECK(check(wg::jacobian(of_matrix), numbers(6)).node(0).shape == wg::Shape{6});
    CHECK(wg::freeze(wg::jacobian(of_matrix))(numbers(6)).shape() == wg::Shape({2, 3, 6}));
}

TEST_CASE("jacobian: few rows are traced one after another, and none are zeros", "[control]")
{
    const auto few = [](const D& t) { return view(sin(t) * t(1), wg::range(0, 3)); };
    CHECK(loops_in(check(wg::jacobian(few), numbers(9))) == 0);
    CHECK(loops_in(check(wg::jacobian([](const D& t) {
                             return wg::concatenate({t, t * t, cos(t)}, 0);
                         }),
                         numbers(4))) == 0);
    check(wg::jacobian([](const D& t) { return t * 2.0; }), wg::zeros<double>({0}));
    check(wg::jacobian([](const D& t) { return view(t, wg::range(0, 0)); }), numbers(5));
}

TEST_CASE("jacobian: control flow, branches on data and random numbers in the function", "[control]")
{
    const D x = numbers(6);
    check(wg::jacobian([](const D& t) {
              const auto step = [](const D& s) { return std::pair(tanh(s) + 0.1 * s(0), std::tuple<>()); };
              return wg::scan(step, t, 5).first;
          }),
          x);
    check(wg::jacobian([](const D& t) {
              return wg::cond(
                  sum(t) > 0.0, [&] { return t * t; }, [&] { return -t; });
          }),
          x);
    check(wg::jacobian([](const D& t) { return sum(t).item() > 0 ? t * sin(t) : -t; }), x);
    check(wg::jacobian([](const D& t) { return t * wg::normal<double>(wg::Key(3), {6}) * sum(t); }), x);
    check(wg::jacobian([](const D& t) {
              return wg::checkpoint([](const D& u) { return exp(-u * u) * u(2); })(t * 2.0);
          }),
          x);
    auto branches = wg::freeze(wg::jacobian([](const D& t) { return sum(t).item() > 0 ? t * t : -t; }));
    CHECK(branches(x)(1, 1).item() == 2 * x(1).item());
    CHECK(branches(-x)(1, 1).item() == -1.0);
}

TEST_CASE("jacobian: inside and outside of other transforms", "[control]")
{
    // a loop adds cotangents of its rows in another order than code without one
    const double rounding = 1e-13;
    const D x = numbers(6);
    const auto f = [](const D& t) { return sin(t) * sum(t) + roll(t, 1, 0) * t; };
    const auto penalty = [=](const D& t) { return sum(square(wg::jacobian(f)(t))); };
    check(wg::grad(penalty), x, rounding);
    check([=](const D& t) { return wg::jvp(penalty, t, cos(t)).second; }, x, rounding);
    check(wg::jacobian(wg::grad(penalty)), x, rounding);
    check(wg::vmap(wg::jacobian(f)), wg::normal<double>(wg::Key(5), {3, 6}));
    check(
        wg::jacobian([=](const D& t) { return wg::grad([&](const D& u) { return sum(f(u * t)); })(t * t); }),
        x);
    const D w = numbers(6) + 2.0;  // captured, and a variable of the outer transform
    check(wg::grad([=](const D& v) {
              return sum(sin(wg::jacobian([&](const D& t) { return f(t * v); })(x)) * w);
          }),
          w, rounding);
}

TEST_CASE("jacobian: effects in the function happen once, as in eager code", "[control]")
{
    int calls = 0;
    const auto told = [&](const D& t) {
        wg::host_callback([&](const D&) { ++calls; }, t);
        return t * t;
    };
    const D x = numbers(8);
    const auto in = [&](const auto& f) {
        const int before = calls;
        static_cast<void>(f(x));
        return calls - before;
    };
    const int eager = in(wg::jacobian(told));
    auto frozen = wg::freeze(wg::jacobian(told));
    static_cast<void>(frozen(x));
    CHECK(in(frozen) == eager);
}

// Graphs built by hand: by type and by name, run, differentiated, compared.
#include <wengert/graph/look/builder.hpp>
#include <wengert/graph/look/functions.hpp>

#include <wengert/wengert.hpp>

#include "look_registry.hpp"

#include "catch.hpp"

namespace wg = wengert;
using wg::Graph;
using wg::GraphBuilder;
using wg::Tensor;

namespace {

template <class E, class F> std::string error_of(F f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "no error of this type";
}

/// Σ tanh(w x) with x a vector.
Graph by_type()
{
    GraphBuilder b;
    const auto w = b.input<double>({2, 3});
    const auto x = b.input<double>({3});
    const auto y = b.apply<wg::Tanh>(b.apply(wg::MatMul{false, false, {2, 3}, {3}}, w, x));
    b.output(b.apply(wg::Sum{{0}, false, {2}}, y));
    return b.build();
}
Graph by_name()
{
    GraphBuilder b;
    const auto w = b.input<double>({2, 3});
    const auto x = b.input<double>({3});
    const auto y = b.apply("tanh", {b.apply("matmul", {w, x}, "false false (2, 3) (3)")});
    b.output(b.apply("sum", {y}, "(0) false (2)"));
    return b.build();
}

const Tensor<double> w0{{0.5, -0.25, 1.0}, {0.1, 0.7, -0.3}}, x0{0.3, -0.8, 0.6};

}  // namespace

TEST_CASE("by type and by name the same graph is built, and it computes what the functions do")
{
    CHECK(wg::difference(by_type(), by_name()) == "");
    const auto out = wg::run(by_name(), w0, x0);
    REQUIRE(out.size() == 1);
    CHECK(out.get<double>(0).item() == wg::sum(wg::tanh(wg::matmul(w0, x0))).item());
    CHECK_THROWS_AS(out.get<float>(0), wg::DTypeError);
    CHECK_THROWS_AS(out.get<double>(1), wg::IndexError);
}

TEST_CASE("differentiate: the outputs, then the gradients of the first one")
{
    const auto f = [](const Tensor<double>& w, const Tensor<double>& x) {
        return wg::sum(wg::tanh(wg::matmul(w, x)));
    };
    const Graph g = wg::differentiate(by_type());
    REQUIRE(g.outputs().size() == 3);
    const auto out = wg::run(g, w0, x0);
    const auto [dw, dx] = wg::grad<0, 1>(f)(w0, x0);
    CHECK(wg::allclose(out.get<double>(0), f(w0, x0), 0));
    CHECK(wg::allclose(out.get<double>(1), dw, 0));
    CHECK(wg::allclose(out.get<double>(2), dx, 0));
    SECTION("again: gradients of the same first output once more, the graph being one like any other")
    {
        const auto again = wg::run(wg::differentiate(g), w0, x0);
        REQUIRE(again.size() == 5);
        CHECK(wg::allclose(again.get<double>(3), dw, 1e-15));
    }
    SECTION("a graph may itself be differentiated as a function")
    {
        const auto ran = [&](const Tensor<double>& w) { return wg::run(by_type(), w, x0).get<double>(0); };
        CHECK(wg::allclose(wg::grad(ran)(w0), dw, 0));
    }
}

TEST_CASE("inputs without influence, integers, guards and updates in derivatives")
{
    GraphBuilder b;
    const auto x = b.input<float>({2});
    const auto unused = b.input<float>({3});
    const auto n = b.input<std::int64_t>({});
    const auto y = b.apply<wg::Square>(x);
    b.output(b.apply(wg::Sum{{0}, false, {2}}, y));
    b.update(x, y);
    static_cast<void>(unused);
    Graph g = b.build();
    g.guard({n.id, Tensor<std::int64_t>(3).any().value, wg::Read::item, {"step.cpp", 4}});
    const Graph d = wg::differentiate(g);
    REQUIRE(d.outputs().size() == 4);
    CHECK(d.updates() == std::vector<wg::ValueId>{1, wg::no_value, wg::no_value});
    REQUIRE(d.guards().size() == 1);
    const Tensor<float> at{1.5f, -2.0f}, other{0.0f, 1.0f, 2.0f};
    const auto out = wg::run(d, at, other, Tensor<std::int64_t>(3));
    CHECK(out.get<float>(0).item() == 6.25f);
    CHECK(out.get<float>(2)(1).item() == -4.0f);
    CHECK(wg::allclose(out.get<float>(3), Tensor<float>{0.0f, 0.0f, 0.0f}, 0));
    const std::string error =
        error_of<wg::TapeError>([&] { wg::run(d, at, other, Tensor<std::int64_t>(4)); });
    CHECK_THAT(error, contains("is 4, not 3"));
    CHECK_THAT(error, contains("step.cpp:4"));
}

TEST_CASE("a first output that is no number cannot be differentiated")
{
    GraphBuilder b;
    const auto x = b.input<float>({3});
    b.output(b.apply<wg::Tanh>(x));
    const Graph g = b.build();
    CHECK_THAT(error_of<wg::TapeError>([&] { wg::differentiate(g); }), contains("f32(3)"));
    CHECK_THROWS_AS(wg::differentiate(Graph()), wg::TapeError);
}

TEST_CASE("errors name the node, the operands' shapes and what does not fit")
{
    GraphBuilder b, other;
    const auto x = b.input<float>({3, 4});
    const auto y = b.input<float>({5});
    const auto i = b.input<std::int64_t>({2});
    const auto add = error_of<wg::ShapeError>([&] { b.apply<wg::Add>(x, y); });
    CHECK_THAT(add, contains("[add]"));
    CHECK_THAT(add, contains("%3 of (%0, %1)"));
    CHECK_THAT(add, contains("(3, 4) and (5)"));
    CHECK_THAT(error_of<wg::ShapeError>([&] {
                   b.apply(wg::MatMul{false, false, {3, 4}, {5}}, x, y);
               }),
               contains("columns do not meet rows"));
    CHECK_THAT(error_of<wg::ShapeError>([&] { b.apply("sum", {x}, "(2) false (3, 4)"); }),
               contains("axes (2)"));
    CHECK_THAT(error_of<wg::DTypeError>([&] { b.apply("tanh", {i}); }), contains("int64 (2)"));
    CHECK_THAT(error_of<wg::DTypeError>([&] { b.apply("tahn", {x}); }),
               contains("no primitive has this name"));
    CHECK_THAT(error_of<wg::DTypeError>([&] { b.apply("cast", {x}); }),
               contains("do not tell the result's dtype"));
    CHECK_THAT(error_of<wg::GraphTextError>([&] { b.apply("sum", {x}, "(0) perhaps"); }),
               contains("true or false"));
    CHECK_THAT(error_of<wg::DTypeError>([&] { b.as<double>(x); }), contains("%0 is float32, not float64"));
    CHECK_THAT(error_of<wg::Error>([&] { other.output(x); }), contains("no value of this builder"));
    CHECK_THAT(error_of<wg::ShapeError>([&] { b.input<float>({-1}); }), contains("negative"));
    CHECK_THAT(error_of<wg::ShapeError>([&] { b.update(x, y); }), contains("f32(3, 4)"));
    const auto c = b.as<double>(b.apply("cast", {x}, {}, wg::DType::float64));
    CHECK(b.shape(c) == wg::Shape{3, 4});
    b.output(c);
    const Graph g = b.build();
    CHECK(g.size() == 4);
    CHECK_THAT(error_of<wg::ShapeError>([&] { wg::run(g, Tensor<float>{1.0f}); }),
               contains("1 tensors for 3 inputs"));
    CHECK_THAT(error_of<wg::DTypeError>([&] {
                   wg::run(g, wg::zeros<double>({3, 4}), wg::zeros<float>({5}), wg::zeros<std::int64_t>({2}));
               }),
               contains("input 0 is f32(3, 4), not f64(3, 4)"));
}

TEST_CASE("the first difference of two graphs is told")
{
    const Graph g = by_type();
    CHECK(wg::equal(g, by_name()));
    const auto built = [](double c, wg::Shape shape, bool twice) {
        GraphBuilder b;
        const auto x = b.input<double>(shape);
        const auto y = b.apply<wg::Multiply>(x, b.constant(c));
        b.output(y);
        if (twice) b.output(y);
        return b.build();
    };
    CHECK(wg::difference(built(2, {3}, false), built(2, {3}, false)) == "");
    CHECK_THAT(wg::difference(built(2, {3}, false), built(3, {3}, false)),
               contains("%1: elements differ: 2 and 3"));
    CHECK_THAT(wg::difference(built(0.0, {3}, false), built(-0.0, {3}, false)), contains("0 and -0"));
    CHECK_THAT(wg::difference(built(2, {3}, false), built(2, {4}, false)),
               contains("%0: types differ: f64(3) and f64(4)"));
    CHECK_THAT(wg::difference(built(2, {3}, false), built(2, {3}, true)), contains("outputs differ"));
    CHECK_FALSE(wg::equal(g, built(2, {3}, false)));
}

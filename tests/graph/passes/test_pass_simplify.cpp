// Algebra on graphs made by hand: what is removed, what may not be, and that no bit changes.
#include "catch.hpp"
#include "graph/passes/pass_graphs.hpp"

#include <wengert/ops/elementwise/pairs.hpp>

using namespace pass_graphs;

namespace {

/// f(x, y) simplified on shape (12): the operations that are left. The values must stay the same bits at the edges.
template <class T = double, class F> std::string left(const F& f, const wg::PassOptions& options = {})
{
    Builder<T> b;
    const ValueId x = b.input({12}), y = b.input({12});
    b.g.output(f(b, x, y));
    const Graph h = wg::passes::simplify(b.g, options);
    CHECK(same_graph(h, wg::passes::simplify(h, options)));
    std::vector<double> other(edges.rbegin(), edges.rend());
    other[3] = 5;
    const Blocks in = {block<T>({12}, edges), block<T>({12}, other)};
    if (!options.allow_reassociation) CHECK(same_values(run(b.g, in), run(h, in)));
    return names(h);
}

}  // namespace

// clang-format off
TEST_CASE("neutral elements")
{
    CHECK(left([](auto& b, auto x, auto) { return b.multiply(x, b.number(1)); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.multiply(b.constant({12}, {1}), x); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(1)); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.add(x, b.number(-0.0)); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.subtract(x, b.number(0)); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.negative(b.negative(x)); }).empty());
}

TEST_CASE("zeros have signs")
{
    CHECK(left([](auto& b, auto x, auto) { return b.add(x, b.number(0)); }) == "add");             // −0 + 0 = 0
    CHECK(left([](auto& b, auto x, auto) { return b.subtract(x, b.number(-0.0)); }) == "subtract");  // −0 + 0
    CHECK(left([](auto& b, auto x, auto) { return b.subtract(b.number(0), x); }) == "subtract");  // 0 − 0 = 0 is not −0
    CHECK(left([](auto& b, auto x, auto) { return b.subtract(b.number(-0.0), x); }) == "negative");
    CHECK(left([](auto& b, auto x, auto) { return b.multiply(x, b.number(0)); }) == "multiply");   // ∞ · 0, −1 · 0
    // what cannot be −0 may lose a 0
    CHECK(left([](auto& b, auto x, auto) { return b.add(b.template one<wg::Exp>(x), b.number(0)); }) == "exp");
    CHECK(left([](auto& b, auto x, auto) { return b.add(b.number(0), b.template one<wg::Abs>(x)); }) == "abs");
    CHECK(left([](auto& b, auto x, auto) { return b.add(b.template one<wg::Square>(x), b.number(0)); }) == "square");
    CHECK(left([](auto& b, auto x, auto y) { return b.add(b.add(b.template one<wg::Exp>(x), y), b.number(0)); }) == "exp add");
    CHECK(left([](auto& b, auto x, auto) { return b.add(b.template one<wg::Sqrt>(x), b.number(0)); }) == "sqrt add");  // √−0 = −0
    CHECK(left([](auto& b, auto x, auto) { return b.add(b.template one<wg::Tanh>(x), b.number(0)); }) == "tanh add");
    CHECK(left([](auto& b, auto x, auto) { return b.template one<wg::Abs>(b.template one<wg::Square>(x)); }) == "square");
}

TEST_CASE("signs")
{
    CHECK(left([](auto& b, auto x, auto y) { return b.add(x, b.negative(y)); }) == "subtract");
    CHECK(left([](auto& b, auto x, auto y) { return b.add(b.negative(x), y); }) == "subtract");
    CHECK(left([](auto& b, auto x, auto y) { return b.subtract(x, b.negative(y)); }) == "add");
    CHECK(left([](auto& b, auto x, auto y) { return b.multiply(b.negative(x), b.negative(y)); }) == "multiply");
    CHECK(left([](auto& b, auto x, auto y) { return b.divide(b.negative(x), b.negative(y)); }) == "divide");
    CHECK(left([](auto& b, auto x, auto) { return b.multiply(b.number(-1), x); }) == "negative");
    CHECK(left([](auto& b, auto x, auto) { return b.multiply(b.number(3), b.negative(x)); }) == "multiply");
    CHECK(left([](auto& b, auto x, auto) { return b.template one<wg::Square>(b.negative(x)); }) == "square");
    CHECK(left([](auto& b, auto x, auto) { return b.template one<wg::Abs>(b.negative(x)); }) == "abs");
    CHECK(left([](auto& b, auto x, auto y) { return b.negative(b.subtract(x, y)); }) == "subtract negative");  // −(x − x) = −0
}

TEST_CASE("division by powers of two, and no others")
{
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(8)); }) == "multiply");
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(-0.25)); }) == "multiply");
    CHECK(left<float>([](auto& b, auto x, auto) { return b.divide(x, b.number(-0.25)); }) == "multiply");
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(3)); }) == "divide");
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(0)); }) == "divide");
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(infinity)); }) == "divide");
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(std::ldexp(1.0, 1023))); }) == "divide");  // its reciprocal is subnormal
    CHECK(left<float>([](auto& b, auto x, auto) { return b.divide(x, b.number(std::ldexp(1.0, 127))); }) == "divide");
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(1e-310)); }) == "divide");  // its reciprocal is infinite
}

TEST_CASE("equal operands")
{
    CHECK(left([](auto& b, auto x, auto) { return b.template two<wg::Maximum>(x, x); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.template two<wg::Minimum>(x, x); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.subtract(x, x); }) == "subtract");  // ∞ − ∞
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, x); }) == "divide");
}

TEST_CASE("reassociation only where it is allowed")
{
    const auto f = [](auto& b, auto x, auto) { return b.multiply(b.multiply(x, b.number(0.1)), b.number(0.3)); };
    CHECK(left(f) == "multiply multiply");
    wg::PassOptions options;
    options.allow_reassociation = true;
    CHECK(left(f, options) == "multiply");
    CHECK(left([](auto& b, auto x, auto) { return b.divide(x, b.number(3)); }, options) == "multiply");
}

TEST_CASE("views of views")
{
    CHECK(left([](auto& b, auto x, auto) { return b.reshape(b.reshape(b.reshape(x, {3, 4}), {2, 6}), {12}); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.reshape(b.reshape(x, {3, 4}), {6, 2}); }) == "reshape");
    CHECK(left([](auto& b, auto x, auto) { return b.reshape(b.on(wg::ExpandDims{{0}}, x), {6, 2}); }) == "reshape");
    CHECK(left([](auto& b, auto x, auto) { return b.on(wg::Squeeze{{1}}, b.on(wg::ExpandDims{{1}}, x)); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.transpose(b.transpose(b.reshape(x, {2, 6}), {1, 0}), {1, 0}); }) == "reshape");
    CHECK(left([](auto& b, auto x, auto) { return b.transpose(b.transpose(b.reshape(x, {2, 3, 2}), {1, 2, 0}), {1, 2, 0}); }) == "reshape transpose");
    CHECK(left([](auto& b, auto x, auto) { return b.broadcast_to(b.broadcast_to(x, {2, 12}), {3, 2, 12}); }) == "broadcast_to");
    CHECK(left([](auto& b, auto x, auto) { return b.broadcast_to(b.reshape(x, {1, 12}), {5, 12}); }) == "broadcast_to");
    CHECK(left([](auto& b, auto x, auto) { return b.broadcast_to(b.reshape(x, {12, 1}), {12, 5}); }) == "reshape broadcast_to");
    CHECK(left([](auto& b, auto x, auto) { return b.view(x, wg::Selection(Shape{12})); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.add(b.on(wg::Copy{}, x), x); }) == "add");
    CHECK(left([](auto& b, auto x, auto) { return b.on(wg::Copy{}, x); }) == "copy");  // the result owns its memory
    // a reshape of another layout is a copy, which a product may be able to tell from its operand
    CHECK(left([](auto& b, auto x, auto) { const auto t = b.transpose(b.reshape(x, {3, 4}), {1, 0}); return b.reshape(t, {4, 3}); }) == "reshape transpose reshape");
}

TEST_CASE("parts of parts")
{
    const auto f = [](auto& b, auto x, auto) {
        wg::Selection outer(Shape{12}), inner(Shape{5});
        outer.start[0] = 11, outer.step[0] = -2, outer.shape[0] = 5;  // 11, 9, 7, 5, 3
        inner.start[0] = 1, inner.step[0] = 3, inner.shape[0] = 2;    // 9, 3
        return b.view(b.view(x, outer), inner);
    };
    CHECK(left(f) == "view");
    const auto rows = [](auto& b, auto x, auto) {
        const auto m = b.reshape(x, {3, 4});
        const auto row = b.view(m, wg::Selection::at({3, 4}, 0, 2));
        wg::Selection wide(wg::Selection::Empty{}, {4});
        wide.insert();
        wide.keep(0, 1, 2, 2);
        return b.view(row, wide);
    };
    CHECK(left(rows) == "reshape view");
}

TEST_CASE("sums")
{
    CHECK(left([](auto& b, auto x, auto) { return b.reshape(b.sum(b.reshape(x, {3, 4}), {0}, true), {4}); }) == "reshape sum");
    CHECK(left([](auto& b, auto x, auto) { return b.reshape(b.sum(b.reshape(x, {3, 4}), {1}, false), {3, 1}); }) == "reshape sum");
    CHECK(left([](auto& b, auto x, auto) { return b.sum(b.reshape(x, {1, 12}), {0}, false); }).empty());
    CHECK(left([](auto& b, auto x, auto) { return b.sum(b.reshape(b.template one<wg::Exp>(x), {1, 12}), {0}, false); }) == "exp");
}
// clang-format on

TEST_CASE("selection and casts")
{
    using A = xsimd::default_arch;
    Builder<float> b;
    const ValueId x = b.input({12}), c = b.g.input(wg::DType::boolean, {12});
    const auto& where = wg::elementwise_primitive<wg::Where, A, float, bool, float, float>;
    const auto& up = wg::detail::cast_primitive<A, double, float>;
    const auto& down = wg::detail::cast_primitive<A, float, double>;
    const auto& whole = wg::detail::cast_primitive<A, std::int32_t, float>;
    const auto& back = wg::detail::cast_primitive<A, float, std::int32_t>;
    const ValueId t = b.g.constant(block<bool>({}, {1}));
    b.g.output(b.g.operation(where, {}, {c, x, x}, {12}));
    b.g.output(b.g.operation(where, {}, {t, x, b.number(2)}, {12}));
    b.g.output(b.g.operation(down, {}, {b.g.operation(up, {}, {x}, {12})}, {12}));
    b.g.output(b.g.operation(back, {}, {b.g.operation(whole, {}, {x}, {12})}, {12}));
    const Graph h = wg::passes::simplify(b.g);
    for (std::size_t k = 0; k < 3; ++k) CHECK(h.outputs()[k] == h.inputs()[0]);
    CHECK(names(h) == "cast cast");  // to whole numbers and back is no identity
}

TEST_CASE("integers have one zero and wrap")
{
    Builder<std::int64_t> b;
    const ValueId x = b.input({3}), zero = b.number(0), one = b.number(1);
    b.g.output(b.add(x, zero));
    b.g.output(b.subtract(x, zero));
    b.g.output(b.multiply(one, x));
    const Graph h = wg::passes::simplify(b.g);
    CHECK(names(h).empty());
}

TEST_CASE("a value of another segment is not looked into")
{
    Builder<double> b;
    const ValueId x = b.input({2});
    GraphNode again = b.g.node(b.negative(x));
    again.segment = 1;
    const ValueId y = b.g.append(again);
    b.g.output(b.negative(y));
    CHECK(names(wg::passes::simplify(b.g)) == "negative negative");
}

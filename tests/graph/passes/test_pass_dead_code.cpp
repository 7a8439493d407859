// Dead code, constant folding, common subexpressions: one pass at a time on graphs made by hand.
#include "catch.hpp"
#include "graph/passes/pass_graphs.hpp"

using namespace pass_graphs;

TEST_CASE("dead code leaves what outputs and guards need, and every input")
{
    Builder<double> b;
    const ValueId x = b.input({3}), unused = b.input({2});
    b.negative(unused);
    const ValueId y = b.one<wg::Exp>(x), z = b.one<wg::Square>(y), flag = b.one<wg::Abs>(x);
    b.number(3);
    b.g.output(z);
    b.g.guard({flag, block<double>({3}, {1, 2, 3}), wg::Read::item, {}});
    b.g.update(0, 0);
    const Graph h = wg::passes::dead_code(b.g);
    CHECK(names(h) == "exp square abs");
    CHECK(h.size() == 5);
    CHECK(h.inputs().size() == 2);
    CHECK(h.node(h.guards()[0].value).primitive->name == "abs");
    CHECK(h.updates()[0] == 0);
    CHECK(h.node(h.outputs()[0]).primitive->name == "square");
    CHECK(same_graph(h, wg::passes::dead_code(h)));
}

TEST_CASE("the empty graph and one of inputs only")
{
    Graph empty;
    CHECK(wg::optimize(empty).size() == 0);
    Builder<float> b;
    b.g.output(b.input({}));
    const Graph h = wg::optimize(b.g);
    CHECK(h.size() == 1);
    CHECK(h.outputs() == std::vector<ValueId>{0});
}

TEST_CASE("operations on constants are computed")
{
    Builder<double> b;
    const ValueId x = b.input({2}), c = b.constant({2}, {2, 3}), d = b.one<wg::Square>(c);
    const ValueId e = b.on(wg::Sum{{0}, false, {2}}, d);
    b.g.output(b.add(x, e));
    const Graph h = wg::passes::dead_code(wg::passes::constant_folding(b.g));
    CHECK(names(h) == "add");
    const GraphNode& folded = h.node(h.node(h.outputs()[0]).inputs[1]);
    REQUIRE(folded.kind == Kind::constant);
    CHECK(*folded.constant->as<double>() == 13.0);
    CHECK(same_values(run(b.g, {block<double>({2}, {1, -1})}), run(h, {block<double>({2}, {1, -1})})));
}

TEST_CASE("no large constants come from small ones")
{
    Builder<double> b;
    const ValueId c = b.constant({1000}, {1, 2}), d = b.constant({1000, 1}, {3, 4});
    b.g.output(b.add(c, d));  // 8 MB from 16 kB
    wg::PassOptions options;
    options.fold_bytes = 1 << 20;
    CHECK(names(wg::passes::constant_folding(b.g, options)) == "add");
    options.fold_bytes = 8 << 20;
    CHECK(names(wg::passes::constant_folding(b.g, options)).empty());
}

TEST_CASE("what is dear to compute is folded however large, up to a limit for all constants")
{
    Builder<double> b;
    const ValueId x = b.input({300, 300}), c = b.constant({300}, {1, 2}), d = b.constant({300, 1}, {3, 4});
    const ValueId e = b.one<wg::Exp>(b.one<wg::Exp>(b.add(c, d)));  // 720 kB from 5
    b.g.output(b.add(x, e));
    const Graph h = wg::passes::dead_code(wg::passes::constant_folding(b.g));
    CHECK(names(h) == "add");
    std::vector<double> numbers(90'000, 0.5);
    CHECK(same_values(run(b.g, {block<double>({300, 300}, numbers)}),
                      run(h, {block<double>({300, 300}, numbers)})));
    wg::PassOptions options;
    options.fold_total = 700'000;
    CHECK(names(wg::passes::constant_folding(b.g, options)) == "add exp exp add");
}

TEST_CASE("what throws when folded is left for when it runs")
{
    Builder<double> b;
    const ValueId c = b.constant({0}, {0});
    const wg::Extremum<true> largest{{{0}, false, {0}}};
    b.g.output(b.g.operation(
        wg::structural_primitive<wg::Extremum<true>, xsimd::default_arch, double, double>,
        wg::keep_parameters(wg::structural_primitive<wg::Extremum<true>, xsimd::default_arch, double, double>,
                            &largest),
        {c}, {}));
    CHECK(names(wg::passes::constant_folding(b.g)) == "amax");
}

TEST_CASE("equal operations become one")
{
    Builder<double> b;
    const ValueId x = b.input({2, 3}), y = b.input({2, 3});
    const ValueId s = b.add(x, y), t = b.add(y, x);            // the same sum
    const ValueId d = b.subtract(x, y), e = b.subtract(y, x);  // not the same
    const ValueId p = b.sum(s, {0}, false), q = b.sum(t, {0}, false), r = b.sum(t, {0}, true);
    for (ValueId v : {d, e, p, q, r}) b.g.output(v);
    const Graph h = wg::passes::dead_code(wg::passes::common_subexpressions(b.g));
    CHECK(names(h) == "add subtract subtract sum sum");
    CHECK(h.outputs()[2] == h.outputs()[3]);
    CHECK(h.outputs()[2] != h.outputs()[4]);
    CHECK(same_graph(h, wg::passes::common_subexpressions(h)));
}

TEST_CASE("constants are compared by bits, shape and type")
{
    Builder<double> b;
    const ValueId x = b.input({2});
    for (ValueId c : {b.number(0.0), b.number(-0.0), b.number(0.0), b.constant({1}, {0.0}),
                      b.number(not_a_number), b.number(not_a_number)})
        b.g.output(b.multiply(x, c));
    b.g.output(b.g.constant(block<std::int64_t>({}, {0})));
    b.g.output(b.g.constant(block<double>({}, {0})));
    const Graph h = wg::passes::dead_code(wg::passes::common_subexpressions(b.g));
    CHECK(names(h) == "multiply multiply multiply multiply");
    CHECK(h.outputs()[0] == h.outputs()[2]);
    CHECK(h.outputs()[0] != h.outputs()[1]);
    CHECK(h.outputs()[0] != h.outputs()[3]);
    CHECK(h.outputs()[4] == h.outputs()[5]);
    CHECK(h.outputs()[6] != h.outputs()[7]);
}

TEST_CASE("values of different segments are not merged")
{
    Builder<double> b;
    const ValueId x = b.input({2}), y = b.one<wg::Exp>(x);
    GraphNode again = b.g.node(y);
    again.segment = 1;
    const ValueId z = b.g.append(again), w = b.g.append(again);
    for (ValueId v : {y, z, w}) b.g.output(v);
    const Graph h = wg::optimize(b.g);
    CHECK(names(h) == "exp exp");
    CHECK(h.outputs()[0] != h.outputs()[1]);
    CHECK(h.outputs()[1] == h.outputs()[2]);
}

namespace {
/// A user's operation that is called as one of the library's, and is none.
struct Impostor {
    static constexpr std::string_view name = "multiply";
    template <class V> static V value(const V& a, const V& b) { return a + b; }
};
struct OtherSum {
    static constexpr std::string_view name = "sum";
    static constexpr bool linear = true;
    bool keepdims;
    template <class T> Ref<wg::Block> value(const Ref<wg::Block>& x, const wg::Site&) const
    {
        return wg::copy_of(*x);
    }
};
}  // namespace

TEST_CASE("operations are known by what they do, not by their names")
{
    using wg::passes::Fn;
    using A = xsimd::default_arch;
    CHECK(wg::passes::function_of(wg::elementwise_primitive<Impostor, A, double, double, double>) == Fn::add);
    CHECK(wg::passes::function_of(wg::elementwise_primitive<wg::Multiply, A, float, float, float>) ==
          Fn::multiply);
    CHECK(wg::passes::function_of(wg::structural_primitive<OtherSum, A, double, double>) == Fn::unknown);
    CHECK(wg::passes::function_of(wg::structural_primitive<wg::Sum, A, double, double>) == Fn::sum);
    const auto pull = [](const auto& p, std::size_t i) {
        return wg::passes::function_of(*p.pull[i].primitive);
    };
    CHECK(pull(wg::elementwise_primitive<wg::Multiply, A, double, double, double>, 1) ==
          Fn::guarded_multiply);
    CHECK(pull(wg::elementwise_primitive<wg::Divide, A, double, double, double>, 0) == Fn::guarded_divide);
    CHECK(pull(wg::elementwise_primitive<wg::Exp, A, double, double>, 0) == Fn::guarded_multiply);
    CHECK(pull(wg::elementwise_primitive<wg::Square, A, double, double>, 0) == Fn::guarded_square);
    CHECK(pull(wg::elementwise_primitive<wg::Subtract, A, double, double, double>, 1) == Fn::negative);
    CHECK(pull(wg::elementwise_primitive<wg::ZeroWhereUndefined, A, double, double, double>, 1) ==
          Fn::zero_where_undefined_pull);
}

TEST_CASE("passes are switched off by name and watched by an observer")
{
    Builder<double> b;
    const ValueId x = b.input({2});
    b.negative(x);
    b.g.output(b.add(b.one<wg::Exp>(x), b.one<wg::Exp>(x)));
    wg::PassOptions options;
    options.off = {"common_subexpressions"};
    CHECK(names(wg::optimize(b.g, options)) == "exp exp add");
    CHECK(wg::optimize(b.g, options).size() == 4);
    options.off = {"dead_code"};
    CHECK(wg::optimize(b.g, options).size() > 3);
    options.off = {"no_such_pass"};
    CHECK_THROWS_AS(wg::optimize(b.g, options), wg::Error);
    options.off = {};
    std::string seen;
    options.observer = [&](std::string_view name, const Graph& before, const Graph& after) {
        seen += std::string(name) + " ";
        CHECK(before.outputs().size() == after.outputs().size());
    };
    CHECK(same_graph(wg::optimize(b.g, options), wg::optimize(b.g)));
    CHECK(seen == "dead_code common_subexpressions ");
}

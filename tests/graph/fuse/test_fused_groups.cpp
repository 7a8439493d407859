// Which operations are grouped, what a group's kernel promises to the plan, and programs of several dtypes.
#include "catch.hpp"

#include "graph/fuse/fused_runner.hpp"

#include <wengert/graph/text/native_groups.hpp>

namespace {

using namespace wengert;
using fused_test::check_fused;
using Arch = xsimd::default_arch;

template <class T> Ref<Block> numbers(const Shape& shape, double scale = 1)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(scale * static_cast<double>((i * 37) % 101) - 0.4);
    return b;
}

/// Operations on float64 values by short names.
struct Builder {
    Graph g;
    std::vector<Ref<Block>> inputs;

    ValueId input(const Shape& shape)
    {
        inputs.push_back(numbers<double>(shape, 0.01));
        return g.input(DType::float64, shape);
    }
    template <class P> ValueId one(ValueId a)
    {
        return g.operation(elementwise_primitive<P, Arch, double, double>, {}, {a}, g.node(a).shape);
    }
    template <class P> ValueId two(ValueId a, ValueId b)
    {
        const Shape shape = broadcast_shapes("test", g.node(a).shape, g.node(b).shape, {});
        return g.operation(elementwise_primitive<P, Arch, double, double, double>, {}, {a, b}, shape);
    }
    ValueId sum(ValueId v, const Axes& axes, bool keepdims = false)
    {
        const Sum op{axes, keepdims, g.node(v).shape};
        Shape shape;
        for (std::size_t i = 0; i < op.from.size(); ++i)
            if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
                shape.push_back(op.from[i]);
            else if (keepdims)
                shape.push_back(1);
        const Primitive& p = structural_primitive<Sum, Arch, double, double>;
        return g.operation(p, keep_parameters(p, &op), {v}, shape);
    }
    std::vector<tiling::Group> groups() const { return tiling::fuse(g, tiling::layouts_of(g)); }
    std::unique_ptr<tiling::FusedKernel> kernel(const tiling::Group& group) const
    {
        return tiling::FusedKernel::compile(g, tiling::layouts_of(g), group);
    }
};

}  // namespace

TEST_CASE("a chain and the sum at its end are one group")
{
    Builder b;
    const ValueId x = b.input({1000}), y = b.input({1000});
    const ValueId t = b.one<Tanh>(b.two<Add>(b.two<Multiply>(x, y), y));
    b.g.output(b.sum(b.two<Multiply>(t, t), {0}));
    REQUIRE(b.groups().size() == 1);
    CHECK(b.groups()[0].operands == std::vector<ValueId>{x, y});
    CHECK(b.groups()[0].results.size() == 1);
    const auto counts = check_fused(b.g, b.inputs);
    CHECK(counts.kernels == 1);
    CHECK(counts.nodes == 5);
}

TEST_CASE("what needs a finished sum is in a later group")
{
    Builder b;
    const ValueId x = b.input({40, 30});
    const ValueId e = b.one<Exp>(x);
    const ValueId total = b.sum(e, {0, 1}, true);
    b.g.output(b.two<Multiply>(b.two<Divide>(e, total), x));
    const auto groups = b.groups();
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].nodes == std::vector<ValueId>{e, total});
    CHECK(groups[0].results == std::vector<ValueId>{e, total});
    check_fused(b.g, b.inputs);
}

TEST_CASE("a sum of rows that is read along them again is in the same group")
{
    Builder b;
    const ValueId x = b.input({30, 40});
    const ValueId e = b.one<Exp>(x);
    const ValueId total = b.one<Square>(b.sum(e, {1}, true));
    b.g.output(b.two<Divide>(e, total));
    CHECK(b.groups().size() == 1);
    CHECK(check_fused(b.g, b.inputs).kernels == 1);
}

TEST_CASE("a sum of rows that is read across them is finished first")
{
    Builder b;
    const ValueId x = b.input({40, 40});
    const ValueId e = b.one<Exp>(x);
    b.g.output(b.two<Divide>(e, b.sum(e, {1})));  // element j of a row by the sum of row j
    CHECK(b.groups().size() == 2);
    check_fused(b.g, b.inputs);
}

TEST_CASE("rows that are too long are no group")
{
    Builder b;
    const ValueId x = b.input({2, 3000});
    const ValueId e = b.one<Exp>(x);
    b.g.output(b.two<Divide>(e, b.sum(e, {1}, true)));
    CHECK(b.groups().size() == 2);
    check_fused(b.g, b.inputs);
}

TEST_CASE("a path through another shape does not lead back into a group")
{
    Builder b;
    const ValueId x = b.input({6, 50}), row = b.input({50});
    const ValueId a = b.two<Add>(x, row);
    const ValueId s = b.sum(a, {0});  // not over the last axes: a kernel of the library
    const ValueId scaled = b.two<Multiply>(s, row);
    const ValueId c = b.two<Multiply>(a, scaled);
    b.g.output(b.two<Add>(c, a));
    const auto groups = b.groups();
    CHECK(groups.size() == 4);
    check_fused(b.g, b.inputs);
}

TEST_CASE("values of different segments are not in one group")
{
    Builder b;
    const ValueId x = b.input({100});
    const ValueId y = b.one<Exp>(x);
    GraphNode n = b.g.node(y);
    n.segment = 1;
    const ValueId again = b.g.append(n);
    b.g.output(b.two<Add>(b.one<Square>(y), y));
    n = b.g.node(b.one<Square>(again));
    n.segment = 1;
    b.g.output(b.g.append(n));
    for (const auto& group : b.groups())
        for (ValueId v : group.nodes) CHECK(b.g.node(v).segment == b.g.node(group.nodes[0]).segment);
    check_fused(b.g, b.inputs);
}

TEST_CASE("what is used later only is made there")
{
    Builder b;
    const ValueId x = b.input({64});
    const ValueId shifted = b.two<Add>(x, x);
    const ValueId total = b.sum(b.one<Exp>(x), {0});
    b.g.output(b.two<Multiply>(shifted, total));
    const auto groups = b.groups();
    REQUIRE(groups.size() == 2);
    CHECK(groups[1].nodes.front() == shifted);
    check_fused(b.g, b.inputs);
}

TEST_CASE("memory is shared where all is read before it is written")
{
    Builder b;
    const ValueId w = b.input({700}), g = b.input({700}), rate = b.input({});
    const ValueId stepped = b.two<Subtract>(w, b.two<Multiply>(rate, g));
    b.g.output(stepped);
    const auto groups = b.groups();
    REQUIRE(groups.size() == 1);
    const auto kernel = b.kernel(groups[0]);
    REQUIRE(kernel);
    const auto number = [&](ValueId v) {
        const auto& o = groups[0].operands;
        return static_cast<std::size_t>(std::find(o.begin(), o.end(), v) - o.begin());
    };
    CHECK(kernel->may_share(0, number(w)));
    CHECK_FALSE(kernel->may_share(0, number(rate)));
    check_fused(b.g, b.inputs);
}

TEST_CASE("an operand that is read after a result is written keeps its memory")
{
    Builder b;
    const ValueId x = b.input({700}), y = b.input({700});
    const ValueId first = b.two<Add>(x, y);
    const ValueId t = b.one<Tanh>(first);
    const ValueId second = b.two<Multiply>(t, x);
    b.g.output(first);
    b.g.output(second);
    const auto groups = b.groups();
    REQUIRE(groups.size() == 1);
    const auto kernel = b.kernel(groups[0]);
    REQUIRE(kernel);
    const bool x_is_first = groups[0].operands[0] == x;
    REQUIRE(groups[0].results[0] == first);
    CHECK_FALSE(kernel->may_share(0, x_is_first ? 0 : 1));
    CHECK(kernel->may_share(0, x_is_first ? 1 : 0));
    CHECK(kernel->may_share(1, x_is_first ? 0 : 1));
    check_fused(b.g, b.inputs);
}

TEST_CASE("small groups have a straight form, large ones tiles")
{
    Builder b;
    const ValueId x = b.input({8}), y = b.input({8});
    b.g.output(b.one<Exp>(b.two<Multiply>(b.two<Add>(x, y), y)));
    const auto small = b.kernel(b.groups()[0]);
    CHECK(small->program().straight);
    CHECK(small->program().program.size() + small->program().totals.size() == 3);
    CHECK(check_fused(b.g, b.inputs).straight == 1);
    Builder large;
    const ValueId u = large.input({5000});
    large.g.output(large.one<Exp>(large.two<Multiply>(u, u)));
    CHECK_FALSE(large.kernel(large.groups()[0])->program().straight);
    CHECK(large.kernel(large.groups()[0])->tiles() >= 10);
    check_fused(large.g, large.inputs);
}

TEST_CASE("sums of long rows in pieces")
{
    for (const Shape& shape :
         {Shape{100000}, Shape{3, 5000}, Shape{7, 2049}, Shape{2, 30, 171}, Shape{4, 6, 31}}) {
        Builder b;
        const ValueId x = b.input(shape), y = b.one<Square>(b.two<Subtract>(x, b.input({})));
        Axes axes, all;
        for (std::size_t i = 0; i < shape.size(); ++i) {
            all.push_back(static_cast<std::int64_t>(i));
            if (i > 0 || shape.size() == 1) axes.push_back(static_cast<std::int64_t>(i));
        }
        b.g.output(b.sum(y, axes));
        b.g.output(b.sum(y, all));
        CAPTURE(to_string(shape));
        CHECK(b.groups().size() == 1);
        check_fused(b.g, b.inputs);
    }
}

TEST_CASE("far operands, several streams")
{
    Builder b;
    const ValueId x = b.input({120000}), y = b.input({120000});
    const ValueId t = b.one<Tanh>(b.two<Multiply>(x, y));
    b.g.output(b.two<Add>(t, y));
    b.g.output(b.two<Multiply>(t, x));
    CHECK(check_fused(b.g, b.inputs).kernels == 1);
}

TEST_CASE("casts, integers and conditions in one group")
{
    for (const Shape& shape : {Shape{5}, Shape{300}, Shape{1300}, Shape{20, 33}}) {
        Graph g;
        const std::vector<Ref<Block>> inputs{numbers<float>(shape, 0.02), numbers<double>(shape, 0.03),
                                             numbers<std::int64_t>(shape)};
        const ValueId f = g.input(DType::float32, shape), d = g.input(DType::float64, shape),
                      i = g.input(DType::int64, shape);
        const ValueId wide = g.operation(detail::cast_primitive<Arch, double, float>, {}, {f}, shape);
        const ValueId sum =
            g.operation(elementwise_primitive<Add, Arch, double, double, double>, {}, {wide, d}, shape);
        const ValueId product = g.operation(elementwise_primitive<Multiply, Arch, double, double, double>, {},
                                            {sum, wide}, shape);
        const ValueId whole = g.operation(detail::cast_primitive<Arch, double, std::int64_t>, {}, {i}, shape);
        const ValueId below =
            g.operation(elementwise_primitive<Less, Arch, bool, double, double>, {}, {product, whole}, shape);
        const ValueId chosen = g.operation(elementwise_primitive<Where, Arch, double, bool, double, double>,
                                           {}, {below, product, sum}, shape);
        const ValueId narrow = g.operation(detail::cast_primitive<Arch, float, double>, {}, {chosen}, shape);
        const ValueId doubled = g.operation(
            elementwise_primitive<Add, Arch, std::int64_t, std::int64_t, std::int64_t>, {}, {i, i}, shape);
        const ValueId last =
            g.operation(elementwise_primitive<Multiply, Arch, float, float, float>, {}, {narrow, f}, shape);
        for (ValueId v : {below, narrow, doubled, last}) g.output(v);
        CAPTURE(to_string(shape));
        CHECK(check_fused(g, inputs).kernels == 1);
    }
}

TEST_CASE("native code's groups: what shares nothing but its shape, and sums over the last axes")
{
    Builder b;
    const ValueId x = b.input({30, 40}), y = b.input({30, 40}), z = b.input({1200});
    const ValueId e = b.one<Exp>(x), f = b.one<Tanh>(y), other = b.one<Exp>(z);
    const ValueId total = b.sum(f, {1}), columns = b.sum(e, {0});
    const ValueId scaled = b.two<Multiply>(e, b.two<Add>(columns, columns));
    for (ValueId v : {total, scaled, other}) b.g.output(v);
    const auto layouts = tiling::layouts_of(b.g);
    const auto groups = detail::NativeGroups(b.g, layouts).take();
    REQUIRE(groups.size() == 5);  // (e, f, total), other, columns, columns + columns, scaled
    const auto of = [&](ValueId v) {
        return *std::find_if(groups.begin(), groups.end(), [&](const tiling::Group& group) {
            return std::find(group.nodes.begin(), group.nodes.end(), v) != group.nodes.end();
        });
    };
    CHECK(of(e).nodes == ValueList{e, f, total});
    CHECK(of(e).results == ValueList{e, total});
    CHECK(of(other).nodes == ValueList{other});
    CHECK_FALSE(of(columns).fused);
    CHECK(detail::NativeGroups(b.g, layouts, false).take().size() == 6);  // sums by themselves
    CHECK(b.groups().size() != groups.size());  // tiles: e and f have nothing in common
}

TEST_CASE("native code's groups: a long loop is cut, one after the other")
{
    Builder b;
    ValueId v = b.input({50});
    for (int i = 0; i < 200; ++i) v = b.two<Add>(b.two<Multiply>(v, v), v);
    b.g.output(v);
    const auto groups = detail::NativeGroups(b.g, tiling::layouts_of(b.g)).take();
    CHECK(groups.size() == 3);  // of 160 steps at most
    for (std::size_t k = 0; k < groups.size(); ++k) {
        CHECK(groups[k].operands.size() == 1);
        CHECK(groups[k].results.size() == 1);
    }
}

/// Views, copies, parts and joined arrays: their kernels against their descriptions, run by the one executor of index programs,
/// for all dtypes, layouts and ranks; and views against what alias_of says of them.
#include "index_reference.hpp"

#include <wengert/array/elsewhere.hpp>
#include <wengert/graph/ir/fields.hpp>
#include <wengert/graph/loops/loop.hpp>
#include <wengert/ops/index/alias.hpp>
#include <wengert/ops/view.hpp>

using namespace reference;

namespace {

/// The description of a node on these operands, run: the result, and what it says of a view.
Ref<Block> described(const Primitive& p, const void* op, const std::vector<Ref<Block>>& in)
{
    return compute_index(p.name, p.index, p.dtype, op, in.data(), in.size(), {});
}
bool alias_for(const Primitive& p, const void* op, const Ref<Block>& x, Alias& out, Shape& shape)
{
    const Shape* const shapes[] = {&x->shape};
    Index program(shapes, 1);
    describe_index(program, p.name, p.index, op, {});
    shape = program.shown();
    return alias_of(program, x->strides(), out);
}

void compare(const Block& a, const Ref<Block>& b)
{
    CHECK(a.shape == b->shape);
    CHECK(a.dtype == b->dtype);
    CHECK(same_elements(*copy_of(a), *contiguous(b)));
}

/// A cotangent that is added to what is there.
template <class T>
void agree_added(const Primitive& p, const Primitive& add, const void* op, const Ref<Block>& x,
                 const Tensor<T>& g)
{
    INFO(p.name);
    for (const Tensor<T>& l : layouts(g)) {
        const std::vector<Ref<Block>> both{x, l.any().value};
        compare(*add.compute(op, both.data(), 2, {}), described(add, op, both));
    }
}

/// The kernel and the description; a result that is a view is that which the description says.
template <class T, class Op, class... X> void agree(const Op& op, const X&... x)
{
    const Primitive& p = structural_primitive<Op, xsimd::default_arch, T, typename X::value_type...>;
    INFO(p.name << " " << (p.parameters ? p.parameters(&op) : ""));
    REQUIRE(p.index);
    const std::vector<Ref<Block>> in{x.any().value...};
    const Ref<Block> y = p.compute(&op, in.data(), in.size(), {});
    compare(*y, described(p, &op, in));
    if (y->is_view() && in.size() == 1 && (y->base == in[0].get() || y->base == in[0]->base)) {
        Alias alias;
        Shape shape;
        REQUIRE(alias_for(p, &op, in[0], alias, shape));
        const Ref<Block> v = make_view(in[0], shape, &alias.strides, alias.offset);
        compare(*v, y);
        CHECK((v->data == y->data || y->count == 0));
    }
    if constexpr (is_differentiable<T> && sizeof...(X) == 1) {
        const Pull& pull = p.pull[0];
        if (pull.add && pull.add->index) agree_added(p, *pull.add, &op, in[0], some<T>(y->shape, 7));
    }
}

template <class T, class Op> void agree_on_parts(const Op& op, const std::vector<Tensor<T>>& x)
{
    const Primitive& p = variadic_primitive<Op, xsimd::default_arch, T>;
    INFO(p.name << " " << p.parameters(&op));
    REQUIRE(p.part);
    std::vector<Ref<Block>> in;
    for (const auto& t : x) in.push_back(t.any().value);
    const Ref<Block> y = p.compute(&op, in.data(), in.size(), {}), z = make_block(y->dtype, y->shape);
    std::memset(z->data, 7, z->bytes());
    for (std::size_t k = 0; k < in.size(); ++k) {
        const Shape* const shapes[] = {&in[k]->shape};
        Index part(shapes, 1);
        p.part(&op, k, part);
        part.check(p.name, {});
        CHECK(part.shown() == y->shape);
        run_index(part, p.name, &in[k], *z, {});
    }
    compare(*y, z);
}

const std::vector<Shape>& shapes_of_all_kinds()
{
    static const std::vector<Shape> list = {Shape{}, {1},          {5},       {0},
                                            {3, 4},  {4, 1},       {2, 3, 4}, {3, 0, 2},
                                            {1, 1},  {2, 1, 3, 2}, {40, 9},   {2, 1, 2, 3, 1, 2, 2}};
    return list;
}
Axes counted(std::size_t n, bool back)
{
    Axes a;
    for (std::size_t k = 0; k < n; ++k) a.push_back(static_cast<std::int64_t>(back ? n - 1 - k : k));
    return a;
}
/// Every second element backwards along the first axis, the middle of the last one, a new axis.
Selection some_part(const Shape& of)
{
    Selection s(Selection::Empty{}, of);
    s.insert();
    for (std::size_t a = 0; a < of.size(); ++a)
        if (a == 0 && of[a] > 0)
            s.keep(a, of[a] - 1, -2, (of[a] + 1) / 2);
        else if (a + 1 == of.size() && of[a] > 2)
            s.keep(a, 1, 1, of[a] - 2);
        else if (a == 1 && of[a] > 1)
            s.start[a] = 1;
        else
            s.keep(a, 0, 1, of[a]);
    return s;
}

template <class T> void check_views(const Tensor<T>& x)
{
    const Shape& s = x.shape();
    const std::size_t r = s.size();
    const auto n = static_cast<std::int64_t>(x.size());
    agree<T>(Reshape{Shape{n}, s}, x);
    agree<T>(Reshape{Shape{1, n, 1}, s}, x);
    agree<T>(Transpose{counted(r, false)}, x);
    agree<T>(Transpose{counted(r, true)}, x);
    Shape wide = s;
    for (std::size_t a = 0; a < r; ++a)
        if (s[a] == 1) wide[a] = 3;
    agree<T>(BroadcastTo{wide, s}, x);
    Shape more{2};
    for (auto e : s) more.push_back(e);
    agree<T>(BroadcastTo{more, s}, x);
    agree<T>(ExpandDims{Axes{0, static_cast<std::int64_t>(r) + 1}}, x);
    Axes ones;
    for (std::size_t a = 0; a < r; ++a)
        if (s[a] == 1) ones.push_back(static_cast<std::int64_t>(a));
    agree<T>(Squeeze{ones}, x);
    agree<T>(Squeeze{}, x);
    const Selection part = some_part(s);
    agree<T>(Select{Selection(s)}, x);
    agree<T>(Select{part}, x);
    agree<T>(Split{{part}}, x);
    agree<T>(Copy{}, x);
    for (const Tensor<T>& v : layouts(some<T>(part.shape, 3))) agree<T>(Embed{part}, v);
    if (n > 0) {
        agree<T>(Element{static_cast<std::size_t>(n) - 1, s}, x);
        agree<T>(Element{static_cast<std::size_t>(n) / 2, s}, x);
    }
    if (r >= 2) {
        agree<T>(Diagonal{s}, x);
        Shape of = s;
        agree<T>(EmbedDiagonal{of}, diagonal(x));
    }
}
template <class T> void check_stores(const Tensor<T>& x)
{
    const Selection part = some_part(x.shape());
    for (const Shape& from : {part.shape, Shape{}, Shape{1}})
        for (const Tensor<T>& v : layouts(some<T>(from, 5))) {
            agree<T>(AssignView{part, from}, x, v);
            if constexpr (!std::is_same_v<T, bool>) {
                agree<T>(AddView<false>{part, from}, x, v);
                agree<T>(AddView<true>{part, from}, x, v);
            }
        }
}
template <class T> void check_joined(const Tensor<T>& x)
{
    const Shape& s = x.shape();
    for (std::size_t axis = 0; axis <= s.size(); ++axis) {
        Shape side = s;
        side.push_back(1);
        for (std::size_t a = side.size() - 1; a > axis; --a) side[a] = side[a - 1];
        side[axis] = 5;
        const Tensor<T> y = some<T>(s, 9);
        agree_on_parts<T>(Stack{axis, side}, {x, y, x, y, x});
        if (axis == s.size()) continue;
        Shape all = s, other = s;
        other[axis] = 2;
        all[axis] = 2 * s[axis] + 2;
        const Tensor<T> z = some<T>(other, 4);
        agree_on_parts<T>(Concatenate{axis, all, Extents{s[axis], 2, s[axis]}}, {x, z, y});
    }
}

/// Reads operand 0 at 2 i, and says nothing else.
struct EverySecond {
    static constexpr std::string_view name = "every_second";
    void describe(Index& p) const
    {
        const Position i = p.axis((p.shape(0)[0] + 1) / 2);
        Positions at;
        at.push_back(i);
        p.write(at);
        at[0] = i * 2;
        p.read(0, at);
    }
};

}  // namespace

TEMPLATE_TEST_CASE("views, copies, parts and joined arrays are what their descriptions say", "[index]",
                   double, float, std::int32_t, std::int64_t, bool)
{
    using T = TestType;
    const OnDevice host(0);  // where the kernels are
    for (const Shape& s : shapes_of_all_kinds()) {
        INFO(to_string(s));
        for (const Tensor<T>& x : layouts(some<T>(s))) {
            check_views(x);
            check_stores(x);
            check_joined(x);
        }
    }
}

TEST_CASE("results of loops as views of a packed block", "[index]")
{
    const OnDevice host(0);
    const Tensor<double> x = some<double>({20});
    agree<double>(Unpack{3, {2, 4}, 20}, x);
    agree<double>(Unpack{20, {0, 4}, 20}, x);
    CHECK(structural_primitive<Select, xsimd::default_arch, double, double>.pull[0].add->index);
    CHECK(structural_primitive<Element, xsimd::default_arch, double, double>.pull[0].add->index);
    CHECK(structural_primitive<Diagonal, xsimd::default_arch, double, double>.pull[0].add->index);
    const Primitive& bits = structural_primitive<Unpack, xsimd::default_arch, bool, double>;
    CHECK(!bits.index);
}

TEST_CASE("which programs are views", "[index]")
{
    const auto alias = [](const Shape& of, const Strides& strides, const auto& describe, Alias& out) {
        const Shape* const shapes[] = {&of};
        Index p(shapes, 1);
        describe(p);
        p.check("test", {});
        return alias_of(p, strides, out);
    };
    Alias a;
    CHECK(alias(
        {7}, {1}, [](Index& p) { EverySecond{}.describe(p); }, a));
    CHECK((a.strided && a.offset == 0 && a.strides == Strides{2}));
    CHECK(alias(
        {7}, {-3}, [](Index& p) { Flip{{0}}.describe(p); }, a));
    CHECK((a.strided && a.offset == -18 && a.strides == Strides{3}));
    CHECK(alias(
        {4, 6}, {6, 1},
        [](Index& p) {
            Windows{{3}, {1}}.describe(p);
        },
        a));
    CHECK((a.strided && a.strides == Strides{6, 1, 1}));
    CHECK(alias(
        {4, 6}, {6, 1},
        [](Index& p) {
            Reshape{{24}, {4, 6}}.describe(p);
        },
        a));
    CHECK((!a.strided && a.strides == Strides{1}));
    CHECK(!alias(
        {4, 6}, {1, 4},
        [](Index& p) {
            Reshape{{24}, {4, 6}}.describe(p);
        },
        a));
    CHECK(!alias(
        {4}, {1}, [](Index& p) { Copy{}.describe(p); }, a));
    CHECK(!alias(
        {4}, {1},
        [](Index& p) {
            Roll{{1}, {0}}.describe(p);
        },
        a));
    CHECK(!alias(
        {4}, {1},
        [](Index& p) {
            Repeat{0, 2}.describe(p);
        },
        a));
    CHECK(!alias(
        {4}, {1}, [](Index& p) { Difference{0}.describe(p); }, a));
    CHECK(!alias(
        {4}, {1},
        [](Index& p) {
            CumSum{0, false}.describe(p);
        },
        a));
}

/// Every kernel of a primitive's own beside its description, from the table of them (ops/describe/overrides.hpp): what it computes is what the
/// one executor of index programs makes of the description, for all dtypes, layouts and ranks. Its views are those that alias_of
/// says.
#include "index/index_reference.hpp"

#include <wengert/array/elsewhere.hpp>
#include <wengert/graph/ir/fields.hpp>
#include <wengert/graph/loops/loop.hpp>
#include <wengert/ops/index/alias.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/describe/overrides.hpp>
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

/// A cotangent that is added to what is there; further operands are indices.
template <class T>
void agree_added(const Primitive& add, const void* op, const std::vector<Ref<Block>>& in, const Tensor<T>& g)
{
    INFO(add.name);
    for (const Tensor<T>& l : layouts(g)) {
        std::vector<Ref<Block>> all{in[0], l.any().value};
        all.insert(all.end(), in.begin() + 1, in.end());
        compare(*add.compute(op, all.data(), all.size(), {}), described(add, op, all));
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
    if constexpr (is_differentiable<T>) {
        const Pull& pull = p.pull[0];
        if (pull.add && pull.add->index) agree_added(*pull.add, &op, in, some<T>(y->shape, 7));
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

template <class T> using Parts = std::vector<Tensor<T>>;

// What each row of the table is run on: parameters and further operands beside x.
template <class Op> struct Row {};

template <class T> void run(Row<Reshape>, const Tensor<T>& x)
{
    const auto n = static_cast<std::int64_t>(x.size());
    agree<T>(Reshape{Shape{n}, x.shape()}, x);
    agree<T>(Reshape{Shape{1, n, 1}, x.shape()}, x);
}
template <class T> void run(Row<Transpose>, const Tensor<T>& x)
{
    agree<T>(Transpose{counted(x.dimension(), false)}, x);
    agree<T>(Transpose{counted(x.dimension(), true)}, x);
}
template <class T> void run(Row<BroadcastTo>, const Tensor<T>& x)
{
    Shape wide = x.shape(), more{2};
    for (auto& e : wide) e = e == 1 ? 3 : e;
    for (auto e : x.shape()) more.push_back(e);
    agree<T>(BroadcastTo{wide, x.shape()}, x);
    agree<T>(BroadcastTo{more, x.shape()}, x);
}
template <class T> void run(Row<ExpandDims>, const Tensor<T>& x)
{
    agree<T>(ExpandDims{Axes{0, static_cast<std::int64_t>(x.dimension()) + 1}}, x);
}
template <class T> void run(Row<Squeeze>, const Tensor<T>& x)
{
    Axes ones;
    for (std::size_t a = 0; a < x.dimension(); ++a)
        if (x.shape()[a] == 1) ones.push_back(static_cast<std::int64_t>(a));
    agree<T>(Squeeze{ones}, x);
    agree<T>(Squeeze{}, x);
}
template <class T> void run(Row<Select>, const Tensor<T>& x)
{
    agree<T>(Select{Selection(x.shape())}, x);
    agree<T>(Select{some_part(x.shape())}, x);
}
template <class T> void run(Row<Split>, const Tensor<T>& x) { agree<T>(Split{{some_part(x.shape())}}, x); }
template <class T> void run(Row<Copy>, const Tensor<T>& x) { agree<T>(Copy{}, x); }
template <class T> void run(Row<Embed>, const Tensor<T>& x)
{
    const Selection part = some_part(x.shape());
    for (const Tensor<T>& v : layouts(some<T>(part.shape, 3))) agree<T>(Embed{part}, v);
}
template <class T> void run(Row<Element>, const Tensor<T>& x)
{
    if (x.size() == 0) return;
    agree<T>(Element{x.size() - 1, x.shape()}, x);
    agree<T>(Element{x.size() / 2, x.shape()}, x);
}
template <class T> void run(Row<Diagonal>, const Tensor<T>& x)
{
    if (x.dimension() >= 2) agree<T>(Diagonal{x.shape()}, x);
}
template <class T> void run(Row<EmbedDiagonal>, const Tensor<T>& x)
{
    if (x.dimension() >= 2) agree<T>(EmbedDiagonal{x.shape()}, diagonal(x));
}
template <class T, class Op>
    requires std::is_same_v<Op, Tril> || std::is_same_v<Op, Triu>
void run(Row<Op>, const Tensor<T>& x)
{
    if (x.dimension() < 2) return;
    for (const std::int64_t k : {0, 1, -1, 3, -2, 100, -100}) agree<T>(Op{{k}}, x);
}
template <class T> void run(Row<AssignView>, const Tensor<T>& x)
{
    const Selection part = some_part(x.shape());
    for (const Shape& from : {part.shape, Shape{}, Shape{1}})
        for (const Tensor<T>& v : layouts(some<T>(from, 5))) agree<T>(AssignView{part, from}, x, v);
}
template <class T, bool minus> void run(Row<AddView<minus>>, const Tensor<T>& x)
{
    const Selection part = some_part(x.shape());
    if constexpr (!std::is_same_v<T, bool>)
        for (const Shape& from : {part.shape, Shape{}, Shape{1}})
            for (const Tensor<T>& v : layouts(some<T>(from, 5))) agree<T>(AddView<minus>{part, from}, x, v);
}
template <class T, bool largest> void run(Row<ArgExtremum<largest>>, const Tensor<T>& x)
{
    using Op = ArgExtremum<largest>;
    if constexpr (!std::is_same_v<T, bool>)
        for (std::size_t axis = 0; axis < x.dimension(); ++axis) {
            const Reduction r = reduction_of(x.any().value, Axes{static_cast<std::int64_t>(axis)});
            if (r.n == 0) continue;
            auto a = make_block(DType::int64, r.dropped), b = make_block(DType::int64, r.dropped);
            const T* const from = r.x->template as<T>();
            Op::kernel(from, r.outer, r.n, r.inner, a->template as<std::int64_t>());
            kernels::fold_plain<Op>(r.outer, r.n, r.inner, b->template as<std::int64_t>(), from);
            compare(*a, b);
        }
}
template <class T> void run(Row<Stack>, const Tensor<T>& x)
{
    const Tensor<T> y = some<T>(x.shape(), 9);
    for (std::size_t axis = 0; axis <= x.dimension(); ++axis) {
        Shape side = x.shape();
        side.push_back(1);
        for (std::size_t a = side.size() - 1; a > axis; --a) side[a] = side[a - 1];
        side[axis] = 5;
        agree_on_parts<T>(Stack{axis, side}, Parts<T>{x, y, x, y, x});
    }
}
template <class T> void run(Row<Concatenate>, const Tensor<T>& x)
{
    const Tensor<T> y = some<T>(x.shape(), 9);
    for (std::size_t axis = 0; axis < x.dimension(); ++axis) {
        Shape all = x.shape(), other = x.shape();
        other[axis] = 2;
        all[axis] = 2 * x.shape()[axis] + 2;
        const Extents ends{x.shape()[axis], x.shape()[axis] + 2, all[axis]};
        agree_on_parts<T>(Concatenate{axis, all, ends}, Parts<T>{x, some<T>(other, 4), y});
    }
}
/// Indices below n, some of them from the end.
Indices indices(const Shape& shape, std::int64_t n)
{
    auto b = make_block(DType::int64, shape);
    for (std::size_t k = 0; k < b->count; ++k)
        b->as<std::int64_t>()[k] = static_cast<std::int64_t>(k * 5 + 1) % (2 * n) - n;
    return Indices(AnyTensor{b, {}});
}
template <class T> void run(Row<Take>, const Tensor<T>& x)
{
    for (std::size_t axis = 0; axis < x.dimension(); ++axis)
        for (const Shape& s : {Shape{}, Shape{4}, Shape{3, 2}, Shape{0}}) {
            if (x.shape()[axis] == 0 && element_count(s) > 0) continue;
            for (const Indices& i : layouts(indices(s, x.shape()[axis])))
                agree<T>(Take{axis, x.shape()}, x, i);
        }
}
template <class T> void run(Row<ScatterAdd>, const Tensor<T>& x)
{
    if constexpr (!std::is_same_v<T, bool>)
        for (std::size_t axis = 0; axis < x.dimension(); ++axis)
            for (const Shape& s : {Shape{}, Shape{7}, Shape{3, 2}, Shape{0}}) {
                if (x.shape()[axis] == 0 && element_count(s) > 0) continue;
                const Indices i = indices(s, x.shape()[axis]);
                for (const Tensor<T>& u :
                     layouts(some<T>(wengert::detail::taken_shape(x.shape(), s, axis), 6)))
                    agree<T>(ScatterAdd{axis}, x, i, u);
            }
}
template <class T> void run(Row<OneHot>, const Tensor<T>& x)
{
    auto b = make_block(DType::int64, x.shape());
    for (std::size_t k = 0; k < b->count; ++k)
        b->template as<std::int64_t>()[k] = static_cast<std::int64_t>(k * 3 % 4);
    for (const Indices& labels : layouts(Indices(AnyTensor{b, {}}))) agree<T>(OneHot{4}, labels);
}
template <class T> void run(Row<Unpack>, const Tensor<T>& x)
{
    if (x.dimension() != 1 || x.size() < 3) return;
    const auto n = static_cast<std::int64_t>(x.size());
    for (const Tensor<T>& v : layouts(x)) {
        agree<T>(Unpack{0, {n - 1, 1}, n}, v);
        agree<T>(Unpack{n - 2, {2}, n}, v);
        agree<T>(Unpack{n, {0, 4}, n}, v);
    }
}

template <class T, class... Op> void run_all(wengert::detail::List<Op...>, const Tensor<T>& x)
{
    (run(Row<Op>{}, x), ...);
}

}  // namespace

TEMPLATE_TEST_CASE("every override is what its description says", "[index]", double, float, std::int32_t,
                   std::int64_t, bool)
{
    const OnDevice host(0);  // where the kernels are
    for (const Shape& s : shapes_of_all_kinds()) {
        INFO(to_string(s));
        for (const Tensor<TestType>& x : layouts(some<TestType>(s))) run_all(wengert::detail::Overrides(), x);
    }
}

TEST_CASE("bits of another dtype have no description, sums in place have one", "[index]")
{
    CHECK(structural_primitive<Select, xsimd::default_arch, double, double>.pull[0].add->index);
    CHECK(structural_primitive<Element, xsimd::default_arch, double, double>.pull[0].add->index);
    CHECK(structural_primitive<Diagonal, xsimd::default_arch, double, double>.pull[0].add->index);
    CHECK(!structural_primitive<Unpack, xsimd::default_arch, bool, double>.index);
}

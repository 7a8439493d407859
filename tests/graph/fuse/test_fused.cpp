// Fused groups give the bits of `interpret`: random programs of elementwise operations over all sizes, layouts and dtypes.
#include "catch.hpp"

#include "graph/fuse/fused_runner.hpp"

#include <random>

namespace {

using namespace wengert;
using fused_test::check_fused;

constexpr auto A_f32 = DType::float32;
using Arch = xsimd::default_arch;

/// A primitive of the user's.
struct MultiplyAdd {
    static constexpr std::string_view name = "multiply_add";
    template <class V> static V value(const V& x, const V& y, const V& z)
    {
        using std::fma;
        return fma(x, y, z);
    }
};

template <class T> struct Ops {
    template <class P> static const Primitive* un() { return &elementwise_primitive<P, Arch, T, T>; }
    template <class P> static const Primitive* bin() { return &elementwise_primitive<P, Arch, T, T, T>; }
    template <class P> static const Primitive* compare()
    {
        return &elementwise_primitive<P, Arch, bool, T, T>;
    }
    template <class P, std::size_t i> static const Primitive* pull()
    {
        return elementwise_primitive<P, Arch, T, T, T>.pull[i].primitive;
    }
    static std::vector<const Primitive*> unary()
    {
        return {un<Negative>(), un<Square>(), un<Exp>(), un<Tanh>(), un<Abs>(), un<Sqrt>(), un<Floor>()};
    }
    /// Arithmetic more often than the rest: that is what is combined.
    static std::vector<const Primitive*> binary()
    {
        return {bin<Add>(),
                bin<Subtract>(),
                bin<Multiply>(),
                bin<Add>(),
                bin<Subtract>(),
                bin<Multiply>(),
                bin<Divide>(),
                bin<Maximum>(),
                pull<Multiply, 0>(),
                pull<Multiply, 1>(),
                un<Tanh>()->pull[0].primitive,
                un<Sigmoid>()->pull[0].primitive,
                bin<Divide>()->pull[0].primitive,
                un<Square>()->pull[0].primitive};
    }
};

class Programs {
public:
    explicit Programs(unsigned seed) : random_(seed) {}

    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
    template <class X> const X& pick(const std::vector<X>& v) { return v[below(v.size())]; }

    /// Numbers with the edges among them.
    Ref<Block> values(DType dtype, const Shape& shape)
    {
        auto b = make_block(dtype, shape);
        with_dtype(dtype, [&]<class T>() {
            for (std::size_t i = 0; i < b->count; ++i) b->as<T>()[i] = number<T>();
        });
        return b;
    }
    template <class T> T number()
    {
        const double x = std::uniform_real_distribution<double>(-2, 2)(random_);
        if constexpr (std::is_same_v<T, bool>)
            return x > 0;
        else if constexpr (std::is_integral_v<T>)
            return static_cast<T>(x * 100);
        else {
            constexpr T inf = std::numeric_limits<T>::infinity();
            const std::size_t edge = below(40);
            if (edge == 0) return T(0);
            if (edge == 1) return -T(0);
            if (edge == 2 && edges) return inf;
            if (edge == 3 && edges) return std::numeric_limits<T>::quiet_NaN();
            return static_cast<T>(x);
        }
    }
    bool edges = true;

private:
    std::mt19937 random_;
};

/// Shapes that broadcast to `shape`.
std::vector<Shape> smaller(const Shape& shape)
{
    std::vector<Shape> all{Shape(), shape};
    for (std::size_t skip = 1; skip < shape.size(); ++skip)
        all.push_back(Shape(shape.data() + skip, shape.size() - skip));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        Shape s = shape;
        s[axis] = 1;
        all.push_back(s);
    }
    return all;
}

template <class T> ValueId sum_of(Graph& g, ValueId v, const Axes& axes, bool mean, bool keepdims)
{
    const Shape from = g.node(v).shape;
    Along along{axes, keepdims, from};
    const Shape shape = keepdims ? along.kept() : along.dropped();
    if (mean) {
        const Mean op{along};
        const Primitive& p = structural_primitive<Mean, Arch, T, T>;
        return g.operation(p, keep_parameters(p, &op), {v}, shape);
    }
    const Sum op{axes, keepdims, from};
    const Primitive& p = structural_primitive<Sum, Arch, T, T>;
    return g.operation(p, keep_parameters(p, &op), {v}, shape);
}

/// A view of a larger array: every second element, or shifted by one.
template <class T>
ValueId strided_input(Graph& g, Programs& r, const Shape& shape, std::vector<Ref<Block>>& inputs)
{
    Shape of = shape;
    const std::int64_t step = r.below(2) ? 1 : 2;
    for (auto& e : of) e = e * step + 2;
    const ValueId whole = g.input(dtype_of<T>(), of);
    inputs.push_back(r.values(dtype_of<T>(), of));
    Selection part(of);
    for (std::size_t i = 0; i < shape.size(); ++i)
        part.start[i] = static_cast<std::int64_t>(r.below(2)), part.step[i] = step;
    part.shape = shape;
    const Select op{part};
    const Primitive& p = structural_primitive<Select, Arch, T, T>;
    return g.operation(p, keep_parameters(p, &op), {whole}, shape);
}

template <class T> void random_program(unsigned seed, const Shape& shape, std::size_t length)
{
    Programs r(seed);
    r.edges = seed % 2;
    Graph g;
    std::vector<Ref<Block>> inputs;
    std::vector<ValueId> all, masks;
    for (const Shape& s : smaller(shape)) {
        all.push_back(g.input(dtype_of<T>(), s));
        inputs.push_back(r.values(dtype_of<T>(), s));
    }
    all.push_back(g.constant(r.values(dtype_of<T>(), Shape())));
    for (int i = 0; i < 2 && !shape.empty(); ++i) all.push_back(strided_input<T>(g, r, shape, inputs));
    const auto operand = [&] {
        return r.below(3) ? all[all.size() - 1 - r.below(std::min<std::size_t>(6, all.size()))] : r.pick(all);
    };
    const auto shape_of = [&](std::initializer_list<ValueId> v) {
        Shape s;
        for (ValueId i : v) s = broadcast_shapes("test", s, g.node(i).shape, {});
        return s;
    };
    for (std::size_t i = 0; i < length; ++i) {
        const std::size_t kind = r.below(13);
        const ValueId a = operand(), b = operand(), c = operand();
        if (kind < 2) {
            all.push_back(g.operation(*r.pick(Ops<T>::unary()), {}, {a}, g.node(a).shape));
        } else if (kind == 2) {
            masks.push_back(g.operation(*Ops<T>::template compare<Less>(), {}, {a, b}, shape_of({a, b})));
        } else if (kind == 3 && !masks.empty()) {
            const ValueId m = r.pick(masks);
            all.push_back(g.operation(elementwise_primitive<Where, Arch, T, bool, T, T>, {}, {m, a, b},
                                      shape_of({m, a, b})));
        } else if (kind == 4 || kind == 12) {
            const Primitive& p = elementwise_primitive<MultiplyAdd, Arch, T, T, T, T>;
            all.push_back(g.operation(p, {}, {a, b, c}, shape_of({a, b, c})));
        } else {
            all.push_back(g.operation(*r.pick(Ops<T>::binary()), {}, {a, b}, shape_of({a, b})));
        }
    }
    for (int i = 0; i < 3; ++i) g.output(all[all.size() - 1 - r.below(std::min<std::size_t>(8, all.size()))]);
    if (!masks.empty()) g.output(r.pick(masks));
    for (int i = 0; i < 2; ++i) {
        const ValueId v = all[all.size() - 1 - r.below(4)];
        Axes axes;
        const std::size_t rank = g.node(v).shape.size(), from = r.below(rank + 1);
        for (std::size_t axis = from; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
        g.output(sum_of<T>(g, v, axes, r.below(2), r.below(2)));
    }
    check_fused(g, inputs);
}

const std::vector<Shape> shapes{{},        {1},        {7},        {8},       {511},    {512},     {513},
                                {1000},    {5000},     {3, 5},     {40, 7},   {300, 3}, {20, 100}, {3, 600},
                                {2, 3, 4}, {5, 1, 70}, {9, 4, 30}, {1, 9000}, {4, 4500}};

}  // namespace

TEST_CASE("random programs of floats")
{
    unsigned seed = 1;
    for (const Shape& shape : shapes)
        for (std::size_t length : {3U, 8U, 20U, 60U}) {
            CAPTURE(seed, to_string(shape), length);
            random_program<float>(seed++, shape, length);
        }
}

TEST_CASE("random programs of doubles")
{
    unsigned seed = 1001;
    for (const Shape& shape : shapes)
        for (std::size_t length : {3U, 8U, 20U, 60U}) {
            CAPTURE(seed, to_string(shape), length);
            random_program<double>(seed++, shape, length);
        }
}

TEST_CASE("x y + z of three values that are all read again")
{
    Graph g;
    const Shape shape{1000};
    std::vector<Ref<Block>> inputs;
    ValueId x[3];
    for (ValueId& v : x) {
        v = g.input(DType::float32, shape);
        inputs.push_back(make_block(DType::float32, shape));
        for (std::size_t i = 0; i < 1000; ++i)
            inputs.back()->as<float>()[i] = 0.01F * static_cast<float>(i * (v + 3) % 97) - 0.3F;
    }
    const auto two = [&](const Primitive& p, ValueId a, ValueId b) {
        return g.operation(p, {}, {a, b}, shape);
    };
    const Primitive& add = elementwise_primitive<Add, Arch, float, float, float>;
    const Primitive& multiply = elementwise_primitive<Multiply, Arch, float, float, float>;
    const Primitive& fma = elementwise_primitive<MultiplyAdd, Arch, float, float, float, float>;
    const ValueId a = two(add, x[0], x[1]), b = two(multiply, x[1], x[2]), c = two(add, x[0], x[2]);
    const ValueId d = g.operation(fma, {}, {a, b, c}, shape);
    g.output(two(multiply, two(multiply, d, c), two(add, b, a)));
    check_fused(g, inputs);
}

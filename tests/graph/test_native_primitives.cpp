// Native code against the kernels that eager uses: every elementwise primitive and every derivative, over edge values, to the
// bit.
#include "../catch.hpp"

#include <wengert/graph/emit/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/activations.hpp>
#include <wengert/ops/cast.hpp>
#include <wengert/ops/choices.hpp>
#include <wengert/ops/pairs.hpp>
#include <wengert/transforms/lambda.hpp>

#include <cstring>

using namespace wengert;

namespace {

using A = xsimd::default_arch;

template <class T> std::vector<T> edges()
{
    using L = std::numeric_limits<T>;
    std::vector<T> v = {
        T(0),           T(-0.0),         T(1),         T(-1),       T(0.5),        T(-0.5),
        T(2),           T(-2),           T(3),         T(1e-3),     T(-1e-3),      L::min(),
        -L::min(),      L::denorm_min(), L::max(),     L::lowest(), L::epsilon(),  L::infinity(),
        -L::infinity(), L::quiet_NaN(),  T(1.5707964), T(3.14159),  T(-1.5707964), T(88.7),
        T(-87.5),       T(-104),         T(709.9),     T(-745),     T(12345.6),    T(3e9),
        T(-3e9),        T(1e22),         T(-1e30),     T(0.29),     T(-0.5000001), T(0.99),
        T(-0.99),       T(7.5),          T(-7.5)};
    for (int i = 0; i < 30; ++i) v.push_back(static_cast<T>(std::sin(i * 1.7) * std::pow(1.6, i % 13 - 6)));
    return v;
}

/// Every pair of edge values, and a third one that runs along.
template <class T> Ref<Block> operand(int which)
{
    const std::vector<T> v = edges<T>();
    const std::size_t n = v.size();
    auto b = make_block(dtype_of<T>(), Shape{n * n});
    for (std::size_t i = 0; i < n * n; ++i)
        b->template as<T>()[i] = v[which == 0 ? i % n : which == 1 ? i / n : (i * 7 + i / n) % n];
    return b;
}
Ref<Block> flags(std::size_t n)
{
    auto b = make_block(DType::boolean, Shape{n});
    for (std::size_t i = 0; i < n; ++i) b->as<bool>()[i] = i * i % 3 == 1;
    return b;
}

/// A graph of one node for each descriptor, all of them outputs.
template <class T> struct Builder {
    Graph graph;
    std::vector<Ref<Block>> inputs;
    std::vector<ValueId> cases;
    ValueId x[3], c;

    Builder()
    {
        for (int i = 0; i < 3; ++i) {
            inputs.push_back(operand<T>(i));
            x[i] = graph.input(dtype_of<T>(), inputs.back()->shape);
        }
        inputs.push_back(flags(inputs[0]->count));
        c = graph.input(DType::boolean, inputs[3]->shape);
    }
    void node(const Primitive& p, std::vector<ValueId> in)
    {
        INFO(p.name);
        REQUIRE(p.describe != nullptr);
        const ValueId v = graph.operation(p, {}, std::move(in), inputs[0]->shape);
        graph.output(v);
        cases.push_back(v);
    }
    /// The primitive and its derivatives; y is taken for any value.
    void all(const Primitive& p, bool condition = false)
    {
        std::vector<ValueId> in;
        for (std::size_t i = 0; i < p.arity; ++i)
            in.push_back(condition && i == 0 ? c : x[(i + condition) % 3]);
        node(p, in);
        for (const Pull& pull : p.pull) {
            if (!pull.primitive) continue;
            std::vector<ValueId> from{x[2]};
            for (std::uint8_t k = 0; k < pull.count; ++k)
                from.push_back(pull.slots[k] < p.arity ? in[pull.slots[k]] : x[1]);
            node(*pull.primitive, from);
        }
    }
    template <class P> void one() { all(elementwise_primitive<P, A, T, T>); }
    template <class P> void two() { all(elementwise_primitive<P, A, T, T, T>); }

    void check()
    {
        const auto native = compile_native(graph, {});
        REQUIRE(native->note == "");
        std::vector<Ref<Block>> out;
        native->run(inputs, out);
        const auto expected = interpret(graph, inputs);
        for (std::size_t k = 0; k < cases.size(); ++k)
            with_dtype(out[k]->dtype, [&]<class U>() { compare<U>(cases[k], *expected[cases[k]], *out[k]); });
    }
    /// To the bit; a NaN is a NaN.
    template <class U> void compare(ValueId v, const Block& want, const Block& got)
    {
        INFO(graph.node(v).primitive->name);
        std::size_t differ = 0, at = 0;
        for (std::size_t i = 0; i < want.count; ++i) {
            const U a = want.as<U>()[i], b = got.as<U>()[i];
            if (std::memcmp(&a, &b, sizeof a) != 0 && (a == a || b == b)) ++differ, at = i;
        }
        const auto in = [&](int i) { return inputs[static_cast<std::size_t>(i)]->template as<T>()[at]; };
        INFO("inputs " << in(0) << " " << in(1) << " " << in(2) << ": " << want.as<U>()[at] << " and "
                       << got.as<U>()[at]);
        CHECK(differ == 0);
    }
};

template <class T> void arithmetic(Builder<T>& b)
{
    b.template two<Add>();
    b.template two<Subtract>();
    b.template two<Multiply>();
    b.template two<Divide>();
    b.template one<Negative>();
    b.template one<Square>();
    b.template one<Sqrt>();
    b.template one<Reciprocal>();
    b.template one<Abs>();
    b.template one<Sign>();
    b.template one<Floor>();
    b.template one<Ceil>();
    b.template one<Round>();
    b.template one<Relu>();
    b.template two<Maximum>();
    b.template two<Minimum>();
    b.template two<QuotientOrZero>();
    b.template two<SameValue>();
    b.template two<ZeroWhereUndefined>();
    b.template one<RootFlatAtZero>();
    b.all(elementwise_primitive<Clip, A, T, T, T, T>);
    b.all(elementwise_primitive<Where, A, T, bool, T, T>, true);
    b.all(elementwise_primitive<Less, A, bool, T, T>);
    b.all(elementwise_primitive<LessEqual, A, bool, T, T>);
    b.all(elementwise_primitive<Equal, A, bool, T, T>);
    b.all(elementwise_primitive<NotEqual, A, bool, T, T>);
    b.all(elementwise_primitive<LogicalAnd, A, bool, T, T>);
    b.all(elementwise_primitive<LogicalOr, A, bool, T, T>);
    b.all(elementwise_primitive<LogicalNot, A, bool, T>);
    b.all(elementwise_primitive<IsFinite, A, bool, T>);
}

template <class T> void functions(Builder<T>& b)
{
    b.template one<Exp>();
    b.template one<Expm1>();
    b.template one<Log>();
    b.template one<Log1p>();
    b.template one<Log2>();
    b.template one<Log10>();
    b.template one<Sin>();
    b.template one<Cos>();
    b.template one<Tan>();
    b.template one<Sinh>();
    b.template one<Cosh>();
    b.template one<Tanh>();
    b.template one<Erf>();
    b.template one<Sigmoid>();
    b.template one<Softplus>();
    b.template one<Gelu>();
    b.template one<Silu>();
    b.template one<Asin>();
    b.template one<Acos>();
    b.template one<Atan>();
    b.template two<Hypot>();
    b.template two<Atan2>();
    b.template two<Pow>();
    b.all(elementwise_primitive<WeighByExp, A, T, T, T, T>);
    b.template one<NormalCdf>();
}

/// A user's own: a lambda, and a rule with numbers in it.
struct Bump {
    static constexpr std::string_view name = "bump";
    template <class V> static V value(const V& x)
    {
        using std::exp;
        return where(x * x < lit(1), exp(-(x * x)), lit(0.25));
    }
    template <class V> static constexpr V pull(wrt<0>, const V& g, const V& x, const V& y)
    {
        return g * (lit(-2) * x * y);
    }
};

template <class T> void everything()
{
    Builder<T> numbers;
    arithmetic(numbers);
    numbers.check();
    Builder<T> curves;
    functions(curves);
    curves.template one<Bump>();
    constexpr auto lambda = [](auto x, auto y) {
        using std::sin;
        return where(x > 0.0, sin(x) * y + 1.0, x / (2.0 + y * y));
    };
    curves.template two<detail::LambdaPrimitive<decltype(lambda)>>();
    curves.check();
}

}  // namespace

TEST_CASE("native: every elementwise primitive and derivative, float", "[native]") { everything<float>(); }
TEST_CASE("native: every elementwise primitive and derivative, double", "[native]") { everything<double>(); }

TEST_CASE("native: whole numbers, flags and casts", "[native]")
{
    Graph g;
    const std::size_t n = 133;
    auto a = make_block(DType::int32, Shape{n}), b = make_block(DType::int64, Shape{n}), c = flags(n);
    auto x = make_block(DType::float64, Shape{n});
    for (std::size_t i = 0; i < n; ++i) {
        a->as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 2654435761U);
        b->as<std::int64_t>()[i] = static_cast<std::int64_t>(i * 0x9e3779b97f4a7c15U);
        x->as<double>()[i] = static_cast<double>(i) * 0.37 - 20;
    }
    const Shape s{n};
    const ValueId va = g.input(DType::int32, s), vb = g.input(DType::int64, s),
                  vc = g.input(DType::boolean, s), vx = g.input(DType::float64, s);
    const auto node = [&](const Primitive& p, std::vector<ValueId> in) {
        g.output(g.operation(p, {}, std::move(in), s));
    };
    const auto whole = [&]<class T>(ValueId v) {
        node(elementwise_primitive<Multiply, A, T, T, T>, {v, v});
        node(elementwise_primitive<Subtract, A, T, T, T>, {v, v});
        node(elementwise_primitive<Square, A, T, T>, {v});
        node(elementwise_primitive<Less, A, bool, T, T>, {v, v});
        node(elementwise_primitive<Maximum, A, T, T, T>, {v, v});
        node(elementwise_primitive<LogicalAnd, A, bool, T, T>, {v, v});
        node(elementwise_primitive<Where, A, T, bool, T, T>, {vc, v, v});
        node(elementwise_primitive<Pow, A, T, T, T>, {v, v});  // has no vector form: its kernel is called
        node(elementwise_primitive<Cast<double>, A, double, T>, {v});
        node(elementwise_primitive<Cast<float>, A, float, T>, {v});
        node(elementwise_primitive<Cast<bool>, A, bool, T>, {v});
    };
    whole.template operator()<std::int32_t>(va);
    whole.template operator()<std::int64_t>(vb);
    node(elementwise_primitive<Cast<std::int64_t>, A, std::int64_t, std::int32_t>, {va});
    node(elementwise_primitive<Cast<std::int32_t>, A, std::int32_t, double>, {vx});
    node(elementwise_primitive<Cast<float>, A, float, bool>, {vc});
    node(elementwise_primitive<Cast<std::int64_t>, A, std::int64_t, bool>, {vc});
    node(elementwise_primitive<LogicalNot, A, bool, bool>, {vc});
    node(elementwise_primitive<LogicalOr, A, bool, bool, bool>, {vc, vc});
    node(elementwise_primitive<Equal, A, bool, bool, bool>, {vc, vc});
    node(elementwise_primitive<Add, A, bool, bool, bool>, {vc, vc});
    std::vector<Ref<Block>> in{a, b, c, x}, out;
    const auto native = compile_native(g, {});
    for (const char* what : {"pow of int32", "pow of int64", "add of bool"})
        CHECK_THAT(native->note, contains(what));
    CHECK(native->stats.uncompiled == 3);
    native->run(in, out);
    const auto want = interpret(g, in);
    for (std::size_t k = 0; k < out.size(); ++k) {
        INFO(g.node(g.outputs()[k]).primitive->name << " " << k);
        CHECK(same_elements(*want[g.outputs()[k]], *out[k]));
    }
}

// Library calls that say what they are, as the library's own do: products, random numbers, the zero-cotangent rule, takes. Whoever
// offers the form gets what goes with it, whatever it is called; whoever has the name alone gets nothing.
#include "graph/c/emit_programs.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/control/host.hpp>
#include <wengert/graph/passes/dead_code.hpp>
#include <wengert/graph/passes/products.hpp>
#include <wengert/graph/passes/simplify.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>

using D = Tensor<double>;
using I = Tensor<std::int64_t>;

/// y = b aᵀ of matrices, under a name that means something else.
struct Turned {
    static constexpr std::string_view name = "uniform";
    static constexpr bool bilinear = true, infallible = true;
    static constexpr unsigned saves = 0b011;
    MatrixProduct product() const
    {
        return {.a = {.operand = 1}, .b = {.operand = 0, .transposed = true, .column = true}};
    }
    template <class T> Ref<Block> value(const Ref<Block>& a, const Ref<Block>& b, const Site& at) const
    {
        return MatMul{false, true, b->shape, a->shape}.template value<T>(b, a, at);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& b, const Tensor<T>&) const
    {
        return apply<MatMul, T>(MatMul{true, false, g.shape(), b.shape()}, Site{}, g, b);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& a, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<MatMul, T>(MatMul{false, false, g.shape(), a.shape()}, Site{}, g, a);
    }
};
/// Says that it is the product of operands that it does not have.
struct Nonsense {
    static constexpr std::string_view name = "nonsense";
    static constexpr bool linear = true;
    MatrixProduct product() const { return {.b = {.operand = 3}}; }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const { return copy_of(*x); }
};
constexpr std::string_view other_names[] = {
    "matmul",     "matmul.pull0", "gemm",      "take",          "take.pull0",
    "uniform",    "normal",       "key_child", "host_callback", "scan",
    "while_loop", "unpack",       "one_hot",   "scatter_add",   "zero_where_no_cotangent",
    "*/ x"};

/// y = 2x, whatever it is called.
template <int which> struct Twofold {
    static constexpr std::string_view name = other_names[which];
    static constexpr bool linear = true;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        return (Tensor<T>(AnyTensor{x, {}}) * T(2)).any().value;
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Twofold, T>({}, Site{}, g);
    }
};
/// Fair coins: of the library's generator, with no other code for emitted C.
struct Coins {
    static constexpr std::string_view name = "sum";
    static constexpr bool flat = true, random = true;
    Shape shape;
    RandomDraw draw() const
    {
        return {.form = RandomDraw::Form::choice, .low = 0.25, .high = -0.25, .p = 0.5};
    }
    template <class T> Ref<Block> value(const Ref<Block>& key, const Site& at) const
    {
        auto y = make_block(dtype_of<T>(), shape);
        kernels::fill_choice(detail::key_of(name, key, at), 0.5, T(0.25), T(-0.25), y->template as<T>(),
                             y->count);
        return y;
    }
};

namespace {

D turned(const D& a, const D& b, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Turned, double>({}, at, a, b);
}

Ref<Block> make_scalar()
{
    auto b = make_block(DType::int64, Shape());
    *b->as<std::int64_t>() = -2;
    return b;
}

template <class T> Tensor<T> wg_one_hot(const I& labels) { return one_hot<T>(labels, 4); }

template <class F> std::string message(const F& f)
{
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

void check_everywhere(const Program& p)
{
    INFO(p.name);
    const auto same = [&](const std::vector<Ref<Block>>& out) {
        REQUIRE(out.size() == p.expected.size());
        for (std::size_t k = 0; k < out.size(); ++k)
            CHECK(same_elements(*readable(out[k]), *readable(p.expected[k])));
    };
    std::vector<Ref<Block>> read;
    const auto values = interpret(p.graph, p.inputs);
    for (ValueId v : p.graph.outputs()) read.push_back(values[v]);
    same(read);
    for (const auto& e : {Backend(tile).compile(p.graph, {}), compile_native(p.graph, {})})
        for (int twice = 0; twice < 2; ++twice) {
            std::vector<Ref<Block>> in = p.inputs, out;
            e->run(in, out);
            same(out);
        }
}

template <int which> void check_twofold()
{
    const auto f = [](const D& x) { return apply<Twofold<which>, double>({}, Site{}, x); };
    const auto loss = [&](const D& x) { return sum(square(f(x)) + x); };
    const D x = numbers<double>({3, 3}, 1);
    check_everywhere(gradient<double>("twofold", {x}, [&](const std::vector<D>& w) { return loss(w[0]); }));
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native}) {
        auto frozen = freeze(grad(loss), {.backend = backend});
        for (int i = 0; i < 3; ++i)
            CHECK(allclose(frozen(x + double(i)), 8.0 * (x + double(i)) + 1.0, 1e-15));
        const auto loop = [&](const D& s) {
            return scan([&](const D& h, const D& r) { return std::pair(0.5 * f(h), f(h) + r); }, s, x).first;
        };
        auto looped = freeze(loop, {.backend = backend});
        CHECK(allclose(looped(x(0)), loop(x(0)), 0.0));
        CHECK(allclose(looped(x(1)), loop(x(1)), 0.0));
    }
}

}  // namespace

TEST_CASE("a name means nothing")
{
    check_twofold<0>(), check_twofold<1>(), check_twofold<2>(), check_twofold<3>();
    check_twofold<4>(), check_twofold<5>(), check_twofold<6>(), check_twofold<7>();
    check_twofold<8>(), check_twofold<9>(), check_twofold<10>(), check_twofold<11>();
    check_twofold<12>(), check_twofold<13>(), check_twofold<14>(), check_twofold<15>();
}

TEST_CASE("a product of the program's own is one everywhere")
{
    const D a = numbers<double>({5, 7}, 1), b = numbers<double>({4, 7}, 2);
    CHECK(check_grads([](const D& x, const D& y) { return sum(sin(turned(x, y))); }, std::tuple(a, b),
                      {.order = 2})
              .ok);
    const auto loss = [](const std::vector<D>& w) {
        const D y = turned(w[0], w[1]);
        return sum(y * turned(w[0] * 0.5, w[1])) + sum(turned(transpose(transpose(w[0])), w[1]));
    };
    check_everywhere(gradient<double>("turned", {a, b}, loss));
    check({gradient<double>("turned_text", {a, b}, loss)});
    const auto step = [](const D& x, const D& y) { return turned(x, y); };
    auto frozen = freeze(step, {.backend = tile});
    frozen(a, b);
    CHECK(same_elements(*frozen(a, b).any().value, *step(a, b).any().value));
    CHECK(
        native_text(program<double>("small", {a, b},
                                    [](const std::vector<D>& w, const auto& out) { out(turned(w[0], w[1])); })
                        .graph)
            .find("SmallProduct") != std::string::npos);
}

TEST_CASE("passes flag the transposes of any product, and take it into a sum")
{
    const D a = numbers<double>({7, 5}, 1), b = numbers<double>({4, 7}, 2), c = numbers<double>({4, 5}, 3);
    const Program p = program<double>("flagged", {a, b, c}, [](const std::vector<D>& w, const auto& out) {
        out(w[2] - 0.5 * turned(transpose(w[0]), w[1]));
    });
    PassOptions options;
    options.fold_updates = true;
    const Graph g = passes::dead_code(passes::products(p.graph, options));
    std::size_t products = 0, views = 0;
    for (const GraphNode& n : g.nodes()) {
        products += n.primitive && n.primitive->product;
        views += n.primitive && n.primitive->name == "transpose";
    }
    CHECK(products == 1);
    CHECK(views == 0);
    const auto values = interpret(g, p.inputs);
    CHECK(allclose(D(AnyTensor{values[g.outputs()[0]], {}}), D(AnyTensor{p.expected[0], {}}), 1e-15));
}

TEST_CASE("a product of operands that are not there is refused by its name")
{
    const D x = numbers<double>({3, 3}, 1);
    const auto f = [](const D& t) { return apply<Nonsense, double>({}, Site{}, t) * 2.0; };
    const std::string said = message([&] {
        auto frozen = freeze(f, {.backend = tile});
        frozen(x);
        frozen(x);
    });
    CHECK(said.find("[nonsense] says that it is a product of an operand that it does not have") == 0);
}

TEST_CASE("products of batches and vectors, and their cotangents added, as emitted C")
{
    std::vector<Program> list;
    const auto add = [&](const char* name, const Shape& a, const Shape& b) {
        list.push_back(gradient<double>(name, {numbers<double>(a, 1), numbers<double>(b, 2)},
                                        [](const std::vector<D>& w) {
                                            const D y = matmul(w[0], w[1]), z = matmul(w[0] * 0.5, w[1]);
                                            return sum(y * y) + sum(z) + sum(w[0]) + sum(w[1]);
                                        }));
    };
    add("matrices", {3, 4}, {4, 5});
    add("row", {4}, {4, 5});
    add("column", {3, 4}, {4});
    add("numbers", {4}, {4});
    add("stacks", {2, 3, 4}, {2, 4, 5});
    add("one_stack", {3, 4}, {2, 4, 5});
    add("stack_of_one", {1, 3, 4}, {2, 4, 5});
    add("row_by_stack", {4}, {2, 4, 5});
    add("deep", {2, 1, 3, 4}, {3, 4, 2});
    for (const Program& p : list) check_everywhere(p);
    check(list);
}

TEST_CASE("random numbers of the program's own have the generator's bits everywhere")
{
    const auto key = make_block(DType::int64, Shape{2});
    key->as<std::int64_t>()[0] = 12345;
    key->as<std::int64_t>()[1] = 678;
    const auto draw = [](const std::vector<I>& w, const auto& out) {
        out(apply<Coins, double>(Coins{{3, 5}}, Site{}, w[0]));
        out(apply<Coins, float>(Coins{{17}}, Site{}, w[0]));
    };
    const Program p = program<std::int64_t>("coins", {I(AnyTensor{key, {}})}, draw);
    check_everywhere(p);
    check({p});
}

TEST_CASE("triangles and labels are index programs")
{
    std::vector<Program> list;
    for (const std::int64_t k : {0, 1, -1, 3, -3, 7, -7, 1000})
        for (const Shape& shape :
             {Shape{4, 4}, Shape{2, 3, 5}, Shape{6, 2}, Shape{1, 4}, Shape{3, 1}, Shape{0, 3}, Shape{3, 0}})
            list.push_back(program<double>(
                "triangle" + std::to_string(list.size()), {numbers<double>(shape, 1)},
                [k](const std::vector<D>& w, const auto& out) {
                    out(tril(w[0], k)), out(triu(w[0], k)), out(triu(w[0] / 0.0, k));
                    out(grad([&](const D& x) { return sum(tril(x * x, k) * triu(x, -k)); })(w[0]));
                }));
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0}}) {
        auto labels = make_block(DType::int64, shape);
        for (std::size_t i = 0; i < labels->count; ++i)
            labels->as<std::int64_t>()[i] = static_cast<std::int64_t>(i % 4);
        list.push_back(
            program<std::int64_t>("labels" + std::to_string(list.size()), {I(AnyTensor{labels, {}})},
                                  [](const std::vector<I>& w, const auto& out) {
                                      out(wg_one_hot<double>(w[0])), out(wg_one_hot<float>(w[0]));
                                      out(wg_one_hot<std::int32_t>(w[0])), out(wg_one_hot<bool>(w[0]));
                                  }));
    }
    for (const Program& p : list) check_everywhere(p);
    check(list);
    const auto f = [](const I& x) { return one_hot<double>(x, 3) * 2.0; };
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native}) {
        auto frozen = freeze(f, {.backend = backend});
        frozen(I{0, 2}), frozen(I{1, 1});
        CHECK(message([&] { frozen(I{0, 3}); }).find("[one_hot] index 3") == 0);
        CHECK(message([&] { frozen(I{-1, 0}); }).find("[one_hot] index -1") == 0);
        CHECK(same_elements(*frozen(I{2, 0}).any().value, *f(I{2, 0}).any().value));
    }
}

TEST_CASE("takes and what is added to them are index programs")
{
    const I at = reshape(I{2, -1, 0, 2, 1, 1}, {3, 2});
    std::vector<Program> list;
    const auto add = [&](const char* name, const Shape& shape, const auto& f) {
        list.push_back(gradient<double>(name, {numbers<double>(shape, 1), numbers<double>(shape, 2)},
                                        [f](const std::vector<D>& w) {
                                            const D r = f(w[0], w[1]);
                                            return sum(r * r * r) + sum(w[0]);
                                        }));
    };
    using X = const D&;
    add("rows", {3, 4}, [=](X x, X y) { return take(x, at, 0) * take(y * 0.5, at, 0) + take(x, at, 0); });
    add("columns", {2, 3}, [=](X x, X y) { return take(x, at, 1) * take(y, at, -1); });
    add("middle", {2, 3, 4}, [=](X x, X y) { return take(x, at, 1) - take(y, at, 1); });
    add("turned_rows", {4, 3},
        [=](X x, X y) { return take(transpose(x), at, 0) * take(transpose(y), at, 0); });
    add("added", {3, 4}, [=](X x, X y) { return scatter_add(x, at, take(y, at, 0) * take(x, at, 0), 0); });
    add("added_columns", {4, 3}, [=](X x, X y) { return scatter_add(x * y, at, take(y, at, 1), 1); });
    add("deep", {2, 1, 3, 1, 2, 1, 2}, [=](X x, X y) { return take(x, at, 2) * take(y, at, 2); });
    add("one_place", {3}, [=](X x, X y) { return take(x, I(AnyTensor{make_scalar(), {}}), 0) * y; });
    const D e = numbers<double>({0, 4}, 1);
    list.push_back(program<double>("nothing", {numbers<double>({3, 4}, 1), e},
                                   [](const std::vector<D>& w, const auto& out) {
                                       const I none(AnyTensor{make_block(DType::int64, Shape{0}), {}});
                                       out(take(w[0], none, 0)), out(take(w[1], none, 0)),
                                           out(take(w[1], I{1, 2}, 1)), out(scatter_add(w[0], none, w[1], 0));
                                   }));
    for (const Program& p : list) {
        check_everywhere(p);
        bool indexed = false;
        for (const GraphNode& n : p.graph.nodes()) indexed = indexed || (n.primitive && n.primitive->index);
        CHECK(indexed);
    }
    check(list);
}

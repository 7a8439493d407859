// Small products in native code: of all shapes, layouts and forms of accumulation the bits of interpret().
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/passes/passes.hpp>
#include <wengert/graph/run/compile.hpp>
#include <wengert/graph/control/vmap.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/transforms/grad.hpp>

using namespace wengert;

namespace {

template <class T> Ref<Block> matrix(const Shape& shape, double phase)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i) {
        const double x = std::sin(phase + 1.7 * static_cast<double>(i));
        b->template as<T>()[i] = i % 11 == 5 ? T(i % 2 ? 0.0 : -0.0) : static_cast<T>(x * x * x);
    }
    return b;
}

template <class T> using Tensors = std::vector<Tensor<T>>;

/// A graph in native code and in tiles, twice, and node by node.
void check(const Graph& g, std::vector<Ref<Block>> in)
{
    const auto native = compile_native(g, {}), tiles = compile_tile(g, {});
    REQUIRE(native->note == "");
    const auto want = interpret(g, in);
    std::vector<Ref<Block>> out;
    for (int twice = 0; twice < 2; ++twice)
        for (const auto* executable : {&native, &tiles}) {
            (*executable)->run(in, out);
            for (std::size_t k = 0; k < out.size(); ++k) {
                CAPTURE(k, to_string(out[k]->shape), executable == &native);
                CHECK(same_bits(*want[g.outputs()[k]], *out[k]));
            }
        }
}

/// f(x) with its gradients.
template <class T, class F> void check(const std::vector<Ref<Block>>& in, const F& f)
{
    const Graph g = trace_graph(
        [&](const std::vector<AnyTensor>& x) {
            const auto [loss, gradients] = value_and_grad(f)(Tensors<T>(x.begin(), x.end()));
            std::vector<AnyTensor> all{loss.any()};
            for (const Tensor<T>& t : gradients) all.push_back(t.any());
            return all;
        },
        in);
    check(g, in);
}

/// a b twice with different factors: what comes second is added where the first has left its cotangent.
template <class T> Tensor<T> twice(const Tensor<T>& a, const Tensor<T>& b)
{
    const Tensor<T> y = matmul(a, b), z = matmul(a * T(0.5), b) + matmul(a, b * T(3));
    return sum(y * y * y) + sum(z * z) + sum(matmul(a, b) * y);
}

/// The operands as they are, and either one as the transpose of what is stored.
template <class T> void sizes(std::int64_t m, std::int64_t n, std::int64_t k)
{
    CAPTURE(m, n, k);
    check<T>({matrix<T>({m, k}, 0.1), matrix<T>({k, n}, 0.7), matrix<T>({n, k}, 0.5), matrix<T>({k, m}, 0.4)},
             [](const Tensors<T>& x) {
                 return twice<T>(x[0], x[1]) + twice<T>(x[0], transpose(x[2])) +
                        twice<T>(transpose(x[3]), x[1]);
             });
}

}  // namespace

TEST_CASE("native: products of a row, of a column, and of both", "[native]")
{
    for (const auto& [n, k] :
         {std::pair{32, 32}, {2, 32}, {32, 2}, {33, 4}, {5, 7}, {17, 37}, {3, 1}, {1, 5}, {1, 2100}}) {
        sizes<float>(1, n, k);
        sizes<float>(n, 1, k);
        sizes<double>(1, n, k);
    }
    sizes<double>(16, 1, 70);
    sizes<float>(12, 4, 1);
    sizes<double>(9, 40, 1);
}

TEST_CASE("native: products up to 16", "[native]")
{
    sizes<float>(2, 3, 4);
    sizes<float>(16, 16, 16);
    sizes<double>(7, 9, 5);
}

namespace {

/// a b, and its gradients.
template <class T> void batches(const Shape& a, const Shape& b)
{
    CAPTURE(to_string(a), to_string(b));
    check<T>({matrix<T>(a, 0.3), matrix<T>(b, 0.8)}, [](const Tensors<T>& x) {
        const Tensor<T> y = matmul(x[0], x[1]);
        return sum(y * y * y) + sum(matmul(x[0] * T(0.5), x[1]) * y);
    });
}

}  // namespace

TEMPLATE_TEST_CASE("native: products of batches, also of those that broadcast", "[native]", float, double)
{
    using T = TestType;
    for (const std::int64_t n : {2, 3, 4, 5, 9, 16}) batches<T>({6, n, n}, {6, n, n});
    batches<T>({6, 3, 4}, {4, 3});
    batches<T>({3, 4}, {6, 4, 7});
    batches<T>({2, 1, 3, 4}, {5, 4, 2});
    batches<T>({2, 5, 3, 4}, {2, 1, 4, 3});
    batches<T>({1, 3, 3}, {1, 1, 3, 3});
    batches<T>({7, 3, 4}, {4});
    batches<T>({4}, {7, 4, 3});
    batches<T>({7, 1, 4}, {4, 3});
    batches<T>({7, 3, 1}, {7, 1, 5});
    batches<T>({3, 17, 5}, {5, 4});
    batches<T>({0, 3, 3}, {3, 3});
}

// matmul itself makes one product of these: they come from vmap.
TEMPLATE_TEST_CASE("native: a batch that meets one matrix", "[native]", float, double)
{
    using T = TestType;
    const std::vector<Ref<Block>> in{matrix<T>({9, 4, 3}, 0.2), matrix<T>({2, 12, 4, 3}, 0.9),
                                     matrix<T>({3, 5}, 0.6), matrix<T>({5, 3}, 0.4), matrix<T>({4, 5}, 0.1)};
    const Graph g = optimize(trace_graph(
        [](const std::vector<AnyTensor>& x) {
            const Tensor<T> w(x[2]), u(x[3]), z(x[4]);
            const auto f = [=](const Tensor<T>& t) {
                return concatenate({matmul(t, w), matmul(t, transpose(u)), matmul(transpose(t), z)}, 0);
            };
            const auto left = [=](const Tensor<T>& t) { return matmul(transpose(w), transpose(t)); };
            const Tensor<T> some = view(Tensor<T>(x[1]), 1, range(9));
            return std::vector<AnyTensor>{vmap(f)(Tensor<T>(x[0])).any(), vmap(f)(some).any(),
                                          vmap(left)(Tensor<T>(x[0])).any()};
        },
        in));
    for (const GraphNode& n : g.nodes()) REQUIRE(!loop_parameters(n));
    check(g, in);
}

TEST_CASE("native: moves of few parts and elements are text", "[native]")
{
    const auto text_of_stack = [](int parts, std::int64_t n) {
        return native_text(trace_graph(
            [=](const std::vector<AnyTensor>& x) {
                const std::vector<Tensor<double>> all(static_cast<std::size_t>(parts), Tensor<double>(x[0]));
                return std::vector<AnyTensor>{wengert::stack(all, 1).any()};
            },
            {matrix<double>({n}, 0.3)}));
    };
    const auto has_move = [](const std::string& text) {
        return text.find("int wg_index") != std::string::npos;
    };
    CHECK(has_move(text_of_stack(2, 5)));
    CHECK(has_move(text_of_stack(64, 64)));
    CHECK(!has_move(text_of_stack(65, 5)));
    CHECK(!has_move(text_of_stack(64, 65)));
}

namespace {

/// y = x zᵀ, of a batch too, of which it says that it has `axes` leading axes.
template <std::uint8_t axes> struct SaysBatch {
    static constexpr std::string_view name = "product";
    static constexpr bool bilinear = true;
    static constexpr unsigned saves = 0b011;
    MatrixProduct product() const
    {
        return {.a = {.operand = 0}, .b = {.operand = 1, .transposed = true, .column = true}, .batch = axes};
    }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Ref<Block>& z, const Site& at) const
    {
        return MatMul{false, true, x->shape, z->shape}.template value<T>(x, z, at);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& z, const Tensor<T>&) const
    {
        return matmul(g, z);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&, const Tensor<T>&) const
    {
        return matmul(swapaxes(g, -1, -2), x);
    }
};

template <std::uint8_t axes> void says_batch(const Shape& x, const Shape& z)
{
    const std::vector<Ref<Block>> in{matrix<double>(x, 0.2), matrix<double>(z, 0.6)};
    check(trace_graph(
              [](const std::vector<AnyTensor>& t) {
                  const Tensor<double> a(t[0]), b(t[1]);
                  return std::vector<AnyTensor>{apply<SaysBatch<axes>, double>({}, Site{}, a, b).any()};
              },
              in),
          in);
}

}  // namespace

TEST_CASE("native: a user's product computes by itself where its batch is not that of its operands",
          "[native]")
{
    says_batch<1>({6, 4, 3}, {6, 5, 3});
    says_batch<0>({6, 4, 3}, {6, 5, 3});
    says_batch<1>({4, 3}, {5, 3});
    says_batch<0>({4, 3}, {5, 3});
}

TEMPLATE_TEST_CASE("native: operands of batches as they lie in others, turned, and joined", "[native]", float,
                   double)
{
    using T = TestType;
    const std::vector<Ref<Block>> in{matrix<T>({6, 4, 3, 3}, 0.2), matrix<T>({4, 3, 3}, 0.6)};
    check<T>(in, [](const Tensors<T>& x) {
        Tensor<T> part = view(x[0], all(), 1), one = x[1](2), y = matmul(part, one);
        y = y + matmul(one, view(x[0], all(), 3)) + matmul(part, transpose(one));
        y = y + matmul(swapaxes(part, 1, 2), view(x[0], range(5, -7, -1), 0));
        y = y + matmul(broadcast_to(one, {6, 3, 3}), reshape(swapaxes(y, 0, 1), {6, 3, 3}));
        const Tensor<T> wide = matmul(swapaxes(x[0], 0, 1), reshape(x[1], {4, 1, 3, 3}));
        const Tensor<T> joined = concatenate({matmul(part, one), y, reshape(view(wide, 0), {6, 3, 3})}, 2);
        return sum(joined * joined * joined) + sum(wide);
    });
}

TEMPLATE_TEST_CASE("native: sums of zeros have the sign that they have node by node", "[native]", float,
                   double)
{
    using T = TestType;
    std::vector<Ref<Block>> in;
    for (const std::int64_t k : {1, 2, 4, 7, 8, 16, 17})
        for (const std::int64_t n : {1, 2, 5, 8}) {
            in.push_back(make_block(dtype_of<T>(), {1, k}));
            in.push_back(make_block(dtype_of<T>(), {n, k}));
            std::fill_n(in.end()[-2]->template as<T>(), k, T(0));
            std::fill_n(in.back()->template as<T>(), n * k, T(-2));
        }
    const Graph g = trace_graph(
        [](const std::vector<AnyTensor>& x) {
            std::vector<AnyTensor> all;
            for (std::size_t i = 0; i < x.size(); i += 2) {
                const Tensor<T> zero(x[i]), rows(x[i + 1]);
                all.push_back(matmul(zero, transpose(rows)).any());
                all.push_back(matmul(rows, transpose(zero)).any());
                all.push_back((matmul(rows, transpose(zero)) + matmul(rows * T(3), transpose(zero))).any());
            }
            return all;
        },
        in);
    check(g, in);
}

TEST_CASE("native: a part of a matrix as operand of a product", "[native]")
{
    const auto f = []<class T>(const Tensors<T>& x) {
        return twice<T>(view(x[0], range(0, 1), range(1, 6)), view(x[1], range(2, 7), range(0, 9)));
    };
    check<float>({matrix<float>({3, 8}, 0.2), matrix<float>({8, 19}, 0.9)}, f);
    check<double>({matrix<double>({3, 8}, 0.2), matrix<double>({8, 19}, 0.9)}, f);
}

TEST_CASE("native: a product whose cotangent is 0 has no gradients, whatever the operands are", "[native]")
{
    const auto f = [](const Tensors<float>& x) {
        const auto &a = x[0], &b = x[1];
        return sum(matmul(a, b) * 0.0F) + sum(matmul(a, b) * 0.0F) + sum(a * a) + sum(b);
    };
    for (const auto& [m, n, k] : {std::tuple{1, 32, 5}, {1, 3, 32}, {4, 5, 6}}) {
        const Ref<Block> a = matrix<float>({m, k}, 0.2), b = matrix<float>({k, n}, 0.9);
        a->as<float>()[1] = std::numeric_limits<float>::infinity();
        b->as<float>()[2] = std::numeric_limits<float>::quiet_NaN();
        check<float>({a, b}, f);
    }
}

TEST_CASE("native: sums of short rows, computed as one and summed across", "[native]")
{
    const auto f = []<class T>(const Tensors<T>& x) {
        const Tensor<T> rows = sum(x[0] * x[1], {2});
        return sum(rows * sum(x[1], {2})) + sum(mean(square(x[0]), {2}));
    };
    for (const std::int64_t n : {5, 8, 10, 16, 17, 31}) {
        check<float>({matrix<float>({3, 37, n}, 0.2), matrix<float>({3, 37, n}, 0.9)}, f);
        check<double>({matrix<double>({3, 37, n}, 0.2), matrix<double>({3, 37, n}, 0.9)}, f);
    }
}

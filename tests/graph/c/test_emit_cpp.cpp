// Emitted headers: compiled as C++ and as C without a warning, run, and compared with eager.
#include "graph/c/emit_programs.hpp"

#include <limits>

#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/describe/accumulation.hpp>
#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/gemm.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/ops/elementwise/pairs.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/ops/writer.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/lambda.hpp>

using D = Tensor<double>;
using F = Tensor<float>;

namespace {

F stencil(const F& u0, int steps)
{
    const auto inner = range(1, 11), before = range(0, 10), after = range(2, 12);
    F u = u0;
    for (int s = 0; s < steps; ++s) {
        const F around =
            view(u, before, inner) + view(u, after, inner) + view(u, inner, before) + view(u, inner, after);
        view(u, inner, inner) += 0.1f * (around - 4.0f * view(u, inner, inner));
    }
    return u;
}

std::vector<Program> programs()
{
    std::vector<Program> list;
    list.push_back(gradient<double>(
        "elementwise", {numbers<double>({300}, 1), numbers<double>({300}, 2)}, [](const std::vector<D>& w) {
            return sum(tanh(w[0] * w[1]) * sigmoid(w[0]) + gelu(w[1]) * where(w[0] > 0.2, exp(w[0]), 0.5) +
                       pow(abs(w[0]) + 1.0, w[1]));
        }));
    list.push_back(gradient<float>("heat", {numbers<float>({12, 12}, 1)}, [](const std::vector<F>& w) {
        const F u = stencil(w[0], 3);
        return sum(u * u);
    }));
    list.push_back(gradient<float>("mlp",
                                   {numbers<float>({5, 7}, 1), numbers<float>({7, 40}, 2),
                                    numbers<float>({40}, 3), numbers<float>({40, 4}, 4)},
                                   [](const std::vector<F>& w) {
                                       const F y = matmul(relu(matmul(w[0], w[1]) + w[2]), w[3]);
                                       Tensor<std::int64_t> labels = {0, 3, 1, 2, 3};
                                       return cross_entropy(y, labels) + mean(square(w[3]));
                                   }));
    list.push_back(gradient<float>("large_product",
                                   {numbers<float>({33, 40}, 1), numbers<float>({40, 30}, 2)},
                                   [](const std::vector<F>& w) { return sum(square(matmul(w[0], w[1]))); }));
    list.push_back(gradient<double>(
        "attention",
        {numbers<double>({2, 6, 4}, 1), numbers<double>({2, 6, 4}, 2), numbers<double>({2, 6, 4}, 3)},
        [](const std::vector<D>& w) {
            const D scores = matmul(w[0], transpose(w[1], {0, 2, 1})) * 0.5;
            return sum(square(matmul(softmax(scores, -1), w[2]))) + sum(log_softmax(w[0], 1) * w[1]);
        }));
    list.push_back(
        gradient<double>("reductions", {numbers<double>({4, 5, 6}, 1)}, [](const std::vector<D>& w) {
            const D& x = w[0];
            return sum(var(x, {1}) * amax(x, {1})) + sum(norm(x, {0, 2})) + mean(logsumexp(x, {2})) +
                   sum(amin(x, {0})) + sum(sum(x, {0, 2}) * mean(x, {0, 2}));
        }));
    list.push_back(gradient<double>(
        "pieces", {numbers<double>({3, 4}, 1), numbers<double>({2, 4}, 2)}, [](const std::vector<D>& w) {
            const D joined = concatenate<double>({w[0], w[1]}, 0),
                    pair = stack<double>({w[0], w[0] * 2.0}, 1);
            const Tensor<std::int64_t> index = {4, 0, -1, 0};
            return sum(square(take(joined, index, 0))) + sum(pair * pair * pair) + w[0](1, 2) * w[1](0, 0) +
                   sum(tril(matmul(w[0], transpose(w[1], {1, 0}))));
        }));
    list.push_back(program<double>("answers", {numbers<double>({4, 6}, 1)},
                                   [](const std::vector<D>& w, const auto& out) {
                                       out(argmax(w[0], 1));
                                       out(w[0] > 0.0);
                                       out(all(w[0] > -0.9, {1}));
                                       out(cast<std::int32_t>(w[0] * 10.0));
                                       out(transpose(w[0], {1, 0}));
                                       out(w[0]);
                                       out(reshape(transpose(w[0], {1, 0}), {4, 6}));
                                       out(prod(w[0], {1}));
                                   }));
    return list;
}

/// Whole numbers, infinities, operands that nothing uses.
void add_edges(std::vector<Program>& list)
{
    using Count = Tensor<std::int64_t>;
    using Small = Tensor<std::int32_t>;
    list.push_back(
        program<double>("whole", {numbers<double>({4, 4}, 1)}, [](const std::vector<D>& w, const auto& out) {
            const Count n = cast<std::int64_t>(w[0] * 10.0);
            const Small s = cast<std::int32_t>(w[0] * 3.0);
            out(matmul(n, transpose(n, {1, 0}))), out(matmul(s, s));
            out(pow(n, abs(n))), out(pow(s, s)), out(prod(s, {0}));
            out(amax(n, {1})), out(amin(s, {0})), out(maximum(n, n * n));
            out(abs(n)), out(sign(s)), out(sum(s, {1}));
            const Tensor<bool> a = n > std::int64_t{0}, b = w[0] > 0.3;
            out(a < b), out(a <= b), out(a == b), out(any(a && !b, {0}));
        }));
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    list.push_back(program<std::int64_t>(
        "wraps", {Count{1, -7, most, -most - 1, 0}}, [](const std::vector<Count>& w, const auto& out) {
            const Count &n = w[0], large(9007199254740993);  // no double is that number
            out(n + std::int64_t{1} > n), out(abs(n) >= std::int64_t{0}), out(-n == n), out(n * n * n);
            out(n + large - (n + Count(9007199254740990))), out(n * large - n * Count(9007199254740992));
        }));
    const double infinity = std::numeric_limits<double>::infinity();
    list.push_back(program<double>(
        "infinite", {D{{1.0, infinity, 2.0}, {-infinity, 1.0, infinity}, {-infinity, -infinity, -infinity}}},
        [](const std::vector<D>& w, const auto& out) { out(softmax(w[0])), out(log_softmax(w[0])); }));
    list.push_back(program<double>("unused", {numbers<double>({4, 6}, 1), numbers<double>({6}, 2)},
                                   [](const std::vector<D>& w, const auto& out) {
                                       const auto first = wengert::elementwise(
                                           [](const auto& a, const auto&) { return a + a; });
                                       const D x = w[0] * 2.0;
                                       static_cast<void>(sum(exp(x), {1}) * 3.0);
                                       out(first(x, exp(w[0] + w[1])));
                                   }));
}

/// Rules that need care: products without one factor, whole numbers, vectors in batches, operands in another order.
std::vector<Program> corners()
{
    using Count = Tensor<std::int64_t>;
    std::vector<Program> list;
    list.push_back(gradient<double>(
        "product", {numbers<double>({2, 3, 4}, 1), D{2.0, 0.0, -1.5, 0.5}},
        [](const std::vector<D>& w) { return sum(prod(w[0], {1}) * w[1]) + prod(w[1], {0}) + prod(w[0]); }));
    list.push_back(
        program<double>("slopes", {D{2.0, 0.0, -1.5, 0.5}}, [](const std::vector<D>& w, const auto& out) {
            out(hessian([](const D& x) { return prod(x); })(w[0]));
        }));
    list.push_back(gradient<double>(
        "vectors", {numbers<double>({2, 3, 4}, 1), numbers<double>({4}, 2), numbers<double>({3}, 3)},
        [](const std::vector<D>& w) {
            return sum(square(matmul(w[0], w[1]))) + sum(square(matmul(w[2], w[0]))) + matmul(w[1], w[1]);
        }));
    list.push_back(gradient<double>(
        "orders", {numbers<double>({4, 3}, 1), numbers<double>({3, 3}, 2)}, [](const std::vector<D>& w) {
            const D turned = transpose(w[0], {1, 0});
            const Count index = {2, -1, 0}, labels = {3, 0, 1};
            return sum(square(take(turned, index, 1))) + cross_entropy(turned, labels) +
                   sum(diagonal(w[1]) * diagonal(w[1])) + sum(square(take(turned, labels, 1)));
        }));
    list.push_back(program<double>("places", {numbers<double>({300, 3}, 1), numbers<double>({4, 1}, 2)},
                                   [](const std::vector<D>& w, const auto& out) {
                                       out(cast<double>(argmax(w[0], 1)) * 2.0);
                                       out(var(w[1], {1}, false, 1));  // 0 / 0
                                   }));
    add_edges(list);
    return list;
}

}  // namespace

TEST_CASE("emitted headers give what the graph gives", "[emit]") { check(programs()); }

TEST_CASE("emitted headers of less common operations", "[emit]") { check(corners()); }

TEST_CASE("emitted headers give the same where the compiler may reorder sums", "[emit]")
{
    std::vector<Program> list;
    list.push_back(gradient<double>("functions", {numbers<double>({40}, 1)}, [](const std::vector<D>& w) {
        return sum(exp(w[0]) + sin(30.0 * w[0]) + erf(w[0]) * lgamma(w[0] + 3.0) + normal_cdf(9.0 * w[0]));
    }));
    list.push_back(gradient<float>("floats", {numbers<float>({40}, 1)}, [](const std::vector<F>& w) {
        return sum(expm1(w[0]) + cos(30.0F * w[0]) + log1p(abs(w[0])) * tanh(w[0]));
    }));
    const std::vector<std::string> options = {"-O2", "-ffast-math", "-fno-finite-math-only"};
    for (const char* compiler : {"g++", "clang++-16"}) {
        const Compiled all(list, true, options, compiler);
        if (!all.object) continue;
        for (const Program& p : list) check(p, *all.object);
    }
}

TEST_CASE("emitted positions that lie outside of an array, by little and by far", "[emit]")
{
    const D x = numbers<double>({7, 3}, 1);
    std::vector<Program> list;
    list.push_back(program<double>("rolled", {x}, [](const std::vector<D>& w, const auto& out) {
        for (const std::int64_t by : {2, -2, 7, 19, -30}) out(roll(w[0], by, 0));
    }));
    list.push_back(program<double>("padded", {x}, [](const std::vector<D>& w, const auto& out) {
        for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::wrap, PadMode::reflect})
            for (const std::int64_t width : {2, 6, 20}) out(pad(w[0], {{width, width + 1}, {1, 2}}, mode));
    }));
    check(list);
}

TEST_CASE("emitted products that are added know the zero-cotangent rule", "[emit]")
{
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const D c = {{1.0, -2.0}, {0.0, 3.0}}, zeros = wengert::zeros<double>({2, 3}),
            far = {{1.0, infinity}, {2.0, 3.0}, {-infinity, std::nan("")}}, two(2.0);
    const D some = {{0.0, 0.0, 0.0}, {0.0, 0.0, 1.0}};
    std::vector<Program> list;
    for (const D& cotangent : {zeros, some})
        for (const bool minus : {false, true}) {
            Program p{"added" + std::to_string(list.size()), {}, {}, {}};
            std::vector<ValueId> in;
            for (const D& x : {c, cotangent, far, two}) {
                p.inputs.push_back(x.any().value);
                in.push_back(p.graph.input(DType::float64, x.shape()));
            }
            using A = xsimd::default_arch;
            const Gemm gemm{false, false, minus, 1, {2, 3}, {3, 2}};
            const auto& with_factor = structural_primitive<Gemm, A, double, double, double, double, double>;
            p.graph.output(
                p.graph.operation(with_factor, keep_parameters(with_factor, &gemm), in, {2, 2}, Site{}));
            const MatMul product{false, true, {2, 2}, {3, 2}};
            const auto& pulled = wengert::detail::accumulation_primitive<MatMul, 0, double, double, double>;
            p.graph.output(p.graph.operation(pulled, keep_parameters(pulled, &product), {in[0], in[1], in[2]},
                                             {2, 2}, Site{}));
            const auto values = interpret(p.graph, p.inputs);
            for (const ValueId v : p.graph.outputs()) p.expected.push_back(contiguous(values[v]));
            list.push_back(std::move(p));
        }
    check(list);
}

TEST_CASE("what cannot be emitted is named, with its line", "[emit]")
{
    const auto message = [](const Program& p) -> std::string {
        try {
            static_cast<void>(emit_cpp(p.graph, p.name));
        } catch (const TapeError& e) {
            return e.what();
        }
        return "";
    };
    Graph g;
    const ValueId x = g.input(DType::float64, {4});
    Primitive opaque = elementwise_primitive<Exp, xsimd::default_arch, double, double>;
    opaque.describe = nullptr;
    opaque.name = "mystery";
    g.output(g.operation(opaque, {}, {x}, Shape{4}, Site{"model.cpp", 17}));
    CHECK_THAT(message({"f", g}), contains("node 1, mystery of shape (4)") && contains("model.cpp:17"));
    CHECK_THAT(message({"no name", Graph()}), contains("no name"));
}

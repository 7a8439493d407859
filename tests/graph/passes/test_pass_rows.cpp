/// The pass `rows`: loops without a state become operations on all rows, with the same bits, where each operation allows it.
#include "catch.hpp"

#include <functional>

#include <wengert/passes.hpp>
#include <wengert/wengert.hpp>

using namespace wengert;

namespace {

using D = Tensor<double>;

D numbers(const Shape& shape)
{
    return sin(reshape(arange<double>(static_cast<double>(element_count(shape))), shape) * 0.7) * 2.0;
}
std::size_t loops_in(const Graph& g)
{
    std::size_t n = 0;
    for (const GraphNode& node : g.nodes()) n += loop_parameters(node) != nullptr;
    return n;
}
bool same(const D& a, const D& b) { return a.shape() == b.shape() && allclose(a, b, 0.0); }

/// Of the function and of its gradient: loops that are left, and the bits of the loop.
template <class F>
void check(const F& f, const std::function<D(const D&)>& eager, const D& x, std::size_t left,
           std::size_t left_in_gradient)
{
    const auto traced = [&](const auto& g) {
        return trace_graph(
            [&](const std::vector<AnyTensor>& in) { return std::vector<AnyTensor>{g(D(in[0])).any()}; },
            {x.any().value});
    };
    const auto loss = [&](const D& t) { return sum(square(f(t))); };
    const Graph value = traced(f), slope = traced(grad(loss));
    CHECK(loops_in(value) == 1);
    CHECK(loops_in(optimize(value)) == left);
    INFO(to_text(optimize(slope)));
    CHECK(loops_in(optimize(slope)) == left_in_gradient);
    PassOptions off;
    off.off = {"rows"};
    CHECK(loops_in(optimize(value, off)) == 1);
    const auto run = [&](const Graph& g) {
        std::vector<Ref<Block>> in{x.any().value}, out;
        REQUIRE(interpret.compile(g, {})->run(in, out) == g.guards().size());
        return D(AnyTensor{out[0], {}});
    };
    CHECK(same(run(optimize(value)), eager(x)));
    CHECK(same(run(optimize(slope)), run(optimize(slope, off))));
    for (const Backend& backend : {Backend(wengert::tile), Backend(interpret)}) {
        auto frozen = freeze(f, {.backend = backend});
        static_cast<void>(frozen(x));
        CHECK(same(frozen(x * 1.25), eager(x * 1.25)));
    }
}
template <class F>
void check_rows(const F& f, const D& x, std::size_t left = 0, std::size_t left_in_gradient = 0)
{
    const auto by_hand = [&](const D& t) {
        std::vector<D> parts;
        for (std::int64_t k = 0; k < t.shape()[0]; ++k) parts.push_back(f(t(k)));
        return stack(parts, 0);
    };
    check(vmap(f), by_hand, x, left, left_in_gradient);
}

}  // namespace

TEST_CASE("rows of numbers, of vectors, of matrices", "[rows]")
{
    const D w = {0.5, 2.0, -1.0};
    check_rows([](const D& t) { return exp(-t * t) * sin(3.0 * t) + 1.0; }, numbers({1000}));
    check_rows([](const D& t) { return tanh(t) * 2.0 - t; }, numbers({7, 3}));
    check_rows([&](const D& t) { return t * w + w; }, numbers({7, 3}));
    check_rows([&](const D& t) { return t * w; }, numbers({7}));  // the number's cotangent is a sum
    check_rows([](const D& t) { return where(t > 0.5, t * t, -t); }, numbers({4, 2, 3}));
}

TEST_CASE("rows whose elements move", "[rows]")
{
    check_rows([](const D& t) { return t(0) * t(2) - sin(t(1)); }, numbers({9, 3}));
    check_rows([](const D& t) { return transpose(t) * 2.0; }, numbers({5, 2, 3}));
    check_rows([](const D& t) { return reshape(t, {3, 2}) + reshape(t(0), {3, 1}); }, numbers({5, 2, 3}));
    check_rows([](const D& t) { return view(t, range(1, 3)) * broadcast_to(t(0), {4, 2}); }, numbers({5, 3}));
    check_rows([](const D& t) { return expand_dims(t, 0) * t; }, numbers({5, 3}));
}

TEST_CASE("rows that are summed, multiplied and joined", "[rows]")
{
    const D w = {{0.5, 2.0}, {1.0, -1.0}}, b = numbers({4, 3, 2}), v = numbers({3});
    check_rows([](const D& t) { return t * sum(t); }, numbers({6, 2}));
    check_rows([](const D& t) { return sum(t, {0}) * sum(t, {1}, true) + sum(t); }, numbers({6, 3, 5}));
    check_rows([](const D& t) { return sum(t, {0, 2}); }, numbers({6, 3, 5, 2}));
    check_rows([](const D& t) { return mean(t) * t; }, numbers({6, 7}), 1, 2);
    // A product's cotangent has a rule that looks at all of a row, so the gradient keeps its loops.
    check_rows([&](const D& t) { return t * sum(matmul(w, w)); }, numbers({6, 2}));
    check_rows([&](const D& t) { return matmul(w, t); }, numbers({6, 2}), 0, 1);
    check_rows([&](const D& t) { return matmul(t, w); }, numbers({6, 2}), 0, 1);
    check_rows([](const D& t) { return matmul(t, t); }, numbers({6, 5}), 0, 1);
    check_rows([](const D& t) { return matmul(t, transpose(t)) + matmul(t, t); }, numbers({6, 4, 4}), 0, 1);
    check_rows([&](const D& t) { return matmul(t, v) + matmul(v, transpose(t)); }, numbers({6, 2, 3}), 0, 1);
    check_rows([&](const D& t) { return matmul(b, t); }, numbers({6, 2, 5}), 0, 1);
    check_rows([&](const D& t) { return matmul(t, b); }, numbers({6, 1, 2, 3}), 0, 1);
    check_rows([&](const D& t) { return matmul(b, t); }, numbers({6, 2}), 0, 1);
    check_rows([](const D& t) { return matmul(t, transpose(t)); }, numbers({6, 17, 17}), 1, 2);  // not small
    check_rows([](const D& t) { return stack({t, t * t, cos(t)}, 0); }, numbers({6, 4}));
    check_rows([](const D& t) { return stack({t, t * t}, 1); }, numbers({6, 4, 2}));
    check_rows([&](const D& t) { return stack({t, v}, 1); }, numbers({6, 3}));
    check_rows([&](const D& t) { return concatenate({t, v, t * t}, 0); }, numbers({6, 3}));
    check_rows(
        [](const D& t) {
            return concatenate({t, view(t, wengert::all(), range(0, 1))}, 1);
        },
        numbers({6, 3, 2}));
}

TEST_CASE("what reads a row as a whole in another way stays a loop", "[rows]")
{
    check_rows([](const D& t) { return cumsum(t, 0); }, numbers({6, 5}), 1, 2);
    check_rows(
        [](const D& t) {
            return cond(
                t > 0.25, [](const D& a) { return a * a; }, [](const D& a) { return -a; }, t);
        },
        numbers({6}), 1, 2);
}

TEST_CASE("a loop with a state, or in which the host takes part, stays one", "[rows]")
{
    const auto summed = [](const D& x) {
        return scan([](const D& s, const D& t) { return std::pair(s + t, s * t); }, D(0.0), x).second;
    };
    const auto plain = [](const D& x) {
        D s(0.0);
        std::vector<D> y;
        for (std::int64_t k = 0; k < x.shape()[0]; ++k) {
            y.push_back(s * x(k));
            s = s + x(k);
        }
        return stack(y, 0);
    };
    check(summed, plain, numbers({5}), 1, 2);
}

TEST_CASE("several results, one of which is the same for every row", "[rows]")
{
    const D x = numbers({5, 2}), shared = {1.0, 2.0, 3.0};
    const auto f = [&](const D& t) {
        const auto [a, b, c] =
            vmap([&](const D& r) { return std::tuple(r * 2.0, r(0) > 0.0, shared * 2.0); })(t);
        return sum(a) + sum(where(b, D(1.0), D(-1.0))) + sum(c);
    };
    auto frozen = freeze(f);
    static_cast<void>(frozen(x));
    CHECK(frozen(x + 0.25).item() == f(x + 0.25).item());
    const Graph g = optimize(frozen.graph(x));
    CHECK(loops_in(g) == 0);
}

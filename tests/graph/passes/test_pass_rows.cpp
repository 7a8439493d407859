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
    const D w = {{0.5, 2.0}, {1.0, -1.0}}, v = numbers({3});
    check_rows([](const D& t) { return t * sum(t); }, numbers({6, 2}));
    check_rows([](const D& t) { return sum(t, {0}) * sum(t, {1}, true) + sum(t); }, numbers({6, 3, 5}));
    check_rows([](const D& t) { return sum(t, {0, 2}); }, numbers({6, 3, 5, 2}));
    check_rows([](const D& t) { return mean(t) * t; }, numbers({6, 7}), 1, 2);
    // A product's cotangent has a rule that looks at all of a row, so the gradient keeps its loops.
    const D m = numbers({3, 4}), batch = numbers({4, 3, 2});
    check_rows([&](const D& t) { return t * sum(matmul(w, w)); }, numbers({6, 2}));
    check_rows([&](const D& t) { return matmul(m, t); }, numbers({6, 4, 2}), 0, 1);
    check_rows([&](const D& t) { return matmul(t, m); }, numbers({6, 5, 3}), 0, 1);
    check_rows([](const D& t) { return matmul(t, transpose(t)) + matmul(t, t); }, numbers({6, 4, 4}), 0, 1);
    check_rows([&](const D& t) { return matmul(batch, t); }, numbers({6, 2, 5}), 0, 1);
    check_rows([&](const D& t) { return matmul(t, batch); }, numbers({6, 1, 2, 3}), 0, 1);
    check_rows([](const D& t) { return matmul(t, swapaxes(t, -1, -2)); }, numbers({2, 3, 16, 7}), 0, 1);
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

TEST_CASE("products whose bits depend on how operands lie, and large ones, stay loops", "[rows]")
{
    const D w = {{0.5, 2.0}, {1.0, -1.0}}, v = numbers({3}), a = numbers({5, 8});
    check_rows([&](const D& t) { return matmul(w, t); }, numbers({6, 2}), 1, 2);
    check_rows([&](const D& t) { return matmul(t, w); }, numbers({6, 2}), 1, 2);
    check_rows([](const D& t) { return matmul(t, t); }, numbers({6, 5}), 1, 2);
    check_rows([&](const D& t) { return matmul(t, v); }, numbers({6, 2, 3}), 1, 2);
    check_rows([&](const D& t) { return matmul(a, view(t, wengert::all(), 0)); }, numbers({6, 8, 2}), 1, 2);
    check_rows([](const D& t) { return matmul(t, transpose(t)); }, numbers({6, 17, 17}), 1, 2);
    check_rows([](const D& t) { return matmul(t, transpose(t)); }, numbers({6, 1, 4}), 1, 2);
    const auto truth = freeze(vmap([](const Tensor<bool>& t) { return matmul(t, t); }));
    const Tensor<bool> x = numbers({6, 3, 3}) > 0.0;
    for (int i = 0; i < 2; ++i) CHECK(all(truth(x) == matmul(x, x)).item());
}

/// 2 X Xᵀ, and two arrays of which the second comes with the other sign: forms that the library's own operations have not.
struct TwiceGram {
    static constexpr std::string_view name = "twice_gram";
    MatrixProduct product() const
    {
        return {.a = {0, false, false, false}, .b = {0, true, true, false}, .factor = 1};
    }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Ref<Block>& alpha, const Site&) const
    {
        const Tensor<T> m(AnyTensor{x, {}});
        return (matmul(m, transpose(m)) * Tensor<T>(AnyTensor{alpha, {}})).any().value;
    }
    static constexpr unsigned saves = 0b011;
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& alpha,
                   const Tensor<T>&) const
    {
        return alpha * matmul(g + transpose(g), x);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&, const Tensor<T>&) const
    {
        return sum(g * matmul(x, transpose(x)));
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& da, const Tensor<T>& x, const Tensor<T>& alpha,
                   const Tensor<T>&) const
    {
        return da * matmul(x, transpose(x)) + alpha * (matmul(dx, transpose(x)) + matmul(x, transpose(dx)));
    }
};
struct Opposed {
    static constexpr std::string_view name = "opposed";
    std::int64_t n;
    void describe(Index& p, std::size_t k) const
    {
        const Positions i = p.axes_of(0);
        Positions to;
        to.push_back(i[0] + static_cast<std::int64_t>(k) * n);
        p.write_part(to, Shape{2 * n});
        if (k == 0)
            p.read(0, i);
        else
            p.read_minus(0, i);
    }
    template <class T> Ref<Block> value(const AnyTensor* const* in, std::size_t) const
    {
        return concatenate({Tensor<T>(*in[0]), -Tensor<T>(*in[1])}, 0).any().value;
    }
    template <class T> Tensor<T> pull(std::size_t k, const Tensor<T>& g) const
    {
        const Tensor<T> part = copy(view(g, range(k == 0 ? 0 : n, k == 0 ? n : 2 * n)));
        return k == 0 ? part : -part;
    }
};

TEST_CASE("products and joined parts of a program's own are what they say", "[rows]")
{
    const auto same_rows = [](const auto& f, const D& x) {
        auto frozen = freeze(vmap(f));
        std::vector<D> rows;
        for (std::int64_t k = 0; k < x.shape()[0]; ++k) rows.push_back(f(D(x(k))));
        for (int i = 0; i < 2; ++i) CHECK(same(frozen(x), stack(rows, 0)));
    };
    same_rows([](const D& t) { return apply<TwiceGram, double>({}, Site{}, t, D(2.0)); }, numbers({6, 3, 4}));
    same_rows(
        [](const D& t) {
            const D u = t * t;
            const AnyTensor* const parts[] = {&t.any(), &u.any()};
            return apply_variadic<Opposed, double>(Opposed{4}, Site{}, parts, 2);
        },
        numbers({6, 4}));
}

TEST_CASE("sums that would take much memory stay loops", "[rows]")
{
    const auto left = [&](const Shape& shape) {
        return loops_in(optimize(trace_graph(
            [&](const std::vector<AnyTensor>& in) {
                return std::vector<AnyTensor>{vmap([](const D& t) { return t - sum(t); })(D(in[0])).any()};
            },
            {zeros<double>(shape).any().value})));
    };
    CHECK(left({1000, 1000}) == 0);
    CHECK(left({5, 1000000}) == 1);
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

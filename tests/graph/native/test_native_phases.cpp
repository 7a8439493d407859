// Long bodies of native loops are worked out in phases over several vectors. An element's bits do not depend on that: they
// are those that it has in a loop of a few elements, which is too short to be cut.
#include "catch.hpp"
#include "same_bits.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <wengert/graph/native/native.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/graph/ir/trace.hpp>
#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/grad.hpp>

using namespace wengert;

namespace {

using Blocks = std::vector<Ref<Block>>;

template <class T> T number(std::size_t i, std::size_t seed)
{
    if (i % 97 == 50 + seed) return std::numeric_limits<T>::quiet_NaN();
    if (i % 89 == 40 + seed) return std::numeric_limits<T>::infinity();
    return static_cast<T>(3 * std::sin(static_cast<double>(1 + i * (seed + 2))));
}
template <class T> Ref<Block> numbers(const Shape& shape, std::size_t seed, std::size_t first = 0)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i) b->template as<T>()[i] = number<T>(first + i, seed);
    return b;
}

template <class T, class F> Graph graph_of(const F& f, const Blocks& in)
{
    return trace_graph(
        [&](const std::vector<AnyTensor>& x) {
            std::vector<AnyTensor> out;
            for (const Tensor<T>& y : f(Tensor<T>(x[0]), Tensor<T>(x[1]))) out.push_back(y.any());
            return out;
        },
        in);
}
bool in_phases(const Graph& g) { return native_text(g).find("in_phases<N, ") != std::string::npos; }

/// f maps two arrays of a length to arrays of it, element by element.
template <class T, class F> void check(const F& f)
{
    constexpr std::size_t few = 10;
    for (const std::size_t n : {std::size_t{257}, std::size_t{1000}, std::size_t{4100}}) {
        INFO(n << " elements of " << sizeof(T) << " bytes");
        const Blocks in{numbers<T>({n}, 0), numbers<T>({n}, 1)};
        const Graph g = graph_of<T>(f, in),
                    small = graph_of<T>(f, {numbers<T>({few}, 0), numbers<T>({few}, 1)});
        REQUIRE(in_phases(g));
        REQUIRE(!in_phases(small));
        const auto whole = compile_native(g, {}), part = compile_native(small, {});
        REQUIRE(whole->note == "");
        Blocks given = in, out;
        whole->run(given, out);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; i += few) {
            const std::size_t at = std::min(i, n - few);
            Blocks some{numbers<T>({few}, 0, at), numbers<T>({few}, 1, at)}, got;
            part->run(some, got);
            for (std::size_t k = 0; k < got.size(); ++k)
                for (std::size_t e = 0; e < few; ++e)
                    wrong += !same_bits(got[k]->template as<T>()[e], out[k]->template as<T>()[at + e]);
        }
        CHECK(wrong == 0);
    }
}

template <class T> using List = std::vector<Tensor<T>>;

}  // namespace

TEMPLATE_TEST_CASE("native: a value and its gradients in phases", "[native]", float, double)
{
    using X = Tensor<TestType>;
    check<TestType>([](const X& a, const X& b) {
        const auto f = [](const X& x, const X& w) { return sum(tanh(x * w) * sigmoid(x) + x * x); };
        const auto [x, w] = grad<0, 1>(f)(a, b);
        return List<TestType>{x, w};
    });
}

TEMPLATE_TEST_CASE("native: choices, chains of functions and many of them in phases", "[native]", float,
                   double)
{
    using X = Tensor<TestType>;
    check<TestType>([](const X& a, const X& b) {
        const X s = where(a > b, exp(a), sin(b)), t = log(abs(s) + TestType(0.5)) * s;
        return List<TestType>{t, where(t > s, tanh(t), a / b), exp(tanh(exp(a)))};
    });
}

TEST_CASE("native: phases over rows with broadcasts and sums, and over what they overwrite", "[native]")
{
    using X = Tensor<double>;
    const Blocks in{numbers<double>({37, 129}, 0), numbers<double>({129}, 1)};
    for (const Ref<Block>& b : in)
        for (std::size_t i = 0; i < b->count; ++i)
            if (!std::isfinite(b->as<double>()[i])) b->as<double>()[i] = 1;
    const auto rows = [](const X& m, const X& row) {
        const X y = tanh(m + row) * exp(m);
        return List<double>{sin(y) * tanh(m), sum(y * exp(row), {1})};
    };
    const auto over = [](const X& m, const X& row) {
        const X y = tanh(m + row), top = amax(y), z = sin(y - top) * exp(y + top);
        return List<double>{z - amax(z)};
    };
    const auto check_close = [&](const auto& f, const char* text) {
        const Graph g = graph_of<double>(f, in);
        const std::string whole = native_text(g);
        INFO(whole.substr(whole.find("#line 1 \"wengert\"")));
        CHECK(whole.find(text) != std::string::npos);
        const Blocks want = interpret(g, in);
        Blocks given = in, out;
        compile_native(g, {})->run(given, out);
        for (std::size_t k = 0; k < out.size(); ++k)
            for (std::size_t i = 0; i < out[k]->count; ++i) {
                const double a = out[k]->as<double>()[i], b = want[g.outputs()[k]]->as<double>()[i];
                if (!(std::abs(a - b) <= 1e-12 * (1 + std::abs(b))))
                    FAIL(k << ", " << i << ": " << a << ", " << b);
            }
    };
    check_close(rows, "in_phases<N, false, 129>");
    check_close(over, "in_phases<N, true, ");
}

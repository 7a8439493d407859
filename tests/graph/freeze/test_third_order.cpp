// Derivatives of the third order: the zero-cotangent rule, which a graph writes out as operations and eager code need not, leaves sums
// of cotangents in eager's order. So do derivatives of functions whose derivative is taken element by element.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/scans.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/softmax.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/ops/take.hpp>
#include <wengert/transforms/grad.hpp>

#include <cmath>
#include <cstring>
#include <functional>

using namespace wengert;
using D = Tensor<double>;
using Function = std::function<D(const D&)>;

namespace {

D total(const D& t) { return sum(sin(t) + t * 0.25); }

/// The gradient of the sum of what f gives, `order` times.
Function derived(const Function& f, int order)
{
    if (order == 0) return f;
    const Function lower = derived(f, order - 1);
    return [lower](const D& x) { return grad([lower](const D& y) { return total(lower(y)); })(x); };
}

D numbers(int seed)
{
    std::vector<double> v(6);
    for (std::size_t k = 0; k < v.size(); ++k)
        v[k] = 0.2 + std::fmod(0.618034 * static_cast<double>(k + 1) * (seed + 1), 1.0) * 2.5;
    return D(Shape{2, 3}, v);
}

void same_in_graphs(const char* name, const Function& f, const std::vector<D>& arguments)
{
    for (const bool optimize : {false, true})
        for (const Backend& backend : std::vector<Backend>{interpret, tile}) {
            INFO(name << ", " << backend.name << (optimize ? ", optimized" : ""));
            const auto g = freeze(f, {.backend = backend, .check = false, .optimize = optimize});
            for (const D& x : arguments) {
                g(x);
                const D a = copy(f(x)), b = copy(g(x));
                CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
            }
        }
}

/// Positions that come several times add up onto what is there, one after the other.
D scattered(const D& x)
{
    const Tensor<std::int64_t> at{1, 1, 0, 1};
    return scatter_add(scatter_add(x, at, take(x, at, 1), 1), at, take(x * -0.5, at, 1), 1);
}

const std::pair<const char*, Function> functions[] = {
    {"amin of scatters", [](const D& x) { return amin(scattered(x), {1}, true); }},
    {"logsumexp of scatters", [](const D& x) { return logsumexp(scattered(x), {1}, true); }},
    {"scatters of softmax", [](const D& x) { return scattered(softmax(scattered(x), 1)); }},
    {"parts and wholes",
     [](const D& x) {
         const D y = softmax(x * x, 1);
         return y * y + scattered(y) * y(0) + take(y, Tensor<std::int64_t>{2, 2, 2}, 1) * y(1) * norm(y);
     }},
    {"logsumexp", [](const D& x) { return x * logsumexp(x, {1}, true); }},
    {"softmax", [](const D& x) { return x * softmax(x, 1); }},
    {"norm", [](const D& x) { return norm(x, {1}, true) + x; }},
    {"var", [](const D& x) { return x * var(x, {1}, true); }},
    {"stddev", [](const D& x) { return x * stddev(x, {0}, true); }},
    {"prod", [](const D& x) { return x * prod(x, {1}, true); }},
    {"cumprod", [](const D& x) { return x * cumprod(x, 1); }},
    {"elements of a gradient", [](const D& x) {
         const D g = grad([](const D& y) { return total(y * var(y, {1}, true)); })(x);
         D s = g(0) * g(1);
         for (int k = 0; k < 3; ++k) s = s + g(0, k) * g(1, 2 - k);
         return s;
     }}};

}  // namespace

TEST_CASE("third derivatives have the same bits eagerly and in graphs")
{
    const std::vector<D> arguments = {numbers(1), numbers(2), numbers(5)};
    for (const auto& [name, f] : functions) same_in_graphs(name, derived(f, 3), arguments);
    for (const auto& [name, f] : functions) same_in_graphs(name, derived(f, 2), arguments);
}

TEST_CASE("a zero cotangent is silent to third order, eagerly and in graphs")
{
    const D x = {{0.0, 0.0, 0.0}, {0.5, 1.5, 0.25}};  // the norm of the first row has a kink
    const Function f = [](const D& y) { return norm(y, {1}, true) * 0.0 + y * y * y; };
    for (int order = 1; order <= 3; ++order) {
        const D g = copy(derived(f, order)(x));
        for (std::size_t k = 0; k < g.size(); ++k) CHECK(std::isfinite(g.data()[k]));
        same_in_graphs("norm times 0", derived(f, order), {x});
    }
}

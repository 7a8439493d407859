// Graphs with calls of linalg::: the bits of eager code on every executor, in loops, under checkpoints; what cannot have them says so.
#include "linalg/linalg_cases.hpp"

#include <wengert/graph/c/emit_cpp.hpp>
#include <wengert/linalg.hpp>
#include <wengert/native.hpp>

using namespace linalg_cases;

namespace {

using D = Tensor<double>;

Function<double> loss(const Function<double>& f)
{
    return [f](const D& t) { return sum(sin(f(t * 1.25)) * 0.5); };
}

/// Three calls of a frozen function beside f.
template <class F>
void check_beside(const F& f, const wg::FreezeOptions& options, std::int64_t m, std::int64_t n)
{
    auto frozen = wg::freeze(f, options);
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
        const D x = matrices<double>({2}, m, n, seed);
        CHECK(same_bits(frozen(x), f(x)));
    }
}

}  // namespace

TEST_CASE("linalg: frozen functions and gradients have the bits of eager code")
{
    for (const auto& backend : {wg::Backend(wg::tile), wg::Backend(wg::interpret), wg::Backend(wg::native)})
        for (const auto& c : all<double>()) {
            INFO(c.name);
            wg::FreezeOptions options;
            options.backend = backend;
            check_beside(c.f, options, c.extents[0].first, c.extents[0].second);
            check_beside(wg::grad(loss(c.f)), options, c.extents[0].first, c.extents[0].second);
        }
}

TEST_CASE("linalg: gradients through frozen functions, and second derivatives of graphs")
{
    for (const auto& c : all<double>()) {
        INFO(c.name);
        const auto f = loss(c.f);
        auto frozen = wg::freeze(f);
        const D x = matrices<double>({2}, c.extents[0].first, c.extents[0].second);
        static_cast<void>(frozen(x));
        CHECK(allclose(wg::grad(frozen)(x), wg::grad(f)(x), 1e-12));
        const auto second = [&](const Function<double>& of) {
            return wg::grad([of](const D& t) { return sum(square(wg::grad(of)(t))); });
        };
        auto twice = wg::freeze(second(f));
        static_cast<void>(twice(x));
        CHECK(same_bits(twice(x), second(f)(x)));
    }
}

TEST_CASE("linalg: a graph factorizes a matrix once")
{
    const auto f = [](const D& a) {
        return sum(wg::linalg::solve(a, a + 1.0)) + sum(wg::linalg::slogdet(a).second) +
               sum(wg::linalg::det(a));
    };
    auto frozen = wg::freeze(wg::grad(f));
    const D x = matrices<double>({}, 3, 3);
    static_cast<void>(frozen(x));
    std::size_t factorizations = 0;
    for (const auto& node : frozen.graph(x).nodes())
        factorizations += node.primitive && node.primitive->name == "lu_factor";
    CHECK(factorizations == 1);
}

TEST_CASE("linalg: in scan, checkpoint and checkpoint_loop")
{
    for (const auto& c : all<double>()) {
        if (c.extents[0] != std::pair<std::int64_t, std::int64_t>{3, 3}) continue;
        INFO(c.name);
        const auto step = [&](const D& s) {
            return std::pair(s * 0.9 + 0.01 * sum(sin(c.f(s))), std::tuple<>());
        };
        const auto looped = [&](const D& x) { return sum(wg::scan(step, x, 3).first); };
        const auto plain = [&](const D& x) {
            D s = x;
            for (int i = 0; i < 3; ++i) s = step(s).first;
            return sum(s);
        };
        const D x = matrices<double>({}, 3, 3);
        const D expected = wg::grad(plain)(x);
        CHECK(allclose(wg::grad(looped)(x), expected, 1e-12));
        auto frozen = wg::freeze(wg::grad(looped));
        static_cast<void>(frozen(x));
        CHECK(same_bits(frozen(x), wg::grad(looped)(x)));
        const auto kept = wg::checkpoint([&](const D& s) { return step(s).first; });
        CHECK(allclose(wg::grad([&](const D& t) { return sum(kept(kept(kept(t)))); })(x), expected, 1e-12));
    }
}

TEST_CASE("linalg: a text of C++ cannot have these calls, and says which")
{
    const auto f = [](const D& a) { return sum(wg::linalg::cholesky(a)); };
    auto frozen = wg::freeze(f);
    const D x = matrices<double>({}, 3, 3);
    static_cast<void>(frozen(x));
    try {
        static_cast<void>(wg::emit_cpp(frozen.graph(x), "f"));
        FAIL("emitted");
    } catch (const wg::Error& e) {
        CHECK_THAT(e.what(), contains("cholesky"));
    }
}

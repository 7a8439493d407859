// The first call of the host in a function, or the first loop that calls it, reads what loops and branches before it have made.
#include "catch.hpp"

#include <wengert/control.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

std::vector<double> seen;
void say(const D& v) { seen.push_back(sum(v).item()); }

D loop(const D& x)
{
    return wg::scan([](const D& s) { return std::pair(2.0 * s, std::tuple<>()); }, x, 3).first;
}
D branch(const D& x)
{
    const auto half = [](const D& s) { return s * 0.5; };
    const auto minus = [](const D& s) { return -s; };
    return wg::cond(x(0) > 0.0, half, minus, x);
}
D doubled(const D& x)
{
    return wg::while_loop([](const D& s) { return sum(s) < 100.0; }, [](const D& s) { return s * 2.0; }, x);
}
D mapped(const D& x)
{
    return wg::vmap([](const D& s) { return s + 1.0; })(x);
}

D told(const D& x) { return wg::host_callback(say, x), x * 3.0; }
D told_in_a_loop(const D& x)
{
    const auto step = [](const D& s) {
        return wg::host_callback(say, s), std::pair(2.0 * s, std::tuple<>());
    };
    return wg::scan(step, x, 2).first;
}
D told_in_a_branch(const D& x)
{
    const auto tell = [](const D& s) { return wg::host_callback(say, s), s * 4.0; };
    return wg::cond(
        wg::Tensor<bool>(true), tell, [](const D& s) { return s; }, x);
}

}  // namespace

TEST_CASE("effects: the first reads what loops and branches have made, on every executor", "[control]")
{
    using F = D (*)(const D&);
    for (const F first : {loop, branch, doubled, mapped})
        for (const F second : {told, told_in_a_loop, told_in_a_branch})
            for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native})
                for (const D& x : {D{2.0}, D{0.5, -0.25, 3.0}, D{-1.0, 300.0}}) {
                    const auto f = [=](const D& t) { return second(first(t)); };
                    seen.clear();
                    const D wanted = f(x);
                    const std::vector<double> told_then = seen;
                    REQUIRE(!told_then.empty());
                    const auto frozen = wg::freeze(f, {.backend = backend});
                    for (int i = 0; i < 3; ++i) {
                        seen.clear();
                        CHECK(wg::allclose(frozen(x), wanted, 0.0));
                        CHECK(seen == told_then);
                    }
                    CHECK(frozen.stats().eager_calls == 0);
                }
}

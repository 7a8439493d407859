// A reduction or product whose result was not selected leaves no NaN behind, whatever its operand holds.
#include "catch.hpp"

#include <limits>

#include <wengert/ops/matmul.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/grad.hpp>

namespace wg = wengert;
using T = wg::Tensor<double>;

TEST_CASE("an unselected reduction or product of infinities has a zero gradient")
{
    const T x = {1.0, std::numeric_limits<double>::infinity()};
    const auto gradient = [&](auto f) {
        return wg::grad([&](const T& a) { return sum(where(a < 0.0, f(a), 0.0 * a.detach())); })(x);
    };
    for (const T& g :
         {gradient([](const T& a) { return wg::var(a); }), gradient([](const T& a) { return wg::norm(a); }),
          gradient([](const T& a) { return logsumexp(a); }),
          gradient([](const T& a) { return wg::dot(a, a); })}) {
        CHECK(g.data()[0] == 0.0);
        CHECK(g.data()[1] == 0.0);
    }
}

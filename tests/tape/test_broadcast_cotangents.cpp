// A cotangent that arrives as a broadcast view (of a sum or a mean) has one element in memory for many: what comes after it
// must not be added in place. Expected values are by hand.
#include <wengert/wengert.hpp>

#include "catch.hpp"

namespace wg = wengert;
using D = wg::Tensor<double>;

TEST_CASE("a sum's cotangent first, then a product with a scalar, more elements than a tile")
{
    for (const std::int64_t n : {3, 511, 513, 2000}) {
        const D x = wg::linspace<double>(-1.0, 1.0, n), c(3.0);
        // y = Σ 3·2x + mean(2x): the mean is recorded last, so its cotangent comes first
        const D g = wg::grad([&](const D& t) {
            const D h = t * 2.0;
            const D product = sum(h * c);
            return product + mean(h);
        })(x);
        const double expected = 6.0 + 2.0 / static_cast<double>(n);
        CHECK(wg::allclose(g, wg::full<double>({n}, expected), 1e-12));
        const D h = wg::grad([&](const D& t) {
            const D u = t * 2.0;
            const D row = sum(u * reshape(c, {1}));
            return row + sum(u);
        })(x);
        CHECK(wg::allclose(h, wg::full<double>({n}, 8.0), 1e-12));
    }
}

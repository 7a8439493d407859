// What moves around periodic edges: in loops of native code it is cut into boxes, with the bits of eager.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/wengert.hpp>
#include <wengert/graph/control/control.hpp>
#include <wengert/graph/c/emit_cpp.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <cstring>
#include <vector>

namespace wg = wengert;

namespace {

using D = wg::Tensor<double>;

D counted(const wg::Shape& shape)
{
    std::vector<double> x(wg::element_count(shape));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5 + static_cast<double>(i % 37) / 8;
    return D(shape, x);
}
/// Element (i, j) of x moved by (down, right).
double moved(const D& x, std::int64_t i, std::int64_t j, std::int64_t down, std::int64_t right)
{
    const auto rows = static_cast<std::int64_t>(x.shape()[0]),
               columns = static_cast<std::int64_t>(x.shape()[1]);
    const auto inside = [](std::int64_t at, std::int64_t n) { return (at % n + n) % n; };
    return x.data()[inside(i - down, rows) * columns + inside(j - right, columns)];
}

}  // namespace

TEST_CASE("a roll in native code has the elements of its definition")
{
    const D x = counted({19, 23});
    wg::FreezeOptions native;
    native.backend = wg::native;
    for (const std::int64_t down : {0, 1, -1, 18, -40})
        for (const std::int64_t right : {0, 2, -3, 22, 24}) {
            const auto f = [&](const D& v) { return wg::roll(v, {down, right}, {0, 1}); };
            const D y = wg::freeze(f, native)(x);
            std::size_t wrong = 0;
            for (std::int64_t i = 0; i < 19; ++i)
                for (std::int64_t j = 0; j < 23; ++j)
                    wrong += y.data()[i * 23 + j] != moved(x, i, j, down, right);
            CAPTURE(down, right);
            CHECK(wrong == 0);
        }
}

TEST_CASE("no element of a roll in emitted text asks whether it has wrapped around")
{
    const D x = counted({32, 32});
    const auto f = [](const D& v) { return wg::roll(v, {1, -2}, {0, 1}); };
    const auto frozen = wg::freeze(f);
    const std::string text = wg::emit_cpp(frozen.graph(x), "moved");
    const std::size_t begin = text.find("/* roll");
    REQUIRE(begin != std::string::npos);
    const std::string loops = text.substr(begin, text.find("return 0;", begin) - begin);
    CHECK(loops.find('?') == std::string::npos);
    CHECK(loops.find('%') == std::string::npos);
}

TEST_CASE("a scan of waves on a torus and its gradient have eager's bits in tiles and native code")
{
    const auto slope = [](const D& v, std::int64_t axis) {
        return (wg::roll(v, -1, axis) - wg::roll(v, 1, axis)) * 0.5;
    };
    const auto waves = [&](const D& h, const D& u) {
        const auto step = [&](const std::tuple<D, D>& s) {
            const auto& [a, b] = s;
            const D next = a - 0.01 * (slope(a * b, 0) + slope(b, 1));
            return std::pair{std::tuple{next, b - 0.1 * (slope(next, 1) + wg::flip(slope(a, 0), 0))},
                             std::tuple<>{}};
        };
        return sum(square(std::get<0>(wg::scan(step, std::tuple{h, u}, std::size_t(5)).first)));
    };
    const D h = counted({17, 20}), u = counted({17, 20}) * 0.1;
    const auto gradient = wg::grad(waves);
    const D eager = gradient(h, u);
    wg::FreezeOptions native;
    native.backend = wg::native;
    CHECK(identical(wg::freeze(gradient)(h, u), eager));
    CHECK(identical(wg::freeze(gradient, native)(h, u), eager));
}

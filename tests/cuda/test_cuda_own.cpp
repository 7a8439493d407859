// A program's own primitives on a device: gathers, scatters that add and that meet by maximum and minimum, scans, folds. Eager and frozen
// they have the host's bits, and the host helps with nothing.
#include "graph/ir/index_meets.hpp"
#include "graph/ir/user_primitives.hpp"

#include <wengert/cuda.hpp>

using namespace own_primitives;

namespace {

std::vector<D> everything(const Own& own, const D& x)
{
    const auto loss = [own](const D& t) { return sum(sin(own.of(t)) + square(own.of(t * 0.5))); };
    const auto value = [own](const D& t) { return own.of(t); };
    return {own.of(x), grad(loss)(x), hvp(loss)(x, cos(x * 3.0)), jvp(value, x, cos(x * 3.0)).second};
}
void same_results(const std::vector<D>& want, const std::vector<D>& got, bool rounded)
{
    REQUIRE(want.size() == got.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
        INFO("result " << k);
        const Ref<Block> here = readable(got[k].any().value);
        if (rounded)
            CHECK(allclose(D(AnyTensor{placed(here, 0), {}}), want[k], 1e-12));
        else
            CHECK(same_elements(*readable(want[k].any().value), *here));
    }
}

}  // namespace

TEST_CASE("own primitives on a device have the host's bits, eager and frozen", "[gpu][once]")
{
    for (const Own& own : all_own()) {
        INFO(own.name);
        const D x = numbers<double>({5, 4}, 1);
        std::vector<D> want;
        {
            const OnDevice host(0);
            want = everything(own, x);
        }
        const std::uint8_t there = detail::gpu::number_of(cuda{});
        const OnDevice device(there);
        const D away(AnyTensor{placed(x.any().value, there), {}});
        same_results(want, everything(own, away), own.library);
        auto frozen = freeze([own](const D& t) { return everything(own, t); });
        for (int i = 0; i < 3; ++i) same_results(want, frozen(away), own.library);
    }
}

TEST_CASE("elements meet by maximum and minimum on a device with plain loops' bits", "[gpu]")
{
    const auto run = []<class T>(T, std::uint8_t there) {
        // the last one's elements are sorted by their places, as it has one column
        for (const Shape& of : {Shape{7, 5}, Shape{7, 700}, Shape{700, 1}}) {
            const Tensor<T> z = meets::awkward<T>({4, of[1]}, 1), x = meets::awkward<T>(of, 2);
            const I r = meets::places(of[0]);
            const auto away = [&](const auto& t) {
                return std::remove_cvref_t<decltype(t)>(AnyTensor{placed(t.any().value, there), {}});
            };
            const I far = away(r);
            const Tensor<T> u = away(z), v = away(x);
            for (const Combine how : {Combine::maximum, Combine::minimum}) {
                CHECK(same_elements(*readable(meets::met(how, u, far, v).any().value),
                                    *meets::expected_met(how, z, x)));
                CHECK(same_elements(*readable(meets::crossing(how, v).any().value),
                                    *meets::expected_crossing(how, x)));
            }
        }
    };
    const OnDevice host(0);
    const std::uint8_t there = detail::gpu::number_of(cuda{});
    run(0.0, there), run(0.0F, there), run(std::int32_t{0}, there), run(std::int64_t{0}, there);
}

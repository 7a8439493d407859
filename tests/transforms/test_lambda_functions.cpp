// The library's functions in the lambdas of elementwise: each of functions/list.hpp, over its domain and its edges, has the values and the
// derivatives of the function of tensors, to the bit, eagerly, in tiles and in native code.
#include "catch.hpp"

#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/wengert.hpp>

#include "same_bits.hpp"

namespace wg = wengert;
using wg::detail::Joined, wg::detail::List;

namespace {

template <class T> struct Edges {
    Edges()
    {
        using limits = std::numeric_limits<T>;
        std::vector<T> at{limits::min(), limits::denorm_min(), limits::max(), limits::infinity(),
                          limits::quiet_NaN()};
        for (const double v : {0.0, 0.1, 0.5, 0.999, 1.0, 1.5, 2.5, 7.0, 27.5, 28.5, 90.0, 171.0, 710.0, 1e9})
            at.push_back(static_cast<T>(v));
        for (std::size_t i = 0, n = at.size(); i < n; ++i) at.push_back(-at[i]);
        std::vector<T> xs, ys;
        for (std::size_t i = 0; i < at.size(); ++i)
            for (const std::size_t step : {0, 1, 5, 9})
                xs.push_back(at[i]), ys.push_back(at[(i + step) % at.size()]);
        const wg::Shape shape{static_cast<std::int64_t>(xs.size())};
        x = wg::Tensor<T>(shape, xs), y = wg::Tensor<T>(shape, ys);
    }
    wg::Tensor<T> x, y;
};

/// Values and both gradients of f, as `own` has them.
template <class T, class F, class G> void compare(const char* name, const F& f, const G& own)
{
    static const Edges<T> at;
    CAPTURE(name);
    const auto all = [](const auto& of) {
        return [&of](const wg::Tensor<T>& x, const wg::Tensor<T>& y) {
            const auto weighed = [&](const wg::Tensor<T>& a, const wg::Tensor<T>& b) {
                return sum(of(a, b) * T(0.75));
            };
            return std::pair(of(x, y), wg::grad<0, 1>(weighed)(x, y));
        };
    };
    const auto [value, slopes] = all(f)(at.x, at.y);
    const auto check = [&](const auto& got) {
        CHECK(same_bits(got.first, value));
        CHECK(same_bits(std::get<0>(got.second), std::get<0>(slopes)));
        CHECK(same_bits(std::get<1>(got.second), std::get<1>(slopes)));
    };
    check(all(own)(at.x, at.y));
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::tile, wg::native}) {
        auto frozen = wg::freeze(all(own), {.backend = backend});
        static_cast<void>(frozen(at.x, at.y));
        check(frozen(at.x, at.y));
    }
}

template <class F> constexpr auto call_one = [](auto x, auto) { return wg::detail::call<F>(x, wg::Site{}); };
template <class F>
constexpr auto call_two = [](auto x, auto y) { return wg::detail::call<F>(x, y, wg::Site{}); };

}  // namespace

TEMPLATE_TEST_CASE("Each function of the library in a lambda of elementwise", "", double, float)
{
    using T = TestType;
    [&]<class... F>(List<F...>) {
        (compare<T>(
             F::name.data(), [](const auto& x, const auto&) { return wg::detail::call<F>(x, wg::Site{}); },
             wg::elementwise(call_one<F>)),
         ...);
    }(Joined<wg::detail::ApproximatedOfOne, wg::ComposedFunctions, wg::ComposedTensorFunctions,
             List<wg::Trunc>>());
    [&]<class... F>(List<F...>) {
        (compare<T>(
             F::name.data(),
             [](const auto& x, const auto& y) { return wg::detail::call<F>(x, y, wg::Site{}); },
             wg::elementwise(call_two<F>)),
         ...);
    }(wg::detail::RecordedPairs());
}

TEST_CASE("Questions about numbers in a lambda of elementwise")
{
    const auto own = wg::elementwise([](auto x, auto y) {
        return where(isnan(x), y, where(isfinite(y), x * floor(y), nan_to_num(y, 1.0, 2.0, 3.0) + sign(x)));
    });
    static const Edges<double> at;
    const auto [x, y] = std::pair(at.x, at.y);
    CHECK(same_bits(
        own(x, y),
        where(isnan(x), y, where(isfinite(y), x * floor(y), nan_to_num(y, 1.0, 2.0, 3.0) + sign(x)))));
    const auto slope = wg::grad([&](const wg::Tensor<double>& t) { return sum(own(t, y)); })(x);
    CHECK(all(slope == where(isnan(x) || !isfinite(y), 0.0, floor(y))).item());
}

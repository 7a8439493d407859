// Folds on a device, the library's and a program's own, over lines of all lengths: the host's bits.
#include "cuda/everywhere.hpp"

namespace {

/// Of its own: least, greatest and how many, of each line.
struct Range {
    static constexpr std::string_view name = "range";
    static constexpr bool flat = true;
    static constexpr std::array identity = {wg::lit(std::numeric_limits<double>::infinity()),
                                            wg::lit(-std::numeric_limits<double>::infinity()), wg::lit(0)};
    template <class V> static std::array<V, 3> map(const V& x) { return {x, x * wg::lit(2), V(wg::lit(1))}; }
    template <class V> static std::array<V, 3> combine(const std::array<V, 3>& a, const std::array<V, 3>& b)
    {
        return {minimum(a[0], b[0]), maximum(a[1], b[1]), a[2] + b[2]};
    }
    template <class V> static V result(const std::array<V, 3>& s, const wg::FoldLine<V>& line)
    {
        return (s[1] - s[0]) / s[2] + line.first * line.number;
    }
    wg::Axes axes;
    void describe(wg::Fold& f) const { f.axes = &axes, f.number = 0.25; }
};

}  // namespace

TEMPLATE_TEST_CASE("folds have the host's bits, over rows and columns of all lengths", "[gpu][libraries]",
                   float, double)
{
    using T = TestType;
    const auto fold = [](const wg::Shape& shape, const wg::Axes& axes, bool lifted) {
        const Tensor<T> x = [&] {
            const wg::OnDevice host(0);
            Tensor<T> y = wg::normal<T>(wg::Key(7), shape);
            if (lifted) y = y * T(0.01) + T(1);  // products that stay finite
            return y;
        }();
        const auto all = [&] {
            const Tensor<T> there(wg::AnyTensor{wg::placed(x.any().value), {}});
            return wg::stack({sum(there, axes), mean(there, axes), prod(there, axes), amax(there, axes),
                              amin(there, axes), var(there, axes), norm(there, axes),
                              logsumexp(there, axes)});
        };
        CAPTURE(wg::to_string(shape), wg::to_string(axes));
        CHECK(same_everywhere(all) == 0);
    };
    for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 31, 33, 64, 100, 2048, 2049, 4096, 4097, 13000, 30000})
        fold({3, n}, {1}, n > 1000);
    for (const std::int64_t n : {1, 2, 3, 4, 5, 16, 32, 33, 100, 255, 256, 257, 259, 700, 5000})
        for (const std::int64_t columns : {2, 3, 16, 17, 40})
            if (n * columns < 100000) fold({2, n, columns}, {1}, n > 300);
    fold({4, 5, 6}, {0, 2}, false);
    fold({4, 5, 6}, {0, 1, 2}, false);
    fold({}, {}, false);
    const Tensor<T> odd = {T(-0.0), T(-0.0)}, nan = {T(1), std::numeric_limits<T>::quiet_NaN(), T(2)};
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK(!std::signbit(sum(Tensor<T>(wg::AnyTensor{wg::placed(odd.any().value), {}})).item()));
    CHECK(std::isnan(amax(Tensor<T>(wg::AnyTensor{wg::placed(nan.any().value), {}})).item()));
}

TEST_CASE("folds of whole numbers, of truth values, of places, of no elements and out of range",
          "[gpu][libraries]")
{
    const auto on = [](const auto& f) { CHECK(same_everywhere(f) == 0); };
    const auto put = [](const auto& x) {
        return std::remove_cvref_t<decltype(x)>(wg::AnyTensor{wg::placed(x.any().value), {}});
    };
    for (const wg::Shape& s : {wg::Shape{1}, wg::Shape{3, 7}, wg::Shape{2, 5000}, wg::Shape{600, 3},
                               wg::Shape{2, 40, 5}, wg::Shape{0, 3}, wg::Shape{3, 0}})
        for (const std::int64_t axis : {0, 1}) {
            if (axis >= static_cast<std::int64_t>(s.size())) continue;
            CAPTURE(wg::to_string(s), axis);
            const auto [x, i] = [&] {
                const wg::OnDevice host(0);
                return std::pair(wg::normal<double>(wg::Key(9), s),
                                 wg::randint<std::int32_t>(wg::Key(2), s, -3, 4));
            }();
            const wg::Axes along = {axis};
            on([&] { return sum(put(i), along); });
            on([&] { return sum(put(x) > 0.5, along); });
            on([&] { return all(put(x) < 2.0, along); });
            on([&] { return any(put(i), along); });
            on([&] { return any(put(x) > 3.0); });
            on([&] {
                return prod(put(x), along) + sum(put(x), along) + logsumexp(put(x), along) +
                       norm(put(x), along);
            });
            on([&] { return var(put(x), along, false, 1); });
            on([&] { return softmax(put(x), axis); });
            if (s[static_cast<std::size_t>(axis)] == 0) continue;
            on([&] { return wg::apply<Range, double>({{axis}}, wg::Site{}, put(x)); });
            on([&] { return argmax(put(x), axis); });
            on([&] { return argmin(put(i), axis); });
            on([&] { return amax(put(i), along); });
            on([&] { return amin(put(i), along); });
            on([&] { return norm(put(x) * 1e200, along) + norm(put(x) * 1e-200, along); });
            on([&] {
                const auto f = [&](const Tensor<double>& t) {
                    return sum(var(t, along) * norm(t, along) + wg::stddev(t, along));
                };
                return wg::grad(f)(put(x));
            });
        }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor<double> odd = {{1.0, nan, 5.0, nan}, {2.0, 7.0, 7.0, -1.0}};
    on([&] { return argmax(put(odd), 1); });
    on([&] { return argmin(put(odd), 0); });
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK_THROWS_AS(amax(wg::zeros<double>({0}), {0}), wg::ShapeError);
}

TEMPLATE_TEST_CASE("softmax and its like have the host's bits, with their derivatives", "[gpu][libraries]",
                   float, double)
{
    using T = TestType;
    for (const wg::Shape& s : {wg::Shape{1}, wg::Shape{3, 1}, wg::Shape{3, 7}, wg::Shape{2, 5000},
                               wg::Shape{40, 3}, wg::Shape{2, 300, 5}})
        for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(s.size()); ++axis) {
            CAPTURE(wg::to_string(s), axis);
            const Tensor<T> x = [&] {
                const wg::OnDevice host(0);
                return wg::normal<T>(wg::Key(9), s) * T(3);
            }();
            const auto on = [&](const auto& f) {
                CHECK(same_everywhere([&] {
                          return f(Tensor<T>(wg::AnyTensor{wg::placed(x.any().value), {}}));
                      }) == 0);
            };
            on([&](const Tensor<T>& t) { return softmax(t, axis); });
            on([&](const Tensor<T>& t) { return log_softmax(t, axis); });
            on([&](const Tensor<T>& t) { return logsumexp(t, {axis}); });
            on([&](const Tensor<T>& t) {
                return wg::grad([&](const Tensor<T>& u) {
                    return sum(softmax(u, axis) * square(u) + log_softmax(u, axis));
                })(t);
            });
        }
}

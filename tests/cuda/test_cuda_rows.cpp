// Rows in one kernel: folds, what reads their results along the rows, and folds of that again, beside the host's bits.
#include "cuda/replays.hpp"

namespace {

template <class T> Tensor<T> numbers(const wg::Shape& shape, std::uint64_t seed = 3)
{
    return wg::cast<T>(some(shape, seed));
}
/// What several results are, as one, so that each of them is compared.
template <class... X> Tensor<double> together(const X&... x)
{
    return wg::concatenate({reshape(wg::cast<double>(x), {-1})...}, 0);
}
template <class T> Tensor<T> normalised(const Tensor<T>& u)
{
    return (u - mean(u, {-1}, true)) / sqrt(var(u, {-1}, true) + T(1e-5));
}
/// f has the host's bits, in so many kernels; 0: however many.
template <class F, class... X> void rows(std::size_t kernels, const char* name, const F& f, const X&... x)
{
    INFO(name);
    const wg::FreezeStats s = same_bits(f, x...);
    if (kernels) CHECK(s.kernels == kernels);
    CHECK(s.uncompiled == 0);
}

template <class T> void functions_of_rows(const wg::Shape& shape)
{
    using X = Tensor<T>;
    INFO("rows of " << wg::to_string(shape) << ", " << wg::name_of(wg::dtype_of<T>()));
    const X x = numbers<T>(shape);
    rows(
        1, "softmax", [](const X& u) { return softmax(u * T(3), -1); }, x);
    rows(
        1, "log_softmax", [](const X& u) { return log_softmax(u, -1) * T(2); }, x);
    rows(
        1, "logsumexp", [](const X& u) { return logsumexp(u * T(3), -1); }, x);
    rows(
        1, "var", [](const X& u) { return var(u + T(100), {-1}); }, x);
    rows(
        1, "norm", [](const X& u) { return u / norm(u, {-1}, true); }, x);
    rows(
        1, "normalised", [](const X& u) { return normalised(u); }, x);
    rows(
        0, "folds of what folds have made",
        [](const X& u) {
            const X y = exp(u - amax(u, {-1}, true)), z = y / sum(y, {-1}, true);
            return z - prod(T(1) + z, {-1}, true) * amin(z * u, {-1}, true);
        },
        x);
    rows(
        0, "places and values",
        [](const X& u) {
            const auto at = argmax(u * T(2), -1), least = argmin(abs(u), -1);
            return together(at, least, amax(u * T(2), {-1}), any(u > T(2), {-1}), all(u > T(-9), {-1}));
        },
        x);
}

}  // namespace

TEST_CASE("functions of rows are one kernel, with the host's bits", "[gpu][libraries]")
{
    for (const wg::Shape& shape : {wg::Shape{5, 48}, wg::Shape{3, 2, 7}, wg::Shape{70, 2}})
        functions_of_rows<double>(shape);
    for (const wg::Shape& shape : {wg::Shape{9, 130}, wg::Shape{200}, wg::Shape{4, 1, 5}})
        functions_of_rows<float>(shape);
}

TEST_CASE("derivatives of functions of rows have the host's bits on a device", "[gpu][libraries]")
{
    using X = Tensor<double>;
    const X x = some({6, 48}), w = some({48}, 5), b = some({48}, 6), column = some({6, 1}, 7);
    const auto slope = [](const auto& f) { return wg::grad([f](const X& u) { return sum(tanh(f(u))); }); };
    // a group without folds writes one element a row, which all threads of the row read
    same_bits(slope([](const X& u) { return normalised(u); }), x);
    same_bits(slope([](const X& u) { return softmax(u * 3.0, 1); }), x);
    same_bits(slope([](const X& u) { return log_softmax(u, 1); }), x);
    same_bits(slope([](const X& u) { return logsumexp(u, 1); }), x);
    same_bits(slope([](const X& u) { return u / norm(u, {1}, true); }), x);
    // operands along the rows, one for each row, views, and what is read elsewhere
    rows(
        1, "operands of other shapes",
        [](const X& u, const X& along, const X& each) { return softmax(u * along + each, 1) * along - each; },
        x, w, column);
    rows(
        1, "transposed", [](const X& u, const X& each) { return normalised(transpose(u)) * each; },
        some({48, 6}), column);
    rows(
        1, "rolled", [](const X& u) { return softmax(roll(u, 1, 1), 1); }, x);
    same_bits(
        [](const X& u) {
            const X y = softmax(u, 1);
            return roll(y, 1, 1) - y;
        },
        x);
    same_bits([&](const X& u) { return normalised(u) + amax(u, {0}) * sum(u); }, x);
    same_bits([](const X& u) { return softmax(u, 1); }, some({6, 1}));
    same_bits([](const X& u) { return softmax(u, 1); }, some({0, 6}));
}

TEST_CASE("explain() tells of rows that several blocks fold", "[gpu][libraries]")
{
    auto frozen = wg::freeze([](const Tensor<double>& u) { return softmax(u, 1); }, on_device());
    for (int k = 0; k < 2; ++k) frozen(some({2, 48}));
    CHECK_THAT(frozen.explain(), !Catch::Contains("several blocks"));
    for (int k = 0; k < 2; ++k) frozen(some({2, 3000}));
    CHECK_THAT(frozen.explain(), Catch::Contains("softmax") && Catch::Contains("several blocks"));
}

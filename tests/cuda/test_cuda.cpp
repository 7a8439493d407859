// Tensors on a device of CUDA: there and back, and what the host gives. On the fake driver (tests/cuda/fake/) and on a GPU alike.
#include <wengert/cuda.hpp>
#include <wengert/scalar.hpp>

#include <sstream>

#include "catch.hpp"

namespace wg = wengert;
using wg::Tensor;

namespace {

template <class T, class D> bool is_there(const Tensor<T, D>& x) { return x.any().value->device() != 0; }

Tensor<double> some(const wg::Shape& shape) { return wg::normal<double>(wg::Key(3), shape); }

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

/// f on the host and there: the same bits. Returns how often the host has helped.
template <class F> std::int64_t same_everywhere(const F& f)
{
    const std::int64_t before = wg::cuda::counts().host_calls;
    const auto numbers = [&](std::uint8_t device) {
        const wg::OnDevice there(device);
        const auto y = f();
        CHECK(y.any().value->device() == device);
        const auto flat = wg::to<wg::cpu>(copy(y));
        using T = typename std::remove_cvref_t<decltype(flat)>::value_type;
        return std::pair(y.shape(), std::vector<T>(flat.data(), flat.data() + flat.size()));
    };
    const auto host = numbers(0), there = numbers(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK(host.first == there.first);
    const auto same = [](auto a, auto b) { return a == b || (a != a && b != b); };
    CHECK(std::equal(host.second.begin(), host.second.end(), there.second.begin(), there.second.end(), same));
    return wg::cuda::counts().host_calls - before;
}

}  // namespace

TEST_CASE("a tensor goes to a device and comes back", "[gpu]")
{
    REQUIRE(wg::cuda::device_count() > 0);
    CHECK(!wg::cuda::name().empty());
    const Tensor<float> x = {{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}};
    Tensor<float, wg::cuda> y = wg::to<wg::cuda>(x);
    CHECK(is_there(y));
    CHECK(!is_there(wg::to<wg::cpu>(y)));
    CHECK(allclose(wg::to<wg::cpu>(y), x, 0.0));
    CHECK(y(1, 2).item() == 6.0F);
    CHECK(wg::to<wg::cpu>(transpose(y))(2, 0).item() == 3.0F);
    const Tensor<float, wg::cuda> again = wg::to<wg::cuda>(y);
    CHECK(again.any().value.get() == y.any().value.get());
    std::ostringstream text;
    text << transpose(y);
    CHECK_THAT(text.str(), contains("[[1.0 4.0]\n [2.0 5.0]\n [3.0 6.0]]"));
    for (const std::int64_t n :
         {0, 1, 16383, 16384, 16385, 3000000}) {  // small ones, and those that are staged
        const Tensor<float> many = wg::arange<float>(static_cast<float>(n));
        const Tensor<float, wg::cuda> there = wg::to<wg::cuda>(many);
        const Tensor<float> back = wg::to<wg::cpu>(there);
        CHECK(std::equal(back.data(), back.data() + n, many.data()));
    }
}

TEST_CASE("new tensors of a device", "[gpu]")
{
    const Tensor<float, wg::cuda> ones = wg::ones<float, wg::cuda>({2, 3});
    CHECK(is_there(ones));
    CHECK(allclose(wg::to<wg::cpu>(ones), wg::ones<float>({2, 3}), 0.0));
    const auto u = wg::uniform<float, wg::cuda>(wg::Key(5), {1000});
    CHECK(is_there(u));
    CHECK(allclose(wg::to<wg::cpu>(u), wg::uniform<float>(wg::Key(5), {1000}), 0.0));
    CHECK(is_there(wg::zeros_like(ones)));
    CHECK(wg::to<wg::cpu>(wg::full_like(transpose(ones), 7.0F))(2, 1).item() == 7.0F);
    CHECK(wg::to<wg::cpu>(wg::full_like(wg::ones<double, wg::cuda>({3}), 0.1))(2).item() == 0.1);
    CHECK(wg::to<wg::cpu>(wg::full_like(wg::ones<bool, wg::cuda>({3}), true))(2).item());
}

TEST_CASE("random numbers are drawn on the device, with the host's bits", "[gpu][libraries]")
{
    const auto drawn = [](const auto& f) {
        const std::int64_t before = wg::cuda::counts().from_host;
        CHECK(same_everywhere(f) == 0);
        CHECK(wg::cuda::counts().from_host == before);
    };
    const wg::Key key = wg::fold_in(wg::Key(11), 5);
    for (const std::int64_t n : {0, 1, 2, 3, 5, 1021}) {
        drawn([&] { return wg::uniform<float>(key, {n}); });
        drawn([&] { return wg::uniform<double>(key, {n}, -2.0, 0.3); });
        drawn([&] { return wg::uniform<float>(key, {n, 2}, 0.1F, 7.3F); });
        drawn([&] { return wg::normal<float>(key, {n}); });
        drawn([&] { return wg::normal<double>(key, {n, 3}); });
        drawn([&] { return wg::randint<std::int32_t>(key, {n}, -7, 1000000007); });
        drawn([&] { return wg::randint<std::int64_t>(key, {n}, -5, 9); });
        for (const double p : {0.0, 0.3, 1.0}) drawn([&] { return wg::bernoulli(key, {n}, p); });
        drawn([&] { return wg::dropout_mask<float>(key, {n}, 0.3); });
    }
    for (const std::int64_t n : {0, 1, 2, 1000, 1024, 1025, 5000})
        drawn([&] { return wg::permutation(key, n); });
    auto frozen = wg::freeze(
        [](const wg::Key& k, const Tensor<float>& x) { return x * wg::normal<float>(k, x.shape()); });
    const Tensor<float> wanted = wg::normal<float>(key, {100});
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    const auto x = wg::ones<float>({100});
    for (int k = 0; k < 3; ++k) CHECK(allclose(wg::to<wg::cpu>(frozen(key, x)), wanted, 0.0));
}

TEST_CASE("transfers are differentiable", "[gpu]")
{
    Tensor<double> x = some({4, 3});
    x.requires_grad(true);
    const Tensor<double, wg::cuda> y = wg::to<wg::cuda>(x) * 2.0;
    const Tensor<double> loss = wg::to<wg::cpu>(sum(y)) * 3.0;
    wg::backward(loss);
    CHECK(!is_there(x.grad()));
    CHECK(allclose(x.grad(), wg::full<double>({4, 3}, 6.0), 0.0));
    Tensor<double, wg::cuda> w = wg::to<wg::cuda>(some({4, 3}));
    w.requires_grad(true);
    wg::backward(sum(square(w)));
    CHECK(is_there(w.grad()));
    CHECK(allclose(wg::to<wg::cpu>(w.grad()), 2.0 * some({4, 3}), 0.0));
    const auto f = [](const Tensor<double>& t) { return wg::to<wg::cpu>(sum(exp(wg::to<wg::cuda>(t)))); };
    CHECK(wg::check_grads(f, some({5}), {.order = 2}));
}

TEST_CASE("devices are not mixed", "[gpu]")
{
    const Tensor<float> here = wg::ones<float>({3});
    const Tensor<float, wg::cuda> there = wg::ones<float, wg::cuda>({3});
    // which does not compile; where the types do not show it, it is an error of the program
    CHECK_THROWS_WITH(
        here + wg::detail::on<wg::cpu>(there),
        contains("[add] operands are on different devices: (3) float32 on cpu and (3) float32 on "
                 "cuda:0 (") &&
            contains("test_cuda.cpp:"));
    CHECK_THROWS_WITH(wg::to<wg::cuda>(here, wg::cuda{99}), contains("[to] CUDA: there is no device 99"));
}

namespace {

template <class D> struct Layer {
    Tensor<double, D> weight;
    Tensor<double> rate;  // of the host
    std::vector<Tensor<double, D>> more;
};
template <class D> Layer<D> layer() { return {wg::to<D>(some({3, 4})), some({}), {wg::to<D>(some({4}))}}; }
template <class D> struct Mixture {
    Tensor<double, D> there;
    wg::Real<double> number;
    Tensor<double> here;
};
template <class D> struct Count {
    Tensor<std::int64_t, D> i;
    Tensor<double, D> x;
};

/// What a program does with tensors, by the tag of the device alone: every type is written out.
template <class D> std::vector<Tensor<double>> program()
{
    using X = Tensor<double, D>;
    std::vector<Tensor<double>> all;
    const auto keep = [&](const X& x) { all.push_back(wg::to<wg::cpu>(copy(x))); };
    const X x = wg::to<D>(some({3, 4}));
    const auto f = [](const X& t) { return sum(sin(t) * t); };
    const std::pair<X, X> value_and_gradient = wg::value_and_grad(f)(x);
    keep(value_and_gradient.second);
    auto [y, pullback] = wg::vjp([](const X& t) { return tanh(t); }, x);
    const X cotangent = pullback(cos(x));
    keep(cotangent);
    const std::pair<X, X> tangent = wg::jvp(f, x, exp(x));
    keep(tangent.second);
    keep(wg::jacobian([](const X& t) { return square(t(0)); })(x));
    keep(wg::jacobian([](const X& t) { return wg::concatenate({t, t}, 0); })(x(1)));
    keep(wg::hvp(f)(x, x * 2.0));
    keep(wg::grad(wg::checkpoint(f))(x));
    const auto own = wg::custom_vjp([](const X& a) { return a * 2.0; },
                                    [](const X& g, const X&, const X& a) -> X { return g * a * 3.0; });
    keep(wg::grad([&](const X& t) { return sum(own(t)); })(x));
    const auto forward = wg::custom_jvp([](const X& a) { return a * 2.0; },
                                        [](const X& dot, const X&, const X& a) -> X { return dot * a; });
    keep(wg::grad([&](const X& t) { return sum(forward(t)); })(x));
    const auto fused = wg::elementwise([](auto a, auto b) {
        using std::exp;
        return exp(a) * b;
    });
    keep(wg::grad([&](const X& t) { return sum(fused(t, 0.5)); })(x));

    const Layer<D> gradient = wg::grad([](const Layer<D>& l, const X& t) {
        return sum(t * l.weight + l.more[0]) + wg::to<D>(l.rate * l.rate);
    })(layer<D>(), x);
    keep(gradient.weight), keep(gradient.more[0]), all.push_back(gradient.rate);

    const Mixture<D> mixture = wg::grad([](const Mixture<D>& m) {
        return sum(m.there * m.number) + wg::to<D>(sum(exp(m.here) * m.number));
    })(Mixture<D>{x, 2.0, some({2})});
    keep(mixture.there), all.push_back(Tensor<double>(mixture.number.value())), all.push_back(mixture.here);

    X w = wg::to<D>(some({4, 3}));
    w.requires_grad(true);
    X z = w * 1.0;
    view(z, wg::range(0, 2)) *= 3.0;
    view(z, 3) = z(0) - 1.0;
    z += z(1);
    z /= 2.0;
    X total = z(0, 0);
    for (const X& row : z) total = total + sum(row);
    wg::backward(total + take(z, wg::to<D>(wg::Indices{0, 2}), 0)(1, 2) + sum(where(z > 0.0, z, -1.0)));
    keep(w.grad());
    w.zero_grad();
    keep(w.grad());
    keep(wg::while_loop([](const Count<D>& c) { return c.i < 3; },
                        [](const Count<D>& c) {
                            return Count<D>{c.i + 1, c.x * 2.0};
                        },
                        Count<D>{wg::zeros<std::int64_t, D>({}), x})
             .x);
    keep(wg::cond(
        sum(x) > 0.0, [](const X& t) { return t; }, [](const X& t) { return -t; }, x));
    keep(
        wg::scan([](const X& a, const X& b) { return std::pair(a + b, a * b); }, wg::zeros<double, D>({4}), x)
            .second);
    keep(wg::normal<double, D>(wg::Key(1), {5}) + wg::eye<double, D>(5));
    keep(where(wg::bernoulli<D>(wg::Key(2), {5}), 1.0, wg::linspace<double, D>(0, 1, 5)));
    CHECK(wg::check_grads(f, x, {.order = 2}));
    return all;
}

}  // namespace

TEST_CASE("a program is the same on every device but for the tag", "[gpu]")
{
    const auto here = program<wg::cpu>(), there = program<wg::cuda>();
    REQUIRE(here.size() == there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
        CAPTURE(i);
        CHECK(!is_there(there[i]));
        CHECK(allclose(there[i], here[i], 1e-12));
    }
}

TEST_CASE("elementwise operations and their derivatives have the host's bits", "[gpu]")
{
    same_everywhere([] { return tanh(some({7, 5})) * some({5}) - exp(some({7, 1})); });
    same_everywhere([] {
        const auto f = [](const Tensor<double>& x) {
            return sum(sin(x) * x / (1.0 + square(x)) * some({5}));
        };
        return wg::grad(f)(some({7, 5}));
    });
    same_everywhere([] {
        Tensor<double> w = some({40});
        w.requires_grad(true);
        for (int k = 0; k < 3; ++k) {
            wg::backward(sum(square(tanh(w))));
            const wg::NoGrad off;
            w -= 0.1 * w.grad();
        }
        return w.detach();
    });
}

TEST_CASE("elementwise kernels need no host, in any layout", "[gpu][libraries]")
{
    const auto here = [](auto f) { CHECK(same_everywhere(f) == 0); };
    const wg::OnDevice host(0);
    const auto a = some({6, 5, 4});
    const auto on = [&](const Tensor<double>& x) { return wg::placed(x.any().value); };
    const auto put = [&](const Tensor<double>& x) { return Tensor<double>(wg::AnyTensor{on(x), {}}); };
    here([&] { return exp(put(a)) * 2.0; });
    here([&] { return transpose(put(a)) + 1.0; });
    here([&] { return put(a) * transpose(put(a)(0))(0)(0); });
    here([&] { return copy(transpose(put(a))); });
    here([&] { return view(put(a), wg::range(1, 5), 2) - put(a)(0)(0); });
    here([&] { return wg::where(put(a) > 0.0, put(a), -put(a)); });
    here([&] { return pow(abs(put(a)), 1.5) + hypot(put(a), 2.0) + atan2(put(a), put(a) * put(a)); });
    here([&] { return sin(put(a) * 1e6) + cos(put(a) * 1e9) + tan(put(a)); });
    here([&] {
        Tensor<double> x = copy(put(a));
        view(x, 2) = 7.0;
        view(x, wg::range(0, 2)) *= 3.0;
        x -= 0.5 * x;
        return x;
    });
    here([&] { return wg::cast<float>(put(a)) * 3.0F; });
    here([&] { return wg::cast<std::int64_t>(put(a) * 100.0) * 7; });
}

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

TEST_CASE("products of all ranks, with their derivatives", "[gpu][libraries]")
{
    const auto near = [](const auto& f) {
        const std::int64_t before = wg::cuda::counts().host_calls;
        const auto there = [&] {
            const wg::OnDevice on(wg::detail::gpu::number_of(wg::cuda{}));
            const auto y = f();
            CHECK(is_there(y));
            return wg::to<wg::cpu>(y);
        }();
        CHECK(wg::cuda::counts().host_calls == before);
        CHECK(allclose(there, f(), 1e-12));
    };
    // operands are made on the device by one copy each, so that no draw is the host's
    const auto of = [](const wg::Shape& shape) {
        const Tensor<double> x = [&] {
            const wg::OnDevice host(0);
            return some(shape);
        }();
        return Tensor<double>(wg::AnyTensor{wg::placed(x.any().value), {}});
    };
    near([&] { return matmul(of({4, 5}), of({5, 3})); });
    near([&] { return matmul(transpose(of({5, 4})), transpose(of({3, 5}))); });
    near([&] { return matmul(of({40, 70}), of({70, 33})); });
    near([&] { return matmul(of({5}), of({5, 3})); });
    near([&] { return matmul(of({4, 5}), of({5})); });
    near([&] { return matmul(of({5}), of({5})); });
    near([&] { return matmul(of({2, 3, 4, 5}), of({5, 6})); });
    near([&] { return matmul(of({3, 1, 4, 5}), of({2, 5, 6})); });
    near([&] { return matmul(of({2, 3, 5}), of({5})); });
    near([&] { return matmul(view(of({6, 8}), wg::range(0, 6, 2), wg::range(1, 6)), of({5, 3})); });
    near([&] { return matmul(of({4, 0}), of({0, 3})); });
    near([&] { return matmul(of({0, 4}), of({4, 3})); });
    CHECK(same_everywhere([] {
              return matmul(wg::cast<std::int64_t>(wg::zeros_like(some({20, 17})) + 3.0),
                            wg::cast<std::int64_t>(wg::zeros_like(some({17, 5})) + 2.0));
          }) <= 2);
    const wg::OnDevice on(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK_THROWS_AS(matmul(of({4, 5}), of({4, 3})), wg::ShapeError);
    const auto f = [&](const Tensor<double>& x) { return sum(square(matmul(x, x(0)))); };
    CHECK(wg::check_grads(f, some({3, 4}), {.order = 2}));
}

TEST_CASE("structural operations, their derivatives and writes", "[gpu]")
{
    same_everywhere([] { return wg::concatenate({some({2, 3}), some({1, 3})}); });
    same_everywhere([] { return cumsum(wg::roll(some({4, 5}), 2, 1), 0); });
    same_everywhere([] {
        Tensor<double> x = some({4, 5});
        view(x, wg::range(1, 3)) = some({5});
        view(x, 0) += 1.0;
        return x;
    });
    same_everywhere([] {
        const auto f = [](const Tensor<double>& x) {
            const wg::Indices rows = {2, 0, 2};
            return sum(softmax(x * 2.0, 1) * take(x, rows, 0)(0, 1)) + mean(amax(x, {1})) +
                   sum(square(view(x, wg::range(0, 2))));
        };
        return wg::grad(f)(some({3, 5}));
    });
}

TEST_CASE("integers that are no positions are found on the device", "[gpu][libraries]")
{
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    const wg::Indices beyond = {{0, 1}, {-3, 3}}, good = {2, 0, -1};
    const auto x = wg::ones<double>({3});
    const auto before = wg::cuda::counts().to_host.load();
    Tensor<double> y = take(x, beyond, 0);  // nobody waits for it
    for (int k = 0; k < 100; ++k) y = take(x, good, 0);
    const auto wrong = contains(
        "[take] index 3 at (1, 1) of operand 1 is out of range for axis 0 of shape (3) (test_cuda.cpp:");
    y = take(x, beyond, 0) * 2.0;
    CHECK(wg::cuda::counts().to_host == before);
    CHECK_THROWS_WITH(y(0, 0).item(), wrong);
    CHECK_NOTHROW(y(0, 0).item());
    static_cast<void>(scatter_add(x, wg::Indices{0, 1, 7}, x, 0));
    CHECK_THROWS_AS(wg::cuda::synchronize(), wg::IndexError);
    CHECK_NOTHROW(wg::cuda::synchronize());
    wg::cuda::wait_for_each(true);
    CHECK_THROWS_WITH(take(x, beyond, 0), wrong);
    wg::cuda::wait_for_each(false);
    static_cast<void>(take(wg::zeros<double>({0, 2}), beyond, 0));
    CHECK_THROWS_AS(wg::cuda::synchronize(), wg::IndexError);
    static_cast<void>(take(x, beyond, 0));
    const auto many = [&] {
        for (int k = 0; k < 300; ++k) y = take(x, good, 0);
    };
    CHECK_THROWS_WITH(many(), wrong);  // there is room for so many open questions
}

TEST_CASE("scatters into few places are sorted, and meet there in the stated order", "[gpu][libraries]")
{
    const auto on = [](const auto& f) { CHECK(same_everywhere(f) == 0); };
    const auto of = [](const wg::Shape& shape) {
        const wg::OnDevice host(0);
        return wg::normal<float>(wg::Key(13), shape);
    };
    const auto put = [](const auto& x) {
        return std::remove_cvref_t<decltype(x)>(wg::AnyTensor{wg::placed(x.any().value), {}});
    };
    for (const std::int64_t n : {511, 512, 1000, 3000})
        for (const std::int64_t places : {1, 7, 5000}) {
            CAPTURE(n, places);
            const auto i = [&] {
                const wg::OnDevice host(0);
                return wg::randint<std::int64_t>(wg::Key(n), {n}, -places, places);
            }();
            const auto x = of({n}), columns = of({n, 3});
            on([&] { return scatter_add(put(of({places})), put(i), put(x), 0); });
            on([&] { return scatter_add(put(of({places, 3})), put(i), put(columns), 0); });
            on([&] { return segment_sum(put(columns), abs(put(i)), places + 1); });
            on([&] {
                const auto f = [&](const Tensor<float>& t) {
                    return sum(square(take(t, put(i), 1)) * put(transpose(columns)));
                };
                return wg::grad(f)(put(of({3, places})));
            });
        }
    const auto wide = of({2, 1, 2, 1, 2, 1, 2, 1, 2, 2, 3});
    on([&] { return roll(put(wide), 1, 8) + transpose(transpose(put(wide))); });
    on([&] { return flip(put(wide(0)(0))); });
    on([&] { return copy(transpose(put(wide))); });
}

TEST_CASE("loops and branches of eager code run where their operands are", "[gpu][libraries]")
{
    const auto on = [](const auto& f) { CHECK(same_everywhere(f) == 0); };
    const auto step = [](const Tensor<double>& a, const Tensor<double>& x) {
        return std::pair(tanh(a + x), sum(a * x));
    };
    on([&] { return wg::scan(step, some({3}), some({4, 3})).second; });
    on([&] {
        const auto f = [&](const Tensor<double>& s) { return sum(wg::scan(step, s, some({4, 3})).second); };
        return wg::grad(f)(some({3}));
    });
    on([&] {
        return wg::while_loop([](const Tensor<double>& x) { return sum(x) < 50.0; },
                              [](const Tensor<double>& x) { return x * 2.0; }, exp(some({5})));
    });
    on([&] {
        return wg::cond(
            sum(some({5})) > 0.0, [](const Tensor<double>& t) { return exp(t); },
            [](const Tensor<double>& t) { return t * 2.0; }, some({5}));
    });
}

TEST_CASE("what is made of described operations needs no host, and nobody hears of those", "[gpu][libraries]")
{
    const auto on = [](const auto& f) { CHECK(same_everywhere(f) == 0); };
    on([] { return wg::grad([](const Tensor<double>& x) { return sum(prod(x, {1})); })(some({4, 3})); });
    on([] {
        const auto f = [](const Tensor<double>& x) { return cross_entropy(x, wg::Indices{2, 0, 1, 1}); };
        return wg::grad([&](const Tensor<double>& x) { return sum(square(wg::grad(f)(x))); })(some({4, 3}));
    });
    const auto f = [](const Tensor<double>& x) { return cross_entropy(x, wg::Indices{2, 0, 1, 1}); };
    const auto x = some({4, 3});
    auto frozen = wg::freeze(wg::value_and_grad(f), {.device = wg::cuda{}});
    for (int k = 0; k < 3; ++k) CHECK(allclose(frozen(x).second, wg::grad(f)(x), 1e-14));
    const wg::OnDevice there(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK_THROWS_WITH(cross_entropy(wg::ones<double>({2, 3}), wg::Indices{1, 3}).item(),
                      contains("[at_labels] index 3 at (1)") && contains("test_cuda.cpp:"));
}

TEST_CASE("memory of a device is counted, kept, limited and given back", "[gpu]")
{
    wg::cuda::trim();
    const auto before = wg::cuda::memory();
    {
        const auto x = wg::ones<float, wg::cuda>({1000, 1000});
        CHECK(wg::cuda::memory().live - before.live >= 4000000);
    }
    const auto after = wg::cuda::memory();
    CHECK(after.live == before.live);
    CHECK(after.pooled >= 4000000);
    {
        const auto x = wg::ones<float, wg::cuda>({1000, 1000});
    }
    CHECK(wg::cuda::memory().reuses > after.reuses);
    CHECK(wg::cuda::memory().allocations == after.allocations);
    wg::cuda::trim();
    CHECK(wg::cuda::memory().pooled == 0);
    wg::cuda::set_limit(wg::cuda::memory().live + 1000000);
    CHECK_THROWS_WITH((wg::ones<float, wg::cuda>({1000, 1000})),
                      contains("bytes on cuda:0") && contains("the limit is"));
    CHECK_NOTHROW(wg::ones<float, wg::cuda>({1000}));
    wg::cuda::set_limit(0);
    CHECK_NOTHROW(wg::ones<float, wg::cuda>({1000, 1000}));
}

TEST_CASE("a tensor goes from one device to another without the host, and its cotangent back", "[gpu]")
{
    if (wg::cuda::device_count() < 2) return;
    const auto others = [] { return wg::cuda::counts(0).to_host + wg::cuda::counts(1).from_host; };
    for (const std::int64_t n : {0, 3, 50000}) {
        const Tensor<float> x = wg::arange<float>(static_cast<float>(n));
        Tensor<float, wg::cuda> a = wg::to<wg::cuda>(x, wg::cuda{0});
        a.requires_grad(true);
        const auto before = others();
        const Tensor<float, wg::cuda> b = wg::to<wg::cuda>(a, wg::cuda{1});
        CHECK(b.any().value->device() == wg::detail::gpu::number_of(wg::cuda{1}));
        const Tensor<float, wg::cuda> reversed = wg::to<wg::cuda>(flip(a, {0}), wg::cuda{1});
        wg::backward(sum(b * reversed));
        CHECK(others() == before);
        CHECK(allclose(wg::to<wg::cpu>(b), x, 0.0));
        CHECK(allclose(wg::to<wg::cpu>(reversed), flip(x, {0}), 0.0));
        CHECK(a.grad().any().value->device() == a.any().value->device());
        CHECK(allclose(wg::to<wg::cpu>(a.grad()), flip(x, {0}) * 2.0F, 0.0));
    }
    // memory there is used again only when it has been read
    std::vector<Tensor<float, wg::cuda>> copies;
    for (int k = 0; k < 20; ++k)
        copies.push_back(
            wg::to<wg::cuda>(wg::full<float, wg::cuda>({3000}, static_cast<float>(k)), wg::cuda{1}));
    for (int k = 0; k < 20; ++k)
        CHECK(wg::to<wg::cpu>(copies[static_cast<std::size_t>(k)])(2999).item() == static_cast<float>(k));
}

TEST_CASE("where a device's memory ends the lines that hold most of it are named", "[gpu]")
{
    Tensor<double, wg::cuda> x = wg::ones<double, wg::cuda>({100, 1000});
    x.requires_grad(true);
    const Tensor<double, wg::cuda> y = exp(x), z = sin(y);
    const Tensor<double, wg::cuda> sizes = wg::ones<double, wg::cuda>({3});
    wg::cuda::trim();
    wg::cuda::set_limit(wg::cuda::memory().live + 1000000);
    CHECK_THROWS_WITH((wg::ones<double, wg::cuda>({1000, 1000})),
                      contains("bytes on cuda:0") && contains("exp") && contains("test_cuda.cpp:"));
    wg::cuda::set_limit(0);
    CHECK_NOTHROW(wg::backward(sum(z)));
}

TEST_CASE("saved values wait in the host's memory", "[gpu]")
{
    const auto f = [](const Tensor<double, wg::cuda>& t) { return sum(exp(sin(t)) * t); };
    const Tensor<double, wg::cuda> x = wg::to<wg::cuda>(some({40, 50}));
    const Tensor<double> exact = wg::to<wg::cpu>(wg::grad(f)(x));
    const wg::SavedTensorHooks hooks(wg::save_on_host());
    const auto live = [&] {
        Tensor<double, wg::cuda> t = copy(x);
        t.requires_grad(true);
        const auto y = f(t);
        const std::int64_t bytes = wg::cuda::memory().live;
        wg::backward(y);
        CHECK(allclose(wg::to<wg::cpu>(t.grad()), exact, 0.0));
        return bytes;
    };
    const std::int64_t packed = live();
    const wg::SavedTensorHooks none(nullptr);
    CHECK(live() - packed >= 16000);
}

TEST_CASE("positions beyond 2³¹", "[gpu][libraries]")
{
    const std::int64_t n = std::int64_t{1} << 33;
    const auto long_row = wg::broadcast_to(wg::to<wg::cuda>(Tensor<float>{{1.0F}, {2.0F}}), {2, n});
    const auto far = wg::to<wg::cpu>(take(long_row, wg::to<wg::cuda>(wg::Indices{n - 1, 5}), 1));
    CHECK(far.shape() == wg::Shape{2, 2});
    CHECK(far(1, 0).item() == 2.0F);
    const auto part = copy(view(long_row, wg::all(), wg::range(n - 3, n)));
    CHECK(wg::to<wg::cpu>(sum(part, {1}))(1).item() == 6.0F);
    CHECK_THROWS_AS(wg::to<wg::cpu>(take(long_row, wg::to<wg::cuda>(wg::Indices{n}), 1)), wg::IndexError);
}

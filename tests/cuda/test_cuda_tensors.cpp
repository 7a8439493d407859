// Tensors on a device of CUDA: there and back, new ones, programs that name the device once. On the fake driver (tests/cuda/fake/) and on a
// GPU alike.
#include <wengert/scalar.hpp>

#include <sstream>

#include "cuda/everywhere.hpp"

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
            contains("test_cuda_tensors.cpp:"));
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

// Structs with parts that reflection cannot see: classes that name theirs by fields(), in every transform.
#include "catch.hpp"

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/transforms/audit.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/custom.hpp>
#include <wengert/io/trees.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

namespace {

/// Two parts that only its members see; the names are for files.
class Layer {
public:
    Layer(D w, D b) : w_(std::move(w)), b_(std::move(b)) {}
    auto fields() { return std::tuple(wg::named("weight", w_), wg::named("bias", b_)); }
    D operator()(const D& x) const { return tanh(w_ * x + b_); }
    const D& weight() const { return w_; }
    const D& bias() const { return b_; }

private:
    D w_, b_;
};
/// A part behind a pointer, which copies with the object.
class Scale {
    std::unique_ptr<D> s_;
    friend auto fields(Scale& s) { return std::tie(*s.s_); }

public:
    explicit Scale(D s) : s_(std::make_unique<D>(std::move(s))) {}
    Scale(const Scale& o) : s_(std::make_unique<D>(*o.s_)) {}
    Scale(Scale&&) = default;
    Scale& operator=(Scale o)
    {
        s_ = std::move(o.s_);
        return *this;
    }
    const D& get() const { return *s_; }
};
class Log {
    std::vector<std::string> lines;

public:
    Log() = default;
};
struct Net {
    D x;
    std::vector<Layer> layers;
    std::map<std::string, Scale> scales;
    std::variant<int, Layer> last;
    std::shared_ptr<std::mutex> guard;  // nothing to differentiate behind it
    const char* title = "net";
    Log log;
};

}  // namespace

template <> inline constexpr bool wengert::tree::is_opaque<Log> = true;

namespace {

Net example()
{
    return {D{0.5, -0.25},
            {Layer(D{1.0, 2.0}, D{0.5, 0.1}), Layer(D{3.0, -1.0}, D{0.2, 0.3})},
            {{"a", Scale(D{2.0, 0.5})}},
            Layer(D{0.7, 0.2}, D(0.1)),
            nullptr,
            "net",
            {}};
}
D run(const Net& n)
{
    D h = n.x;
    for (const Layer& l : n.layers) h = l(h);
    return std::get<Layer>(n.last)(h * n.scales.at("a").get());
}
const auto loss = [](const Net& n) { return sum(square(run(n))); };
/// The same function of the same eight tensors, none of them hidden.
using Open = std::array<D, 8>;
const auto open_loss = [](const Open& p) {
    const D h = tanh(p[3] * tanh(p[1] * p[0] + p[2]) + p[4]);
    return sum(square(tanh(p[6] * (h * p[5]) + p[7])));
};
template <class X> std::vector<D> tensors(const X& x)
{
    std::vector<D> out;
    wg::tree::for_each([&](const D& t) { out.push_back(t); }, x);
    return out;
}
Open opened(const Net& n)
{
    const auto t = tensors(n);
    return {t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]};
}
void check_same(const Net& got, const Open& want)
{
    const auto all = tensors(got);
    REQUIRE(all.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
        INFO("tensor " << i);
        CHECK(allclose(all[i], want[i], 1e-14));
    }
}
Net twice(const Net& n)
{
    return wg::tree::map([](const D& t) { return t * 2.0; }, n);
}

}  // namespace

TEST_CASE("hidden parts: reverse and forward mode, second order")
{
    const Net net = example();
    const Open open = opened(net);
    const Open gradient = wg::grad(open_loss)(open);
    check_same(wg::grad(loss)(net), gradient);
    const auto [value, g] = wg::value_and_grad(loss)(net);
    CHECK(value.item() == Approx(open_loss(open).item()));
    check_same(g, gradient);
    check_same(wg::vjp(loss, net).second(D(1.0)), gradient);
    const Net v = twice(net);
    CHECK(wg::jvp(loss, net, v).second.item() == Approx(wg::jvp(open_loss, open, opened(v)).second.item()));
    check_same(wg::hvp(loss)(net, v), wg::hvp(open_loss)(open, opened(v)));
    CHECK(wg::check_grads(loss, net, {.order = 2}).message == "");
    CHECK(wg::audit(loss, net).nodes == wg::audit(open_loss, open).nodes);
}

TEST_CASE("hidden parts: a wrong rule inside is found")
{
    const auto wrong = wg::custom_vjp([](const D& x) { return x * x; },
                                      [](const D& g, const D&, const D& x) { return g * x; });
    const auto f = [&](const Net& n) { return sum(wrong(n.layers[1].weight())); };
    CHECK(!wg::check_grads(f, example(), {.modes = wg::Modes::reverse}).ok);
}

TEST_CASE("hidden parts: an optimizer trains them")
{
    Net net = example();
    const double first = loss(net).item();
    for (int i = 0; i < 20; ++i) {
        const Net g = wg::grad(loss)(net);
        wg::tree::zip_for_each([](D& p, const D& dp) { p -= 0.1 * dp; }, net, g);
    }
    CHECK(loss(net).item() < 0.2 * first);
    CHECK(!allclose(net.layers[1].weight(), example().layers[1].weight()));
    CHECK(!allclose(net.scales.at("a").get(), example().scales.at("a").get()));
}

TEST_CASE("hidden parts: checkpoints and loops with checkpoints")
{
    const Net net = example();
    check_same(wg::grad(wg::checkpoint(loss))(net), wg::grad(open_loss)(opened(net)));
    const auto half = [](const Net& n) { return wg::tree::map([](const D& t) { return t * t; }, n); };
    const auto plain = [&](const Net& n) { return loss(half(half(half(n)))); };
    const auto looped = [&](const Net& n) {
        return loss(wg::checkpoint_loop(half, n, {.steps = 3, .snapshots = 2}));
    };
    check_same(wg::grad(looped)(net), opened(wg::grad(plain)(net)));
    const auto paired = [&](const Net& n) {
        const auto step = [&](const Net& s) {
            return std::pair(half(s), std::vector<Layer>(1, s.layers[0]));
        };
        const auto [state, out] = wg::checkpoint_loop(step, n, {.steps = 3, .snapshots = 2});
        return loss(state) + sum(out[0].weight());
    };
    const auto by_hand = [&](const Net& n) {
        const D& w = n.layers[0].weight();
        return plain(n) + sum(w + w * w + square(w * w));
    };
    check_same(wg::grad(paired)(net), opened(wg::grad(by_hand)(net)));
}

TEST_CASE("hidden parts: files name them")
{
    const std::string path = "wengert_test_hidden.npz";
    const Net net = example();
    wg::save_npz(path, net);
    const auto names = wg::read_npz(path);
    for (const char* name : {"x", "layers.1.weight", "layers.0.bias", "scales.a.0", "last.bias"})
        CHECK(names.contains(name));
    const Net back = wg::load_npz(path, twice(net));
    std::remove(path.c_str());
    check_same(back, opened(net));
}

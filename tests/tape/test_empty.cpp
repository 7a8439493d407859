// A default-constructed tensor is empty: it can be carried anywhere and assigned to, and nothing computes with it.
#include "catch.hpp"

#include <cstdio>
#include <filesystem>
#include <sstream>

#include <wengert/ops/creation.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/io/print.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/ops/writer.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/grad.hpp>
#include <wengert/io/trees.hpp>
#include <wengert/transforms/jvp.hpp>

namespace wg = wengert;
using wg::Tensor;
using T = Tensor<double>;

namespace {

/// The text of the TapeError that f throws, which must name the primitive and a line of this file.
template <class F> bool refused(const char* primitive, F&& f)
{
    try {
        f();
    } catch (const wg::TapeError& e) {
        const std::string text = e.what();
        INFO(text);
        CHECK(text.find(std::string("[") + primitive + "]") == 0);
        CHECK(text.find("moved-from or default-constructed") != std::string::npos);
        CHECK(text.find("test_empty.cpp:") != std::string::npos);
        return true;
    }
    return false;
}

struct Layer {
    T weight;
    T bias;  // left empty
    int n = 0;
};

Layer layer() { return {T{1.0, 2.0}, T(), 3}; }

std::string text_of(const T& x)
{
    std::ostringstream out;
    out << x;
    return out.str();
}

}  // namespace

TEST_CASE("an empty tensor is carried along", "[empty]")
{
    const T none;
    CHECK_FALSE(none.defined());
    CHECK(none.size() == 0);
    CHECK_FALSE(none.is_leaf());
    T copy = none, moved = std::move(copy), other = {1.0};
    std::swap(moved, other);
    CHECK(moved.defined());
    CHECK_FALSE(other.defined());
    CHECK_FALSE(none.detach().defined());
    CHECK(text_of(none) == "Tensor<float64>(undefined)");
    CHECK(wg::zeros<double>({0}).defined());
    CHECK(T{}.size() == 0);
}

TEST_CASE("nothing computes with an empty tensor, and the error has the line", "[empty]")
{
    T none, x = {1.0, 2.0};
    CHECK(refused("add", [&] { return none + x; }));
    CHECK(refused("multiply", [&] { return 2.0 * none; }));
    CHECK(refused("add", [&] { none += x; }));
    CHECK(refused("add", [&] { x += none; }));
    CHECK(refused("negative", [&] { return -none; }));
    CHECK(refused("less", [&] { return none < 1.0; }));
    CHECK(refused("exp", [&] { return wg::exp(none); }));
    CHECK(refused("sum", [&] { return wg::sum(none); }));
    CHECK(refused("amax", [&] { return amax(none, {0}); }));
    CHECK(refused("reshape", [&] { return wg::reshape(none, wg::Shape{0}); }));
    CHECK(refused("transpose", [&] { return wg::transpose(none); }));
    CHECK(refused("concatenate", [&] { return wg::concatenate({x, none}); }));
    CHECK(refused("element", [&] { return none(0); }));
    CHECK(refused("view", [&] { return view(none, wg::range(0, 1)); }));
    CHECK(refused("view", [&] { view(none, 0) = 1.0; }));
    CHECK(refused("assign_view", [&] { view(x, wg::range(0, 2)) = none; }));
    CHECK(refused("item", [&] { return none.item(); }));
    CHECK(refused("data", [&] { return none.data(); }));
    CHECK(refused("array", [&] { return none.array().size(); }));
    CHECK(refused("size", [&] { return none.size(0); }));
    CHECK(refused("write", [&] { return wg::write(none).size(); }));
    CHECK(refused("requires_grad", [&] { none.requires_grad(); }));
    CHECK(refused("grad", [&] { return none.grad(); }));
    CHECK(refused("backward", [&] { wg::backward(none); }));
    CHECK(refused("zeros_like", [&] { return wg::zeros_like(none); }));
    CHECK(refused("allclose", [&] { return wg::allclose(none, none); }));
    CHECK(refused("grad", [&] { return wg::grad([](const T&) { return T(); })(x); }));
    CHECK(refused("add", [&] { return wg::grad([](const T& a) { return sum(a + T()); })(x); }));
    CHECK(refused("add", [&] { return T() + T(); }));
    CHECK(refused("jvp", [&] { return wg::jvp([](const T& a) { return sum(a); }, x, none); }));
    CHECK(refused("hvp", [&] { return wg::hvp([](const T& a) { return sum(a); })(x, none); }));
    const T y = std::move(x);
    CHECK(refused("subtract", [&] { return y - x; }));
    CHECK(refused("shape", [&] { return none.shape(); }));
    CHECK(refused("shape", [&] { return x.shape(); }));
    CHECK(refused("dimension", [&] { return none.dimension(); }));
    CHECK(refused("strides", [&] { return none.strides(); }));
    CHECK(refused("end", [&] {
        for (const T& row : none) static_cast<void>(row);
    }));
    CHECK(y.data()[1] == 2.0);
}

TEST_CASE("a vector of empty tensors is filled, and swallows no sums", "[empty]")
{
    const auto f = [](const T& x) {
        std::vector<T> v(3);
        for (int i = 0; i < 3; ++i) v[static_cast<std::size_t>(i)] = x(i) * x(i);
        return v[0] + v[1] + v[2];
    };
    CHECK(wg::grad(f)(T{1.0, 2.0, 3.0}).data()[2] == 6.0);
    const auto g = [](const T& x) {
        T acc;
        for (int i = 0; i < 3; ++i) acc = acc + x(i);
        return acc;
    };
    CHECK(refused("add", [&] { return wg::grad(g)(T{1.0, 2.0, 3.0}); }));
    const auto h = [](const T& x) {
        std::vector<T> v(3);
        for (int i = 0; i < 3; ++i) v[static_cast<std::size_t>(i)] += x(i);
        return v[0];
    };
    CHECK(refused("add", [&] { return wg::grad(h)(T{1.0, 2.0, 3.0}); }));
}

TEST_CASE("empty members of structs pass through transforms, trees and files", "[empty]")
{
    const auto loss = [](const Layer& l) { return sum(l.weight * l.weight); };
    const auto [value, g] = wg::value_and_grad(loss)(layer());
    CHECK(value.item() == 5.0);
    CHECK(g.weight.data()[1] == 4.0);
    CHECK_FALSE(g.bias.defined());

    const auto [y, pull] = wg::vjp([](const Layer& l) { return Layer{l.weight * 2.0, l.bias, 0}; }, layer());
    CHECK_FALSE(y.bias.defined());
    CHECK(pull(Layer{T{1.0, 1.0}, T(), 0}).weight.data()[0] == 2.0);
    CHECK(refused("vjp", [&, &back = pull] { return back(Layer{T(), T(), 0}); }));

    const auto [v, dot] = wg::jvp(loss, layer(), layer());
    CHECK(dot.item() == 10.0);
    CHECK(refused("jvp", [&] { return wg::jvp(loss, layer(), Layer{}); }));

    CHECK_FALSE(wg::tree::map([](const auto& t) { return t * 2.0; }, layer()).bias.defined());
    Layer p = layer();
    wg::tree::zip_for_each([](T& a, const T& d) { a -= 0.5 * d; }, p, g);
    CHECK(p.weight.data()[1] == 0.0);
    std::size_t visited = 0;
    wg::tree::for_each([&](const T&) { ++visited; }, p);
    CHECK(visited == 2);  // one may be given a value

    const auto file = std::filesystem::temp_directory_path() / "wengert_empty.npz";
    wg::save_npz(file.string(), layer());
    const Layer back = wg::load_npz(file.string(), layer());
    CHECK(back.weight.data()[1] == 2.0);
    CHECK_FALSE(back.bias.defined());
    CHECK_THROWS_AS(wg::load_npz(file.string(), Layer{T{1.0, 2.0}, T{1.0}, 0}), wg::Error);
    std::filesystem::remove(file);
}

TEST_CASE("empty members of arguments and states of checkpoints", "[empty]")
{
    const auto inside = wg::checkpoint([](const Layer& l) { return Layer{l.weight * l.weight, l.bias, 0}; });
    const auto loss = [&](const Layer& l) { return sum(inside(l).weight); };
    CHECK(wg::grad(loss)(layer()).weight.data()[1] == 4.0);

    const auto step = [](const Layer& l) { return Layer{l.weight * l.weight, l.bias, l.n}; };
    const auto run = [&](const Layer& l) {
        const Layer end = wg::checkpoint_loop(step, l, {.steps = 3, .snapshots = 2});
        CHECK_FALSE(end.bias.defined());
        return sum(end.weight);
    };
    CHECK(wg::grad(run)(layer()).weight.data()[1] == 8 * 128.0);
}

TEST_CASE("a number is assigned to an empty tensor and to one of rank 0", "[empty]")
{
    T x;
    x = 0.0;
    CHECK(x.shape() == wg::Shape{});
    x = 2;
    CHECK(x.item() == 2.0);
    const T kept = x;
    x = 3.0F;
    CHECK(kept.item() == 2.0);
    x = {1.0};
    CHECK(x.shape() == wg::Shape{1});
    CHECK_THROWS_WITH(x = 0.0, contains("view(x) = 0.0") && contains("(1)"));
    CHECK(x.data()[0] == 1.0);
    view(x) = 0.0;
    CHECK(x.data()[0] == 0.0);
    x = {};
    CHECK_FALSE(x.defined());
    const auto sum_of = [](const T& v) {
        T acc;
        acc = 0.0;
        for (int i = 0; i < 3; ++i) acc = acc + v(i);
        return acc;
    };
    CHECK(wg::grad(sum_of)(T{1.0, 2.0, 3.0}).data()[1] == 1.0);
}

TEST_CASE("a tensor of several elements is no condition", "[empty]")
{
    const T a = {1.0, -1.0};
    const auto ask = [&] { return a > 0 ? 1 : 2; };
    CHECK_THROWS_WITH(ask(), contains("all(x > 0) or any(x > 0)") && contains("(2)"));
    CHECK_THROWS_AS(a ? 1 : 2, wg::ShapeError);
    CHECK((T(2.0) > 0 ? 1 : 2) == 1);
}

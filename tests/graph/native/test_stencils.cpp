// Stencils: rolls, parts, paddings and concatenations are read where they lie, with the bits of eager to the second order.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/wengert.hpp>
#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/transforms/derivatives.hpp>

#include <vector>

namespace wg = wengert;

namespace {

using D = wg::Tensor<double>;

D filled_with(const wg::Shape& shape, std::size_t seed)
{
    std::vector<double> x(wg::element_count(shape));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>((i * 7 + seed) % 37) / 8 - 1.5;
    return D(shape, x);
}
D heat(const D& t)
{
    return t + 0.2 * (roll(t, 1, 0) + roll(t, -1, 0) + roll(t, 1, 1) + roll(t, -1, 1) - 4.0 * t);
}
D part(const D& x, std::int64_t first, std::int64_t end) { return view(x, wg::range(first, end)); }

using Function = D (*)(const D&);
struct Example {
    const char* name;
    wg::Shape shape;
    Function f;
};
const Example examples[] = {
    {"heat", {19, 23}, heat},
    {"one row", {1, 23}, heat},
    {"rows of few elements", {40, 2}, heat},
    {"shifts beyond the length",
     {19, 23},
     [](const D& t) {
         return t * roll(t, {57, -40}, {0, 1}) - roll(t, 100, 1);
     }},
    {"a value that is computed where it is read",
     {19, 23},
     [](const D& t) {
         const D s = t * 0.5;
         return roll(s, 1, 1) * t - roll(s, -1, 0);
     }},
    {"a long function that several places read",
     {19, 23},
     [](const D& t) { return roll(tanh(t), 1, 1) * tanh(t) - roll(tanh(t), -1, 0); }},
    {"a pad of zeros",
     {9, 23},
     [](const D& t) {
         return pad(t * 1.5, {{1, 2}, {0, 1}}) * 2.0 + 1.0;
     }},
    {"a pad of the edge",
     {9, 23},
     [](const D& t) {
         const D p = pad(t, {{1, 1}, {0, 0}}, wg::PadMode::edge);
         return part(p, 0, 9) + part(p, 2, 11) - 2.0 * t;
     }},
    {"a pad that wraps",
     {9, 23},
     [](const D& t) {
         const D p = pad(t, {{1, 1}, {0, 0}}, wg::PadMode::wrap);
         return part(p, 0, 9) + part(p, 2, 11) - 2.0 * t;
     }},
    {"a pad that reflects",
     {9, 23},
     [](const D& t) {
         const D p = pad(t, {{1, 1}, {0, 0}}, wg::PadMode::reflect);
         return part(p, 0, 9) + part(p, 2, 11) - 2.0 * t;
     }},
    {"a halo that is concatenated",
     {19, 23},
     [](const D& t) {
         const D h = wg::concatenate({part(t, 18, 19), t, part(t, 0, 1)}, 0);
         return t + 0.2 * (part(h, 0, 19) + part(h, 2, 21) - 2.0 * t);
     }},
    {"an update in place",
     {19, 23},
     [](const D& t) {
         D y = t * 2.0;
         view(y, wg::range(1, 18)) += part(t, 0, 17) * part(t, 2, 19);
         return y + roll(y, 1, 0);
     }},
    {"two results",
     {20, 23},
     [](const D& t) {
         const D h = part(t, 0, 10), u = part(t, 10, 20);
         const D a = h - 0.1 * (roll(u * h, -1, 0) - roll(u * h, 1, 0)),
                 b = u - 0.1 * (roll(h, -1, 1) - roll(h, 1, 1)) * u;
         return wg::concatenate({a, b * roll(a, 1, 0)}, 0);
     }},
    {"a flip", {9, 13}, [](const D& t) { return t * wg::flip(t, 1) + roll(wg::flip(t, 0), 2, 1); }},
    {"a transpose",
     {13, 13},
     [](const D& t) { return roll(transpose(roll(t * 0.5, 1, 0)), 1, 0) * 3.0 + transpose(t); }},
    {"a stencil of a stencil", {9, 13}, [](const D& t) { return heat(heat(t) * 0.3); }},
    {"three axes", {5, 7, 9}, [](const D& t) { return t * roll(t, 1, 0) + roll(t, -1, 1) * roll(t, 2, 2); }},
    {"one axis",
     {101},
     [](const D& t) {
         return t * roll(t, 1, 0) + wg::diff(pad(t, {{1, 0}}), 0);
     }},
    {"no elements", {0, 23}, heat},
    {"rows that are broadcast",
     {19, 23},
     [](const D& t) {
         const D r = sum(t, 0);
         return t + roll(r, 1, 0) * roll(t, 1, 0) + roll(t * r, 1, 1);
     }},
    {"a stack",
     {9, 13},
     [](const D& t) {
         const D s = wg::stack({t * 2.0, roll(t, 1, 0)}, 1);
         return s * 2.0 + roll(s, 1, 2);
     }},
    {"bools and whole numbers",
     {19, 23},
     [](const D& t) {
         const auto k = wg::cast<std::int64_t>(t * 8.0);
         const auto larger = roll(k, 1, 1) > k;
         return where(roll(larger, 1, 0), t, roll(t, 1, 0)) +
                wg::cast<double>(roll(k + std::int64_t(1), 2, 1));
     }},
    {"steps of a loop",
     {19, 23},
     [](const D& t) {
         return wg::scan([](const D& s) { return std::pair(heat(s), std::tuple<>()); }, t, 5).first;
     }},
};

/// Of replays: the call that traces gives eager's own values.
template <class F> bool has_bits(const F& f, const D& x)
{
    wg::FreezeOptions native;
    native.backend = wg::native;
    const D eager = f(x);
    auto by_native = wg::freeze(f, native);
    auto by_tiles = wg::freeze(f);
    static_cast<void>(by_native(x));
    static_cast<void>(by_tiles(x));
    return same_bits(by_native(x), eager) && same_bits(by_tiles(x), eager);
}

}  // namespace

TEST_CASE("stencils have eager's bits in tiles and native code, to the second order")
{
    for (const Example& e : examples) {
        CAPTURE(e.name);
        const D x = filled_with(e.shape, 3);
        const auto g = wg::grad([&](const D& v) { return sum(square(e.f(v))); });
        CHECK(has_bits(e.f, x));
        CHECK(has_bits(g, x));
        CHECK(has_bits(wg::grad([&](const D& v) { return sum(g(v) * v); }), x));
    }
}

TEST_CASE("a step of the heat equation and its gradient are one pass each in native code")
{
    const auto passes = [](const auto& f) {
        const std::string text = wg::native_text(wg::freeze(f).graph(filled_with({64, 64}, 1)));
        std::size_t n = 0;
        for (std::size_t i = text.find("__restrict o0"); i != text.npos;
             i = text.find("__restrict o0", i + 1))
            ++n;
        CHECK(text.find("index") == text.npos);
        return n;
    };
    CHECK(passes(heat) == 1);
    CHECK(passes(wg::grad([](const D& t) { return sum(heat(t) * t); })) == 1);
}

TEST_CASE("stencils in checkpoints, in forward mode, on threads, and in calls after the first")
{
    wg::FreezeOptions options;
    options.backend = wg::native;
    options.threads = 2;
    for (const Example& e : examples) {
        CAPTURE(e.name);
        const D x = filled_with(e.shape, 3), y = filled_with(e.shape, 5);
        const auto loss = [&](const D& v) { return sum(square(wg::checkpoint(e.f)(v))); };
        const auto slope = wg::grad(loss);
        const auto tangent = [&](const D& v) { return wg::jvp(e.f, v, v * 0.5).second; };
        auto of_slope = wg::freeze(slope, options);
        auto of_tangent = wg::freeze(tangent, options);
        for (const D& v : {x, y, x}) {
            CHECK(same_bits(of_slope(v), slope(v)));
            CHECK(same_bits(of_tangent(v), tangent(v)));
        }
        auto frozen = wg::freeze(e.f, options);
        CHECK(allclose(wg::grad([&](const D& v) { return sum(square(frozen(v))); })(x), slope(x), 1e-12));
        const wg::SavedTensorHooks hooks(wg::save_on_disk("/tmp"));
        CHECK(same_bits(wg::grad([&](const D& v) { return sum(square(frozen(v))); })(x), slope(x)));
    }
}

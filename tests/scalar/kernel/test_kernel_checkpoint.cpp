// Kernels with branches whose first call is inside of a checkpoint: the run that is done again knows more ways than the first did
// when it began, and goes the same.
#include "catch.hpp"

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/scalar.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/checkpoint_loop.hpp>
#include <wengert/transforms/derivatives.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>

#include <cstring>
#include <functional>

namespace wg = wengert;
using D = wg::Tensor<double>;
using Function = std::function<D(const D&)>;

namespace {

/// Four ways, of which cells go more and more as they grow.
const auto branches = [](auto x) {
    using std::exp, std::sin;
    if (x < 0.0) return 0.5 * x;
    if (x < 1.0) return sin(x) + 0.25;
    return x < 2.0 ? x * x : exp(0.5 * x);
};
/// As many steps as the number says, each one of two.
const auto counted = [](auto x) {
    using Number = decltype(x);
    return wg::for_each(
        1.0 + x * x, [&](const Number& s, const Number&) { return s > 1.0 ? 0.5 * s : s * s + 0.5; }, x);
};
/// A new kernel, which has met nothing, in a function that calls it on other numbers each time.
template <class Cell> Function twice(const Cell& cell)
{
    return [f = wg::kernel(cell)](const D& x) { return f(x) + 0.5 * f(1.5 * x) * f(x + 0.7); };
}

/// Where checkpoints are; in `inner` calls of another function come between.
struct Place {
    const char* name;
    std::function<D(const Function& f, const D& x)> of;
};
const Place places[] = {
    {"one", [](const Function& f, const D& x) { return wg::checkpoint(f)(x); }},
    {"two in turn", [](const Function& f, const D& x) { return wg::checkpoint(f)(wg::checkpoint(f)(x)); }},
    {"nested",
     [](const Function& f, const D& x) {
         return wg::checkpoint([f](const D& y) { return 0.9 * wg::checkpoint(f)(y) + f(0.8 * y); })(x);
     }},
    {"more ways met between the runs",
     [](const Function& f, const D& x) {
         const D y = wg::checkpoint(f)(x);
         static_cast<void>(f(D{-9.0, 0.5, 1.5, 5.0}));
         return y;
     }},
    {"checkpoint_loop",
     [](const Function& f, const D& x) {
         return wg::checkpoint_loop([f](const D& s) { return 0.4 * f(s); }, x, {.steps = 5, .snapshots = 2});
     }},
    {"in steps of a checkpoint_loop",
     [](const Function& f, const D& x) {
         return wg::checkpoint_loop([f](const D& s) { return 0.4 * wg::checkpoint(f)(s); }, x,
                                    {.steps = 5, .snapshots = 1});
     }},
    {"a gradient inside",
     [](const Function& f, const D& x) {
         return wg::checkpoint([f](const D& y) {
             return wg::grad([f](const D& z) { return sum(wg::checkpoint(f)(z)); })(y);
         })(x);
     }},
    {"a frozen function inside",
     [](const Function& f, const D& x) {
         return wg::checkpoint([g = wg::freeze([f](const D& y) { return f(y) * y; })](const D& y) {
             return g(y) + g(0.5 * y);
         })(x);
     }},
    {"a scan inside", [](const Function& f, const D& x) {
         return wg::checkpoint([f](const D& y) {
             return wg::scan([f](const D& s) { return std::pair(0.4 * f(s), std::tuple()); }, y, 3).first;
         })(x);
     }}};

/// What is computed.
struct Mode {
    const char* name;
    std::function<D(const Function& loss, const D& x)> of;
};
const D direction = {1.0, -0.5, 2.0, 0.25, 1.0};
const Mode modes[] = {
    {"gradient", [](const Function& l, const D& x) { return wg::grad(l)(x); }},
    {"second order",
     [](const Function& l, const D& x) {
         return wg::grad([&](const D& y) { return sum(wg::grad(l)(y) * direction); })(x);
     }},
    {"jvp", [](const Function& l, const D& x) { return wg::jvp(l, x, direction).second; }},
    {"hvp", [](const Function& l, const D& x) { return wg::hvp(l)(x, direction); }},
    {"frozen gradient", [](const Function& l, const D& x) { return wg::freeze(wg::grad(l))(x); }},
    {"frozen hvp", [](const Function& l, const D& x) { return wg::freeze(wg::hvp(l))(x, direction); }}};

bool same_bits(const D& a, const D& b)
{
    const D x = copy(a), y = copy(b);
    return x.shape() == y.shape() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("A kernel that is first called inside of a checkpoint goes the same ways when that is done again")
{
    const D x = {-0.3, 0.2, 0.6, 1.4, 1.9};
    for (const bool loop : {false, true})
        for (const Place& place : places)
            for (const Mode& mode : modes) {
                INFO(place.name << ", " << mode.name << (loop ? ", a loop" : ""));
                const auto loss = [&](const Function& f) -> Function {
                    return [&place, f](const D& y) { return sum(place.of(f, y)); };
                };
                const auto fresh = [&] { return loss(loop ? twice(counted) : twice(branches)); };
                const Function known = fresh();  // all ways that are met
                static_cast<void>(mode.of(known, x));
                CHECK(same_bits(mode.of(fresh(), x), mode.of(known, x)));
            }
}

TEST_CASE("A kernel made inside of a checkpoint, and one that has too many ways later")
{
    const D x = {-0.3, 0.2, 0.6, 1.4, 1.9};
    const auto plain = [](const D& y) { return sum(square(wg::kernel(branches)(y))); };
    CHECK(same_bits(wg::grad(wg::checkpoint(plain))(x), wg::grad(plain)(x)));

    const auto few = wg::kernel(branches, {.most_ways = 2});
    const auto loss = [&](const D& y) { return sum(square(few(y))); };
    const D low = {-0.3, 0.2, -0.5};  // two ways
    const D want = wg::grad(plain)(low);
    const auto [y, pull] = wg::vjp(wg::checkpoint(loss), low);
    static_cast<void>(few(x));  // now each cell runs by itself
    REQUIRE(few.explain().find("each cell runs by itself") != std::string::npos);
    CHECK(same_bits(pull(D(1.0)), want));
    CHECK(wg::allclose(wg::grad(wg::checkpoint(loss))(x), wg::grad(plain)(x), 1e-15));
}

TEST_CASE("A kernel inside of a checkpoint whose captured number, or which itself, has changed is refused")
{
    const D x = {0.5, 1.5, 2.5};
    double limit = 1.0;
    const auto f = wg::kernel([&limit](auto a) { return a > limit ? a * a : limit * a; });
    const auto message = [&](const auto& pull) -> std::string {
        try {
            static_cast<void>(pull(D(1.0)));
        } catch (const wg::TapeError& e) {
            return e.what();
        }
        return "";
    };
    {
        const auto [y, pull] = wg::vjp(wg::checkpoint([&](const D& a) { return sum(f(a)); }), x);
        limit = 2.0;
        CHECK_THAT(message(pull), contains("[kernel]") && contains("captures has changed"));
        static_cast<void>(f(x));  // it is another function now
        CHECK_THAT(message(pull), contains("captures has changed"));
        limit = 1.0;  // as it was
        CHECK(same_bits(pull(D(1.0)), D{1.0, 3.0, 5.0}));
    }
    const auto g = wg::kernel(branches);
    const wg::Tensor<float> z = {0.5F, 1.5F};
    for (const bool single : {false, true}) {
        bool other = false;
        const auto either = [&](const D& a) {
            if (other && single) static_cast<void>(g(z));  // of another type
            return other && !single ? sum(g(a)) : sum(f(a));
        };
        const auto [y, pull] = wg::vjp(wg::checkpoint(either), x);
        other = true;
        CHECK_THAT(message(pull), contains("[checkpoint]") && contains("kernel"));
    }
}

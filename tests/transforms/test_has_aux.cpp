// grad and value_and_grad of functions that return (loss, more): what is more comes back, and only the loss is differentiated.
#include "catch.hpp"
#include "same_bits.hpp"

#include <string>

#include <wengert/freeze.hpp>
#include <wengert/native.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;
using R = wg::Real<double>;

namespace {

struct Seen {
    D prediction;
    wg::Tensor<bool> positive;
    int layers = 0;
};

const D x = {0.5, -1.0, 2.0}, w = {1.0, 2.0, 3.0};

const auto loss_alone = [](const D& a, const D& b) { return sum(square(tanh(a * b))); };
const auto with_seen = [](const D& a, const D& b) {
    const D y = tanh(a * b);
    return std::pair(sum(square(y)), Seen{y, y > 0.0, 1});
};
const auto with_tensor = [](const D& t) {
    const D y = t * t;
    return std::pair(sum(y * t), y);
};
bool alike(const D& a, const D& b) { return same_bits(*a.any().value, *b.any().value); }

}  // namespace

TEST_CASE("value, what is more, and gradients")
{
    const auto [both, g] = wg::value_and_grad(with_seen, wg::has_aux)(x, w);
    const auto& [loss, seen] = both;
    CHECK(alike(loss, loss_alone(x, w)));
    CHECK(alike(seen.prediction, tanh(x * w)));
    CHECK(seen.positive.shape() == wg::Shape{3});
    CHECK(seen.layers == 1);
    CHECK(alike(g, wg::grad(loss_alone)(x, w)));

    const auto [slopes, more] = wg::grad<0, 1>(with_seen, wg::has_aux)(x, w);
    CHECK(alike(std::get<1>(slopes), wg::grad<1>(loss_alone)(x, w)));
    CHECK(alike(more.prediction, seen.prediction));
    CHECK(
        wg::grad([](const D& t) { return std::pair(sum(t), std::string("text")); }, wg::has_aux)(x).second ==
        "text");
}

TEST_CASE("outer derivatives pass through what is more")
{
    // Σ t² of `more` and Σ t³ of the loss: the gradient of both is 2 t + 3 t²
    const auto outer = [](const D& t) {
        const auto [both, g] = wg::value_and_grad(with_tensor, wg::has_aux)(t);
        return both.first + sum(both.second) + 0.0 * sum(g);
    };
    CHECK(allclose(wg::grad(outer)(x), 2.0 * x + 3.0 * x * x, 1e-14));
    CHECK(wg::check_grads(outer, x, {.order = 2}));
    // and 3 t² of the gradient has 6 t
    const auto slope = [](const D& t) { return sum(wg::grad(with_tensor, wg::has_aux)(t).first); };
    CHECK(allclose(wg::grad(slope)(x), 6.0 * x, 1e-14));
    CHECK(allclose(
        wg::jvp([](const D& t) { return wg::grad(with_tensor, wg::has_aux)(t).second; }, x, w).second,
        2.0 * x * w, 1e-14));
}

TEST_CASE("with vmap, checkpoints and frozen, on every executor")
{
    const D rows = {{0.5, -1.0}, {2.0, 3.0}};
    const auto of_row = wg::vmap(wg::value_and_grad(with_tensor, wg::has_aux));
    const auto [both, g] = of_row(rows);
    CHECK(allclose(g, 3.0 * rows * rows, 1e-14));
    CHECK(alike(both.second, rows * rows));
    const auto kept = wg::value_and_grad(wg::checkpoint(with_tensor), wg::has_aux)(x);
    CHECK(alike(kept.second, wg::value_and_grad(with_tensor, wg::has_aux)(x).second));
    CHECK(alike(kept.first.second, x * x));
    for (const bool native : {false, true}) {
        wg::FreezeOptions options;
        if (native) options.backend = wg::native;
        auto frozen = wg::freeze(wg::value_and_grad<0, 1>(with_seen, wg::has_aux), options);
        for (int call = 0; call < 3; ++call) {
            const auto [pair, slopes] = frozen(x, w);
            CHECK(alike(pair.first, loss_alone(x, w)));
            CHECK(alike(pair.second.prediction, tanh(x * w)));
            CHECK(pair.second.layers == 1);
            CHECK(alike(std::get<0>(slopes), wg::grad(loss_alone)(x, w)));
        }
        CHECK(frozen.stats().eager_calls == 0);
    }
}

TEST_CASE("of reals")
{
    const auto area = [](const std::vector<R>& v) {
        const R y = v[0] * v[1];
        return std::pair(R(y * y), std::pair(y, 7));
    };
    const auto [both, g] = wg::value_and_grad(area, wg::has_aux)(std::vector<R>{2.0, 3.0});
    CHECK(both.first.value() == 36.0);
    CHECK(both.second.first.value() == 6.0);
    CHECK(both.second.second == 7);
    CHECK(g[0].value() == 36.0);
    CHECK(wg::grad(area, wg::has_aux)(std::vector<R>{2.0, 3.0}).first[1].value() == 24.0);
    const auto outer = [&](const std::vector<R>& v) {
        return wg::value_and_grad(area, wg::has_aux)(v).first.second.first;
    };
    CHECK(wg::grad(outer)(std::vector<R>{2.0, 3.0})[0].value() == 3.0);
}

TEST_CASE("a loss that is no scalar is refused, in the name of the call")
{
    const auto wide = [](const D& t) { return std::pair(t, t); };
    CHECK_THROWS_WITH(wg::grad(wide, wg::has_aux)(x),
                      Catch::Contains("must return a scalar") && Catch::Contains("test_has_aux.cpp"));
}

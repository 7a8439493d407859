// vmap over keys: each row has one of its own, with the bits of a loop over them, in every transform and on every executor.
#include "catch.hpp"
#include "same_bits.hpp"

#include <wengert/freeze.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;
using wg::Key;
using Keys = std::vector<Key>;

namespace {

const Keys keys = split(Key(3), 4);
const D x = wg::reshape(wg::linspace<double>(-1.0, 2.0, 12), {4, 3});

/// Draws twice of its key, as a layer with dropout and noise does.
const auto noisy = [](const D& row, const Key& key) {
    const auto [mask, noise] = split(key);
    return tanh(row) * wg::cast<double>(wg::bernoulli(mask, {3}, 0.7)) + 0.1 * wg::normal<double>(noise, {3});
};
D looped(const D& rows, const Keys& all)
{
    std::vector<D> y;
    for (std::size_t i = 0; i < all.size(); ++i)
        y.push_back(noisy(rows(static_cast<std::int64_t>(i)), all[i]));
    return wg::stack(y, 0);
}
bool alike(const D& a, const D& b) { return same_bits(*a.any().value, *b.any().value); }

}  // namespace

TEST_CASE("each row has its key: the bits of a loop")
{
    CHECK(alike(wg::vmap(noisy)(x, keys), looped(x, keys)));
    const auto drawn = wg::vmap([](const Key& k) { return wg::uniform<float>(k, {5}); })(keys);
    CHECK(same_bits(*drawn(2).any().value, *wg::uniform<float>(keys[2], {5}).any().value));
    const D along = wg::vmap(noisy, {.in_axes = {1, 0}, .out_axis = 1})(transpose(x), keys);
    CHECK(alike(wg::copy(transpose(along)), looped(x, keys)));
}

TEST_CASE("keys of rows under derivatives, in checkpoints and in vmap")
{
    const auto loss = [](const D& t) { return sum(square(wg::vmap(noisy)(t, keys))); };
    const auto by_hand = [](const D& t) { return sum(square(looped(t, keys))); };
    CHECK(allclose(wg::grad(loss)(x), wg::grad(by_hand)(x), 1e-15));
    CHECK(wg::check_grads(loss, x, {.order = 2}));
    CHECK(allclose(wg::hvp(loss)(x, x), wg::hvp(by_hand)(x, x), 1e-14));
    CHECK(alike(wg::grad(wg::checkpoint(loss))(x), wg::grad(loss)(x)));
    const auto slope =
        wg::vmap(wg::grad([](const D& row, const Key& k) { return sum(square(noisy(row, k))); }));
    CHECK(allclose(slope(x, keys), wg::grad(by_hand)(x), 1e-15));
    const auto each = [](const Key& k) {
        return wg::vmap([](const Key& own) { return wg::normal<double>(own, {2}); })(split(k, 3));
    };
    const D both = wg::vmap(each)(keys);
    CHECK(alike(wg::copy(both(1, 2)), wg::normal<double>(split(keys[1], 3)[2], {2})));
}

TEST_CASE("frozen, keys of rows are arguments: one trace serves all of them")
{
    for (const bool native : {false, true}) {
        wg::FreezeOptions options;
        if (native) options.backend = wg::native;
        auto given = wg::freeze([](const D& t, const Keys& all) { return wg::vmap(noisy)(t, all); }, options);
        auto made =
            wg::freeze([](const D& t, const Key& k) { return wg::vmap(noisy)(t, split(k, 4)); }, options);
        for (std::uint64_t seed = 1; seed < 5; ++seed) {
            const Keys all = split(Key(seed), 4);
            CHECK(alike(given(x, all), looped(x, all)));
            CHECK(alike(made(x, Key(seed)), looped(x, all)));
        }
        CHECK(given.stats().traces == 1);
        CHECK(made.stats().traces == 1);
        CHECK(given.stats().eager_calls == 0);
        auto slope = wg::freeze(
            wg::grad([](const D& t, const Keys& all) { return sum(wg::vmap(noisy)(t, all)); }), options);
        const auto plain = [](const D& t) { return sum(looped(t, keys)); };
        for (int call = 0; call < 3; ++call) CHECK(allclose(slope(x, keys), wg::grad(plain)(x), 1e-15));
    }
}

TEST_CASE("a function that takes all keys is given all of them in every row")
{
    const auto sum_of_draws = [](const D& row, const Keys& all) {
        D y = row;
        for (const Key& k : all) y = y + wg::normal<double>(k, {3});
        return y;
    };
    const D y = wg::vmap(sum_of_draws)(x, keys);
    for (std::int64_t i = 0; i < 4; ++i) CHECK(alike(wg::copy(y(i)), sum_of_draws(x(i), keys)));
    CHECK(alike(wg::freeze(wg::vmap(sum_of_draws))(x, keys), y));
}

TEST_CASE("rows without a key each, and keys that no row has, are refused")
{
    CHECK_THROWS_AS(wg::vmap(noisy)(x, split(Key(1), 3)), wg::ShapeError);
    CHECK_THROWS_AS(wg::vmap(noisy, {.in_axes = {0, wg::VmapOptions::whole}})(x, keys), wg::ShapeError);
    CHECK_THROWS_AS(wg::vmap(noisy, {.in_axes = {0, 1}})(x, keys), wg::ShapeError);
    CHECK_THROWS_WITH(wg::vmap(noisy)(x, Keys()), Catch::Contains("test_vmap_keys.cpp"));
    CHECK(wg::vmap([](const Key& k) { return wg::normal<double>(k, {2}); })(Keys()).shape() ==
          wg::Shape{0, 2});
}

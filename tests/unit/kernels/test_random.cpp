// Philox against its authors' vectors, fills in pieces, accuracy of the normal, and rough statistics.
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include <wengert/base/key.hpp>
#include <wengert/kernels/cpu/random.hpp>

namespace kernels = wengert::kernels;
using wengert::Key;
using wengert::philox::Block;

namespace {

// Random123's kat_vectors, philox4x32 with 10 rounds.
static_assert(wengert::philox::block({0, 0, 0, 0}, 0) ==
              Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(wengert::philox::block({~0u, ~0u, ~0u, ~0u}, ~std::uint64_t{0}) ==
              Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(wengert::philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822u) ==
              Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

/// Word p of the key, straight from the definition.
std::uint32_t word(const Key& key, std::uint64_t p)
{
    const std::uint64_t b = p / 4;
    return wengert::philox::block({static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32),
                                   static_cast<std::uint32_t>(key.stream),
                                   static_cast<std::uint32_t>(key.stream >> 32)},
                                  key.secret)[p % 4];
}

std::uint64_t pair(const Key& key, std::uint64_t p)
{
    return word(key, 2 * p) | std::uint64_t{word(key, 2 * p + 1)} << 32;
}

template <class T, class Fill> void same_in_pieces(const Fill& fill)
{
    constexpr std::size_t n = 1000;
    T whole[n], parts[n];
    fill(whole, n, std::size_t{0});
    std::size_t at = 0;
    for (std::size_t step = 0; at < n; ++step) {
        const std::size_t count = std::min(n - at, (step * 7) % 130);
        fill(parts + at, count, at);
        at += count;
    }
    CHECK(std::equal(whole, whole + n, parts));
    const std::size_t far = (std::size_t{1} << 40) + 3;
    fill(whole, n, far);
    fill(parts, 1, far + 777);
    CHECK(whole[777] == parts[0]);
}

/// Distance from the exact value in units of T's last place there.
template <class T> long double ulps(T value, long double exact)
{
    int exponent = 0;
    std::frexp(exact, &exponent);
    return std::abs(value - exact) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
}

/// Exact radius and angle of the normals at positions 2j, 2j + 1.
template <class T> std::pair<long double, long double> polar(const Key& key, std::uint64_t j)
{
    if constexpr (sizeof(T) == 4)
        return {std::ldexp(2.0L * word(key, 2 * j) + 1, -33),
                std::ldexp(2.0L * word(key, 2 * j + 1) + 1, -33)};
    else
        return {std::ldexp(2.0L * static_cast<long double>(pair(key, 2 * j) >> 12) + 1, -53),
                std::ldexp(2.0L * static_cast<long double>(pair(key, 2 * j + 1) >> 10) + 1, -55)};
}

template <class T> long double worst_normal()
{
    const Key key(11);
    std::vector<T> z(200000);
    kernels::fill_normal(key, z.data(), z.size());
    long double worst = 0;
    for (std::size_t j = 0; j < z.size() / 2; ++j) {
        const auto [u, a] = polar<T>(key, j);
        const long double radius = std::sqrt(-2 * std::log(u));
        // the quarter of a turn is taken off exactly, so that cos and sin keep their relative precision near
        // 0
        const long double quarter = std::floor(4 * a + 0.5L),
                          t = (a - quarter / 4) * 2 * std::numbers::pi_v<long double>;
        const long double c = std::cos(t), s = std::sin(t);
        const int q = static_cast<int>(quarter) % 4;
        worst = std::max(worst, ulps(z[2 * j], radius * (q == 0 ? c : q == 1 ? -s : q == 2 ? -c : s)));
        worst = std::max(worst, ulps(z[2 * j + 1], radius * (q == 0 ? s : q == 1 ? c : q == 2 ? -s : -c)));
    }
    return worst;
}

template <class T> void check_moments(const std::vector<T>& x, double mean, double variance)
{
    double sum = 0, squares = 0;
    for (const T v : x) sum += static_cast<double>(v);
    for (const T v : x) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    const double n = static_cast<double>(x.size());
    CHECK(std::abs(sum / n - mean) < 5 * std::sqrt(variance / n));
    CHECK(std::abs(squares / n - variance) < 10 * variance / std::sqrt(n));
}

}  // namespace

TEST_CASE("keys are values, and children differ from all others")
{
    constexpr Key key(42);
    static_assert(key == Key(42) && !(key == Key(43)));
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen{{key.secret, key.stream}};
    for (const Key& k : wengert::split(key, 100)) seen.insert({k.secret, k.stream});
    for (std::uint64_t i = 0; i < 100; ++i) {
        const Key k = wengert::fold_in(key, i);
        seen.insert({k.secret, k.stream});
    }
    for (std::uint64_t seed = 43; seed < 143; ++seed) seen.insert({Key(seed).secret, Key(seed).stream});
    CHECK(seen.size() == 301);
    const auto [a, b] = wengert::split(key);
    CHECK(a == wengert::split(key, 5)[0]);
    CHECK(b == wengert::split(key, 2)[1]);
    CHECK(wengert::split(key, 0).empty());
}

TEST_CASE("each fill gives at each position what its definition says")
{
    const Key key(5);
    constexpr std::size_t n = 300;
    float f[n];
    double d[n];
    std::int64_t l[n];
    std::int32_t i[n];
    bool b[n];
    kernels::fill_uniform(key, f, n);
    kernels::fill_uniform(key, d, n);
    kernels::fill_integers(key, -3, 1'000'000'000'000, l, n);
    kernels::fill_integers(key, -2147483648LL, 2147483648LL, i, n);
    kernels::fill_bernoulli(key, 0.25, b, n);
    bool same = true;
    for (std::size_t p = 0; p < n; ++p) {
        const std::uint64_t x = pair(key, p);
        same = same && f[p] == std::ldexp(static_cast<float>(word(key, p) >> 8), -24);
        same = same && d[p] == std::ldexp(static_cast<double>(x >> 11), -53);
        const long double scaled = std::ldexp(static_cast<long double>(x), -64) * 1'000'000'000'003.0L;
        same = same && std::abs(static_cast<long double>(l[p] + 3) - scaled) <= 1.0L;
        same = same && i[p] == static_cast<std::int32_t>(static_cast<std::int64_t>(x >> 32) - 2147483648LL);
        same = same && b[p] == (word(key, p) < (1u << 30));
    }
    CHECK(same);
}

TEST_CASE("a fill in pieces equals the fill in one go")
{
    const Key key(6);
    same_in_pieces<float>(
        [&](float* o, std::size_t n, std::size_t at) { kernels::fill_uniform(key, o, n, at); });
    same_in_pieces<double>(
        [&](double* o, std::size_t n, std::size_t at) { kernels::fill_uniform(key, o, n, at); });
    same_in_pieces<float>(
        [&](float* o, std::size_t n, std::size_t at) { kernels::fill_normal(key, o, n, at); });
    same_in_pieces<double>(
        [&](double* o, std::size_t n, std::size_t at) { kernels::fill_normal(key, o, n, at); });
    same_in_pieces<std::int64_t>([&](std::int64_t* o, std::size_t n, std::size_t at) {
        kernels::fill_integers(key, -9, 99, o, n, at);
    });
    same_in_pieces<bool>(
        [&](bool* o, std::size_t n, std::size_t at) { kernels::fill_bernoulli(key, 0.5, o, n, at); });
    same_in_pieces<float>(
        [&](float* o, std::size_t n, std::size_t at) { kernels::fill_dropout(key, 0.5, o, n, at); });
}

TEST_CASE("normals are accurate", "[normal]")
{
    CHECK(worst_normal<float>() < 0.51L);
    CHECK(worst_normal<double>() < 3.0L);
}

TEST_CASE("moments and ranges")
{
    const Key key(8);
    constexpr std::size_t n = 200000;
    std::vector<float> f(n);
    std::vector<double> d(n);
    std::vector<std::int64_t> l(n);
    kernels::fill_uniform(key, f.data(), n);
    check_moments(f, 0.5, 1.0 / 12);
    CHECK(*std::min_element(f.begin(), f.end()) >= 0.0f);
    CHECK(*std::max_element(f.begin(), f.end()) < 1.0f);
    kernels::fill_uniform(key, d.data(), n);
    check_moments(d, 0.5, 1.0 / 12);
    kernels::fill_normal(key, f.data(), n);
    check_moments(f, 0.0, 1.0);
    kernels::fill_normal(key, d.data(), n);
    check_moments(d, 0.0, 1.0);
    kernels::fill_integers(key, -2, 5, l.data(), n);
    check_moments(l, 1.0, 4.0);
    CHECK(*std::min_element(l.begin(), l.end()) == -2);
    CHECK(*std::max_element(l.begin(), l.end()) == 4);
    kernels::fill_integers(key, std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max(), l.data(), n);
    CHECK(std::count_if(l.begin(), l.end(), [](std::int64_t v) { return v < 0; }) > 99000);
    kernels::fill_dropout(key, 0.2, d.data(), n);
    check_moments(d, 1.0, 0.25);
    CHECK(std::all_of(d.begin(), d.end(), [](double v) { return v == 0.0 || v == 1.25; }));
}

TEST_CASE("probabilities 0 and 1 are certain")
{
    bool b[500];
    kernels::fill_bernoulli(Key(1), 0.0, b, 500);
    CHECK(std::count(b, b + 500, true) == 0);
    kernels::fill_bernoulli(Key(1), 1.0, b, 500);
    CHECK(std::count(b, b + 500, true) == 500);
}

TEST_CASE("a permutation is one, and depends on its key")
{
    std::vector<std::int64_t> p(1000), q(1000);
    kernels::fill_permutation(Key(3), p.data(), p.size());
    kernels::fill_permutation(Key(4), q.data(), q.size());
    CHECK(p != q);
    for (std::size_t i = 0; i + 1 < p.size(); ++i)
        if (pair(Key(3), static_cast<std::uint64_t>(p[i])) >
            pair(Key(3), static_cast<std::uint64_t>(p[i + 1])))
            FAIL();
    std::sort(p.begin(), p.end());
    for (std::size_t i = 0; i < p.size(); ++i)
        if (p[i] != static_cast<std::int64_t>(i)) FAIL();
    kernels::fill_permutation(Key(3), nullptr, 0);
}

TEST_CASE("the bits are the same on every machine and with every compiler")
{
    // FNV-1a of the fills; a change breaks every user's stored results.
    std::uint64_t hash = 14695981039346656037u;
    const auto mix = [&](const auto& values) {
        const auto* p = reinterpret_cast<const unsigned char*>(values.data());
        for (std::size_t i = 0; i < values.size() * sizeof(values[0]); ++i)
            hash = (hash ^ p[i]) * 1099511628211u;
    };
    std::vector<float> f(5000);
    std::vector<double> d(5000);
    std::vector<std::int64_t> l(5000);
    const Key key(2026);
    kernels::fill_uniform(key, f.data(), f.size()), mix(f);
    kernels::fill_normal(key, f.data(), f.size()), mix(f);
    kernels::fill_uniform(key, d.data(), d.size()), mix(d);
    kernels::fill_normal(key, d.data(), d.size()), mix(d);
    kernels::fill_integers(key, -5, 1000, l.data(), l.size()), mix(l);
    kernels::fill_permutation(key, l.data(), l.size()), mix(l);
    CHECK(hash == 0xab9990ebfb3c7b2du);
}

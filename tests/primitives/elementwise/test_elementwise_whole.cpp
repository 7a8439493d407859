// mod and floor_divide beside their definitions on plain numbers, for integers and floating-point numbers, on every executor.
#include "catch.hpp"
#include "same_bits.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <wengert/freeze.hpp>
#include <wengert/native.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;
using wg::Tensor;
using D = Tensor<double>;

namespace {

__extension__ using Wide = __int128;

template <class T> T mod_of(T x, T n)
{
    if constexpr (std::is_floating_point_v<T>) {
        const T r = std::fmod(x, n);
        return r != 0 && (r < 0) != (n < 0) ? r + n : r;
    } else {
        if (n == 0) return 0;
        const Wide r = static_cast<Wide>(x) % n;
        return static_cast<T>(r != 0 && (r < 0) != (n < 0) ? r + n : r);
    }
}
template <class T> T quotient_of(T x, T n)
{
    if constexpr (std::is_floating_point_v<T>) {
        if (n == 0) return std::floor(x / n);
        const T r = std::fmod(x, n), q = std::nearbyint((x - r) / n);
        return r != 0 && (r < 0) != (n < 0) ? q - 1 : q;
    } else {
        return n == 0 ? T(0) : static_cast<T>((static_cast<Wide>(x) - mod_of(x, n)) / n);
    }
}

template <class T> void check(const std::vector<T>& numbers, const std::vector<T>& by)
{
    std::vector<T> x, n;
    for (const T a : numbers)
        for (const T b : by) x.push_back(a), n.push_back(b);
    const auto length = static_cast<std::int64_t>(x.size());
    const Tensor<T> tx({length}, x), tn({length}, n), r = wg::mod(tx, tn), q = wg::floor_divide(tx, tn);
    for (std::size_t i = 0; i < x.size(); ++i) {
        CAPTURE(x[i], n[i]);
        const T er = mod_of(x[i], n[i]), eq = quotient_of(x[i], n[i]);
        CHECK((r.data()[i] == er || (er != er && r.data()[i] != r.data()[i])));
        CHECK((q.data()[i] == eq || (eq != eq && q.data()[i] != q.data()[i])));
    }
    for (const bool native : {false, true}) {
        wg::FreezeOptions options;
        if (native) options.backend = wg::native;
        auto both = wg::freeze(
            [](const Tensor<T>& a, const Tensor<T>& b) { return std::pair(mod(a, b), floor_divide(a, b)); },
            options);
        for (int call = 0; call < 2; ++call) {
            const auto [fr, fq] = both(tx, tn);
            CHECK(same_bits(*fr.any().value, *r.any().value));
            CHECK(same_bits(*fq.any().value, *q.any().value));
        }
    }
}

}  // namespace

TEST_CASE("whole quotients and remainders of integers have the sign of the divisor")
{
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), third = most / 3, one = 1;
    check<std::int64_t>({0, 1, -1, 6, 7, -7, 100, -100, (one << 53) + 1, most, -most, most - 1, most - 511,
                         third, -third, 2 * third - 1, (one << 62) + 1, -most - 1},
                        {0, 1, -3, 3, 7, -7, 1000, (one << 52) + 1, third, -third, third - 1, most, -most,
                         (one << 62) - 1, -most - 1});
    check<std::int32_t>({0, 5, -5, 2147483647, -2147483647, -2147483647 - 1},
                        {0, 1, 2, -2, 65536, 2147483647, -2147483647 - 1});
    const Tensor<std::int64_t> i = wg::arange<std::int64_t>(6);
    CHECK(same_bits(*mod(i - 1, 6).any().value, *Tensor<std::int64_t>({5, 0, 1, 2, 3, 4}).any().value));
}

TEST_CASE("whole quotients and remainders of integers of every size")
{
    const auto numbers = [](std::uint64_t state) {
        std::vector<std::int64_t> all;
        for (int i = 0; i < 60; ++i) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            all.push_back(static_cast<std::int64_t>(state) >> (i % 61));
        }
        return all;
    };
    check<std::int64_t>(numbers(1), numbers(2));
}

TEST_CASE("whole quotients and remainders of floating-point numbers")
{
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
    check<double>({0.0, -0.0, 1.5, -1.5, 7.25, -7.25, 1e17, infinity, nan},
                  {1.0, -1.0, 0.7, -0.7, 1e-3, 0.0, nan});
    check<float>({0.0f, 1.5f, -1.5f, 7.25f, -7.25f}, {1.0f, -1.0f, 0.7f, -0.7f});
}

TEST_CASE("their derivatives")
{
    const D x = {1.5, -1.5, 7.25, -7.25}, n = {0.7, 0.7, -0.9, -0.9};
    const auto f = [](const D& a, const D& b) { return sum(square(mod(a, b)) * a); };
    CHECK(wg::check_grads(f, std::tuple(x, n), {.order = 2}));
    CHECK(sum(abs(wg::grad([](const D& a) { return sum(floor_divide(a, 0.7)); })(x))).item() == 0);
}

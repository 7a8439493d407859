// Products with one row, column or term: near the sum in more digits, and added to what is there as an addition does it.
#include "catch.hpp"

#include <wengert/kernels/cpu/impl/gemm.ipp>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

using Sizes = std::vector<std::size_t>;

template <class T> std::vector<T> noise(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = i % 9 == 0 ? T(0) : static_cast<T>(normal(random));
    return x;
}

template <class T> struct Problem {
    bool ta, tb;
    std::size_t m, n, k;
    std::vector<T> a = noise<T>(m * k, 1), b = noise<T>(k * n, 2), c = noise<T>(m * n, 3);

    std::vector<T> product(T alpha, T beta) const
    {
        std::vector<T> y = c;
        wengert::kernels::gemm<T>(ta, tb, m, n, k, alpha, a.data(), ta ? m : k, b.data(), tb ? k : n, beta,
                                  y.data(), n);
        return y;
    }
    /// Is element (i, j) as near as any order of summation is (Higham 2002, 3.1)?
    bool is_near(std::size_t i, std::size_t j, T found) const
    {
        long double sum = 0, size = 0;
        for (std::size_t p = 0; p < k; ++p) {
            const long double term = static_cast<long double>(a[ta ? p * m + i : i * k + p]) *
                                     static_cast<long double>(b[tb ? j * k + p : p * n + j]);
            sum += term;
            size += std::abs(term);
        }
        const long double unit = std::numeric_limits<T>::epsilon() / 2;
        return std::abs(static_cast<long double>(found) - sum) <= static_cast<long double>(k) * unit * size;
    }
    void check() const
    {
        const std::vector<T> y = product(T(1), T(0)), added = product(T(1), T(1)),
                             taken = product(T(-1), T(1));
        std::size_t far = 0, other = 0;
        for (std::size_t i = 0; i < m * n; ++i) {
            far += !is_near(i / n, i % n, y[i]);
            const T sum = c[i] + y[i], rest = c[i] - y[i];
            other += sum != added[i] || rest != taken[i];
        }
        CAPTURE(ta, tb, m, n, k);
        CHECK(far == 0);
        CHECK(other == 0);
    }
};

template <class T> void check_all()
{
    const Sizes sizes{1, 2, 3, 4, 5, 8, 13, 16, 17, 32, 33, 64, 70};
    for (const std::size_t p : sizes)
        for (const std::size_t q : sizes)
            for (unsigned t = 0; t < 4; ++t) {
                const bool ta = t % 2, tb = t / 2;
                Problem<T>{ta, tb, 1, p, q}.check();
                Problem<T>{ta, tb, p, 1, q}.check();
                Problem<T>{ta, tb, p, q, 1}.check();
            }
}

}  // namespace

TEST_CASE("products with one row, column or term have the bits of a product and an addition")
{
    check_all<float>();
    check_all<double>();
}

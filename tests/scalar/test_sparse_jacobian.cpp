// sparse_jacobian: the pattern from the program, values against the dense one.
#include "catch.hpp"

#include <wengert/scalar.hpp>

namespace wg = wengert;
using R = wg::Real<double>;
using Reals = std::vector<R>;

TEST_CASE("A banded Jacobian in rows")
{
    const auto residuals = [](const Reals& v) {
        Reals r;
        for (std::size_t i = 0; i + 1 < v.size(); ++i) r.push_back(v[i + 1] * v[i] - 1.0);
        return r;
    };
    const auto J = wg::sparse_jacobian(residuals)(Reals{1.0, 2.0, 3.0, 4.0});
    CHECK(J.rows == std::vector<std::int64_t>{0, 2, 4, 6});
    CHECK(J.columns == std::vector<std::int64_t>{0, 1, 1, 2, 2, 3});
    CHECK(J.values == std::vector<double>{2, 1, 3, 2, 4, 3});
    CHECK(J.width == 4);
    CHECK(wg::ScalarStream::of(wg::Tape::current()).size() == 1);
}

TEST_CASE("Rows of constants, of inputs, of shared work; branches; the dense one's values")
{
    const auto f = [](const Reals& v) {
        const R shared = sin(v[0] * v[3]) / v[1];
        return std::array<R, 5>{shared * v[2], R(3.0), v[4], v[2] > 1.0 ? shared : exp(v[4]),
                                shared * shared + 0.0 * v[2]};
    };
    const Reals x{0.3, 1.7, 2.0, -0.4, 0.6};
    const auto J = wg::sparse_jacobian(f)(x);
    CHECK(J.rows == std::vector<std::int64_t>{0, 4, 4, 5, 8, 12});
    const auto pullback = wg::vjp(f, x).second;
    for (std::size_t i = 0; i < 5; ++i) {
        std::array<R, 5> unit{};
        unit[i] = 1.0;
        const Reals row = pullback(unit);
        std::vector<double> dense(5);
        for (auto k = static_cast<std::size_t>(J.rows[i]); k < static_cast<std::size_t>(J.rows[i + 1]); ++k)
            dense[static_cast<std::size_t>(J.columns[k])] = J.values[k];
        for (std::size_t j = 0; j < 5; ++j) CHECK(dense[j] == Approx(row[j].value()));
    }
}

TEST_CASE("What sparse_jacobian refuses")
{
    const auto f = [](const Reals& v) { return v; };
    const auto inside = [&](R x) {
        static_cast<void>(wg::sparse_jacobian(f)(Reals{x}));
        return x;
    };
    CHECK_THROWS_AS(wg::grad(inside)(R(1.0)), wg::TapeError);
    CHECK(wg::sparse_jacobian(f)(Reals{}).rows.size() == 1);
}

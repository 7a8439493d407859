// Bundle adjustment as ADBench states it (Srajer, Kukelova & Fitzgibbon 2018): cameras with a rotation by Rodrigues' formula, a centre, a
// focal length, a principal point and two coefficients of radial distortion; points; a weight for each observation.
//
// Residuals are those of one observation, in scalar code; `kernel` does them for all observations at once. So are the blocks of the
// Jacobian, which is put together as a sparse matrix and compared with sparse_jacobian and with differences.
#include "residual.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/math.hpp>
#include <wengert/scalar.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace wg = wengert;
using D = wg::Tensor<double>;
using R = wg::Real<double>;

struct Problem {
    std::size_t cameras = 0, points = 0, observations = 0;
    std::vector<double> x;  ///< cameras, points, weights: the unknowns
    std::vector<std::array<double, 2>> seen;
    std::size_t camera_of(std::size_t k) const { return k % cameras; }
    std::size_t point_of(std::size_t k) const { return k % points; }
    /// Place of the j-th unknown of observation k.
    std::size_t place(std::size_t k, std::size_t j) const
    {
        if (j < of_camera) return of_camera * camera_of(k) + j;
        if (j < of_camera + of_point) return of_camera * cameras + of_point * point_of(k) + j - of_camera;
        return of_camera * cameras + of_point * points + k;
    }
};

/// ADBench's files have one camera, one point, one weight and one observation, which stand for all. Here they differ a little.
Problem load(const std::filesystem::path& path)
{
    Problem p;
    std::ifstream file(path);
    file >> p.cameras >> p.points >> p.observations;
    std::vector<double> one(of_camera + of_point + 1 + 2);
    for (double& v : one) file >> v;
    if (!file) throw std::runtime_error("cannot read " + path.string());
    p.x.resize(of_camera * p.cameras + of_point * p.points + p.observations);
    for (std::size_t k = 0; k < p.observations; ++k)
        for (std::size_t j = 0; j < of_block; ++j) {
            const std::size_t at = p.place(k, j);
            p.x[at] = one[j] * (1.0 + 0.05 * std::sin(0.37 * static_cast<double>(at)));
        }
    for (std::size_t j = 0; j < 3; ++j) p.x[j] = 0.0;  // the first camera is not turned
    for (std::size_t k = 0; k < p.observations; ++k) {
        const double shift = std::cos(static_cast<double>(k));
        p.seen.push_back({one[of_block] + shift, one[of_block + 1] - shift});
    }
    return p;
}

const auto block = wg::kernel([](auto... x) {
    const std::array all{x...};
    std::array<std::remove_cvref_t<decltype(all[0])>, of_block> q;
    std::copy(all.begin(), all.begin() + of_block, q.begin());
    return residual(q, all[of_block], all[of_block + 1]);
});

/// All residuals: two of each observation, then 1 − w² of each.
template <class Number> std::vector<Number> residuals(const Problem& p, const std::vector<Number>& x)
{
    std::vector<Number> r;
    r.reserve(3 * p.observations);
    for (std::size_t k = 0; k < p.observations; ++k) {
        std::array<Number, of_block> q;
        for (std::size_t j = 0; j < of_block; ++j) q[j] = x[p.place(k, j)];
        const auto e = residual(q, Number(p.seen[k][0]), Number(p.seen[k][1]));
        r.insert(r.end(), e.begin(), e.end());
    }
    for (std::size_t k = 0; k < p.observations; ++k) {
        const Number& w = x[p.place(k, of_block - 1)];
        r.push_back(1.0 - w * w);
    }
    return r;
}

/// The derivatives of both residuals by the unknowns of their observation, for all observations: [residual][unknown].
std::array<std::array<D, of_block>, 2> blocks(const Problem& p)
{
    const auto gathered = [&](const auto& element) {
        std::vector<double> all(p.observations);
        for (std::size_t k = 0; k < all.size(); ++k) all[k] = element(k);
        return D(wg::Shape{all.size()}, all);
    };
    std::array<D, of_block> q;
    for (std::size_t j = 0; j < of_block; ++j)
        q[j] = gathered([&](std::size_t k) { return p.x[p.place(k, j)]; });
    const D seen_x = gathered([&](std::size_t k) { return p.seen[k][0]; });
    const D seen_y = gathered([&](std::size_t k) { return p.seen[k][1]; });
    const auto f = [&](const std::array<D, of_block>& x) {
        return std::apply([&](const auto&... e) { return block(e..., seen_x, seen_y); }, x);
    };
    const auto pullback = wg::vjp(f, q).second;
    const D one = wg::ones<double>(wg::Shape{p.observations}),
            none = wg::zeros<double>(wg::Shape{p.observations});
    return {pullback(std::vector<D>{one, none}), pullback(std::vector<D>{none, one})};
}

wg::SparseMatrix<double> jacobian(const Problem& p)
{
    const auto J = blocks(p);
    wg::SparseMatrix<double> m;
    m.width = static_cast<std::int64_t>(p.x.size());
    m.rows.push_back(0);
    const auto put = [&](std::size_t column, double value) {
        m.columns.push_back(static_cast<std::int64_t>(column));
        m.values.push_back(value);
    };
    std::array<std::array<std::vector<double>, of_block>, 2> values;
    for (std::size_t i : {0, 1})
        for (std::size_t j = 0; j < of_block; ++j)
            for (const R& v : wg::elements(J[i][j])) values[i][j].push_back(v.value());
    for (std::size_t k = 0; k < p.observations; ++k)
        for (std::size_t i : {0, 1}) {
            for (std::size_t j = 0; j < of_block; ++j) put(p.place(k, j), values[i][j][k]);
            m.rows.push_back(static_cast<std::int64_t>(m.columns.size()));
        }
    for (std::size_t k = 0; k < p.observations; ++k) {
        const std::size_t at = p.place(k, of_block - 1);
        put(at, -2.0 * p.x[at]);
        m.rows.push_back(static_cast<std::int64_t>(m.columns.size()));
    }
    return m;
}

/// The largest |Jv − (r(x + hv) − r(x − hv)) / 2h| relative to the largest |Jv|.
double against_differences(const Problem& p, const wg::SparseMatrix<double>& J)
{
    std::vector<double> v(p.x.size()), plus = p.x, minus = p.x;
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = std::sin(0.9 * static_cast<double>(i)) * p.x[i];
        plus[i] += 1e-6 * v[i], minus[i] -= 1e-6 * v[i];
    }
    const auto above = residuals(p, plus), below = residuals(p, minus);
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < above.size(); ++i) {
        double product = 0;
        for (auto k = static_cast<std::size_t>(J.rows[i]); k < static_cast<std::size_t>(J.rows[i + 1]); ++k)
            product += J.values[k] * v[static_cast<std::size_t>(J.columns[k])];
        worst = std::max(worst, std::abs(product - (above[i] - below[i]) / 2e-6));
        largest = std::max(largest, std::abs(product));
    }
    return worst / largest;
}

/// The largest difference between two matrices, relative; entries that one of them lacks are 0.
double between(const wg::SparseMatrix<double>& a, const wg::SparseMatrix<double>& b)
{
    double worst = 0;
    std::vector<double> row(static_cast<std::size_t>(a.width));
    const auto each = [&](const wg::SparseMatrix<double>& m, std::size_t i, const auto& f) {
        for (auto k = static_cast<std::size_t>(m.rows[i]); k < static_cast<std::size_t>(m.rows[i + 1]); ++k)
            f(static_cast<std::size_t>(m.columns[k]), m.values[k]);
    };
    for (std::size_t i = 0; i + 1 < a.rows.size(); ++i) {
        each(a, i, [&](std::size_t j, double v) { row[j] += v; });
        each(b, i, [&](std::size_t j, double v) {
            row[j] -= v;
            worst = std::max(worst, std::abs(row[j]) / (1.0 + std::abs(v)));
            row[j] = 0;
        });
        each(a, i, [&](std::size_t j, double) {
            worst = std::max(worst, std::abs(row[j]));
            row[j] = 0;
        });
    }
    return worst;
}

template <class F> double milliseconds(const F& f)
{
    double best = 1e30;
    for (int i = 0; i < 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count());
    }
    return best;
}

int main()
{
    const Problem p = load(std::filesystem::path(__FILE__).parent_path() / "problem.txt");
    const auto J = jacobian(p);
    std::printf(
        "%zu cameras, %zu points, %zu observations: a Jacobian of %zu rows, %zu columns, %zu entries\n",
        p.cameras, p.points, p.observations, J.rows.size() - 1, p.x.size(), J.values.size());
    const double difference = against_differences(p, J);
    const auto f = [&](const std::vector<R>& x) { return residuals(p, x); };
    const auto S = wg::sparse_jacobian(f)(std::vector<R>(p.x.begin(), p.x.end()));
    const double worst = between(J, S);
    std::printf("against differences %.1e, against sparse_jacobian %.1e; a block: %s\n", difference, worst,
                block.explain().c_str());
    const double plain = milliseconds([&] { static_cast<void>(residuals(p, p.x)); });
    const double all = milliseconds([&] { static_cast<void>(blocks(p)); });
    std::printf("residuals, plain %.3f ms, blocks %.3f ms, %.1f times\n", plain, all, all / plain);
    if (!(difference < 1e-6) || !(worst < 1e-9)) {
        std::printf("the Jacobian is wrong\n");
        return 1;
    }
    return 0;
}

// Bundle adjustment as ADBench states it (Srajer, Kukelova & Fitzgibbon 2018): cameras with a rotation by Rodrigues' formula, a centre, a
// focal length, a principal point and two coefficients of radial distortion; points; a weight for each observation.
//
// Residuals are those of one observation, in scalar code; `kernel` does them for all observations at once, and sparse_jacobian the blocks of their
// Jacobian. That is compared with sparse_jacobian of the residuals as scalar code, and with differences.
#include "residual.hpp"

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

const auto weight_block = wg::kernel([](auto w) { return 1.0 - w * w; });

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

wg::SparseMatrix<double> jacobian(const Problem& p)
{
    wg::BlockPlaces<of_block> places(p.observations);
    wg::BlockPlaces<1> weights(p.observations);
    std::array<std::vector<double>, 2> seen;
    for (std::size_t k = 0; k < p.observations; ++k) {
        for (std::size_t j = 0; j < of_block; ++j) places[k][j] = static_cast<std::int64_t>(p.place(k, j));
        weights[k] = {places[k][of_block - 1]};
        for (std::size_t i : {0, 1}) seen[i].push_back(p.seen[k][i]);
    }
    const D x(wg::Shape{p.x.size()}, p.x);
    const wg::Shape each{p.observations};
    auto J = wg::sparse_jacobian(block, places)(x, D(each, seen[0]), D(each, seen[1]));
    return J.append(wg::sparse_jacobian(weight_block, weights)(x));
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
    const double all = milliseconds([&] { static_cast<void>(jacobian(p)); });
    std::printf("residuals, plain %.3f ms, Jacobian %.3f ms, %.1f times\n", plain, all, all / plain);
    if (!(difference < 1e-6) || !(worst < 1e-9)) {
        std::printf("the Jacobian is wrong\n");
        return 1;
    }
    return 0;
}

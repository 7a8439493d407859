#pragma once

// Euler's equations on triangles, finite volumes in a loop over edges, as in M. Giles, D. Ghate & M. Duta, "Using automatic
// differentiation for adjoint CFD code development", Computational Fluid Dynamics Journal 16, 2008. The flux is that of P. L. Roe,
// "Approximate Riemann solvers, parameter vectors, and difference schemes", J. Comput. Phys. 43, 1981, with Harten's entropy fix.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

/// Edges of a mesh by the numbers of their cells. `wall` ones have one cell.
struct Triangles {
    struct Edge {
        std::size_t left, right;
        double nx, ny;  ///< normal out of the left cell, as long as the edge
    };
    std::vector<Edge> inner, wall;
    std::vector<double> area;

    /// The unit square, n × n squares cut in two. Numbers of cells are mixed, as those of mesh generators are.
    explicit Triangles(std::size_t n) : area(2 * n * n)
    {
        const double h = 1.0 / static_cast<double>(n);
        const auto cell = [n](std::size_t i, std::size_t j, std::size_t upper) {
            return (2 * (i * n + j) + upper) * 7 % (2 * n * n);  // n is no multiple of 7
        };
        for (double& a : area) a = 0.5 * h * h;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t lower = cell(i, j, 0), upper = cell(i, j, 1);
                inner.push_back({lower, upper, -h, h});
                if (i + 1 < n)
                    inner.push_back({lower, cell(i + 1, j, 1), h, 0.0});
                else
                    wall.push_back({lower, lower, h, 0.0});
                if (j + 1 < n)
                    inner.push_back({upper, cell(i, j + 1, 0), 0.0, h});
                else
                    wall.push_back({upper, upper, 0.0, h});
                if (i == 0) wall.push_back({upper, upper, -h, 0.0});
                if (j == 0) wall.push_back({lower, lower, 0.0, -h});
            }
    }
};

/// Density, momentum in x and y, energy; of a volume.
template <class Number> using Gas = std::array<Number, 4>;

template <class Number> Number pressure_of(const Gas<Number>& q)
{
    return 0.4 * (q[3] - 0.5 * (q[1] * q[1] + q[2] * q[2]) / q[0]);
}

/// |λ|, rounded off next to 0.
template <class Number> Number wave_speed(const Number& lambda, const Number& sound)
{
    const Number width = 0.1 * sound;
    if (lambda > width) return lambda;
    if (lambda < -width) return -lambda;
    return 0.5 * (lambda * lambda / width + width);
}

/// Through an edge, out of a into b, times its length.
template <class Number, class Length>
Gas<Number> roe_flux(const Gas<Number>& a, const Gas<Number>& b, const Length& edge_x, const Length& edge_y)
{
    using std::sqrt;
    const Length length = sqrt(edge_x * edge_x + edge_y * edge_y), nx = edge_x / length, ny = edge_y / length;
    const Number ua = a[1] / a[0], va = a[2] / a[0], pa = pressure_of(a), ha = (a[3] + pa) / a[0];
    const Number ub = b[1] / b[0], vb = b[2] / b[0], pb = pressure_of(b), hb = (b[3] + pb) / b[0];
    const Number na = ua * nx + va * ny, nb = ub * nx + vb * ny;

    const Number root = sqrt(b[0] / a[0]), share = 1.0 / (1.0 + root), rho = root * a[0];
    const Number u = share * (ua + root * ub), v = share * (va + root * vb), h = share * (ha + root * hb);
    const Number square = 0.5 * (u * u + v * v), sound2 = 0.4 * (h - square), sound = sqrt(sound2);
    const Number un = u * nx + v * ny, slowest = un - sound, fastest = un + sound;

    const Number d_rho = b[0] - a[0], d_p = pb - pa, d_un = nb - na, d_u = ub - ua, d_v = vb - va;
    const Number left = wave_speed(slowest, sound) * (d_p - rho * sound * d_un) / (2.0 * sound2);
    const Number right = wave_speed(fastest, sound) * (d_p + rho * sound * d_un) / (2.0 * sound2);
    const Number middle = wave_speed(un, sound);
    const Number entropy = middle * (d_rho - d_p / sound2), shear = middle * rho;

    Gas<Number> f;
    f[0] = a[0] * na + b[0] * nb - (left + right + entropy);
    f[1] = a[1] * na + b[1] * nb + (pa + pb) * nx -
           (left * (u - sound * nx) + right * (u + sound * nx) + entropy * u + shear * (d_u - d_un * nx));
    f[2] = a[2] * na + b[2] * nb + (pa + pb) * ny -
           (left * (v - sound * ny) + right * (v + sound * ny) + entropy * v + shear * (d_v - d_un * ny));
    f[3] = a[0] * ha * na + b[0] * hb * nb -
           (left * (h - sound * un) + right * (h + sound * un) + entropy * square +
            shear * (u * d_u + v * d_v - un * d_un));
    for (Number& e : f) e *= 0.5 * length;
    return f;
}

template <class Number> void euler_step(const Triangles& mesh, std::vector<Gas<Number>>& q, double dt)
{
    std::vector<Gas<Number>> residual(q.size(), Gas<Number>{});
    for (const auto& e : mesh.inner) {
        const Gas<Number> f = roe_flux(q[e.left], q[e.right], e.nx, e.ny);
        for (std::size_t k = 0; k < 4; ++k) {
            residual[e.left][k] += f[k];
            residual[e.right][k] -= f[k];
        }
    }
    for (const auto& e : mesh.wall) {
        const Number p = pressure_of(q[e.left]);
        residual[e.left][1] += p * e.nx;
        residual[e.left][2] += p * e.ny;
    }
    for (std::size_t i = 0; i < q.size(); ++i)
        for (std::size_t k = 0; k < 4; ++k) q[i][k] -= dt / mesh.area[i] * residual[i][k];
}

/// The force on the wall at x = 1, from the gas at first.
template <class Number> Number force_on_wall(const Triangles& mesh, const std::vector<Number>& x, int steps)
{
    std::vector<Gas<Number>> q(mesh.area.size());
    for (std::size_t i = 0; i < x.size(); ++i) q[i / 4][i % 4] = x[i];
    for (int s = 0; s < steps; ++s) euler_step(mesh, q, 0.1 * std::sqrt(mesh.area[0]));
    Number force = 0.0;
    for (const auto& e : mesh.wall)
        if (e.nx > 0.0) force += pressure_of(q[e.left]) * e.nx;
    return force;
}

/// A gas that moves, warmer in places.
inline std::vector<double> moving_gas(std::size_t n)
{
    std::vector<double> x;
    for (std::size_t i = 0; i < 2 * n * n; ++i) {
        const auto s = static_cast<double>(i);
        const double rho = 1.0 + 0.2 * std::sin(0.3 * s), u = 0.4 + 0.1 * std::cos(0.11 * s),
                     v = 0.2 * std::sin(0.05 * s);
        const double p = 1.0 + 0.3 * std::cos(0.17 * s);
        for (const double e : {rho, rho * u, rho * v, p / 0.4 + 0.5 * rho * (u * u + v * v)}) x.push_back(e);
    }
    return x;
}

}  // namespace bench

#pragma once

// Lagrangian hydrodynamics on hexahedra, in the manner of LULESH: I. Karlin, J. Keasler & R. Neely, "LULESH 2.0 updates and changes",
// LLNL-TR-641973, 2013. Forces of nodes from the faces' areas, volumes as triple products, von Neumann & Richtmyer's viscosity, an
// ideal gas.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

template <class Number> struct Vec {
    Number x, y, z;
};

template <class Number> struct Hexahedron {
    std::array<std::size_t, 8> node;
    double mass, volume_before;
    Number volume, energy, pressure, viscosity;
};

template <class Number> struct Mesh {
    std::vector<Vec<Number>> position, velocity, force;
    std::vector<double> mass;  ///< of nodes
    std::vector<Hexahedron<Number>> cells;
};

template <class Number>
Number triple_product(const Number& x1, const Number& y1, const Number& z1, const Number& x2,
                      const Number& y2, const Number& z2, const Number& x3, const Number& y3,
                      const Number& z3)
{
    return x1 * (y2 * z3 - z2 * y3) + x2 * (z1 * y3 - y1 * z3) + x3 * (y1 * z2 - z1 * y2);
}

template <class Number> Number volume_of(const std::array<Vec<Number>, 8>& p)
{
    const Number dx61 = p[6].x - p[1].x, dy61 = p[6].y - p[1].y, dz61 = p[6].z - p[1].z;
    const Number dx70 = p[7].x - p[0].x, dy70 = p[7].y - p[0].y, dz70 = p[7].z - p[0].z;
    const Number dx63 = p[6].x - p[3].x, dy63 = p[6].y - p[3].y, dz63 = p[6].z - p[3].z;
    const Number dx20 = p[2].x - p[0].x, dy20 = p[2].y - p[0].y, dz20 = p[2].z - p[0].z;
    const Number dx50 = p[5].x - p[0].x, dy50 = p[5].y - p[0].y, dz50 = p[5].z - p[0].z;
    const Number dx64 = p[6].x - p[4].x, dy64 = p[6].y - p[4].y, dz64 = p[6].z - p[4].z;
    const Number dx31 = p[3].x - p[1].x, dy31 = p[3].y - p[1].y, dz31 = p[3].z - p[1].z;
    const Number dx72 = p[7].x - p[2].x, dy72 = p[7].y - p[2].y, dz72 = p[7].z - p[2].z;
    const Number dx43 = p[4].x - p[3].x, dy43 = p[4].y - p[3].y, dz43 = p[4].z - p[3].z;
    const Number dx57 = p[5].x - p[7].x, dy57 = p[5].y - p[7].y, dz57 = p[5].z - p[7].z;
    const Number dx14 = p[1].x - p[4].x, dy14 = p[1].y - p[4].y, dz14 = p[1].z - p[4].z;
    const Number dx25 = p[2].x - p[5].x, dy25 = p[2].y - p[5].y, dz25 = p[2].z - p[5].z;
    const Number twelve =
        triple_product<Number>(dx31 + dx72, dx63, dx20, dy31 + dy72, dy63, dy20, dz31 + dz72, dz63, dz20) +
        triple_product<Number>(dx43 + dx57, dx64, dx70, dy43 + dy57, dy64, dy70, dz43 + dz57, dz64, dz70) +
        triple_product<Number>(dx14 + dx25, dx61, dx50, dy14 + dy25, dy61, dy50, dz14 + dz25, dz61, dz50);
    return twelve * (1.0 / 12.0);
}

/// The area of the face a b c d, a quarter of it to each of its nodes.
template <class Number>
void add_face(std::array<Vec<Number>, 8>& area, const std::array<Vec<Number>, 8>& p, std::size_t a,
              std::size_t b, std::size_t c, std::size_t d)
{
    const Number bx = 0.5 * (p[d].x + p[c].x - p[b].x - p[a].x),
                 by = 0.5 * (p[d].y + p[c].y - p[b].y - p[a].y),
                 bz = 0.5 * (p[d].z + p[c].z - p[b].z - p[a].z);
    const Number tx = 0.5 * (p[c].x + p[b].x - p[d].x - p[a].x),
                 ty = 0.5 * (p[c].y + p[b].y - p[d].y - p[a].y),
                 tz = 0.5 * (p[c].z + p[b].z - p[d].z - p[a].z);
    const Number x = 0.25 * (by * tz - bz * ty), y = 0.25 * (bz * tx - bx * tz),
                 z = 0.25 * (bx * ty - by * tx);
    for (const std::size_t k : {a, b, c, d}) {
        area[k].x += x;
        area[k].y += y;
        area[k].z += z;
    }
}

template <class Number>
std::array<Vec<Number>, 8> nodes_of(const Mesh<Number>& m, const Hexahedron<Number>& c)
{
    std::array<Vec<Number>, 8> p;
    for (std::size_t k = 0; k < 8; ++k) p[k] = m.position[c.node[k]];
    return p;
}

template <class Number> void add_forces(Mesh<Number>& m)
{
    for (auto& f : m.force) f = {Number(0.0), Number(0.0), Number(0.0)};
    for (const auto& c : m.cells) {
        const std::array<Vec<Number>, 8> p = nodes_of(m, c);
        std::array<Vec<Number>, 8> area{};
        add_face(area, p, 0, 1, 2, 3);
        add_face(area, p, 0, 4, 5, 1);
        add_face(area, p, 1, 5, 6, 2);
        add_face(area, p, 2, 6, 7, 3);
        add_face(area, p, 3, 7, 4, 0);
        add_face(area, p, 4, 7, 6, 5);
        const Number stress = -c.pressure - c.viscosity;
        for (std::size_t k = 0; k < 8; ++k) {
            Vec<Number>& f = m.force[c.node[k]];
            f.x += stress * area[k].x;
            f.y += stress * area[k].y;
            f.z += stress * area[k].z;
        }
    }
}

template <class Number> void update_cell(const Mesh<Number>& m, Hexahedron<Number>& c)
{
    using std::sqrt, std::cbrt;
    const Number volume = volume_of(nodes_of(m, c));
    const Number change = volume - c.volume, density = c.mass / volume;
    const Number squeezed = change / (0.5 * (volume + c.volume));
    Number q = 0.0;
    if (squeezed < 0.0) {
        const Number sound = sqrt(1.4 * c.pressure / density + 1e-12);
        q = density * (2.0 * squeezed * squeezed - 0.3 * sound * squeezed);
    }
    const Number half = c.energy - 0.5 * change * (c.pressure + c.viscosity) / c.mass;
    const Number p_half = 0.4 * density * half;
    c.energy = c.energy - 0.5 * change * (c.pressure + c.viscosity + p_half + q) / c.mass;
    c.pressure = 0.4 * density * c.energy;
    c.viscosity = q;
    c.volume = volume;
}

template <class Number> void hydro_step(Mesh<Number>& m, double dt)
{
    add_forces(m);
    for (std::size_t i = 0; i < m.position.size(); ++i) {
        Vec<Number>&v = m.velocity[i], &x = m.position[i];
        const Vec<Number>& f = m.force[i];
        v.x += dt * f.x / m.mass[i];
        v.y += dt * f.y / m.mass[i];
        v.z += dt * f.z / m.mass[i];
        x.x += dt * v.x;
        x.y += dt * v.y;
        x.z += dt * v.z;
    }
    for (auto& c : m.cells) update_cell(m, c);
}

/// A cube of n³ cells of gas at rest with these energies.
template <class Number> Mesh<Number> cube(std::size_t n, const std::vector<Number>& energy)
{
    Mesh<Number> m;
    const std::size_t side = n + 1;
    const auto at = [side](std::size_t i, std::size_t j, std::size_t k) { return (i * side + j) * side + k; };
    const auto place = [n](std::size_t i) { return static_cast<double>(i) / static_cast<double>(n); };
    for (std::size_t i = 0; i < side; ++i)
        for (std::size_t j = 0; j < side; ++j)
            for (std::size_t k = 0; k < side; ++k)
                m.position.push_back({Number(place(k)), Number(place(j)), Number(place(i))});
    m.velocity.resize(m.position.size()), m.force.resize(m.position.size());
    m.mass.assign(m.position.size(), 0.0);
    const double volume = place(1) * place(1) * place(1);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k < n; ++k) {
                Hexahedron<Number> c;
                c.node = {at(i, j, k),     at(i, j, k + 1),     at(i, j + 1, k + 1),     at(i, j + 1, k),
                          at(i + 1, j, k), at(i + 1, j, k + 1), at(i + 1, j + 1, k + 1), at(i + 1, j + 1, k)};
                c.mass = volume, c.volume_before = volume;
                c.volume = volume, c.energy = energy[m.cells.size()], c.pressure = 0.4 * c.energy,
                c.viscosity = 0.0;
                for (const std::size_t node : c.node) m.mass[node] += volume / 8;
                m.cells.push_back(c);
            }
    return m;
}

/// The kinetic energy after some steps.
template <class Number> Number blast(std::size_t n, const std::vector<Number>& energy, int steps)
{
    Mesh<Number> m = cube(n, energy);
    for (int s = 0; s < steps; ++s) hydro_step(m, 0.02 / static_cast<double>(n));
    Number sum = 0.0;
    for (std::size_t i = 0; i < m.velocity.size(); ++i) {
        const Vec<Number>& v = m.velocity[i];
        sum += 0.5 * m.mass[i] * (v.x * v.x + v.y * v.y + v.z * v.z);
    }
    return sum;
}

inline std::vector<double> hot_corner(std::size_t n)
{
    std::vector<double> e(n * n * n, 1.0);
    for (std::size_t i = 0; i < e.size(); ++i) e[i] += 0.1 * std::sin(0.7 * static_cast<double>(i));
    e[0] = 20.0;
    return e;
}

}  // namespace bench

// A chain of joints for wengert_solvers: points on it by its angles, and their Jacobian by hand.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

using Numbers = std::vector<double>;

constexpr std::size_t joints = 10, points = 25;
constexpr double rod = 0.3;
constexpr std::size_t joint_of(std::size_t point) { return point * joints / points; }

/// Three rows of a 4 × 4 matrix whose last one is 0 0 0 1; of a derivative it is 0.
using Place = std::array<double, 12>;

inline Place times(const Place& a, const Place& b, double one)
{
    Place c;
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 4; ++j)
            c[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j];
        c[4 * i + 3] += one * a[4 * i + 3];
    }
    return c;
}
/// Rz Ry Rx and a link's offset, by the cosines and sines of the three angles.
inline Place joint(const double* c, const double* s, double offset)
{
    return {c[2] * c[1],
            c[2] * s[1] * s[0] - s[2] * c[0],
            c[2] * s[1] * c[0] + s[2] * s[0],
            offset,
            s[2] * c[1],
            s[2] * s[1] * s[0] + c[2] * c[0],
            s[2] * s[1] * c[0] - c[2] * s[0],
            0,
            -s[1],
            c[1] * s[0],
            c[1] * c[0],
            0};
}
/// Its derivative by angle k: cos becomes −sin and sin becomes cos there. A term without that angle has none.
inline Place joint_by(std::size_t k, const double* c, const double* s)
{
    double dc[3] = {c[0], c[1], c[2]}, ds[3] = {s[0], s[1], s[2]};
    dc[k] = -s[k], ds[k] = c[k];
    Place a = joint(dc, ds, 0);
    if (k == 0) a[0] = a[4] = a[8] = 0;
    if (k == 1)
        a[1] = c[2] * c[1] * s[0], a[2] = c[2] * c[1] * c[0], a[5] = s[2] * c[1] * s[0],
        a[6] = s[2] * c[1] * c[0];
    if (k == 2) a[8] = a[9] = a[10] = 0;
    return a;
}

/// The Jacobian, 100 × 30: tangents of all angles before a joint, carried along.
inline void chain_by_hand(const Numbers& angles, const Numbers& at, Numbers& jacobian)
{
    jacobian.assign(4 * points * 3 * joints, 0);
    std::array<Place, 3 * joints> tangents;
    Place t{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    for (std::size_t j = 0, point = 0; j < joints; ++j) {
        double c[3], s[3];
        for (std::size_t k = 0; k < 3; ++k)
            c[k] = std::cos(angles[3 * j + k]), s[k] = std::sin(angles[3 * j + k]);
        const Place a = joint(c, s, rod);
        for (std::size_t k = 0; k < 3 * j; ++k) tangents[k] = times(tangents[k], a, 1);
        for (std::size_t k = 0; k < 3; ++k) tangents[3 * j + k] = times(t, joint_by(k, c, s), 0);
        t = times(t, a, 1);
        for (; point < points && joint_of(point) == j; ++point)
            for (std::size_t k = 0; k < 3 * (j + 1); ++k)
                for (std::size_t r = 0; r < 3; ++r) {
                    const double *m = &tangents[k][4 * r], *v = &at[4 * point];
                    jacobian[(4 * point + r) * 3 * joints + k] =
                        m[0] * v[0] + m[1] * v[1] + m[2] * v[2] + m[3] * v[3];
                }
    }
}

/// The points, of numbers of any kind: a rotation and a position for each joint.
template <class T> std::vector<T> chain_of(const std::vector<T>& q, const Numbers& at)
{
    using std::cos, std::sin;
    std::vector<T> t, all;
    for (std::size_t j = 0, point = 0; j < joints; ++j) {
        T c[3], s[3];
        for (std::size_t k = 0; k < 3; ++k) c[k] = cos(q[3 * j + k]), s[k] = sin(q[3 * j + k]);
        const std::vector<T> a{c[2] * c[1],
                               c[2] * s[1] * s[0] - s[2] * c[0],
                               c[2] * s[1] * c[0] + s[2] * s[0],
                               s[2] * c[1],
                               s[2] * s[1] * s[0] + c[2] * c[0],
                               s[2] * s[1] * c[0] - c[2] * s[0],
                               -s[1],
                               c[1] * s[0],
                               c[1] * c[0]};
        std::vector<T> next;
        for (std::size_t r = 0; r < 3; ++r) {
            for (std::size_t k = 0; k < 3; ++k)
                next.push_back(j == 0 ? a[3 * r + k]
                                      : t[4 * r] * a[k] + t[4 * r + 1] * a[3 + k] + t[4 * r + 2] * a[6 + k]);
            next.push_back(j == 0 ? T(r == 0 ? rod : 0.0) : t[4 * r] * rod + t[4 * r + 3]);
        }
        t = next;
        for (; point < points && joint_of(point) == j; ++point) {
            const double* v = &at[4 * point];
            for (std::size_t r = 0; r < 12; r += 4)
                all.push_back(t[r] * v[0] + t[r + 1] * v[1] + t[r + 2] * v[2] + t[r + 3] * v[3]);
            all.push_back(T(1.0));
        }
    }
    return all;
}

// The model of bundle adjustment: a camera with a rotation, a centre, a focal length, a principal point and two coefficients of
// radial distortion sees a point.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

inline constexpr std::size_t of_camera = 11, of_point = 3, of_block = of_camera + of_point + 1;

template <class Number> using Vector = std::array<Number, 3>;

/// x turned by |r| around r.
template <class Number> Vector<Number> rotated(const Vector<Number>& r, const Vector<Number>& x)
{
    using std::cos, std::sin, std::sqrt;
    const Vector<Number> cross = {r[1] * x[2] - r[2] * x[1], r[2] * x[0] - r[0] * x[2],
                                  r[0] * x[1] - r[1] * x[0]};
    const Number square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    if (square == 0.0) return {x[0] + cross[0], x[1] + cross[1], x[2] + cross[2]};
    const Number angle = sqrt(square), c = cos(angle), s = sin(angle) / angle;
    const Number along = (r[0] * x[0] + r[1] * x[1] + r[2] * x[2]) * (1.0 - c) / square;
    return {x[0] * c + cross[0] * s + r[0] * along, x[1] * c + cross[1] * s + r[1] * along,
            x[2] * c + cross[2] * s + r[2] * along};
}

/// The error of one observation, in pixels times its weight. q: camera, point, weight.
template <class Number>
std::array<Number, 2> residual(const std::array<Number, of_block>& q, const Number& seen_x,
                               const Number& seen_y)
{
    const Vector<Number> turned =
        rotated<Number>({q[0], q[1], q[2]}, {q[11] - q[3], q[12] - q[4], q[13] - q[5]});
    const Number u = turned[0] / turned[2], v = turned[1] / turned[2], square = u * u + v * v;
    const Number scale = q[6] * (1.0 + q[9] * square + q[10] * square * square);
    return {q[14] * (u * scale + q[7] - seen_x), q[14] * (v * scale + q[8] - seen_y)};
}

#pragma once

// An arm of rigid links with turning joints over Eigen. Forces of joints by the recursion of J. Luh, M. Walker & R. Paul, "On-line
// computational scheme for mechanical manipulators", J. Dyn. Syst. Meas. Control 102, 1980; accelerations from them column by
// column of the mass matrix: M. Walker & D. Orin, "Efficient dynamic computer simulation of robotic mechanisms", same journal 104,
// 1982, their first method.

#include <wengert/eigen.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

template <class Number> struct Arm {
    static constexpr int joints = 7;
    using Vector = Eigen::Matrix<Number, 3, 1>;
    using Matrix = Eigen::Matrix<Number, 3, 3>;
    using Joints = Eigen::Matrix<Number, joints, 1>;
    struct Link {
        Number mass;
        Vector length, centre;
        Matrix inertia;
    };
    std::array<Link, joints> link;

    /// Links with these masses; every other joint turns around x, the others around z.
    explicit Arm(const Number* masses)
    {
        for (int i = 0; i < joints; ++i) {
            Link& l = link[static_cast<std::size_t>(i)];
            l.mass = masses[i];
            l.length = Vector(Number(0.0), Number(0.3), Number(0.1)), l.centre = Number(0.5) * l.length;
            l.inertia.setZero();
            for (int k = 0; k < 3; ++k) l.inertia(k, k) = l.mass * (0.01 + 0.002 * k);
        }
    }
    static Vector axis(int i)
    {
        return i % 2 ? Vector(Number(1.0), Number(0.0), Number(0.0))
                     : Vector(Number(0.0), Number(0.0), Number(1.0));
    }
    /// From the link's frame into that of the link before.
    static Matrix turn(int i, const Number& angle)
    {
        using std::sin, std::cos;
        const Number s = sin(angle), c = cos(angle), one = 1.0, none = 0.0;
        Matrix r;
        if (i % 2)
            r << one, none, none, none, c, -s, none, s, c;
        else
            r << c, -s, none, s, c, none, none, none, one;
        return r;
    }

    /// The torques that give the joints these accelerations.
    Joints torques(const std::array<Matrix, joints>& turns, const Joints& speed, const Joints& acceleration,
                   double gravity) const
    {
        std::array<Vector, joints> force, torque;
        Vector spin = Vector::Zero(), spin_dot = Vector::Zero(),
               pull(Number(0.0), Number(0.0), Number(gravity));
        for (int i = 0; i < joints; ++i) {
            const auto k = static_cast<std::size_t>(i);
            const Link& l = link[k];
            const Matrix back = turns[k].transpose();
            const Vector z = axis(i), before = back * spin, turned = before + z * speed[i];
            spin_dot = back * spin_dot + z * acceleration[i] + before.cross(Vector(z * speed[i]));
            pull = back * pull;
            spin = turned;
            const Vector at_centre =
                pull + spin_dot.cross(l.centre) + spin.cross(Vector(spin.cross(l.centre)));
            pull += spin_dot.cross(l.length) + spin.cross(Vector(spin.cross(l.length)));
            force[k] = l.mass * at_centre;
            torque[k] =
                l.inertia * spin_dot + spin.cross(Vector(l.inertia * spin)) + l.centre.cross(force[k]);
        }
        Joints result;
        for (int i = joints; i-- > 0;) {
            const auto k = static_cast<std::size_t>(i);
            if (i + 1 < joints) {
                const Vector f = turns[k + 1] * force[k + 1];
                torque[k] += turns[k + 1] * torque[k + 1] + link[k].length.cross(f);
                force[k] += f;
            }
            result[i] = torque[k].dot(axis(i));
        }
        return result;
    }

    Joints accelerations(const Joints& angle, const Joints& speed) const
    {
        std::array<Matrix, joints> turns;
        for (int i = 0; i < joints; ++i) turns[static_cast<std::size_t>(i)] = turn(i, angle[i]);
        const Joints bias = torques(turns, speed, Joints::Zero(), 9.81);
        Eigen::Matrix<Number, joints, joints> mass;
        for (int j = 0; j < joints; ++j) mass.col(j) = torques(turns, Joints::Zero(), Joints::Unit(j), 0.0);
        const Joints driven = -bias - Number(0.5) * speed;
        return mass.llt().solve(driven);
    }
};

/// The energy of motion after some steps, from angles, speeds and masses.
template <class Number> Number swing(const std::vector<Number>& x, int steps)
{
    constexpr int n = Arm<Number>::joints;
    using Joints = typename Arm<Number>::Joints;
    const Arm<Number> arm(x.data() + 2 * n);
    Joints angle, speed;
    for (int i = 0; i < n; ++i)
        angle[i] = x[static_cast<std::size_t>(i)], speed[i] = x[static_cast<std::size_t>(n + i)];
    for (int s = 0; s < steps; ++s) {
        speed += Number(0.005) * arm.accelerations(angle, speed);
        angle += Number(0.005) * speed;
    }
    return speed.dot(speed) + angle.dot(angle);
}

inline std::vector<double> arm_at_rest()
{
    constexpr int n = Arm<double>::joints;
    std::vector<double> x(3 * n, 0.0);
    for (int i = 0; i < n; ++i) {
        x[static_cast<std::size_t>(i)] = 0.3 * std::sin(1.0 + i);
        x[static_cast<std::size_t>(n + i)] = 0.1 * std::cos(2.0 * i);
        x[static_cast<std::size_t>(2 * n + i)] = 3.0 - 0.3 * i;
    }
    return x;
}

}  // namespace bench

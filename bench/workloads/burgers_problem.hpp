#pragma once

// u_t + c u (u_x + u_y) = ν ∇²u, upwind differences, five-point Laplacian, explicit Euler; loss Σ u² at the end.

#include "../harness.hpp"

namespace bench {

struct Burgers {
    static constexpr std::size_t n = 256, steps = 100;
    static constexpr double dx = 1.0 / n, dt = 1e-4, speed = 2.0;
    std::vector<double> u;
    double nu = 0.0012;

    Burgers() { u = Numbers(12).vector<double>(n * n, 0, 0.5); }
};

}  // namespace bench

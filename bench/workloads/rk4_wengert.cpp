#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using F = wengert::Tensor<float>;

F field(const std::vector<F>& w, const F& y)
{
    return matmul(tanh(matmul(tanh(matmul(y, w[1]) + w[2]), w[3]) + w[4]), w[5]) + w[6];
}

F loss(const std::vector<F>& w)
{
    const float dt = Rk4::dt;
    F y = w[0];
    for (int s = 0; s < Rk4::steps; ++s) {
        const F k1 = field(w, y), k2 = field(w, y + dt / 2 * k1), k3 = field(w, y + dt / 2 * k2),
                k4 = field(w, y + dt * k3);
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return sum(y * y);
}

bool add_all(std::size_t batch)
{
    const auto problem = [batch] {
        const Rk4 p(batch);
        const std::size_t d = Rk4::dim, h = Rk4::hidden;
        return std::pair(std::vector<F>{F({batch, d}, p.y), F({d, h}, p.w1), F({h}, p.b1), F({h, h}, p.w2),
                                        F({h}, p.b2), F({h, d}, p.w3), F({d}, p.b3)},
                         &loss);
    };
    return add_wengert<float>({"rk4", "batch=" + std::to_string(batch), {}, {}, 1e-3}, problem);
}

const bool added = add_all(1) && add_all(32);

}  // namespace
}  // namespace bench

#include "problems.hpp"
#include "wengert_common.hpp"

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

Entry entry(std::size_t batch)
{
    const auto make = [batch] {
        const Rk4 p(batch);
        const std::size_t d = Rk4::dim, h = Rk4::hidden;
        return differentiate<float>({leaf(p.y, {batch, d}), leaf(p.w1, {d, h}), leaf(p.b1, {h}),
                                     leaf(p.w2, {h, h}), leaf(p.b2, {h}), leaf(p.w3, {h, d}),
                                     leaf(p.b3, {d})},
                                    loss);
    };
    return {"rk4", "batch=" + std::to_string(batch), "wengert", make, 1e-3};
}

const bool added = add(entry(1)) && add(entry(32));

}  // namespace
}  // namespace bench

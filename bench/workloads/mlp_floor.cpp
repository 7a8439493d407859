#include "mlp_floor.hpp"

#include <memory>

namespace bench {
namespace {

void update(float rate, const Buffer<float>& g, Buffer<float>& w)
{
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
}

void update(float rate, const MlpWeights& g, MlpWeights& w)
{
    update(rate, g.w1, w.w1), update(rate, g.b1, w.b1), update(rate, g.w2, w.w2);
    update(rate, g.b2, w.b2), update(rate, g.w3, w.w3), update(rate, g.b3, w.b3);
}

/// Gradients as matrices of their own, then the update.
float step(MlpFloor& f)
{
    const float loss = f.gradient();
    update(f.p.rate, f.g, f.w);
    return loss;
}

/// The update folded into the GEMM that makes the gradient.
float fused_step(MlpFloor& f)
{
    const float loss = f.forward();
    f.logits_back(), f.hidden_back(), f.weights_back(-f.p.rate, 1, f.w);
    return loss;
}

/// One step from the initial weights at rate 1: the loss and what the weights became.
Results one_step(std::size_t batch, float (*step_of)(MlpFloor&))
{
    MlpFloor f(batch);
    f.p.rate = 1;
    Results out = {{step_of(f)}};
    for (auto& w : flat(f.w)) out.push_back(w);
    return out;
}

Entry entry(std::size_t batch, const std::string& system, float (*step_of)(MlpFloor&))
{
    const auto make = [=] {
        auto floor = std::make_shared<MlpFloor>(batch);
        return Case{[=] { step_of(*floor); }, [=] { return one_step(batch, step_of); }};
    };
    return {"mlp", "batch=" + std::to_string(batch), system, make, 1e-4, "step"};
}

const bool added = add(entry(64, "floor", step)) && add(entry(64, "floor_fused", fused_step)) &&
                   add(entry(1, "floor", step)) && add(entry(1, "floor_fused", fused_step));

}  // namespace
}  // namespace bench

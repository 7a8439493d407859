#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using F = wengert::Tensor<float>;
constexpr std::size_t L = Attention::length, W = Attention::width, H = Attention::heads, D = Attention::head;

F layer_norm(const F& x, const F& gain, const F& bias)
{
    const F centred = x - mean(x, {1}, true);
    return centred / sqrt(mean(square(centred), {1}, true) + Attention::epsilon) * gain + bias;
}

/// (L, W) -> (H, L, D)
F heads(const F& t) { return swapaxes(wengert::reshape(t, {L, H, D}), 0, 1); }

F loss(const std::vector<F>& w)
{
    const F n = layer_norm(w[0], w[1], w[2]);
    const F q = heads(matmul(n, w[3])), k = heads(matmul(n, w[4])), v = heads(matmul(n, w[5]));
    const F a = softmax(0.25f * matmul(q, swapaxes(k, 1, 2)), -1);
    const F y = w[0] + matmul(wengert::reshape(swapaxes(matmul(a, v), 0, 1), {L, W}), w[6]);
    return sum(y * y);
}

auto problem()
{
    const Attention p;
    return std::pair(std::vector<F>{F({L, W}, p.x), F({W}, p.gain), F({W}, p.bias), F({W, W}, p.wq),
                                    F({W, W}, p.wk), F({W, W}, p.wv), F({W, W}, p.wo)},
                     &loss);
}

const bool added = add_wengert<float>({"attention", "128x64", {}, {}, 1e-3}, problem);

}  // namespace
}  // namespace bench

// A reference is nobody's gradient.
// error: [Rr]eference
#include <wengert/wengert.hpp>

using wengert::Tensor;

struct Model {
    Tensor<double> weight;
#ifdef OK
    Tensor<double> bias;
#else
    const Tensor<double>& bias;
#endif
};

int main()
{
    const Tensor<double> bias = {2.0};
    const Model model{Tensor<double>{1.0}, bias};
    const auto loss = [](const Model& m) { return sum(m.weight * m.bias); };
    const auto gradient = wengert::grad(loss)(model);
    return gradient.weight.size() == 1 ? 0 : 1;
}

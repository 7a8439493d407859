// A struct that cannot be copied has no gradient; the first error names the pointer, not std::tuple.
// first error: cannot be looked into and may hide tensors
// error: unique_ptr<wengert::Tensor
// lines: 80
#include <wengert/wengert.hpp>

#include <memory>

using wengert::Tensor;

struct Model {
    Tensor<double> weight;
#ifndef OK
    std::unique_ptr<Tensor<double>> bias;
#endif
};

int main()
{
    const auto loss = [](const Model& m) { return sum(m.weight); };
    const Model model{};
    return wengert::grad(loss)(model).weight.size() == 1 ? 0 : 1;
}

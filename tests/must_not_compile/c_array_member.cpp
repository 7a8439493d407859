// A C array cannot be taken apart as a field; std::array can.
// error: C array
#include <wengert/wengert.hpp>

#include <array>

using wengert::Tensor;

struct Model {
    Tensor<double> weight;
#ifdef OK
    std::array<Tensor<double>, 2> rest;
#else
    Tensor<double> rest[2];
#endif
};

int main()
{
    const auto loss = [](const Model& m) { return sum(m.weight * m.rest[0] + m.rest[1]); };
    const Model model{Tensor<double>{1.0}, {Tensor<double>{2.0}, Tensor<double>{3.0}}};
    const Model gradient = wengert::grad(loss)(model);
    return gradient.weight.size() == 1 ? 0 : 1;
}

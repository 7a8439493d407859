// Fields of a base are not seen by the reflection of aggregates.
// error: base
#include <wengert/wengert.hpp>

using wengert::Tensor;

struct Base {
    Tensor<double> weight;
};
#ifdef OK
struct Model {
    Base base;
    Tensor<double> bias;
};
#else
struct Model : Base {
    Tensor<double> bias;
};
#endif

int main()
{
    const Model model{{Tensor<double>{1.0}}, Tensor<double>{2.0}};
    const auto loss = [](const Model& m) { return sum(m.bias * 2.0); };
    const auto gradient = wengert::grad(loss)(model);
    return gradient.bias.size() == 1 ? 0 : 1;
}

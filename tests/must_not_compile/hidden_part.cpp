// What a class hides would be skipped in silence: its gradient would be the parameters themselves.
// first error: cannot be looked into and may hide tensors
// error: Scale
// lines: 24
#include <wengert/wengert.hpp>

using wengert::Tensor;

class Scale {
public:
    explicit Scale(Tensor<double> s) : s_(std::move(s)) {}
    const Tensor<double>& get() const { return s_; }
#ifdef OK
    auto fields() { return std::tie(s_); }
#endif

private:
    Tensor<double> s_;
};
struct Model {
    Tensor<double> weight;
    std::vector<Scale> scales;
};

int main()
{
    const Model model{{2.0}, {Scale({3.0})}};
    const auto loss = [](const Model& m) { return sum(m.weight * m.scales[0].get()); };
    return wengert::grad(loss)(model).weight.size() == 1 ? 0 : 1;
}

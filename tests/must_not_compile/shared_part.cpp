// A tensor behind a pointer is shared by all copies: a gradient would overwrite the parameters.
// first error: cannot be looked into and may hide tensors
// error: shared_ptr<wengert::Tensor
// lines: 24
#include <wengert/wengert.hpp>

#include <memory>
#include <optional>

using wengert::Tensor;

struct Model {
    Tensor<double> weight;
    std::shared_ptr<std::string> name;
#ifdef OK
    std::optional<Tensor<double>> bias;
#else
    std::shared_ptr<Tensor<double>> bias;
#endif
};

int main()
{
    Model model{{1.0}, nullptr, {}};
    wengert::tree::for_each([](auto& t) { t *= 2.0; }, model);
    return 0;
}

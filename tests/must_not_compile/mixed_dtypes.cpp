// Tensors of two dtypes do not meet without a cast.
// error: cast|no match for|invalid operands
#include <wengert/wengert.hpp>

int main()
{
    const wengert::Tensor<float> a = {1.0f, 2.0f};
    const wengert::Tensor<double> b = {1.0, 2.0};
#ifdef OK
    const auto c = wengert::cast<double>(a) + b;
#else
    const auto c = a + b;
#endif
    return c.size() == 2 ? 0 : 1;
}

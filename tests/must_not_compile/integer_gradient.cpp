// Integers have no derivative.
// error: requires_grad|differentiable|float or double
#include <wengert/wengert.hpp>

#include <cstdint>

int main()
{
#ifdef OK
    wengert::Tensor<double> x = {1.0, 2.0};
#else
    wengert::Tensor<std::int64_t> x = {1, 2};
#endif
    x.requires_grad(true);
}

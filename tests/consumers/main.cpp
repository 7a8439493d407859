#include <wengert/wengert.hpp>

int main()
{
    wengert::Tensor<double> x = {1.0, 2.0};
    return wengert::sum(x * x).item() == 5.0 ? 0 : 1;
}

// x(0) is a value recorded from x; assigning to it would silently do nothing.
// first error: view\(x, i\) = v does
// lines: 14
#include <wengert/wengert.hpp>

int main()
{
    wengert::Tensor<double> x = {1.0, 2.0};
#ifdef OK
    view(x, 0) = 5.0;
#else
    x(0) = 5.0;
#endif
}

// x[0] += 5.0 would silently do nothing.
// error: use of deleted function|overload resolution selected deleted operator
// lines: 18
#include <wengert/wengert.hpp>

int main()
{
    wengert::Tensor<double> x = {1.0, 2.0};
#ifdef OK
    view(x, 0) += 5.0;
    x += 5.0;
    x = x(0);
#else
    x[0] += 5.0;
#endif
}

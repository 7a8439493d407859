// error: use of deleted function .*write|call to deleted function 'write'
#include <wengert/wengert.hpp>

namespace wg = wengert;

int main()
{
    wg::Tensor<double> x = {1.0, 2.0, 3.0};
    auto q = view(x, wg::range(1, wg::placeholders::_));
#ifdef OK
    q = 0.0;
    write(x)(0) = 1.0;
#else
    write(q)(0) = 1.0;
#endif
}

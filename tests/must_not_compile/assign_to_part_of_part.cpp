// error: use of deleted function.*operator\+=|selected deleted operator .\+=
#include <wengert/wengert.hpp>

#include <vector>

namespace wg = wengert;

int main()
{
    wg::Tensor<double> x = {1.0, 2.0, 3.0};
    auto q = view(x, wg::range(1, wg::placeholders::_));
#ifdef OK
    q += 10.0;
#else
    view(q, std::vector<wg::Slice>{wg::Slice(0)}) += 10.0;
#endif
}

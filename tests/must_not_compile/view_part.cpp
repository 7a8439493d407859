// error: a view, or a class derived from Tensor, is no part of a struct
#include <wengert/wengert.hpp>

#include <vector>

namespace wg = wengert;

int main()
{
    wg::Tensor<double> x = {{1.0, 2.0}, {3.0, 4.0}};
#ifdef OK
    using Part = wg::Tensor<double>;
#else
    using Part = wg::View<double>;
#endif
    const std::vector<Part> rows = {view(x, 0), view(x, 1)};
    const auto f = [](const auto& r) { return sum(r[0] * r[1]); };
    return wg::grad(f)(rows).size() == 2 ? 0 : 1;
}

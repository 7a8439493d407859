// first error: with has_aux the function returns
// times: 1
#include <wengert/wengert.hpp>

namespace wg = wengert;

int main()
{
    const wg::Tensor<double> x = {1.0, 2.0};
#ifdef OK
    const auto f = [](const wg::Tensor<double>& t) { return std::pair(sum(t), t * 2.0); };
#else
    const auto f = [](const wg::Tensor<double>& t) { return sum(t); };
#endif
    static_cast<void>(wg::value_and_grad(f, wg::has_aux)(x));
}

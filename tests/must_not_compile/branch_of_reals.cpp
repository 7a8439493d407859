// error: wengert: scan, cond and vmap take tensors
#include <wengert/control.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

namespace wg = wengert;

int main()
{
    const auto square = [](const auto& x) { return x * x; };
    const auto negative = [](const auto& x) { return -x; };
#ifdef OK
    const wg::Tensor<double> a(0.7);
    static_cast<void>(wg::cond(a > 0.5, square, negative, a));
#else
    const wg::Real<double> a = 0.7;
    static_cast<void>(wg::cond(a > 0.5, square, negative, a));
#endif
}

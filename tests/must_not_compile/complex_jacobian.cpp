// A Jacobian is one of real numbers.
// error: jacobian is of real numbers
#include <wengert/complex.hpp>
#include <wengert/wengert.hpp>

using wengert::Tensor;
using C = std::complex<double>;

int main()
{
#ifdef OK
    const auto f = [](const Tensor<double>& x) { return real(x * C(0, 1)); };
#else
    const auto f = [](const Tensor<double>& x) { return x * C(0, 1); };
#endif
    return wengert::jacobian(f)(Tensor<double>{1.0, 2.0}).size() == 4 ? 0 : 1;
}

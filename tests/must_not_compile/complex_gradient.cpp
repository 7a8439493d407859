// The derivative of a complex number is no gradient: which real number is meant?
// error: take real\(\), imag\(\) or abs\(\) first
#include <wengert/complex.hpp>
#include <wengert/wengert.hpp>

using wengert::Tensor;
using C = std::complex<double>;

int main()
{
    const auto f = [](const Tensor<C>& z) {
#ifdef OK
        return sum(abs(exp(z)));
#else
        return sum(exp(z));
#endif
    };
    return wengert::grad(f)(Tensor<C>{1.0, C(0, 1)}).size() == 2 ? 0 : 1;
}

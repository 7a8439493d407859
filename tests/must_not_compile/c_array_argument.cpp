// A C array is no argument of a frozen function, whose guards would see its address alone; std::array is.
// error: C array is no argument
#include <wengert/wengert.hpp>

#include <array>

#include <wengert/freeze.hpp>

using wengert::Tensor;

int main()
{
    const Tensor<double> x = {1.0, 2.0};
#ifdef OK
    const std::array<double, 2> by = {1.0, 2.0};
    auto f =
        wengert::freeze([](const Tensor<double>& t, const std::array<double, 2>& c) { return t * c[0]; });
#else
    const double by[] = {1.0, 2.0};
    auto f = wengert::freeze([](const Tensor<double>& t, const double* c) { return t * c[0]; });
#endif
    return f(x, by).size() == 2 ? 0 : 1;
}

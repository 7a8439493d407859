// A frozen function's numbers go through one tensor.
// error: numbers of one precision in its arguments and its result
#include <wengert/wengert.hpp>
#include <wengert/scalar.hpp>

int main()
{
#ifdef OK
    using R = wengert::Real<double>;
#else
    using R = wengert::Real<float>;
#endif
    const auto f = wengert::freeze([](const wengert::Real<double>& x) { return R(x * x); });
    return f(wengert::Real<double>(2.0)).value() == 4.0 ? 0 : 1;
}

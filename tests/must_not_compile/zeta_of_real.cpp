// A function without a derivative here is no constant in silence.
// error: has no derivative here
#include <wengert/scalar.hpp>

#include <cmath>

int main()
{
    const auto f = [](const wengert::Real<double>& x) {
        using std::riemann_zeta;
#ifdef OK
        return x * riemann_zeta(x.value());
#else
        return x * riemann_zeta(x);
#endif
    };
    return f(2.0).value() > 0.0 ? 0 : 1;
}

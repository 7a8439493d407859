// The lambda of elementwise becomes a type without state: what it captures would be lost.
// error: must not capture
#include <wengert/wengert.hpp>

int main()
{
    const wengert::Tensor<double> x = {1.0, 2.0};
    const double scale = static_cast<double>(x.size());
#ifdef OK
    const auto f = wengert::elementwise([](auto t, auto s) { return t * s; });
    return f(x, scale).size() == 2 ? 0 : 1;
#else
    const auto f = wengert::elementwise([scale](auto t) { return t * scale; });
    return f(x).size() == 2 ? 0 : 1;
#endif
}

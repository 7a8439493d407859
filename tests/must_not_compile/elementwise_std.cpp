// std::sin takes a double; the first error says what it was given instead.
// first error: deleted
// lines: 200
#include <wengert/wengert.hpp>

#include <cmath>

int main()
{
    const wengert::Tensor<double> x = {1.0, 2.0};
#ifdef OK
    const auto f = wengert::elementwise([](auto t) {
        using std::sin;
        return sin(t) * t;
    });
#else
    const auto f = wengert::elementwise([](auto t) { return std::sin(t) * t; });
#endif
    return f(x).size() == 2 ? 0 : 1;
}

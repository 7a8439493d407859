// Built with wengert::compiled: the compiler of graphs comes from a library.
#include <wengert/wengert.hpp>

#ifndef WENGERT_COMPILED
#error wengert::compiled defines WENGERT_COMPILED
#endif

int main()
{
    using wengert::Tensor;
    auto f = wengert::freeze(wengert::grad([](const Tensor<double>& x) { return sum(x * x * x); }));
    const Tensor<double> x = {1.0, 2.0};
    return sum(f(x)).item() == 15.0 && sum(f(x)).item() == 15.0 && f.stats().replays == 1 ? 0 : 1;
}

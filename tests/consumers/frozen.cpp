// Built with wengert::compiled: the compiler of graphs and the loops in them come from a library.
#include <wengert/wengert.hpp>

#ifndef WENGERT_COMPILED
#error wengert::compiled defines WENGERT_COMPILED
#endif

int main()
{
    using wengert::Tensor;
    auto f = wengert::freeze(wengert::grad([](const Tensor<double>& x) { return sum(x * x * x); }));
    const Tensor<double> x = {1.0, 2.0};
    using D = Tensor<double>;
    auto loops = wengert::freeze([](const D& a) {
        const auto [state, each] = wengert::scan([](const D& s) { return std::pair(s * 2.0, sum(s)); }, a, 3);
        const D b = wengert::while_loop([](const D& s) { return sum(s) < 50.0; },
                                        [](const D& s) { return s + 1.0; }, state + sum(each));
        return wengert::cond(
            sum(b) > 0.0, [](const D& s) { return sum(s); }, [](const D& s) { return -sum(s); }, b);
    });
    if (loops(x).item() != 66.0 || loops(x).item() != 66.0) return 2;
    return sum(f(x)).item() == 15.0 && sum(f(x)).item() == 15.0 && f.stats().replays == 1 ? 0 : 1;
}

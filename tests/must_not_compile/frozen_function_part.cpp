// Nobody can see what a std::function holds, so nobody can guard it.
// first error: cannot be looked into and may hide tensors
// error: function<double
// lines: 24
#include <wengert/wengert.hpp>

#include <functional>

using wengert::Tensor;

struct Model {
    Tensor<double> weight;
#ifdef OK
    double (*scale)(double);
#else
    std::function<double(double)> scale;
#endif
};

int main()
{
    const auto f = wengert::freeze([](const Model& m) { return m.weight * m.scale(2.0); });
    return f(Model{{1.0}, [](double x) { return x; }}).size() == 1 ? 0 : 1;
}

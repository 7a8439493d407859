// A translation unit of nvcc's: a kernel of the program's own beside tensors, structs, transforms, frozen graphs and scalar code.
#include <wengert/cuda.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/scalar.hpp>
#include <wengert/base/field_names.hpp>
#include <wengert/wengert.hpp>

#include <cstdio>

namespace wg = wengert;
using wg::Tensor;

__global__ void twice(float* x, int n)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) x[i] *= 2.0F;
}

struct Net {
    Tensor<double> weight, bias;
    double slope = 1.0;
};

template <class Device> Tensor<double> gradient(const Tensor<double>& x0)
{
    const Tensor<double, Device> x = wg::to<Device>(x0);
    const auto loss = [](const Tensor<double, Device>& t) { return mean(square(tanh(t) - 0.5)); };
    auto frozen = wg::freeze([&](const Tensor<double, Device>& t) { return wg::grad(loss)(t); });
    const Tensor<double, Device> eager = wg::grad(loss)(x);
    for (int i = 0; i < 3; ++i)
        if (!allclose(frozen(x), eager, 1e-14)) throw wg::Error("frozen");
    return wg::to<wg::cpu>(eager);
}

int main()
{
    static_cast<void>(twice);
    const Tensor<double> x = {1.0, 2.0, -1.0};
    const Net net{{{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}}, {0.0, 0.0}};
    const auto loss = [](const Net& n, const Tensor<double>& t) {
        return sum(square(tanh(matmul(n.weight, t) * n.slope + n.bias)));
    };
    if (wg::reflect::field_name<Net, 1> != "bias") throw wg::Error("the name of a field");
    const Net g = wg::grad(loss)(net, x);
    auto frozen = wg::freeze([&](const Net& n, const Tensor<double>& t) { return wg::grad(loss)(n, t); });
    for (int i = 0; i < 3; ++i)
        if (!allclose(frozen(net, x).weight, g.weight, 1e-14)) throw wg::Error("a struct");
    const auto walk = [](const Tensor<double>& s) { return std::pair(s * 0.5, sum(s)); };
    if (wg::hessian([&](const Tensor<double>& t) { return sum(square(wg::scan(walk, t, 3).second)); })(x)
            .shape() != wg::Shape{3, 3})
        throw wg::Error("scan");
    const auto f = wg::kernel([](auto a) { return a > 0 ? sin(a) * a : -a; });
    if (!allclose(f(x), where(x > 0.0, sin(x) * x, -x), 1e-14)) throw wg::Error("kernel");
    const Tensor<double> here = gradient<wg::cpu>(x);
    if (wg::cuda::device_count() == 0) return std::printf("%s\n", wg::cuda::reason().c_str()), 0;
    const Tensor<double> there = gradient<wg::cuda>(x);
    for (int i = 0; i < 3; ++i)
        if (here(i).item() != there(i).item()) throw wg::Error("another gradient");
    return std::printf("as on the host\n"), 0;
}

// Why there is no device: what a program sees that asks for one all the same.
#include <wengert/cuda.hpp>

#include <cstdio>

namespace wg = wengert;

int main()
{
    std::printf("%d devices; %s\n", wg::cuda::device_count(), wg::cuda::reason().c_str());
    const wg::Tensor<float> x = wg::ones<float>({2});
    try {
        const wg::Tensor<float, wg::cuda> y = wg::to<wg::cuda>(x);
        std::printf("no error\n");
    } catch (const wg::DeviceError& e) {
        std::printf("%s\n", e.what());
    }
    return 0;
}

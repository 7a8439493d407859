// The least that uses the headers, xsimd and the BLAS. Other headers than these are only parsed (run.sh, docs/).
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/sum.hpp>

int main()
{
    const wengert::Tensor<double> x = {{1.0, 2.0}, {3.0, 4.0}};
    return sum(matmul(x, exp(x * 0.0))).item() == 20.0 ? 0 : 1;
}

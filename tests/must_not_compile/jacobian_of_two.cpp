// first error: jacobian and hessian take one tensor, or numbers
// times: 2
#include <wengert/wengert.hpp>

namespace wg = wengert;

struct Pair {
    wg::Tensor<double> a, b;
};

int main()
{
    const wg::Tensor<double> x = {1.0, 2.0};
#ifdef OK
    static_cast<void>(wg::jacobian([&](const wg::Tensor<double>& a) { return a * x; })(x));
#else
    wg::jacobian([](const wg::Tensor<double>& a, const wg::Tensor<double>& b) { return a * b; })(x, x);
    wg::hessian([](const Pair& p) { return sum(p.a * p.b); })(Pair{x, x});
#endif
}

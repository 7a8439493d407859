#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

template <class V> void add_one(const std::string& type, std::size_t n, double tolerance)
{
    using T = wengert::Tensor<V>;
    const auto problem = [n] {
        const Elementwise<V> p(n);
        const auto loss = [](const std::vector<T>& v) {
            const T &x = v[0], &w = v[1], &b = v[2];
            return sum(tanh(x * w + b) * sigmoid(x) + x * x);
        };
        return std::pair(std::vector<T>{T({n}, p.x), T({n}, p.w), T({n}, p.b)}, loss);
    };
    add_wengert<V>({"elementwise", type + '/' + std::to_string(n), {}, {}, tolerance}, problem);
}

bool add_all()
{
    for (std::size_t n = 1000; n <= 10000000; n *= 10) add_one<float>("f32", n, 1e-5);
    for (std::size_t n = 1000; n <= 10000000; n *= 10) add_one<double>("f64", n, 1e-9);
    return true;
}

const bool added = add_all();

}  // namespace
}  // namespace bench

#include "problems.hpp"
#include "wengert_common.hpp"

namespace bench {
namespace {

template <class V> Entry entry(const std::string& type, std::size_t n, double tolerance)
{
    using T = wengert::Tensor<V>;
    const auto make = [n] {
        const Elementwise<V> p(n);
        return differentiate<V>({leaf(p.x, {n}), leaf(p.w, {n}), leaf(p.b, {n})},
                                [](const std::vector<T>& v) {
                                    const T &x = v[0], &w = v[1], &b = v[2];
                                    return sum(tanh(x * w + b) * sigmoid(x) + x * x);
                                });
    };
    return {"elementwise", type + '/' + std::to_string(n), "wengert", make, tolerance};
}

bool add_all()
{
    for (std::size_t n = 1000; n <= 10000000; n *= 10) add(entry<float>("f32", n, 1e-5));
    for (std::size_t n = 1000; n <= 10000000; n *= 10) add(entry<double>("f64", n, 1e-9));
    return true;
}

const bool added = add_all();

}  // namespace
}  // namespace bench

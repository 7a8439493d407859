#include <cmath>
#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

/// One fused pass: value and gradients of sum(tanh(x w + b) sigmoid(x) + x^2), the sum taken in blocks of
/// 4,096.
template <class T> class ElementwiseFloor {
public:
    explicit ElementwiseFloor(std::size_t n) : n_(n)
    {
        const Elementwise<T> p(n);
        x_ = buffer(p.x), w_ = buffer(p.w), b_ = buffer(p.b);
        gx_.resize(n), gw_.resize(n), gb_.resize(n);
    }

    void run()
    {
        double total = 0;
        for (std::size_t start = 0; start < n_; start += 4096)
            total += block(start, std::min<std::size_t>(4096, n_ - start));
        loss_ = total;
    }

    Results results()
    {
        run();
        return {{loss_}, flat(gx_), flat(gw_), flat(gb_)};
    }

private:
    double block(std::size_t start, std::size_t n)
    {
        xsimd::batch<T> sum(T(0));
        T tail = 0;
        for_batches<T>(n, [&]<class V>(std::size_t i) {
            const V y = point<V>(start + i);
            if constexpr (std::is_same_v<V, T>)
                tail += y;
            else
                sum += y;
        });
        return static_cast<double>(horizontal_sum(sum) + tail);
    }

    template <class V> V point(std::size_t i)
    {
        using std::exp;
        using std::tanh;
        const V x = get<V>(&x_[i]), w = get<V>(&w_[i]), one(T(1));
        const V t = tanh(x * w + get<V>(&b_[i]));
        const V s = one / (one + exp(-x));
        const V gb = s * (one - t * t);
        put(&gb_[i], gb);
        put(&gw_[i], V(gb * x));
        put(&gx_[i], V(gb * w + t * s * (one - s) + x + x));
        return t * s + x * x;
    }

    std::size_t n_;
    Buffer<T> x_, w_, b_, gx_, gw_, gb_;
    double loss_ = 0;
};

template <class T> Entry entry(const std::string& type, std::size_t n)
{
    const auto make = [n] {
        auto floor = std::make_shared<ElementwiseFloor<T>>(n);
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return {"elementwise", type + '/' + std::to_string(n), "floor", make, 1e-9};
}

bool add_all()
{
    for (std::size_t n = 1000; n <= 10000000; n *= 10) add(entry<float>("f32", n));
    for (std::size_t n = 1000; n <= 10000000; n *= 10) add(entry<double>("f64", n));
    return true;
}

const bool added = add_all();

}  // namespace
}  // namespace bench

#include <cmath>
#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

/// 1,000 operations h*a, h+b, tanh(h) in turn; saves what the reverse sweep needs: h before * and after tanh.
class SmallOpFloor {
public:
    explicit SmallOpFloor(std::size_t n) : p_(n), n_(n), saved_(n * SmallOp::operations), ga_(n), gb_(n) {}

    void run()
    {
        loss_ = 0;
        for_batches<double>(n_, [&]<class V>(std::size_t i) {
            const V a = get<V>(&p_.a[i]), b = get<V>(&p_.b[i]);
            const V h = forward(get<V>(&p_.h[i]), a, b, i);
            if constexpr (std::is_same_v<V, double>)
                loss_ += h;
            else
                loss_ += horizontal_sum(h);
            backward(a, i);
        });
    }

    Results results()
    {
        run();
        return {{loss_}, ga_, gb_};
    }

private:
    template <class V> V forward(V h, const V& a, const V& b, std::size_t i)
    {
        using std::tanh;
        for (int op = 0; op < SmallOp::operations; ++op) {
            double* save = &saved_[static_cast<std::size_t>(op) * n_ + i];
            if (op % 3 == 0)
                put(save, h), h = h * a;
            else if (op % 3 == 1)
                h = h + b;
            else
                h = tanh(h), put(save, h);
        }
        return h;
    }

    template <class V> void backward(const V& a, std::size_t i)
    {
        V g(1.0), ga(0.0), gb(0.0);
        for (int op = SmallOp::operations - 1; op >= 0; --op) {
            const double* save = &saved_[static_cast<std::size_t>(op) * n_ + i];
            if (op % 3 == 0) {
                ga += g * get<V>(save);
                g *= a;
            } else if (op % 3 == 1) {
                gb += g;
            } else {
                const V y = get<V>(save);
                g *= V(1.0) - y * y;
            }
        }
        put(&ga_[i], ga), put(&gb_[i], gb);
    }

    SmallOp p_;
    std::size_t n_;
    std::vector<double> saved_, ga_, gb_;
    double loss_ = 0;
};

Entry entry(std::size_t n)
{
    const auto make = [n] {
        auto floor = std::make_shared<SmallOpFloor>(n);
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return {"small_op", "n=" + std::to_string(n), "floor", make, 1e-9, "operation", SmallOp::operations};
}

const bool added = add(entry(1)) && add(entry(8)) && add(entry(64));

}  // namespace
}  // namespace bench

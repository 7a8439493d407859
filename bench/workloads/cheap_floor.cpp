#include <cmath>
#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

/// One loop over batches.
class CheapFloor {
public:
    explicit CheapFloor(std::size_t n) : n_(n), p_(n), q_(n)
    {
        const Cheap in(n);
        a_ = buffer(in.a), b_ = buffer(in.b), c_ = buffer(in.c), d_ = buffer(in.d);
    }

    void run()
    {
        for_batches<float>(n_, [&]<class V>(std::size_t i) {
            using std::fma;
            using xsimd::fma;
            const auto [p, q] =
                Cheap::outputs(get<V>(&a_[i]), get<V>(&b_[i]), get<V>(&c_[i]), get<V>(&d_[i]),
                               [](const V& x, const V& y, const V& z) { return V(fma(x, y, z)); });
            put(&p_[i], p), put(&q_[i], q);
        });
    }

    Results results()
    {
        run();
        return {flat(p_), flat(q_)};
    }

private:
    std::size_t n_;
    Buffer<float> a_, b_, c_, d_, p_, q_;
};

Entry entry(std::size_t n)
{
    const auto make = [n] {
        auto floor = std::make_shared<CheapFloor>(n);
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return {"cheap", "f32/" + std::to_string(n), "floor", make, 0};
}

const bool added =
    add(entry(1000)) && add(entry(8000)) && add(entry(100000)) && add(entry(1000000)) && add(entry(10000000));

}  // namespace
}  // namespace bench

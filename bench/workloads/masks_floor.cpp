#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

float chosen(bool condition, float a, float b) { return condition ? a : b; }
using Batch = xsimd::batch<float>;
Batch chosen(const xsimd::batch_bool<float>& condition, const Batch& a, const Batch& b)
{
    return xsimd::select(condition, a, b);
}

/// One loop over batches.
class MasksFloor {
public:
    explicit MasksFloor(std::size_t n) : n_(n), y_(n)
    {
        const Masks in(n);
        a_ = buffer(in.a), b_ = buffer(in.b), c_ = buffer(in.c);
    }
    void run()
    {
        for_batches<float>(n_, [&]<class V>(std::size_t i) {
            const V a = get<V>(&a_[i]), b = get<V>(&b_[i]), c = get<V>(&c_[i]);
            put(&y_[i], chosen((a < b) && (c > V(0.0f)), a * b, c));
        });
    }
    Results results()
    {
        run();
        return {flat(y_)};
    }

private:
    std::size_t n_;
    Buffer<float> a_, b_, c_, y_;
};

Entry entry(std::size_t n)
{
    const auto make = [n] {
        auto floor = std::make_shared<MasksFloor>(n);
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return {"masks", "f32/" + std::to_string(n), "floor", make, 0};
}

const bool added = add(entry(1000)) && add(entry(100000));

}  // namespace
}  // namespace bench

#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

/// One loop over batches of rows.
template <bool slope> class VmapFloor {
public:
    VmapFloor() : x_(buffer(Vmap().x)), y_(Vmap::rows) {}
    void run()
    {
        for_batches<double>(Vmap::rows, [&]<class V>(std::size_t i) {
            const V t = get<V>(&x_[i]);
            put(&y_[i], slope ? Vmap::slope(t) : Vmap::value(t));
        });
    }
    Results results()
    {
        run();
        return {flat(y_)};
    }

private:
    Buffer<double> x_, y_;
};

template <bool slope> bool add_floor(const char* variant)
{
    const auto make = [] {
        auto floor = std::make_shared<VmapFloor<slope>>();
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return add({"vmap", variant, "floor", make, 1e-13});
}
const bool added = add_floor<false>("value") && add_floor<true>("grad");

}  // namespace
}  // namespace bench

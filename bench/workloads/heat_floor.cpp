#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

constexpr std::size_t n = Heat::n;
constexpr float k = Heat::k;

/// out = u + k (N + S + E + W - 4 u) on the interior; the ring of `out` is left alone.
void stencil(const float* __restrict u, float* __restrict out)
{
    for (std::size_t i = 1; i + 1 < n; ++i) {
        const float* c = u + i * n;
        float* o = out + i * n;
        for (std::size_t j = 1; j + 1 < n; ++j)
            o[j] = (1 - 4 * k) * c[j] + k * (c[j - n] + c[j + n] + c[j - 1] + c[j + 1]);
    }
}

/// The step is linear, so nothing is saved. Its adjoint is the same stencil on the interior's cotangent with
/// a ring of zeros around it; what the interior reads from the ring is added to the ring's own cotangent.
class HeatFloor {
public:
    HeatFloor() : u_(buffer(p_.u)), v_(u_), g_(n * n), h_(n * n), ring_(n * n) {}

    void run()
    {
        std::copy(p_.u.begin(), p_.u.end(), u_.begin());
        for (int s = 0; s < Heat::steps; ++s) stencil(u_.data(), v_.data()), u_.swap(v_);
        seed();
        for (int s = 0; s < Heat::steps; ++s) ring_back(), stencil(g_.data(), h_.data()), g_.swap(h_);
        for (std::size_t i = 0; i < n * n; ++i) ring_[i] += g_[i];
    }

    Results results()
    {
        run();
        return {{loss_}, flat(ring_)};
    }

private:
    static bool on_ring(std::size_t i, std::size_t j) { return i == 0 || j == 0 || i + 1 == n || j + 1 == n; }

    /// loss = Σ u², its cotangent split into ring and interior
    void seed()
    {
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) {
            float row = 0;
            for (std::size_t j = 0; j < n; ++j) {
                const float u = u_[i * n + j];
                row += u * u;
                ring_[i * n + j] = on_ring(i, j) ? 2 * u : 0;
                g_[i * n + j] = on_ring(i, j) ? 0 : 2 * u;
            }
            total += static_cast<double>(row);
        }
        loss_ = total;
    }

    void ring_back()
    {
        for (std::size_t j = 1; j + 1 < n; ++j) {
            ring_[j] += k * g_[n + j];
            ring_[(n - 1) * n + j] += k * g_[(n - 2) * n + j];
            ring_[j * n] += k * g_[j * n + 1];
            ring_[j * n + n - 1] += k * g_[j * n + n - 2];
        }
    }

    Heat p_;
    Buffer<float> u_, v_, g_, h_, ring_;
    double loss_ = 0;
};

Case make()
{
    auto floor = std::make_shared<HeatFloor>();
    return {[floor] { floor->run(); }, [floor] { return floor->results(); }};
}

const bool added = add({"heat", "256x256", "floor", make, 1e-4});

}  // namespace
}  // namespace bench

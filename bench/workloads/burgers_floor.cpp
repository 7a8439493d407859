#include <memory>

#include "burgers_problem.hpp"
#include "simd.hpp"

namespace bench {
namespace {

constexpr std::size_t n = Burgers::n;
constexpr double advection = Burgers::speed / Burgers::dx, laplace = 1 / (Burgers::dx * Burgers::dx),
                 dt = Burgers::dt;

/// One explicit Euler step on the interior; the ring keeps its values.
void step(const double* __restrict u, double nu, double* __restrict out)
{
    std::copy(u, u + n * n, out);
    for (std::size_t i = 1; i + 1 < n; ++i)
        for (std::size_t j = 1; j + 1 < n; ++j) {
            const double* c = u + i * n + j;
            const double around = c[-static_cast<std::ptrdiff_t>(n)] + c[-1] + c[n] + c[1];
            const double moved = c[0] * (2 * c[0] - c[-static_cast<std::ptrdiff_t>(n)] - c[-1]) * advection;
            out[i * n + j] = c[0] + dt * (nu * ((around - 4 * c[0]) * laplace) - moved);
        }
}

/// The adjoint in three coefficients of each cell: what its cotangent sends to itself, to the upwind neighbours and to the
/// other two. They are zero on the ring, so that every cell gathers from its four neighbours.
class BurgersFloor {
public:
    explicit BurgersFloor(bool adjoint)
        : adjoint_(adjoint), u_((Burgers::steps + 1) * n * n), g_(n * n), own_(n * n), up_(n * n),
          down_(n * n)
    {}

    void run()
    {
        const std::size_t size = n * n;
        std::copy(p_.u.begin(), p_.u.end(), u_.begin());
        for (std::size_t s = 0; s < Burgers::steps; ++s)
            step(u_.data() + (adjoint_ ? s : s % 2) * size, p_.nu,
                 u_.data() + (adjoint_ ? s + 1 : (s + 1) % 2) * size);
        const double* last = u_.data() + (adjoint_ ? Burgers::steps : Burgers::steps % 2) * size;
        loss_ = 0, nu_ = 0;
        for (std::size_t i = 0; i < size; ++i) loss_ += last[i] * last[i], g_[i] = 2 * last[i];
        if (adjoint_)
            for (std::size_t s = Burgers::steps; s-- > 0;) back(u_.data() + s * size);
    }

    Results results()
    {
        run();
        if (!adjoint_) return {{loss_}};
        return {{loss_}, flat(g_), {nu_}};
    }

private:
    void back(const double* __restrict u)
    {
        for (std::size_t i = 1; i + 1 < n; ++i) {
            const double *c = u + i * n, *north = c - n, *south = c + n;
            double nu_row = 0;
            for (std::size_t j = 1; j + 1 < n; ++j) {
                const double q = dt * g_[i * n + j];
                nu_row += q * ((north[j] + c[j - 1] + south[j] + c[j + 1] - 4 * c[j]) * laplace);
                own_[i * n + j] = -q * (4 * p_.nu * laplace + advection * (4 * c[j] - north[j] - c[j - 1]));
                up_[i * n + j] = q * (p_.nu * laplace + advection * c[j]);
                down_[i * n + j] = q * (p_.nu * laplace);
            }
            nu_ += nu_row;
        }
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t k = i * n + j;
                double sum = g_[k] + own_[k];
                if (i + 1 < n) sum += up_[k + n];
                if (j + 1 < n) sum += up_[k + 1];
                if (i > 0) sum += down_[k - n];
                if (j > 0) sum += down_[k - 1];
                g_[k] = sum;
            }
    }

    Burgers p_;
    bool adjoint_;
    Buffer<double> u_, g_, own_, up_, down_;
    double loss_ = 0, nu_ = 0;
};

Entry entry(const char* system, bool adjoint)
{
    const auto make = [adjoint] {
        auto floor = std::make_shared<BurgersFloor>(adjoint);
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return {"burgers", "100 steps", system, make, 1e-9};
}

const bool added = add(entry("floor", true)) && add(entry("plain", false));

}  // namespace
}  // namespace bench

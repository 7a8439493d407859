#include <array>
#include <memory>

#include "problems.hpp"

namespace bench {
namespace {

using State = std::array<double, 4>;

/// Forward with every state kept, then the adjoint of each step.
class ScanFloor {
public:
    explicit ScanFloor(std::size_t steps) : steps_(steps), path_(steps + 1) {}

    void run()
    {
        std::copy(p_.state.begin(), p_.state.end(), path_[0].begin());
        for (std::size_t s = 0; s < steps_; ++s) path_[s + 1] = step(path_[s]);
        const State& last = path_[steps_];
        loss_ = 0;
        for (std::size_t i = 0; i < 4; ++i) loss_ += last[i] * last[i], g_[i] = 2 * last[i];
        gp_ = {};
        for (std::size_t s = steps_; s-- > 0;) back(path_[s]);
    }

    Results results()
    {
        run();
        return {{loss_}, flat(g_), flat(gp_)};
    }

private:
    State step(const State& y) const
    {
        const auto [q1, q2, v1, v2] = y;
        const double k = p_.parameters[0], b = p_.parameters[1], s = p_.parameters[2], c = p_.parameters[3];
        const double pull = s * (q1 - q2);
        const double w1 = v1 - Scan::dt * ((k + b * (q1 * q1)) * q1 + c * v1 + pull);
        const double w2 = v2 - Scan::dt * ((k + b * (q2 * q2)) * q2 + c * v2 - pull);
        return {q1 + Scan::dt * w1, q2 + Scan::dt * w2, w1, w2};
    }

    void back(const State& y)
    {
        const auto [q1, q2, v1, v2] = y;
        const double k = p_.parameters[0], b = p_.parameters[1], s = p_.parameters[2], c = p_.parameters[3];
        const double gw1 = g_[2] + Scan::dt * g_[0], gw2 = g_[3] + Scan::dt * g_[1];
        const double gf1 = -Scan::dt * gw1, gf2 = -Scan::dt * gw2, gpull = gf1 - gf2;
        gp_[0] += gf1 * q1 + gf2 * q2;
        gp_[1] += gf1 * (q1 * q1 * q1) + gf2 * (q2 * q2 * q2);
        gp_[2] += gpull * (q1 - q2);
        gp_[3] += gf1 * v1 + gf2 * v2;
        g_[0] += gf1 * (k + 3 * b * (q1 * q1)) + s * gpull;
        g_[1] += gf2 * (k + 3 * b * (q2 * q2)) - s * gpull;
        g_[2] = gw1 + c * gf1;
        g_[3] = gw2 + c * gf2;
    }

    Scan p_;
    std::size_t steps_;
    std::vector<State> path_;
    State g_, gp_;
    double loss_ = 0;
};

Entry entry(std::size_t steps)
{
    const auto make = [steps] {
        auto floor = std::make_shared<ScanFloor>(steps);
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return {"scan", "steps=" + std::to_string(steps), "floor", make, 1e-6};
}

const bool added = add(entry(10000)) && add(entry(1000000));

}  // namespace
}  // namespace bench

#include <wengert/graph/control/control.hpp>

#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using T = wengert::Tensor<double>;

struct State {
    T q1, q2, v1, v2;
};
struct Parameters {
    T k, b, s, c;
};

State step(const State& y, const Parameters& p)
{
    const T pull = p.s * (y.q1 - y.q2);
    const T w1 = y.v1 - Scan::dt * ((p.k + p.b * (y.q1 * y.q1)) * y.q1 + p.c * y.v1 + pull);
    const T w2 = y.v2 - Scan::dt * ((p.k + p.b * (y.q2 * y.q2)) * y.q2 + p.c * y.v2 - pull);
    return {y.q1 + Scan::dt * w1, y.q2 + Scan::dt * w2, w1, w2};
}

/// The loss as a function of state and parameters.
auto loss(std::int64_t steps)
{
    return [steps](const State& start, const Parameters& p) {
        const auto body = [&](const State& y) { return std::pair(step(y, p), std::tuple<>()); };
        const State y = wengert::scan(body, start, steps).first;
        return y.q1 * y.q1 + y.q2 * y.q2 + y.v1 * y.v1 + y.v2 * y.v2;
    };
}

std::tuple<State, Parameters> inputs()
{
    const Scan p;
    const auto at = [](const std::vector<double>& v, std::size_t i) { return T(v[i]); };
    return {{at(p.state, 0), at(p.state, 1), at(p.state, 2), at(p.state, 3)},
            {at(p.parameters, 0), at(p.parameters, 1), at(p.parameters, 2), at(p.parameters, 3)}};
}

template <class Y> Results results(const Y& y)
{
    const auto& [s, p] = std::get<1>(y);
    return {{std::get<0>(y).item()},
            {s.q1.item(), s.q2.item(), s.v1.item(), s.v2.item()},
            {p.k.item(), p.b.item(), p.s.item(), p.c.item()}};
}

/// Eager keeps every operation of every step: not for a million of them.
bool add_all(std::int64_t steps, bool with_eager)
{
    const auto eager = [steps] {
        const auto once = [f = loss(steps), x = inputs()] {
            return std::apply(wengert::value_and_grad<0, 1>(f), x);
        };
        return Case{[once] { once(); }, [once] { return results(once()); }};
    };
    const Entry e{"scan", "steps=" + std::to_string(steps), "wengert", eager, 1e-6};
    if (with_eager) add(e);
    return add_frozen(e, [steps](const wengert::FreezeOptions& options) {
        return frozen_case(wengert::freeze(wengert::value_and_grad<0, 1>(loss(steps)), options), inputs(),
                           [](const auto& y) { return results(y); });
    });
}

const bool added = add_all(10000, true) && add_all(1000000, false);

}  // namespace
}  // namespace bench

#include "mlp_wengert.hpp"

namespace bench {
namespace {

struct Setup {
    Mlp p{64};
    Samples s{p};
    Net net = Net::from(p), v = Net::from(MlpTangent());
    auto objective() const
    {
        return [this](const Net& n) { return loss(n, s); };
    }
};

Results without_value(const Net& n)
{
    Results r = results(F(0.0f), n);
    r.erase(r.begin());
    return r;
}

Case hvp()
{
    auto m = std::make_shared<Setup>();
    const auto once = [m] { return wengert::hvp(m->objective())(m->net, m->v); };
    return {[=] { once(); }, [=] { return without_value(once()); }};
}

Case gradient()
{
    auto m = std::make_shared<Setup>();
    const auto once = [m] { return wengert::value_and_grad(m->objective())(m->net); };
    return {[=] { once(); },
            [=] {
                const auto [value, g] = once();
                return results(value, g);
            }};
}

Case jvp()
{
    auto m = std::make_shared<Setup>();
    const auto once = [m] { return wengert::jvp(m->objective(), m->net, m->v); };
    return {[=] { once(); },
            [=] {
                const auto [value, tangent] = once();
                return Results{doubles(value), doubles(tangent)};
            }};
}

Case primal()
{
    auto m = std::make_shared<Setup>();
    const auto once = [m] { return m->objective()(m->net); };
    return {[=] { once(); }, [=] { return Results{doubles(once())}; }};
}

/// One of these as a frozen function of the parameters and the tangent.
template <class Make, class ToResults> MakeFrozen frozen(const Make& make, const ToResults& to_results)
{
    return [=](const wengert::FreezeOptions& options) {
        const auto m = std::make_shared<Setup>();
        const auto objective = [m](const Net& n) { return loss(n, m->s); };
        return frozen_case(wengert::freeze(make(objective), options), std::tuple(m->net, m->v), to_results);
    };
}
const auto frozen_hvp =
    frozen([](const auto& f) { return wengert::hvp(f); }, [](const Net& y) { return without_value(y); });
const auto frozen_gradient = frozen(
    [](const auto& f) { return [f](const Net& net, const Net&) { return wengert::value_and_grad(f)(net); }; },
    [](const auto& y) { return results(std::get<0>(y), std::get<1>(y)); });
const auto frozen_jvp = frozen(
    [](const auto& f) { return [f](const Net& net, const Net& v) { return wengert::jvp(f, net, v); }; },
    [](const auto& y) {
        return Results{doubles(std::get<0>(y)), doubles(std::get<1>(y))};
    });
const auto frozen_primal =
    frozen([](const auto& f) { return [f](const Net& net, const Net&) { return f(net); }; },
           [](const F& y) { return Results{doubles(y)}; });

const bool added =
    add({"hvp", "hvp", "wengert", hvp, 1e-3}) && add({"hvp", "gradient", "wengert", gradient, 1e-4}) &&
    add({"jvp", "jvp", "wengert", jvp, 1e-3}) && add({"jvp", "primal", "wengert", primal, 1e-4}) &&
    add_frozen({"hvp", "hvp", {}, {}, 1e-3}, frozen_hvp) &&
    add_frozen({"hvp", "gradient", {}, {}, 1e-4}, frozen_gradient) &&
    add_frozen({"jvp", "jvp", {}, {}, 1e-3}, frozen_jvp) &&
    add_frozen({"jvp", "primal", {}, {}, 1e-4}, frozen_primal);

}  // namespace
}  // namespace bench

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

const bool added =
    add({"hvp", "hvp", "wengert", hvp, 1e-3}) && add({"hvp", "gradient", "wengert", gradient, 1e-4}) &&
    add({"jvp", "jvp", "wengert", jvp, 1e-3}) && add({"jvp", "primal", "wengert", primal, 1e-4});

}  // namespace
}  // namespace bench

#include "mlp_wengert.hpp"

namespace bench {
namespace {

Net leaves(const Mlp& p)
{
    Net n = Net::from(p);
    for (F* t : n.all()) t->requires_grad(true);
    return n;
}

F step(Net& n, const Samples& s, float rate)
{
    const F value = loss(n, s);
    wengert::backward(value);
    wengert::NoGrad off;
    for (F* t : n.all()) {
        *t -= rate * t->grad();
        t->zero_grad();
    }
    return value;
}

Results one_step(const Mlp& p)
{
    Net n = leaves(p);
    const F value = step(n, Samples(p), 1);
    return results(value, n);
}

Entry entry(std::size_t batch)
{
    const auto make = [=] {
        const Mlp p(batch);
        const Samples s(p);
        auto net = std::make_shared<Net>(leaves(p));
        return Case{[=] { step(*net, s, 0.01f); }, [=] { return one_step(p); }};
    };
    return {"mlp", "batch=" + std::to_string(batch), "wengert", make, 1e-4, "step"};
}

const bool added = add(entry(64)) && add(entry(1));

}  // namespace
}  // namespace bench

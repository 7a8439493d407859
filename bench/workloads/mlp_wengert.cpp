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

/// A frozen step updates the parameters, which it refers to, where they lie.
FrozenCase frozen_step(const Mlp& p, const wengert::FreezeOptions& options)
{
    using Labels = wengert::Tensor<std::int64_t>;
    const Samples s(p);
    const auto make = [=](const std::shared_ptr<Net>& net, float rate) {
        const auto step = [net, rate](const F& x, const Labels& labels) {
            const auto [value, g] =
                wengert::value_and_grad([&](const Net& n) { return loss(n, x, labels); })(*net);
            for (std::size_t i = 0; i < 6; ++i) *net->all()[i] -= rate * *g.all()[i];
            return value;
        };
        auto frozen = wengert::freeze(step, options);
        frozen.live(*net);
        return frozen;
    };
    const auto net = std::make_shared<Net>(Net::from(p)), once = std::make_shared<Net>(Net::from(p));
    auto step = make(net, 0.01f), one = make(once, 1);
    return {{[=] { step(s.x, s.labels); },
             [=] {
                 *once = Net::from(p);
                 one(s.x, s.labels);  // traced
                 *once = Net::from(p);
                 const F value = one(s.x, s.labels);
                 return results(value, *once);
             }},
            [=] { return step.stats(); }};
}

bool add_all(std::size_t batch)
{
    const auto make = [=] {
        const Mlp p(batch);
        const Samples s(p);
        auto net = std::make_shared<Net>(leaves(p));
        return Case{[=] { step(*net, s, 0.01f); }, [=] { return one_step(p); }};
    };
    const Entry e{"mlp", "batch=" + std::to_string(batch), "wengert", make, 1e-4, "step"};
    add(e);
    return add_frozen(
        e, [batch](const wengert::FreezeOptions& options) { return frozen_step(Mlp(batch), options); });
}

const bool added = add_all(64) && add_all(1);

}  // namespace
}  // namespace bench

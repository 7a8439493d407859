#include "../models/gmm.hpp"
#include "../models/lstm.hpp"
#include "frozen_common.hpp"

namespace bench {
namespace {

template <class Model> Case make(Model model)
{
    auto shared = std::make_shared<Model>(std::move(model));
    return {[=] { shared->derivative(); },
            [=] {
                const Derivative d = shared->derivative();
                return Results{{d[0]}, Derivative(d.begin() + 1, d.end())};
            }};
}

/// Loss and gradients as Derivative has them: the gradients in one row.
template <class Y> Results results(const Y& y)
{
    Results r = {doubles(std::get<0>(y)), {}};
    const auto append = [&](const auto&... g) {
        const auto one = [&](const std::vector<double>& v) { r[1].insert(r[1].end(), v.begin(), v.end()); };
        (one(doubles(g)), ...);
    };
    std::apply(append, std::get<1>(y));
    return r;
}

FrozenCase frozen_gmm(const wengert::FreezeOptions& options)
{
    const auto m = std::make_shared<Gmm>(read_gmm(instance("gmm_d10_K25.txt")));
    using T = Gmm::T;
    const auto f = [m](const T& a, const T& means, const T& c) { return m->objective(a, means, c); };
    return frozen_case(wengert::freeze(wengert::value_and_grad<0, 1, 2>(f), options),
                       std::tuple(m->alpha, m->mu, m->icf), [](const auto& y) { return results(y); });
}
FrozenCase frozen_lstm(const wengert::FreezeOptions& options)
{
    const auto m = std::make_shared<Lstm>(read_lstm(instance("lstm_l2_c1024.txt")));
    using T = Lstm::T;
    const auto f = [m](const T& weights, const T& ends) { return m->objective(weights, ends); };
    return frozen_case(wengert::freeze(wengert::value_and_grad<0, 1>(f), options),
                       std::tuple(m->main, m->extra), [](const auto& y) { return results(y); });
}

Case gmm() { return make(Gmm(read_gmm(instance("gmm_d10_K25.txt")))); }
Case lstm() { return make(Lstm(read_lstm(instance("lstm_l2_c1024.txt")))); }

const bool added = add({"gmm", "d10_K25", "wengert", gmm, 1e-10}) &&
                   add({"lstm", "l2_c1024", "wengert", lstm, 1e-10}) &&
                   add_frozen({"gmm", "d10_K25", {}, {}, 1e-10}, frozen_gmm) &&
                   add_frozen({"lstm", "l2_c1024", {}, {}, 1e-10}, frozen_lstm);

}  // namespace
}  // namespace bench

#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using F = wengert::Tensor<float>;

const auto chosen = [](const F& a, const F& b, const F& c) { return where(a < b && c > 0.0f, a * b, c); };

std::tuple<F, F, F> inputs(std::size_t n)
{
    const Masks p(n);
    return {F({n}, p.a), F({n}, p.b), F({n}, p.c)};
}

bool add_all(std::size_t n)
{
    const auto results = [](const F& y) { return Results{doubles(y)}; };
    const auto eager = [n, results] {
        const auto x = std::make_shared<std::tuple<F, F, F>>(inputs(n));
        return Case{[x] { std::apply(chosen, *x); },
                    [x, results] { return results(std::apply(chosen, *x)); }};
    };
    const Entry e{"masks", "f32/" + std::to_string(n), "wengert", eager, 0};
    add(e);
    return add_frozen(e, [n, results](const wengert::FreezeOptions& options) {
        return frozen_case(wengert::freeze(chosen, options), inputs(n), results);
    });
}

const bool added = add_all(1000) && add_all(100000);

}  // namespace
}  // namespace bench

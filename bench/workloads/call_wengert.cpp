// One call of a small frozen function, x² of n numbers: what a call costs beside its arithmetic.
#include "../harness.hpp"

#include <wengert/wengert.hpp>

namespace bench {
namespace {

using T = wengert::Tensor<double>;

bool add_all(std::size_t n)
{
    const std::vector<double> x = Numbers(1).vector<double>(n, -1, 1);
    const auto entry = [n](const char* system, std::function<Case()> make) {
        return add({"call", "n=" + std::to_string(n), system, std::move(make), 1e-12, "call"});
    };
    const auto results = [](const T& y) {
        return Results{std::vector<double>(y.data(), y.data() + y.size())};
    };
    const bool eager = entry("wengert", [=] {
        const T a(x);
        return Case{[=] { static_cast<void>(a * a); }, [=] { return results(a * a); }};
    });
    const bool frozen = entry("wengert-tile", [=] {
        const T a(x);
        const auto f = wengert::freeze([](const T& t) { return t * t; });
        for (int call = 0; call < 70; ++call) static_cast<void>(f(a));  // traced and checked
        return Case{[=] { static_cast<void>(f(a)); }, [=] { return results(f(a)); }};
    });
    const bool filled = entry("wengert-into", [=] {
        const T a(x);
        const auto f = wengert::freeze([](const T& t) { return t * t; });
        const auto out = std::make_shared<T>(wengert::zeros<double>({n}));
        const auto fill = f.into(*out);
        for (int call = 0; call < 70; ++call) fill(a);
        return Case{[=] { fill(a); }, [=] { return fill(a), results(*out); }};
    });
    const bool floor = entry("floor", [=] {
        const auto a = std::make_shared<std::vector<double>>(x), y = std::make_shared<std::vector<double>>(n);
        const auto run = [a, y] {
            for (std::size_t i = 0; i < a->size(); ++i) (*y)[i] = (*a)[i] * (*a)[i];
            asm volatile("" : : "g"(y->data()) : "memory");
        };
        return Case{run, [=] { return run(), Results{*y}; }};
    });
    return eager && frozen && filled && floor;
}

const bool added = add_all(1) && add_all(8) && add_all(64);

}  // namespace
}  // namespace bench

#include "frozen_common.hpp"
#include "problems.hpp"

namespace bench {
namespace {

using F = wengert::Tensor<float>;

/// x y + z, rounded once.
struct MultiplyAdd {
    static constexpr std::string_view name = "multiply_add";
    template <class V> static V value(const V& x, const V& y, const V& z)
    {
        using std::fma;
        return fma(x, y, z);
    }
};

std::pair<F, F> outputs(const F& a, const F& b, const F& c, const F& d)
{
    return Cheap::outputs(a, b, c, d, [](const F& x, const F& y, const F& z) {
        return wengert::apply_elementwise<MultiplyAdd, float>({__builtin_FILE(), __builtin_LINE()}, x, y, z);
    });
}

std::tuple<F, F, F, F> inputs(std::size_t n)
{
    const Cheap p(n);
    return {F({n}, p.a), F({n}, p.b), F({n}, p.c), F({n}, p.d)};
}

Results results(const std::pair<F, F>& y) { return {doubles(y.first), doubles(y.second)}; }

bool add_all(std::size_t n)
{
    const auto eager = [n] {
        const auto x = std::make_shared<std::tuple<F, F, F, F>>(inputs(n));
        return Case{[x] { std::apply(outputs, *x); }, [x] { return results(std::apply(outputs, *x)); }};
    };
    const Entry e{"cheap", "f32/" + std::to_string(n), "wengert", eager, 0};
    add(e);
    return add_frozen(e, [n](const wengert::FreezeOptions& options) {
        const auto f = [](const F& a, const F& b, const F& c, const F& d) { return outputs(a, b, c, d); };
        return frozen_case(wengert::freeze(f, options), inputs(n), results);
    });
}

const bool added = add_all(1000) && add_all(8000) && add_all(100000) && add_all(1000000) && add_all(10000000);

}  // namespace
}  // namespace bench

#include <wengert/fft.hpp>
#include <wengert/transforms/grad.hpp>

#include <memory>

#include "problems.hpp"
#include "wengert_common.hpp"

namespace bench {
namespace {

using C = std::complex<double>;
using Z = wengert::Tensor<C>;

/// The transform, or with it the pullback of a cotangent.
template <bool gradient> Results transformed(const Z& x, const Z& cotangent, bool wanted)
{
    const auto parts = [&](const Z& z) { return wanted ? doubles(z.parts()) : std::vector<double>(); };
    if constexpr (!gradient) {
        return {parts(wengert::fft::fft(x))};
    } else {
        const auto [y, pullback] = wengert::vjp([](const Z& z) { return wengert::fft::fft(z); }, x);
        const Z g = pullback(cotangent);
        return {parts(y), parts(g)};
    }
}

template <bool gradient> bool add_fft(const char* variant)
{
    const auto make = [] {
        const Fourier p;
        const auto tensor = [](const std::vector<double>& parts) {
            return Z::from_parts(wengert::Tensor<double>({Fourier::points, 2}, parts));
        };
        const auto x = std::make_shared<Z>(tensor(p.x)), g = std::make_shared<Z>(tensor(p.cotangent));
        return Case{[=] { transformed<gradient>(*x, *g, false); },
                    [=] { return transformed<gradient>(*x, *g, true); }};
    };
    return add({"fft", variant, "wengert", make, 1e-12});
}
const bool added = add_fft<false>("value") && add_fft<true>("grad");

}  // namespace
}  // namespace bench

#include <wengert/kernels/fourier/fourier.hpp>

#include <memory>

#include "problems.hpp"

namespace bench {
namespace {

/// The library's own calls into arrays that stay: one, or one in each direction.
template <bool gradient> class FftFloor {
public:
    void run()
    {
        transform(true, p_.x, y_);
        if (gradient) transform(false, p_.cotangent, g_);
    }
    Results results()
    {
        run();
        return gradient ? Results{y_, g_} : Results{y_};
    }

private:
    static void transform(bool forward, const std::vector<double>& from, std::vector<double>& to)
    {
        wengert::kernels::fourier::complex_to_complex<double>({Fourier::points}, {0}, forward, 1.0,
                                                              from.data(), to.data());
    }
    Fourier p_;
    std::vector<double> y_ = std::vector<double>(2 * Fourier::points), g_ = y_;
};

template <bool gradient> bool add_floor(const char* variant)
{
    const auto make = [] {
        auto floor = std::make_shared<FftFloor<gradient>>();
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return add({"fft", variant, "floor", make, 1e-12});
}
const bool added = add_floor<false>("value") && add_floor<true>("grad");

}  // namespace
}  // namespace bench

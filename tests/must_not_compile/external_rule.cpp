// error: wengert: a rule of external takes spans of x, y, a cotangent or tangent, and of what it adds to; before them what forward returns
#include <wengert/scalar.hpp>

#include <vector>

using Numbers = std::span<const double>;

int main()
{
    const std::vector<wengert::Real<double>> x{1.0, 2.0};
    std::vector<wengert::Real<double>> y(1);
    const auto forward = [](Numbers in, std::span<double> out) {
        out[0] = in[0] * in[1];
        return in[0];  // kept for the rule, which does not take it
    };
#ifdef OK
    const auto reverse = [](double first, Numbers, Numbers, Numbers g, std::span<double> to) {
        to[1] += first * g[0];
    };
#else
    const auto reverse = [](Numbers in, Numbers, Numbers g, std::span<double> to) { to[1] += in[0] * g[0]; };
#endif
    wengert::external(x, y, forward, reverse);
}

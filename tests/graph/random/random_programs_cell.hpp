/// Functions of one cell's numbers as data: every function that a kernel has, branches, a loop.
#pragma once

#include <wengert/scalar.hpp>

#include <array>
#include <cmath>

namespace random_programs {

/// Three functions, one of the other; a number each chooses it. The same code for double, Real and a kernel's numbers.
struct Cell {
    std::array<unsigned, 3> code{};

    static constexpr unsigned unaries = 36, binaries = 16;

    template <class N, class M> N operator()(const N& x, const M& y) const
    {
        const N first = code[0] % 3 == 2 ? binary<N>(code[0] / 3, x, N(y)) : unary<N>(code[0] / 3, x);
        const N second = code[1] % 4 == 0   ? first
                         : code[1] % 4 == 1 ? binary<N>(code[1] / 4, first, N(y))
                         : code[1] % 4 == 2 ? unary<N>(code[1] / 4, N(y)) + first
                                            : unary<N>(code[1] / 4, first);
        return code[2] % 3 ? second : branched<N>(second, N(y));
    }
    /// Does it give a number the sign of y?
    bool copies_sign() const
    {
        return (code[0] % 3 == 2 && code[0] / 3 % binaries == sign_of) ||
               (code[1] % 4 == 1 && code[1] / 4 % binaries == sign_of);
    }
    bool is_single() const { return code[1] % 4 == 0 && code[2] % 3; }

private:
    static constexpr unsigned sign_of = 8;

    template <class N> N branched(const N& x, const N& y) const
    {
        using std::isfinite, std::isnan;
        N z = x;
        switch (code[2] / 3 % 7) {
        case 0: return x < y ? x * y : x - y;
        case 1:
            for (int k = 0; k < 3 && z > N(1); ++k) z = z * N(0.5);
            return z;
        case 2: return x == y || x != x ? y : x > N(0) ? N(2.0) * x : x;
        case 3: return x < N(0) ? x + N(1) : x + N(1);  // both the same
        case 4: return isnan(x) ? y : x * y;
        case 5: return isfinite(x) ? x : N(1) - y;
        default: return x < y ? y : y;
        }
    }
    template <class N> static N unary(unsigned k, const N& x)
    {
        using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atanh, std::cbrt,
            std::ceil, std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::floor,
            std::lgamma, std::log, std::log10, std::log1p, std::log2, std::nearbyint, std::round, std::sin,
            std::sinh, std::sqrt, std::tan, std::tanh, std::tgamma, std::trunc;
        using wengert::erfinv, wengert::log_sigmoid;
        switch (k % unaries) {
        case 0: return sqrt(x);
        case 1: return cbrt(x);
        case 2: return exp(x);
        case 3: return exp2(x);
        case 4: return expm1(x);
        case 5: return log(x);
        case 6: return log2(x);
        case 7: return log10(x);
        case 8: return log1p(x);
        case 9: return sin(x);
        case 10: return cos(x);
        case 11: return tan(x);
        case 12: return asin(x);
        case 13: return acos(x);
        case 14: return atan(x);
        case 15: return sinh(x);
        case 16: return cosh(x);
        case 17: return tanh(x);
        case 18: return asinh(x);
        case 19: return acosh(x);
        case 20: return atanh(x);
        case 21: return erf(x);
        case 22: return erfc(x);
        case 23: return floor(x);
        case 24: return ceil(x);
        case 25: return trunc(x);
        case 26: return nearbyint(x);
        case 27: return round(x);
        case 28: return abs(x);
        case 29: return x * x;
        case 30: return tgamma(x);
        case 31: return lgamma(x);
        case 32: return -x;
        case 33: return erfinv(x);
        case 34: return log_sigmoid(x);
        default: return N(1) / x;
        }
    }
    template <class N> static N binary(unsigned k, const N& x, const N& y)
    {
        using std::atan2, std::copysign, std::fdim, std::fmax, std::fmin, std::fmod, std::hypot, std::pow,
            std::remainder;
        using wengert::logaddexp, wengert::xlogy;
        switch (k % binaries) {
        case 0: return pow(x, y);
        case 1: return atan2(x, y);
        case 2: return hypot(x, y);
        case 3: return fmod(x, y);
        case 4: return remainder(x, y);
        case 5: return fmax(x, y);
        case 6: return fmin(x, y);
        case 7: return fdim(x, y);
        case sign_of: return copysign(x, y);
        case 9: return x + y;
        case 10: return x - y;
        case 11: return x * y;
        case 12: return x / y;
        case 13: return logaddexp(x, y);
        case 14: return xlogy(x, y);
        default: return x * y + x;
        }
    }
};

}  // namespace random_programs

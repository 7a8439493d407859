// The derivatives of scalar operations, each written once. On doubles they are the sweep, on reals the recorded sweep, and with a
// tangent in place of the cotangent forward mode: x̄ = g ∂y/∂x and ẏ = ẋ ∂y/∂x are the same product.
#pragma once

#include "bits.hpp"
#include "special.hpp"

namespace wengert::detail {

/// Of one operand that is recorded, from g, its value x and the result's y (functions: they are looked at where needed).
template <class N, class X, class Y>
__attribute__((always_inline)) inline N unary_rule(ScalarOp op, const N& g, const X& x, const Y& y)
{
    using std::cos, std::sin, std::exp, std::sqrt, std::cosh, std::sinh, std::hypot;
    using std::numbers::ln2, std::numbers::ln10, std::numbers::inv_sqrtpi;
    switch (op) {
    case ScalarOp::negative: return -g;
    case ScalarOp::sqrt: return g * (0.5 / y());  // the division need not wait for g
    case ScalarOp::cbrt: return g / (3.0 * y() * y());
    case ScalarOp::exp: return g * y();
    case ScalarOp::exp2: return g * y() * ln2;
    case ScalarOp::expm1: return g * exp(x());
    case ScalarOp::log: return g / x();
    case ScalarOp::log2: return g / (x() * ln2);
    case ScalarOp::log10: return g / (x() * ln10);
    case ScalarOp::log1p: return g / (x() + 1.0);
    case ScalarOp::sin: return g * cos(x());
    case ScalarOp::cos: return -g * sin(x());
    case ScalarOp::tan: return g * (1.0 + y() * y());
    case ScalarOp::asin: return g / sqrt((1.0 - x()) * (1.0 + x()));
    case ScalarOp::acos: return -g / sqrt((1.0 - x()) * (1.0 + x()));
    case ScalarOp::atan: return g / (1.0 + x() * x());
    case ScalarOp::sinh: return g * cosh(x());
    case ScalarOp::cosh: return g * sinh(x());
    case ScalarOp::tanh: return g * (1.0 - y() * y());
    case ScalarOp::asinh: return g / hypot(x(), N(1.0));
    case ScalarOp::acosh: return g / (sqrt(x() - 1.0) * sqrt(x() + 1.0));
    case ScalarOp::atanh: return g / ((1.0 - x()) * (1.0 + x()));
    case ScalarOp::erf: return g * (2.0 * inv_sqrtpi) * exp(-(x() * x()));
    case ScalarOp::erfc: return g * (-2.0 * inv_sqrtpi) * exp(-(x() * x()));
    case ScalarOp::copy: return g;
    default: return op < ScalarOp::floor ? special_rule(op, g, x(), y()) : N(0.0);
    }
}

/// d pow(x, z) / dx = z x^(z − 1), without 0 · ∞ at x = 0.
template <class N> N pow_by_base(const N& g, const N& x, const N& z)
{
    using std::pow;
    return z == N(0.0) ? N(0.0) : g * z * pow(x, z - 1.0);
}
/// d pow(x, z) / dz = y log x, 0 at x = 0 for z ≥ 0.
template <class N> N pow_by_exponent(const N& g, const N& x, const N& z, const N& y)
{
    using std::log;
    return x == N(0.0) && z >= N(0.0) ? N(0.0) : g * (y * log(x));
}
/// g p/r² of r² = x² + z², which may overflow or vanish; 0 at the origin.
template <class N> N turned(const N& g, const N& p, const N& x, const N& z)
{
    using std::hypot;
    const N r = hypot(x, z);
    return r == N(0.0) ? N(0.0) : g * (p / r / r);
}

/// Of the first operand of pow, atan2, hypot, fmod, and special functions of two.
template <class N> N first_rule(ScalarOp op, const N& g, const N& x, const N& z, const N& y)
{
    switch (op) {
    case ScalarOp::pow: return pow_by_base(g, x, z);
    case ScalarOp::atan2: return turned(g, z, x, z);
    case ScalarOp::hypot: return y == N(0.0) ? N(0.0) : g * (x / y);
    case ScalarOp::fmod:
    case ScalarOp::remainder: return g;
    default: return special_first_rule(op, g, x, z, y);
    }
}
template <class N> N second_rule(ScalarOp op, const N& g, const N& x, const N& z, const N& y)
{
    using std::nearbyint;
    switch (op) {
    case ScalarOp::pow: return pow_by_exponent(g, x, z, y);
    case ScalarOp::atan2: return turned(N(-g), x, x, z);
    case ScalarOp::hypot: return y == N(0.0) ? N(0.0) : g * (z / y);
    case ScalarOp::fmod:
    case ScalarOp::remainder: return -g * nearbyint((x - y) / z);  // a whole number
    default: return special_second_rule(op, g, x, z, y);
    }
}

/// What functions of two operands send back.
template <class N, class Value, class Add>
__attribute__((always_inline)) inline void pull_pair(const ScalarEntry& e, std::uint32_t i, const N& g,
                                                     const Value& value, Add&& add)
{
    const bool both = e.form() == ScalarForm::both, left = e.form() == ScalarForm::left_constant;
    const N x = left ? N(e.c) : N(value(e.a())), y = value(i);
    const N z = both ? N(value(e.b)) : left ? N(value(e.a())) : N(e.c);
    if (!left) add(e.a(), first_rule(e.op(), g, x, z, y));
    if (left || both) add(both ? e.b : e.a(), second_rule(e.op(), g, x, z, y));
}

/// What an operation of + − × ÷ √ sends back; what an input has stays with it. `result()` is the value of the operation.
/// `guarded`: a cotangent of 0 is passed over where the derivative may be infinite. Sums take it along, which costs less than
/// the question: an adjoint begins as +0, is never −0 therefore, and keeps its bits.
template <bool guarded, class N, class Result, class Value, class Add, class Stay>
__attribute__((always_inline)) inline void pull_arithmetic(const ScalarEntry& e, const N& g,
                                                           const Result& result, const Value& value,
                                                           Add&& add, Stay&& stay)
{
    using enum ScalarForm;
    constexpr auto code = ScalarEntry::code_of;
    const auto passed_over = [&]() __attribute__((always_inline)) { return guarded && g == N(0.0); };
    switch (e.code()) {
    case code(ScalarOp::input, unary): return stay(g);
    case code(ScalarOp::add, both): add(e.a(), g); return add(e.b, g);
    case code(ScalarOp::add, right_constant):
    case code(ScalarOp::add, left_constant):
    case code(ScalarOp::subtract, right_constant):
    case code(ScalarOp::copy, unary): return add(e.a(), g);
    case code(ScalarOp::subtract, both): add(e.a(), g); return add(e.b, -g);
    case code(ScalarOp::subtract, left_constant):
    case code(ScalarOp::negative, unary): return add(e.a(), -g);
    case code(ScalarOp::multiply, both):
        if (passed_over()) return;
        add(e.a(), g * value(e.b));
        return add(e.b, g * value(e.a()));
    case code(ScalarOp::multiply, right_constant):
    case code(ScalarOp::multiply, left_constant): return passed_over() ? void() : add(e.a(), g * e.c);
    case code(ScalarOp::divide, right_constant): return passed_over() ? void() : add(e.a(), g / e.c);
    case code(ScalarOp::divide, left_constant):
        return passed_over() ? void() : add(e.a(), -g * (result() / value(e.a())));
    case code(ScalarOp::divide, both): {
        if (passed_over()) return;
        const N q = g / value(e.b);
        add(e.a(), q);
        return add(e.b, -q * result());
    }
    case code(ScalarOp::sqrt, unary):
        return passed_over() ? void() : add(e.a(), unary_rule(ScalarOp::sqrt, g, result, result));
    default: __builtin_unreachable();
    }
}

/// Hands what an operation sends back to its operands to `add(place, amount)`. `value(place)` is a value of the stream.
template <class N, class Value, class Add>
__attribute__((always_inline)) inline void pull(const ScalarEntry& e, std::uint32_t i, const N& g,
                                                const Value& value, Add&& add)
{
    const auto result = [&] { return N(value(i)); };
    if (e.op() <= ScalarOp::sqrt) return pull_arithmetic<false>(e, g, result, value, add, [](const N&) {});
    if (e.form() != ScalarForm::unary) return pull_pair(e, i, g, value, add);
    add(e.a(), unary_rule(
                   e.op(), g, [&] { return N(value(e.a())); }, result));
}

}  // namespace wengert::detail

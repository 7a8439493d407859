// The derivatives of scalar operations: those of tensors (functions/rules/) where these have the function. On doubles they are the
// sweep, on reals the recorded sweep, and with a tangent in place of the cotangent forward mode: x̄ = g ∂y/∂x and ẏ = ẋ ∂y/∂x are the
// same product.
#pragma once

#include <array>

#include "bits.hpp"
#include "../stream/entry.hpp"
#include "special.hpp"

namespace wengert::detail {

/// The pull of rule P, from g, and of x and y what it reads (functions: they are looked at where needed). A flat one has none.
template <class P, class N, class X, class Y>
__attribute__((always_inline)) inline N unary_pull(P, const N& g, const X& x, const Y& y)
{
    if constexpr (!requires(Uses u) { P::pull(wrt<0>{}, u, u, u); }) {
        return N(0.0);
    } else {
        constexpr unsigned reads = uses_of<P, 0, 1>().bits;
        if constexpr ((reads & 0b11) == 0b11)
            return P::pull(wrt<0>{}, g, N(x()), N(y()));
        else if constexpr ((reads & 0b10) != 0)
            return P::pull(wrt<0>{}, g, g, N(y()));
        else
            return P::pull(wrt<0>{}, g, N(x()), g);
    }
}

/// Of one operand that is recorded.
template <class N, class X, class Y>
__attribute__((always_inline)) inline N unary_rule(ScalarOp op, const N& g, const X& x, const Y& y)
{
    return visit_function(
        op, [&](auto rule) __attribute__((always_inline)) { return unary_pull(rule, g, x, y); },
        [&]() __attribute__((always_inline)) {
            if (op == ScalarOp::negative) return N(-g);
            if (op == ScalarOp::copy) return N(g);
            return op < ScalarOp::whole ? special_rule(op, g, N(x())) : N(0.0);
        });
}

/// Of the first operand of a function of two.
template <class N>
__attribute__((always_inline)) inline N first_rule(ScalarOp op, const N& g, const N& x, const N& z,
                                                   const N& y)
{
    return visit_pair(
        op, [&]<class P>(P) __attribute__((always_inline)) { return P::pull(wrt<0>{}, g, x, z, y); },
        [&]() __attribute__((always_inline)) { return special_first_rule(op, g, x, z, y); });
}
template <class N>
__attribute__((always_inline)) inline N second_rule(ScalarOp op, const N& g, const N& x, const N& z,
                                                    const N& y)
{
    return visit_pair(
        op, [&]<class P>(P) __attribute__((always_inline)) { return P::pull(wrt<1>{}, g, x, z, y); },
        [&]() __attribute__((always_inline)) { return special_second_rule(op, g, x, z, y); });
}

/// What a function sends back to its operands.
template <class N, class Value, class Add>
__attribute__((always_inline)) inline void pull_function(const ScalarEntry& e, std::uint32_t i, const N& g,
                                                         const Value& value, Add&& add)
{
    using enum ScalarForm;
    const bool two = e.form() == both, left = e.form() == left_constant;
    if (e.form() == unary)
        return add(e.a(), unary_rule(
                              e.op(), g, [&] { return N(value(e.a())); }, [&] { return N(value(i)); }));
    const N x = left ? N(e.c) : N(value(e.a())), y = value(i);
    const N z = two ? N(value(e.b)) : left ? N(value(e.a())) : N(e.c);
    if (!left) add(e.a(), first_rule(e.op(), g, x, z, y));
    if (left || two) add(two ? e.b : e.a(), second_rule(e.op(), g, x, z, y));
}
/// The same, to a and b. Once for each type of number: it is long, and the call is little where it serves.
template <class N>
[[gnu::noinline]] std::array<N, 2> pulled(const ScalarEntry& e, std::uint32_t i, const N& g, const N& a,
                                          const N& b, const N& result)
{
    std::array<N, 2> sent{};
    std::size_t count = 0;
    pull_function(
        e, i, g, [&](std::uint32_t k) -> const N& { return k == i       ? result
                                                           : k == e.a() ? a
                                                                        : b; },
        [&](std::uint32_t, const N& r) { sent[count++] = r; });
    return sent;
}

/// What an operation of + − × ÷ √ makes of `first()` along its first operand, and of `second()` along its second one. In a sweep
/// both are its cotangent (one function, given twice), in forward mode the tangents of the operands. What an input has stays with it.
/// `result()` is the value of the operation. `guarded`: a 0 is passed over where the derivative may be infinite. Sums take it along,
/// which costs less than the question: an adjoint begins as +0, is never −0 therefore, and keeps its bits.
template <bool guarded, class N, class First, class Second, class Result, class Value, class Add, class Stay>
__attribute__((always_inline)) inline void pull_arithmetic(const ScalarEntry& e, const First& first,
                                                           const Second& second, const Result& result,
                                                           const Value& value, Add&& add, Stay&& stay)
{
    using enum ScalarForm;
    constexpr auto code = ScalarEntry::code_of;
    constexpr bool one = std::is_same_v<First, Second>;
    const auto passed_over = [](const N& g) __attribute__((always_inline)) { return guarded && g == N(0.0); };
    switch (e.code()) {
    case code(ScalarOp::input, unary): return stay(first());
    case code(ScalarOp::add, both): add(e.a(), first()); return add(e.b, second());
    case code(ScalarOp::add, right_constant):
    case code(ScalarOp::add, left_constant):
    case code(ScalarOp::subtract, right_constant):
    case code(ScalarOp::copy, unary): return add(e.a(), first());
    case code(ScalarOp::subtract, both): add(e.a(), first()); return add(e.b, -second());
    case code(ScalarOp::subtract, left_constant):
    case code(ScalarOp::negative, unary): return add(e.a(), -first());
    case code(ScalarOp::multiply, both):
        if (one && passed_over(first())) return;
        if (one || !passed_over(first())) add(e.a(), first() * value(e.b));
        if (one || !passed_over(second())) add(e.b, second() * value(e.a()));
        return;
    case code(ScalarOp::multiply, right_constant):
    case code(ScalarOp::multiply, left_constant):
        return passed_over(first()) ? void() : add(e.a(), first() * e.c);
    case code(ScalarOp::divide, right_constant):
        return passed_over(first()) ? void() : add(e.a(), first() / e.c);
    case code(ScalarOp::divide, left_constant):
        return passed_over(first()) ? void() : add(e.a(), -first() * (result() / value(e.a())));
    case code(ScalarOp::divide, both): {
        if (one && passed_over(first())) return;
        const N q = first() / value(e.b);
        if (one || !passed_over(first())) add(e.a(), q);
        if (one)
            add(e.b, -q * result());
        else if (!passed_over(second()))
            add(e.b, -(second() / value(e.b)) * result());
        return;
    }
    case code(ScalarOp::sqrt, unary):
        return passed_over(first()) ? void() : add(e.a(), unary_pull(Sqrt(), first(), result, result));
    default: __builtin_unreachable();
    }
}

/// Hands what an operation sends back to its operands to `add(position, amount)`. `value(position)` is a value of the stream.
/// Functions are in line, or with `apart` by a call of `pulled`.
template <bool apart = false, class N, class Value, class Add>
__attribute__((always_inline)) inline void pull(const ScalarEntry& e, std::uint32_t i, const N& g,
                                                const Value& value, Add&& add)
{
    const auto result = [&] { return N(value(i)); };
    const auto cotangent = [&]() __attribute__((always_inline))->const N& { return g; };
    if (!e.is_function())
        return pull_arithmetic<false, N>(e, cotangent, cotangent, result, value, add, [](const N&) {});
    if (e.op() >= ScalarOp::whole) return;  // flat
    if constexpr (apart || is_real<N>) {
        const bool two = e.form() == ScalarForm::both;
        const N a(value(e.a()));
        const std::array<N, 2> sent = pulled(e, i, g, a, two ? N(value(e.b)) : a, result());
        add(e.a(), sent[0]);
        if (two) add(e.b, sent[1]);
    } else {
        pull_function(e, i, g, value, add);
    }
}

}  // namespace wengert::detail

// Term: a number that remembers how it was computed. A rule evaluated on it writes a small program in single static
// assignment, from which texts are printed and code is made (functions/rules/term_text.hpp, graph/text/).
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "../base/dtype.hpp"
#include "../base/literal.hpp"
#include "../base/site.hpp"
#include "list.hpp"

namespace wengert {

enum class TermKind : std::uint8_t {
    input,           ///< the number `a` of those that the program is given
    constant,        ///< `value`, of the type of its partner
    zero_cotangent,  ///< what a cotangent is compared with by the zero-cotangent rule: 0, or NaN where that is off
    cast,            ///< of `a` to `type`
    negative,
    logical_not,
    sqrt,
    square,
    abs,
    sign,
    floor,
    ceil,
    round_even,
    is_finite,
    is_nan,
    functions,  ///< those with an approximation, in the order of their list (list.hpp): first those of one number
    functions_of_two = functions + detail::length_of(detail::ApproximatedOfOne()),
    add = functions_of_two + detail::length_of(detail::ApproximatedOfTwo()),
    subtract,
    multiply,
    divide,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    logical_and,
    logical_or,
    maximum,
    minimum,
    copysign,
    where,
    fma,
    // of the functions of numbers alone (functions/)
    bits,         ///< of `a`, as a whole number of its width
    from_bits,    ///< the number with the bits `a`
    shift_left,   ///< `a` by `value` bits
    shift_right,  ///< the same, zeros come in
    bit_and,
    bit_or,
    at_most,      ///< of a and a bound: b < a ? b : a, so that NaN stays
    at_least,     ///< a < b ? b : a
    times_pow2,   ///< a 2ᵇ for whole b, rounded once
    two_over_pi,  ///< digit `a` of 2/π
    seldom  ///< function `value`, a TermKind, of the large argument c (of b and c) where a says so, b elsewhere
};

/// The kind of a function that has an approximation.
template <class F>
inline constexpr TermKind kind_of = static_cast<TermKind>(
    static_cast<std::size_t>(TermKind::functions) + detail::position_in<F>(detail::ApproximatedFunctions()));
/// Is it the kind of a function, and of one of two numbers?
constexpr bool is_function(TermKind k) { return k >= TermKind::functions && k < TermKind::add; }
constexpr bool is_function_of_two(TermKind k) { return k >= TermKind::functions_of_two && k < TermKind::add; }

/// One step of a program: the operands are numbers of earlier steps.
struct TermStep {
    TermKind kind;
    DType type;
    std::int32_t a, b, c;
    double value;
};

struct TermProgram {
    std::vector<TermStep> steps;
    bool scales = false;  ///< may have times_pow2
    /// The one that terms of this thread are written to.
    static TermProgram*& current() noexcept { return current_; }

private:
    static inline constinit thread_local TermProgram* current_ __attribute__((visibility("default"))) =
        nullptr;
};

/// While it lives, terms of this thread are steps of `program`.
class TermScope {
public:
    explicit TermScope(TermProgram& program) noexcept : outer_(TermProgram::current())
    {
        TermProgram::current() = &program;
    }
    ~TermScope() { TermProgram::current() = outer_; }
    TermScope(const TermScope&) = delete;
    TermScope& operator=(const TermScope&) = delete;

private:
    TermProgram* outer_;
};

namespace detail {

/// Not inlined: rules and functions of numbers consist of calls of it.
[[gnu::noinline]] inline std::int32_t append_term(TermKind kind, std::int32_t a, std::int32_t b,
                                                  std::int32_t c, double value = 0,
                                                  DType type = dtype_of<double>())
{
    auto& steps = TermProgram::current()->steps;
    steps.push_back({kind, type, a, b, c, value});
    return static_cast<std::int32_t>(steps.size() - 1);
}
// The usual steps by functions of few arguments: a call takes a third of the code, and programs have thousands.
[[gnu::noinline]] inline std::int32_t append_number(double value)
{
    return append_term(TermKind::constant, -1, -1, -1, value);
}
[[gnu::noinline]] inline std::int32_t append_operation(TermKind kind, std::int32_t a)
{
    return append_term(kind, a, -1, -1);
}
[[gnu::noinline]] inline std::int32_t append_operation(TermKind kind, std::int32_t a, std::int32_t b)
{
    return append_term(kind, a, b, -1);
}
[[gnu::noinline]] inline std::int32_t append_operation(TermKind kind, std::int32_t a, std::int32_t b,
                                                       std::int32_t c)
{
    return append_term(kind, a, b, c);
}

}  // namespace detail

/// The number of a step. All functions are found by their argument only, so that they are in nobody else's way.
struct Term {
    std::int32_t id;

    Term() = default;
    Term(Literal x) : id(detail::append_number(x.value)) {}
    template <class N>
        requires std::is_arithmetic_v<N>
    Term(N x) : Term(lit(x))
    {}
    Term(TermKind kind, Term x) : id(detail::append_operation(kind, x.id)) {}
    Term(TermKind kind, Term x, Term y) : id(detail::append_operation(kind, x.id, y.id)) {}
    Term(TermKind kind, Term x, Term y, Term z) : id(detail::append_operation(kind, x.id, y.id, z.id)) {}

    static Term at(std::int32_t step)
    {
        Term t;
        t.id = step;
        return t;
    }
    static Term input(std::int32_t i) { return at(detail::append_operation(TermKind::input, i)); }
    static Term zero_cotangent() { return at(detail::append_operation(TermKind::zero_cotangent, -1)); }
    Term cast(DType type) const { return at(detail::append_term(TermKind::cast, id, -1, -1, 0, type)); }

    // clang-format off
    friend Term operator+(Term x) { return x; }
    friend Term operator-(Term x) { return {TermKind::negative, x}; }
    friend Term operator!(Term x) { return {TermKind::logical_not, x}; }
    friend Term operator+(Term x, Term y) { return {TermKind::add, x, y}; }
    friend Term operator-(Term x, Term y) { return {TermKind::subtract, x, y}; }
    friend Term operator*(Term x, Term y) { return {TermKind::multiply, x, y}; }
    friend Term operator/(Term x, Term y) { return {TermKind::divide, x, y}; }
    friend Term operator<(Term x, Term y) { return {TermKind::less, x, y}; }
    friend Term operator<=(Term x, Term y) { return {TermKind::less_equal, x, y}; }
    friend Term operator>(Term x, Term y) { return {TermKind::greater, x, y}; }
    friend Term operator>=(Term x, Term y) { return {TermKind::greater_equal, x, y}; }
    friend Term operator==(Term x, Term y) { return {TermKind::equal, x, y}; }
    friend Term operator!=(Term x, Term y) { return {TermKind::not_equal, x, y}; }
    friend Term operator&&(Term x, Term y) { return {TermKind::logical_and, x, y}; }
    friend Term operator||(Term x, Term y) { return {TermKind::logical_or, x, y}; }
    friend Term operator&(Term x, Term y) { return {TermKind::logical_and, x, y}; }
    friend Term operator|(Term x, Term y) { return {TermKind::logical_or, x, y}; }
    friend Term where(Term c, Term x, Term y) { return {TermKind::where, c, x, y}; }
    friend Term fma(Term x, Term y, Term z) { return {TermKind::fma, x, y, z}; }
    friend Term sqrt(Term x) { return {TermKind::sqrt, x}; }
    friend Term square(Term x) { return {TermKind::square, x}; }
    friend Term abs(Term x) { return {TermKind::abs, x}; }
    friend Term sign(Term x) { return {TermKind::sign, x}; }
    friend Term floor(Term x) { return {TermKind::floor, x}; }
    friend Term ceil(Term x) { return {TermKind::ceil, x}; }
    friend Term round_even(Term x) { return {TermKind::round_even, x}; }
    friend Term is_finite(Term x) { return {TermKind::is_finite, x}; }
    friend Term is_nan(Term x) { return {TermKind::is_nan, x}; }
    friend Term maximum(Term x, Term y) { return {TermKind::maximum, x, y}; }
    friend Term minimum(Term x, Term y) { return {TermKind::minimum, x, y}; }
    friend Term copysign(Term x, Term y) { return {TermKind::copysign, x, y}; }
    friend Term round(Term x) { return {TermKind::round_even, x}; }
    friend Term nearbyint(Term x) { return {TermKind::round_even, x}; }
    // clang-format on
    /// A function of numbers (calls.hpp): a step where it has an approximation, otherwise what it is composed of.
    template <class F> static constexpr int calls = 1;
    template <class F> static Term call(Term x, const Site&)
    {
        if constexpr (detail::is_in<F, detail::ApproximatedOfOne>)
            return {kind_of<F>, x};
        else
            return F::value(x);
    }
    template <class F> static Term call(Term x, Term y, const Site&)
    {
        if constexpr (detail::is_in<F, detail::ApproximatedOfTwo>)
            return {kind_of<F>, x, y};
        else
            return F::value(x, y);
    }
    Term& operator+=(Term x) { return *this = *this + x; }
    Term& operator-=(Term x) { return *this = *this - x; }
    Term& operator*=(Term x) { return *this = *this * x; }
    Term& operator/=(Term x) { return *this = *this / x; }
};

/// where(g == zero_cotangent && !is_finite(r), 0, r), the zero-cotangent rule, which executors have as one operation.
struct ZeroRuleStep {
    std::int32_t g = -1, r = -1;
    explicit operator bool() const noexcept { return r >= 0; }
};
/// A step as that rule, or nothing.
inline ZeroRuleStep zero_rule_step(const std::vector<TermStep>& steps, const TermStep& s)
{
    const auto step = [&](std::int32_t k) -> const TermStep& { return steps[static_cast<std::size_t>(k)]; };
    if (s.kind != TermKind::where || step(s.a).kind != TermKind::logical_and) return {};
    const TermStep &zero_g = step(step(s.a).a), &broken = step(step(s.a).b), &zero = step(s.b);
    const bool is = zero_g.kind == TermKind::equal && broken.kind == TermKind::logical_not &&
                    zero.kind == TermKind::constant && zero.value == 0 &&
                    step(zero_g.b).kind == TermKind::zero_cotangent &&
                    step(broken.a).kind == TermKind::is_finite && step(broken.a).a == s.c;
    return is ? ZeroRuleStep{zero_g.a, s.c} : ZeroRuleStep{};
}
/// The steps that step `root` is made from, it included; of the zero-cotangent rule its two operands.
inline std::vector<bool> needed_steps(const std::vector<TermStep>& steps, std::int32_t root)
{
    std::vector<bool> needed(steps.size(), false);
    needed[static_cast<std::size_t>(root)] = true;
    for (std::int32_t i = root; i >= 0; --i) {
        const TermStep& s = steps[static_cast<std::size_t>(i)];
        if (!needed[static_cast<std::size_t>(i)] || s.kind == TermKind::input) continue;
        const ZeroRuleStep rule = zero_rule_step(steps, s);
        for (const std::int32_t k : {rule ? rule.g : s.a, rule ? rule.r : s.b, rule ? rule.r : s.c})
            if (k >= 0) needed[static_cast<std::size_t>(k)] = true;
    }
    return needed;
}

/// A rule written out. The last step is an input that says which step is the result.
template <class F> std::vector<TermStep> written_rule(std::size_t arity, const F& rule)
{
    TermProgram program;
    const TermScope scope(program);
    std::vector<Term> in;
    for (std::size_t i = 0; i < arity; ++i) in.push_back(Term::input(static_cast<std::int32_t>(i)));
    const Term out = rule(in.data());
    program.steps.push_back({TermKind::input, dtype_of<double>(), out.id, -1, -1, 0});
    return std::move(program.steps);
}

/// The same program: what a cast starts from is not looked at.
inline bool same_rule(const std::vector<TermStep>& a, const std::vector<TermStep>& b)
{
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const TermStep &x = a[i], &y = b[i];
        if (x.kind != y.kind || x.a != y.a || x.b != y.b || x.c != y.c || x.value != y.value) return false;
        if (x.kind != TermKind::cast && x.type != y.type) return false;
    }
    return true;
}

}  // namespace wengert

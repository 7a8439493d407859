// The value type on which a function of numbers writes itself down: a number that is a step of a program (base/term.hpp).
#pragma once

#include "../base/term.hpp"
#include "circular.hpp"
#include "error_function.hpp"
#include "gamma.hpp"
#include "remainders.hpp"
#include "roots.hpp"

namespace wengert::detail::functions {

/// `Fused`: what is written has fma in one rounding; the same for all that one build writes and runs.
template <class T, bool Fused> struct WrittenMask {
    Term term;
    WrittenMask() = default;
    WrittenMask(Term t) : term(t) {}
    friend WrittenMask operator&(WrittenMask a, WrittenMask b) { return a.term && b.term; }
    friend WrittenMask operator|(WrittenMask a, WrittenMask b) { return a.term || b.term; }
    friend WrittenMask operator!(WrittenMask a) { return !a.term; }
    /// Branches that lanes skip where all elements agree are always written.
    friend bool all(WrittenMask) { return false; }
};

template <class T, bool Fused> struct WrittenInteger {
    using Int = typename Format<T>::Int;
    Term term;
    WrittenInteger(Term t) : term(t) {}
    explicit WrittenInteger(Int value) : term(lit(value)) {}
    friend WrittenInteger operator+(WrittenInteger a, WrittenInteger b) { return a.term + b.term; }
    friend WrittenInteger operator&(WrittenInteger a, WrittenInteger b)
    {
        return Term(TermKind::bit_and, a.term, b.term);
    }
    friend WrittenInteger operator|(WrittenInteger a, WrittenInteger b)
    {
        return Term(TermKind::bit_or, a.term, b.term);
    }
    friend WrittenInteger shift_left(WrittenInteger a, int n) { return a.shifted(TermKind::shift_left, n); }
    friend WrittenInteger shift_right(WrittenInteger a, int n) { return a.shifted(TermKind::shift_right, n); }

private:
    WrittenInteger shifted(TermKind kind, int n) const
    {
        return Term::at(wengert::detail::append_term(kind, term.id, -1, -1, n));
    }
};

template <class T, bool Fused> struct Written {
    using value_type = T;
    using Mask = WrittenMask<T, Fused>;
    using Integer = WrittenInteger<T, Fused>;
    static constexpr bool fused = Fused, may_scale = true;
    static bool scales() { return TermProgram::current()->scales; }

    Term term;

    Written() = default;
    Written(Term t) : term(t) {}
    Written(T value) : term(lit(value)) {}
    Written(Literal value) : term(lit(static_cast<T>(value.value))) {}

    // clang-format off
    friend Written operator-(Written x) { return -x.term; }
    friend Written operator+(Written x, Written y) { return x.term + y.term; }
    friend Written operator-(Written x, Written y) { return x.term - y.term; }
    friend Written operator*(Written x, Written y) { return x.term * y.term; }
    friend Written operator/(Written x, Written y) { return x.term / y.term; }
    friend Mask operator<(Written x, Written y) { return x.term < y.term; }
    friend Mask operator>(Written x, Written y) { return x.term > y.term; }
    friend Mask operator>=(Written x, Written y) { return x.term >= y.term; }
    friend Mask operator==(Written x, Written y) { return x.term == y.term; }
    friend Mask operator!=(Written x, Written y) { return x.term != y.term; }
    friend Written where(Mask m, Written x, Written y) { return where(m.term, x.term, y.term); }
    friend Written fma(Written x, Written y, Written z) { return fma(x.term, y.term, z.term); }
    friend Written sqrt(Written x) { return sqrt(x.term); }
    friend Written abs(Written x) { return abs(x.term); }
    friend Written round_even(Written x) { return round_even(x.term); }
    friend Written copysign(Written x, Written y) { return copysign(x.term, y.term); }
    friend Written at_most(Written x, Written y) { return Term(TermKind::at_most, x.term, y.term); }
    friend Written at_least(Written x, Written y) { return Term(TermKind::at_least, x.term, y.term); }
    friend Written times_pow2(Written x, Written n) { return Term(TermKind::times_pow2, x.term, n.term); }
    friend Written two_over_pi(Written i) { return Term(TermKind::two_over_pi, i.term); }
    // clang-format on
    Integer bits() const { return Term(TermKind::bits, term); }
    static Written from_bits(Integer b) { return Term(TermKind::from_bits, b.term); }

    template <class Function> friend Written seldom(Mask m, Written y, Far<Function>, Written x)
    {
        return Term::at(wengert::detail::append_term(TermKind::seldom, m.term.id, y.term.id, x.term.id,
                                                     static_cast<double>(far_kind<Function>())));
    }
    template <class Function> friend Written seldom_of_two(Mask m, Written x, Far<Function> f, Written y)
    {
        return seldom(m, x, f, y);
    }

private:
    template <class Function> static constexpr TermKind far_kind()
    {
        return std::is_same_v<Function, Sin>    ? TermKind::sin
               : std::is_same_v<Function, Cos>  ? TermKind::cos
               : std::is_same_v<Function, Tan>  ? TermKind::tan
               : std::is_same_v<Function, Fmod> ? TermKind::fmod
                                                : TermKind::remainder;
    }
};

/// How the function of one number of this kind computes y; false where it has no program.
template <class V> inline bool write_one(TermKind kind, V x, V& y)
{
    switch (kind) {
    case TermKind::exp: y = functions::exp(x); break;
    case TermKind::expm1: y = functions::expm1(x); break;
    case TermKind::log: y = functions::log(x); break;
    case TermKind::log1p: y = functions::log1p(x); break;
    case TermKind::log2: y = functions::log2(x); break;
    case TermKind::log10: y = functions::log10(x); break;
    case TermKind::sin: y = functions::sin(x); break;
    case TermKind::cos: y = functions::cos(x); break;
    case TermKind::tan: y = functions::tan(x); break;
    case TermKind::asin: y = functions::asin(x); break;
    case TermKind::acos: y = functions::acos(x); break;
    case TermKind::atan: y = functions::atan(x); break;
    case TermKind::sinh: y = functions::sinh(x); break;
    case TermKind::cosh: y = functions::cosh(x); break;
    case TermKind::tanh: y = functions::tanh(x); break;
    case TermKind::erf: y = functions::erf(x); break;
    case TermKind::erfc: y = functions::erfc(x); break;
    case TermKind::exp2: y = functions::exp2(x); break;
    case TermKind::cbrt: y = functions::cbrt(x); break;
    case TermKind::asinh: y = functions::asinh(x); break;
    case TermKind::acosh: y = functions::acosh(x); break;
    case TermKind::atanh: y = functions::atanh(x); break;
    case TermKind::tgamma: y = functions::tgamma(x); break;
    case TermKind::lgamma: y = functions::lgamma(x); break;
    case TermKind::digamma: y = functions::digamma(x); break;
    case TermKind::sigmoid: y = functions::sigmoid(x); break;
    case TermKind::normal_cdf: y = functions::normal_cdf(x); break;
    default: return false;
    }
    return true;
}
/// Of large arguments.
template <class V> inline V write_far(TermKind kind, V x)
{
    return kind == TermKind::sin   ? Far<Sin>::of(x)
           : kind == TermKind::cos ? Far<Cos>::of(x)
                                   : Far<Tan>::of(x);
}
template <class V> inline V write_two(TermKind kind, V x, V y)
{
    return kind == TermKind::pow         ? functions::pow(x, y)
           : kind == TermKind::hypot     ? functions::hypot(x, y)
           : kind == TermKind::fmod      ? functions::fmod(x, y)
           : kind == TermKind::remainder ? functions::remainder(x, y)
                                         : functions::atan2(x, y);
}

/// Which program of a function is meant: `scales` with times_pow2, `far` that of large arguments.
struct Version {
    bool scales = false, far = false;
};

constexpr bool of_two(TermKind k) { return k >= TermKind::pow && k <= TermKind::remainder; }
constexpr bool of_angle(TermKind k) { return k == TermKind::sin || k == TermKind::cos || k == TermKind::tan; }
constexpr bool of_remainder(TermKind k) { return k == TermKind::fmod || k == TermKind::remainder; }
/// Has it a program of its own for large arguments?
constexpr bool has_far(TermKind k) { return of_angle(k) || of_remainder(k); }
/// Is it written by a function here?
constexpr bool has_program(TermKind k)
{
    return (k >= TermKind::exp && k <= TermKind::digamma) || k == TermKind::sigmoid ||
           k == TermKind::normal_cdf || of_two(k);
}

/// The program of a function; its result is step `root`.
template <class T, bool Fused> inline TermProgram written(TermKind kind, Version version, std::int32_t& root)
{
    using V = Written<T, Fused>;
    TermProgram program;
    program.scales = version.scales;
    const TermScope scope(program);
    const V x(Term::input(0));
    V y(x);
    if (version.far && of_remainder(kind))
        y = Modulo::far(x, V(Term::input(1)));
    else if (version.far)
        y = write_far(kind, x);
    else if (of_two(kind))
        y = write_two(kind, x, V(Term::input(1)));
    else
        write_one(kind, x, y);
    root = y.term.id;
    return program;
}

}  // namespace wengert::detail::functions

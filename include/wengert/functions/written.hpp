// The value type on which a function of numbers writes itself down: a number that is a step of a program (term.hpp).
#pragma once

#include "circular.hpp"
#include "error_function.hpp"
#include "gamma.hpp"
#include "remainders.hpp"
#include "roots.hpp"
#include "term.hpp"

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

    /// Within another function its steps are written out, too.
    template <class F> static constexpr int calls = is_in<F, ApproximatedFunctions>;
    template <class F> static Written call(Written x, const Site&) { return Approximation<F>::of(x); }
    template <class F> static Written call(Written x, Written y, const Site&)
    {
        return Approximation<F>::of(x, y);
    }

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

    template <class F> friend Written seldom(Mask m, Written y, Far<F>, Written x)
    {
        return Term::at(wengert::detail::append_term(TermKind::seldom, m.term.id, y.term.id, x.term.id,
                                                     static_cast<double>(kind_of<F>)));
    }
    template <class F> friend Written seldom_of_two(Mask m, Written x, Far<F> f, Written y)
    {
        return seldom(m, x, f, y);
    }
};

/// Which program of a function is meant: `scales` with times_pow2, `far` that of large arguments.
struct Version {
    bool scales = false, far = false;
};

/// Has a function a program of its own for large arguments?
template <class F> constexpr bool has_far_program()
{
    using V = Written<double, true>;
    return requires(V x) { Approximation<F>::far(x); } || requires(V x) { Approximation<F>::far(x, x); };
}
constexpr bool has_far(TermKind kind)
{
    return []<class... F>(TermKind k, List<F...>) {
        return ((k == kind_of<F> && has_far_program<F>()) || ...);
    }(kind, ApproximatedFunctions());
}

/// The program of a function; its result is step `root`.
template <class T, bool Fused> inline TermProgram written(TermKind kind, Version version, std::int32_t& root)
{
    using V = Written<T, Fused>;
    TermProgram program;
    program.scales = version.scales;
    const TermScope scope(program);
    const V x(Term::input(0)), z = is_function_of_two(kind) ? V(Term::input(1)) : x;
    V y(x);
    const auto write = [&]<class F>() {
        const auto of = [&](auto... in) {
            if constexpr (has_far_program<F>())
                return version.far ? Approximation<F>::far(in...) : Approximation<F>::of(in...);
            else
                return Approximation<F>::of(in...);
        };
        if (kind != kind_of<F>) return;
        if constexpr (is_in<F, ApproximatedOfTwo>)
            y = of(x, z);
        else
            y = of(x);
    };
    [&]<class... F>(List<F...>) { (write.template operator()<F>(), ...); }(ApproximatedFunctions());
    root = y.term.id;
    return program;
}

}  // namespace wengert::detail::functions

// Tangents<T, N>: a number with its derivatives in N directions, carried along. No tape: for functions of few inputs.
#pragma once

#include <array>

#include "rules.hpp"

namespace wengert {

namespace detail {

template <class T> bool is_finite_number(const T& x)
{
    if constexpr (std::is_floating_point_v<T>)
        return std::isfinite(x);
    else
        return is_finite_number(x.plain());
}

}  // namespace detail

/// A number and its tangents in N directions, usable wherever a template over the number type is. T is float, double, or a number
/// that records itself: Tangents<Real<double>, N> gives derivatives of tangents. Nothing is recorded, so it costs N + 1
/// operations each and no memory, on any thread.
template <class T, std::size_t N> class Tangents {
public:
    /// Functions of numbers (functions/calls.hpp); the bodies are in functions.hpp.
    template <class F> static constexpr int calls = detail::is_recorded<F> ? 1 : 0;
    template <class F> static Tangents call(const Tangents& x, const Site&) { return detail::called<F>(x); }
    template <class F> static Tangents call(const Tangents& a, const Tangents& b, const Site&)
    {
        return detail::called<F>(a, b);
    }

    using plain_type = T;

    constexpr Tangents() = default;
    template <class S>
        requires std::is_arithmetic_v<S> || std::is_same_v<S, T>
    constexpr Tangents(const S& s) : value_(static_cast<T>(s))
    {}
    constexpr Tangents(Literal s) : value_(static_cast<T>(s.value)) {}
    /// The variable of direction k.
    static constexpr Tangents variable(const T& value, std::size_t k)
    {
        Tangents x(value);
        x.dots_[k] = T(1);
        return x;
    }
    constexpr const T& value(const Site& = {}) const noexcept { return value_; }
    constexpr const T& tangent(std::size_t k) const noexcept { return dots_[k]; }
    constexpr T& tangent(std::size_t k) noexcept { return dots_[k]; }
    constexpr const std::array<T, N>& tangents() const noexcept { return dots_; }
    template <class S>
        requires std::is_arithmetic_v<S>
    explicit operator S() const
    {
        return static_cast<S>(value_);
    }
    Tangents detach() const { return Tangents(value_); }

    friend Tangents operator+(const Tangents& a, const Tangents& b)
    {
        Tangents y = a;
        return y += b;
    }
    friend Tangents operator-(const Tangents& a, const Tangents& b)
    {
        Tangents y = a;
        return y -= b;
    }
    friend Tangents operator*(const Tangents& a, const Tangents& b) { return product(a, b); }
    friend Tangents operator/(const Tangents& a, const Tangents& b) { return quotient(a, b); }
    friend Tangents operator-(const Tangents& a)
    {
        Tangents y(-a.value_);
        for (std::size_t k = 0; k < N; ++k) y.dots_[k] = -a.dots_[k];
        return y;
    }
    friend Tangents operator+(const Tangents& a) { return a; }
    Tangents& operator+=(const Tangents& b)
    {
        value_ += b.value_;
        for (std::size_t k = 0; k < N; ++k) dots_[k] += b.dots_[k];
        return *this;
    }
    Tangents& operator-=(const Tangents& b)
    {
        value_ -= b.value_;
        for (std::size_t k = 0; k < N; ++k) dots_[k] -= b.dots_[k];
        return *this;
    }
    Tangents& operator*=(const Tangents& b) { return *this = *this * b; }
    Tangents& operator/=(const Tangents& b) { return *this = *this / b; }
    Tangents& operator++() { return *this += Tangents(1); }
    Tangents& operator--() { return *this -= Tangents(1); }

    // Of the values.
    friend bool operator<(const Tangents& a, const Tangents& b) { return a.value_ < b.value_; }
    friend bool operator>(const Tangents& a, const Tangents& b) { return a.value_ > b.value_; }
    friend bool operator<=(const Tangents& a, const Tangents& b) { return a.value_ <= b.value_; }
    friend bool operator>=(const Tangents& a, const Tangents& b) { return a.value_ >= b.value_; }
    friend bool operator==(const Tangents& a, const Tangents& b) { return a.value_ == b.value_; }
    friend bool operator!=(const Tangents& a, const Tangents& b) { return a.value_ != b.value_; }

    // For the library.
    constexpr const T& plain() const noexcept { return value_; }
    static constexpr bool is_active() noexcept { return true; }
    /// Adds factor times x's tangents. One that is 0 makes no NaN of an infinite derivative.
    void add(const Tangents& x, const T& factor) { add_in_line(x, factor); }
    [[gnu::always_inline]] void add_in_line(const Tangents& x, const T& factor)
    {
        if (detail::is_finite_number(factor)) [[likely]]
            for (std::size_t k = 0; k < N; ++k) dots_[k] += factor * x.dots_[k];
        else
            add_infinite(x, factor);
    }

    // In line wherever they are called, which is longer than a call: for a loop of few operations (adjoint_pairs.hpp).
    [[gnu::always_inline]] static Tangents product(const Tangents& a, const Tangents& b)
    {
        Tangents y(a.value_ * b.value_);
        y.add_in_line(a, b.value_);
        y.add_in_line(b, a.value_);
        return y;
    }
    [[gnu::always_inline]] static Tangents quotient(const Tangents& a, const Tangents& b)
    {
        Tangents y(a.value_ / b.value_);
        y.add_in_line(a, T(1) / b.value_);
        y.add_in_line(b, -y.value_ / b.value_);
        return y;
    }

private:
    /// Apart, so that what is in line is short.
    [[gnu::noinline, gnu::cold]] void add_infinite(const Tangents& x, const T& factor)
    {
        for (std::size_t k = 0; k < N; ++k)
            if (x.dots_[k] != T(0)) dots_[k] += factor * x.dots_[k];
    }

    T value_ = T(0);
    std::array<T, N> dots_{};
};

template <class T, std::size_t N> inline constexpr bool is_real_number<Tangents<T, N>> = true;

namespace detail {

template <class T, std::size_t N> inline constexpr bool is_active_number<Tangents<T, N>> = true;

/// By the rules of the sweep: ẏ = ẋ ∂y/∂x.
template <class T, std::size_t N> struct Computed<Tangents<T, N>> {
    using X = Tangents<T, N>;
    using Wide =
        std::conditional_t<std::is_same_v<T, float>, double, T>;  // the rules have constants in double

    static X unary(ScalarOp op, const X& x, const T& y)
    {
        X out(y);
        out.add(x, static_cast<T>(unary_rule(
                       op, Wide(1), [&] { return Wide(x.plain()); }, [&] { return Wide(y); })));
        return out;
    }
    static X binary(ScalarOp op, const X& a, const X& b, const T& y)
    {
        X out(y);
        if (op == ScalarOp::add) {  // rounded in another way
            out.add(a, T(1));
            out.add(b, T(1));
        } else {
            const Wide x(a.plain()), z(b.plain()), w(y);
            out.add(a, static_cast<T>(first_rule(op, Wide(1), x, z, w)));
            out.add(b, static_cast<T>(second_rule(op, Wide(1), x, z, w)));
        }
        return out;
    }
    static X flat(ScalarOp, const X&, const T& y) { return X(y); }
};

template <class N> void provide_slopes_of()
{
    auto& mine = provided_slopes[slopes_number<N>];
    mine[0].store(reinterpret_cast<void (*)()>(SlopeOfOrder<N>(slope_of_order<N>)),
                  std::memory_order_relaxed);
    mine[1].store(reinterpret_cast<void (*)()>(EllipticSlopes<N>(ellint_slopes<N>)),
                  std::memory_order_relaxed);
}
/// A template, so that programs that call special functions compile their rules, and nobody else does.
template <class> void provide_special_slopes()
{
    provide_slopes_of<double>();
    provide_slopes_of<Real<double>>();
    provide_slopes_of<Tangents<double, 1>>();
}
}  // namespace detail
}  // namespace wengert

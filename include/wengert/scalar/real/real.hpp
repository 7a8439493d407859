// Real<T>: a number that records what is done with it, for code that was written for double. Start here, then stream.hpp.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../../base/literal.hpp"
#include "../../base/parts.hpp"
#include "../stream/stream.hpp"

#ifdef WENGERT_WARN_CASTS
#define WENGERT_CAST [[deprecated("a cast ends the derivative: write value() where that is meant")]]
#else
#define WENGERT_CAST
#endif

namespace wengert {

template <std::floating_point T> class Real;

namespace detail {

template <class F, class X> X called(const X& x);
template <class F, class X> X called(const X& x, const X& z);

template <class T>
[[gnu::always_inline]] inline Real<T> recorded(ScalarOp op, const Real<T>& a, const Real<T>& b, T y)
{
    return Real<T>(y, ScalarStream::note(op, a.handle(), static_cast<double>(a.plain()), b.handle(),
                                         static_cast<double>(b.plain()), static_cast<double>(y)));
}
template <class T> [[gnu::always_inline]] inline Real<T> recorded(ScalarOp op, const Real<T>& a, T y)
{
    return Real<T>(
        y, ScalarStream::note(op, a.handle(), static_cast<double>(a.plain()), static_cast<double>(y)));
}

void note_value_read(ScalarHandle m, const Site& at);
template <class T, class X>
Real<T> only_element(const X& x, const Site& at);  // scalar/transforms/exchange.hpp
bool decide(ScalarGuard::Kind kind, ScalarHandle a, double x, ScalarHandle b, double z, bool outcome);
template <class T> Real<T> detached(const Real<T>& x);
ScalarHandle converted(ScalarHandle from, double x, double y);

}  // namespace detail

/// A number, active (recorded on the thread's tape) or passive (a constant, which costs nothing there) by value. Usable where
/// a template over the number type is. Copies are copies of bytes; zeros are a passive 0. Comparisons give bool.
template <std::floating_point T> class Real {
public:
    /// Functions of numbers (functions/calls.hpp); the bodies are in functions.hpp.
    template <class F> static constexpr int calls = detail::is_recorded<F> ? 1 : 0;
    template <class F> static Real call(const Real& x, const Site&) { return detail::called<F>(x); }
    template <class F> static Real call(const Real& a, const Real& b, const Site&)
    {
        return detail::called<F>(a, b);
    }

    using plain_type = T;  ///< no value_type: other libraries take what has one for a container

    constexpr Real() noexcept = default;
    template <class S>
        requires std::is_arithmetic_v<S>
    constexpr Real(S s) noexcept : value_(static_cast<T>(s))
    {}
    constexpr Real(Literal s) noexcept : value_(static_cast<T>(s.value)) {}
    /// Another precision: recorded.
    template <std::floating_point S>
        requires(!std::is_same_v<S, T>)
    explicit(sizeof(S) > sizeof(T)) Real(const Real<S>& x) : value_(static_cast<T>(x.plain()))
    {
        if (x.is_active())
            handle_ =
                detail::converted(x.handle(), static_cast<double>(x.plain()), static_cast<double>(value_));
    }
    /// The only element of a tensor, as real() gives it: R(x(i, j)). Throws ShapeError where there is not exactly one.
    template <class X>
        requires requires(const X& x) { x.any().value; }
    explicit Real(const X& x, Site at = {__builtin_FILE(), __builtin_LINE()})
        : Real(detail::only_element<T>(x, at))
    {}
    constexpr Real(T value, ScalarHandle handle) noexcept : value_(value), handle_(handle) {}

    /// The number alone: its derivative ends here.
    T value(Site at = {__builtin_FILE(), __builtin_LINE()}) const
    {
        if (handle_.word) [[unlikely]]
            detail::note_value_read(handle_, at);
        return value_;
    }
    explicit operator bool() const { return *this != Real(); }
    /// The same as value(). With WENGERT_WARN_CASTS compilers tell the line of each cast.
    template <class S>
        requires(std::is_arithmetic_v<S> && !std::is_same_v<S, bool>)
    WENGERT_CAST explicit operator S() const
    {
        return static_cast<S>(value(Site{}));
    }
    /// Whether it is recorded: does a variable reach it?
    bool is_active() const noexcept { return handle_.word != 0; }
    /// The same number as a constant.
    Real detach() const { return handle_.word == 0 ? Real(value_) : detail::detached(*this); }

    /// Makes this number a variable of backward(), or a constant again (scalar/transforms/variables.hpp).
    Real& requires_grad(bool on = true, Site at = {__builtin_FILE(), __builtin_LINE()});
    /// The gradient that backward() has added up. Throws TapeError if this is no variable.
    T grad(Site at = {__builtin_FILE(), __builtin_LINE()}) const;
    void zero_grad(Site at = {__builtin_FILE(), __builtin_LINE()});
    /// Another value for a variable, which it stays: what an optimizer does. Throws TapeError for what was computed from one.
    Real& set_value(T value, Site at = {__builtin_FILE(), __builtin_LINE()});

    [[gnu::always_inline]] friend Real operator+(const Real& a, const Real& b)
    {
        const T y = a.value_ + b.value_;
        return passive(a, b) ? Real(y) : detail::recorded(ScalarOp::add, a, b, y);
    }
    [[gnu::always_inline]] friend Real operator-(const Real& a, const Real& b)
    {
        const T y = a.value_ - b.value_;
        return passive(a, b) ? Real(y) : detail::recorded(ScalarOp::subtract, a, b, y);
    }
    [[gnu::always_inline]] friend Real operator*(const Real& a, const Real& b)
    {
        const T y = a.value_ * b.value_;
        return passive(a, b) ? Real(y) : detail::recorded(ScalarOp::multiply, a, b, y);
    }
    [[gnu::always_inline]] friend Real operator/(const Real& a, const Real& b)
    {
        const T y = a.value_ / b.value_;
        return passive(a, b) ? Real(y) : detail::recorded(ScalarOp::divide, a, b, y);
    }
    [[gnu::always_inline]] friend Real operator-(const Real& a)
    {
        return a.handle_.word == 0 ? Real(-a.value_) : detail::recorded(ScalarOp::negative, a, -a.value_);
    }
    friend Real operator+(const Real& a) noexcept { return a; }
    [[gnu::always_inline]] Real& operator+=(const Real& b) { return *this = *this + b; }
    [[gnu::always_inline]] Real& operator-=(const Real& b) { return *this = *this - b; }
    [[gnu::always_inline]] Real& operator*=(const Real& b) { return *this = *this * b; }
    [[gnu::always_inline]] Real& operator/=(const Real& b) { return *this = *this / b; }
    Real& operator++() { return *this += Real(1); }
    Real& operator--() { return *this -= Real(1); }
    Real operator++(int)
    {
        const Real before = *this;
        ++*this;
        return before;
    }
    Real operator--(int)
    {
        const Real before = *this;
        --*this;
        return before;
    }

    // Comparisons of the values. A kernel's recording notes which way they went.
    using Guard = ScalarGuard::Kind;
    friend bool operator<(const Real& a, const Real& b)
    {
        return decided(Guard::less, a, b, a.value_ < b.value_);
    }
    friend bool operator>(const Real& a, const Real& b)
    {
        return decided(Guard::less, b, a, b.value_ < a.value_);
    }
    friend bool operator<=(const Real& a, const Real& b)
    {
        return decided(Guard::less_equal, a, b, a.value_ <= b.value_);
    }
    friend bool operator>=(const Real& a, const Real& b)
    {
        return decided(Guard::less_equal, b, a, b.value_ <= a.value_);
    }
    friend bool operator==(const Real& a, const Real& b)
    {
        return decided(Guard::equal, a, b, a.value_ == b.value_);
    }
    friend bool operator!=(const Real& a, const Real& b)
    {
        return !decided(Guard::equal, a, b, a.value_ == b.value_);
    }

    // For the library.
    constexpr T plain() const noexcept { return value_; }
    constexpr ScalarHandle handle() const noexcept { return handle_; }
    static constexpr bool passive(const Real& a, const Real& b) noexcept
    {
        return (a.handle_.word | b.handle_.word) == 0;
    }

private:
    static bool decided(Guard kind, const Real& a, const Real& b, bool outcome)
    {
        if (passive(a, b)) [[likely]]
            return outcome;
        return detail::decide(kind, a.handle_, static_cast<double>(a.value_), b.handle_,
                              static_cast<double>(b.value_), outcome);
    }

    T value_ = 0;
    ScalarHandle handle_;
};

namespace tree {
template <class T> inline constexpr bool is_leaf<Real<T>> = true;
template <class T> inline constexpr bool is_number<Real<T>> = true;
}  // namespace tree

/// Whether X serves as a floating-point number in code that is written for either: float, double, Real.
template <class X> inline constexpr bool is_real_number = std::is_floating_point_v<X>;
template <class T> inline constexpr bool is_real_number<Real<T>> = true;

namespace detail {

template <class X> inline constexpr bool is_real = false;
template <class T> inline constexpr bool is_real<Real<T>> = true;

template <class Leaf> struct PrecisionOf : std::type_identity<typename Leaf::value_type> {};
template <class T> struct PrecisionOf<Real<T>> : std::type_identity<T> {};
/// Of what numbers a leaf is, a tensor or a Real.
template <class Leaf> using precision_of = typename PrecisionOf<Leaf>::type;

/// Numbers that know their derivative: Real, and Tangents (scalar/real/directions.hpp).
template <class X> inline constexpr bool is_active_number = is_real<X>;
template <class X>
concept ActiveNumber = is_active_number<X>;
/// The limits of the plain number underneath.
template <class X> struct limits_of : limits_of<typename X::plain_type> {};
template <std::floating_point T> struct limits_of<T> : std::numeric_limits<T> {};

/// The list into which a ValueReads in scope writes lines (scalar/real/cuts.hpp). Null if there is no such scope.
inline std::vector<Site>*& value_reads() noexcept
{
    static constinit thread_local std::vector<Site>* list = nullptr;
    return list;
}

/// Inside a kernel's recording a number cannot leave: it would be one cell's.
inline void note_value_read(ScalarHandle m, const Site& at)
{
    ScalarStream* s = ScalarStream::current();
    if (!s || this_thread->tape != &s->tape()) return;
    if (std::vector<Site>* list = value_reads(); list && s->records(m)) [[unlikely]]
        list->push_back(at.line && !is_own_file(at.file) ? at : line_of_user());
    if (s->cell_tensors)
        fail<TapeError>(s->cell_tensors->who,
                        "value() takes out a number that differs from cell to cell, or from call to call: "
                        "compute with it, compare it, or give it out",
                        at.line ? at : line_of_user());
    if (const ScalarSpan* from = s->find(m)) s->tape().note_number_read(*from->node, at);
}

inline bool in_kernel() noexcept
{
    const ScalarStream* s = ScalarStream::current();
    return s && s->guards;
}
/// A number in another precision. A kernel's arrays have one.
inline ScalarHandle converted(ScalarHandle from, double x, double y)
{
    if (in_kernel())
        fail<TapeError>(ScalarStream::current()->cell_tensors->who,
                        "a cell's numbers have one precision, that of the tensors: no Real<float> "
                        "becomes a Real<double>, or the other way round",
                        line_of_user());
    return ScalarStream::note(ScalarOp::copy, from, x, y);
}
/// A constant; in a kernel that of each cell.
template <class T> Real<T> detached(const Real<T>& x)
{
    return in_kernel() ? recorded(ScalarOp::detach, x, x.plain()) : Real<T>(x.plain());
}

inline bool decide(ScalarGuard::Kind kind, ScalarHandle a, double x, ScalarHandle b, double z, bool outcome)
{
    ScalarStream* s = ScalarStream::current();
    if (!s || !s->guards || this_thread->tape != &s->tape()) return outcome;
    for (const ScalarHandle m : {a, b}) static_cast<void>(s->dependence(m, "comparison"));
    if (s->guards->size() == ScalarGuard::most) refuse_unrolled(ScalarGuard::most);
    if (s->outcomes) [[unlikely]]
        outcome = s->outcomes->decide(outcome);
    s->guards->push_back({kind, outcome, s->size(), a.index(), b.index(), x, z});
    return outcome;
}

}  // namespace detail
}  // namespace wengert

#undef WENGERT_CAST

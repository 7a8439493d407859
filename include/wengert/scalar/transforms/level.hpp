// grad and jvp of functions of reals alone, from the stream to the stream: no tensor stands between. What else such a function does,
// with tensors or in checkpoints, is found by a walk over the tape.
#pragma once

#include "../../transforms/jvp.hpp"
#include "packed.hpp"

namespace wengert {
template <class T, std::size_t N> class Tangents;  // scalar/real/directions.hpp
}

namespace wengert::detail {

class ScalarAdjoints;

/// Are all leaves of an X reals?
template <class X> inline constexpr bool of_reals_alone = tree::contains_number<X> && !has_tensors<X>();

/// A level of the tape whose variables are numbers.
class NumberLevel {
public:
    NumberLevel(bool forward, std::string_view transform, const Site& at);

    /// x's reals behind those in `numbers`.
    template <class X> void take(const X& x)
    {
        tree::for_each(
            [&]<class T>(const Real<T>& r) {
                numbers().push_back({r.handle(), static_cast<double>(r.plain())});
            },
            x);
    }
    /// The reals that have been taken are variables from now on.
    void begin();
    /// These stand for x's reals, in the same order, from then on.
    template <class... X> void stand_for(X&... x)
    {
        std::size_t next = 0;
        (tree::for_each([&]<class T>(Real<T>& r) { r = Real<T>(r.plain(), numbers()[next++].handle); }, x),
         ...);
    }
    /// Variables in place of x's reals.
    template <class X> X variables_of(const X& x)
    {
        X variables = tree::detail::copied(x);
        take(x);
        begin();
        stand_for(variables);
        return variables;
    }
    /// The tangents of the variables.
    template <class X> void set_tangents(const X& dot)
    {
        numbers().clear();
        take(dot);
        set_tangents();
    }
    /// The gradient of y in `numbers`, and y as it is outside of the level.
    template <class T> Real<T> sweep(const Real<T>& y)
    {
        return Real<T>(y.plain(), sweep_from({y.handle(), static_cast<double>(y.plain())}));
    }
    /// Gives these reals the values in `numbers`, one after another.
    template <class X> void give(X& x)
    {
        tree::for_each(
            [&]<class T>(Real<T>& r) {
                const ScalarNumber& n = numbers()[next_++];
                r = Real<T>(static_cast<T>(n.value), n.handle);
            },
            x);
    }
    /// (y, ẏ) as they are outside of the level.
    template <class Y> std::pair<Y, Y> with_tangents(const Y& y)
    {
        numbers().clear();
        take(y);
        end_with_tangents();
        std::pair<Y, Y> out(tree::detail::copied(y), tree::detail::copied(y));
        std::size_t next = 0;
        tree::for_each([&]<class T>(Real<T>& r) { r = Real<T>(r.plain(), numbers()[next++].handle); },
                       out.first);
        next_ = next;
        give(out.second);
        return out;
    }
    /// ∂y/∂x, m × n in row-major order, as it is outside of the level, which ends: columns by tangents where these are fewer, else rows by
    /// cotangents. False where f did more than operations on reals.
    template <class T, class Y> bool jacobian(const Y& y, std::vector<Real<T>>& J)
    {
        numbers().clear();
        take(y);
        if (!end_with_jacobian()) return false;
        J.resize(numbers().size());
        next_ = 0;
        give(J);
        return true;
    }

private:
    static constexpr std::string_view numbers_name =
        "scalar code";  ///< for errors of numbers that are nobody's

    std::vector<ScalarNumber>& numbers() { return stream_.numbers; }
    void set_tangents();
    ScalarHandle sweep_from(const ScalarNumber& y);
    void end_with_tangents();
    bool end_with_jacobian();
    std::vector<ScalarNumber> columns(const std::vector<ScalarPosition>& results);
    std::vector<ScalarNumber> rows(const std::vector<ScalarPosition>& results);
    std::uint64_t mask_of(const ScalarNumber& y) const;
    ScalarPosition position_of(const ScalarNumber& y) const;
    void look_for_lost(const ScalarNumber* y, std::size_t count) const;
    ScalarHandle outside(const ScalarNumber& y, std::uint64_t mask) const;
    bool spans_alone() const;
    static constexpr std::size_t few = 64;
    bool sweep_few(ScalarPosition result);
    template <class Values> void sweep_on_stack(std::size_t size, const Values& value);
    // the gradient by variable k
    void put(std::size_t k, double g);
    void put(std::size_t k, const Real<double>& g);
    void put(std::size_t k, const Tangents<double, 1>& g);
    void sweep_spans(ScalarPosition result);
    void give_tangents();
    void pull(ScalarAdjoints& adjoints, ScalarSpan& s);
    AnyTensor walk(const ScalarNumber& y);

    Tape& tape_;
    ScalarStream& stream_;
    LevelScope scope_;
    std::string_view transform_;
    Site at_;
    ScalarPosition first_ = 0;  ///< of the variables
    std::size_t count_ = 0, next_ = 0;
    std::size_t forward_ = 0;   ///< a level of forward mode below,
    std::vector<double> dots_;  ///< at which these are the tangents of the gradient
};

/// grad and value_and_grad of f by the arguments I.
template <std::size_t... I, class F, class... X>
auto reverse_of_reals(F& f, std::string_view transform, const Site& at, const X&... x)
{
    NumberLevel level(false, transform, at);
    (level.take(std::get<I>(std::tie(x...))), ...);
    std::tuple<X...> arguments(tree::detail::copied(x)...);
    level.begin();
    level.stand_for(std::get<I>(arguments)...);
    const auto y = [&] {
        const Restore<Site> within(enclosing_call, at);
        return Argument<decltype(apply_at(f, at, arguments))>(apply_at(f, at, arguments));
    }();
    auto value = level.sweep(y);
    std::tuple<std::tuple_element_t<I, std::tuple<X...>>...> gradients(
        tree::detail::copied(std::get<I>(std::tie(x...)))...);
    std::apply([&](auto&... g) { (level.give(g), ...); }, gradients);
    return std::pair(std::move(value), std::move(gradients));
}

/// f(x). What is refused in it has the transform's line where its own is not known.
template <class F, class X> auto call_within(F& f, const X& x, const Site& at)
{
    const Restore<Site> within(enclosing_call, at);
    return call_with(f, x, at);
}

/// (f(x), ∂f/∂x · v).
template <class F, class X>
auto forward_of_reals(F& f, const X& x, const X& v, std::string_view who, const Site& at)
{
    NumberLevel level(true, who, at);
    X variables = level.variables_of(x);
    level.set_tangents(v);
    return level.with_tangents(call_within(f, variables, at));
}

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/level.ipp"
#endif

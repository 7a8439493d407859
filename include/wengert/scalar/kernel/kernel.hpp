// kernel(f): a scalar function of one cell, with its branches, as a function over arrays.
#pragma once

#include <tuple>

#include "../../ops/elementwise/cast.hpp"
#include "../../transforms/closure.hpp"
#include "cells.hpp"
#include "../transforms/packed.hpp"

namespace wengert {
namespace detail {

/// A tensor of another type than floating point is numbers that branches ask.
template <class T, class D, class X> Tensor<T> kernel_operand(const X& x, const Site& at)
{
    if constexpr (std::is_arithmetic_v<X>) {
        return Tensor<T>(static_cast<T>(x));
    } else {
        using U = typename X::value_type;
        static_assert(std::is_same_v<U, T> || !std::is_floating_point_v<U>,
                      "wengert: kernel: the tensors have one floating-point type; use cast");
        refuse_mixed_devices<T, D, typename X::device_type>();
        return on<cpu>(cast<T>(x, at));
    }
}

/// The first floating-point tensor among the arguments.
template <class First, class... X> struct kernel_tensor : kernel_tensor<X...> {};
template <class First, class... X>
    requires requires(const First& x) {
        x.any();
        requires std::is_floating_point_v<typename First::value_type>;
    }
struct kernel_tensor<First, X...> {
    using type = Tensor<typename First::value_type, typename First::device_type>;
};

/// May an F go by more than its arguments? A closure of one byte captures nothing, or others that capture nothing.
template <class F> inline constexpr bool captures = sizeof(F) > 1;

template <class X> inline constexpr bool is_floating_tensor = false;
template <class T, class Device>
inline constexpr bool is_floating_tensor<Tensor<T, Device>> = std::is_floating_point_v<T>;

template <class F> class Kernel : public Closure<Kernel<F>> {
public:
    Kernel(F f, const KernelOptions& options, const Site& made)
        : Closure<Kernel>(made), function_(std::move(f)),
          calls_(array_calls<float>(options), array_calls<double>(options))
    {}
    Kernel(const Kernel&) = default;  // a handle on its graphs: one that is moved keeps them
    Kernel(Kernel&& k) : Closure<Kernel>(k), function_(std::move(k.function_)), calls_(k.calls_) {}
    Kernel& operator=(const Kernel&) = default;
    template <class... X> static constexpr bool accepts()
    {
        return (is_floating_tensor<Argument<X>> || ...) &&
               ((is_tensor<Argument<X>> || std::is_arithmetic_v<X>)&&...);
    }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        using First = typename kernel_tensor<Argument<X>...>::type;
        using T = typename First::value_type;
        using Y = decltype(call_cell<F>(nullptr, (static_cast<void>(x), Real<T>())...));
        const CellFunction<T> cell{&function_, captures<F>, &run_once<T, sizeof...(X), F>,
                                   &each_cell<T, sizeof...(X), F>};
        const std::vector<Tensor<T>> in{kernel_operand<T, typename First::device_type>(argument(x), at)...};
        std::vector<Tensor<T>> out = calls<T>().call(cell, in, at);
        if constexpr (is_real<Y>)
            return First(std::move(out[0].any_unchecked()));
        else
            return on<typename First::device_type>(out);
    }
    /// See ArrayCalls::pattern.
    template <class T> auto pattern(std::size_t arguments) const { return calls<T>().pattern(arguments); }
    /// How many paths through the function have been met, and how it runs.
    std::string explain() const
    {
        const std::string text = calls<float>().explain(" (float)") + calls<double>().explain("");
        return text.empty() ? "not called yet\n" : text;
    }

private:
    template <class T> ArrayCalls<T>& calls() const
    {
        return *std::get<std::shared_ptr<ArrayCalls<T>>>(calls_);
    }
    F function_;
    std::tuple<std::shared_ptr<ArrayCalls<float>>, std::shared_ptr<ArrayCalls<double>>> calls_;
};

}  // namespace detail

/// A generic lambda of one cell's numbers, with plain `if`s and loops, as a function over arrays that broadcast: the operations
/// that it does are recorded once for each path through it, and done on all cells, paths joined by selection. Where the program
/// includes graph/freeze/freeze.hpp, or is linked to wengert::compiled, they are a graph that is compiled, as are its derivatives. It gives
/// a tensor for a Real, a std::vector of tensors for a struct of them. What the lambda captures is a constant: a captured Real that is
/// recorded is refused with a TapeError, as its derivative would be lost.
template <class F>
auto kernel(F f, KernelOptions options = {}, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Kernel<F>(std::move(f), options, at);
}

}  // namespace wengert

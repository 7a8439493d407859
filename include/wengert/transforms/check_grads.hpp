// check_grads: the derivatives of any function against differences, by random projections, to any order.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "derivatives.hpp"

namespace wengert {

/// Which derivatives check_grads looks at.
enum class Modes { reverse = 1, forward = 2, both = 3 };

/// How check_grads differentiates by differences, and what it forgives.
struct CheckOptions {
    int order = 1;  ///< derivatives of derivatives, in every mixture of the modes
    Modes modes = Modes::both;
    double eps = 0;        ///< step of the differences; 0: 1e-4 for double, 3e-2 for float
    double tolerance = 0;  ///< relative; 0: 1e-7 for double, 3e-3 for float
    std::uint64_t seed = 1;
};

/// The result of check_grads.
struct CheckReport {
    bool ok = true;
    std::string message;  ///< which order and mode, which argument, which element, both numbers
    std::size_t argument = 0, element = 0;
    double analytic = 0, numeric = 0;
    Modes modes = Modes::both;  ///< those that were there to check
    explicit operator bool() const noexcept { return ok; }
};

namespace detail {

template <class T> using Tensors = std::vector<Tensor<T>>;
template <class T> using TensorFunction = std::function<Tensors<T>(const Tensors<T>&)>;

/// Uniform in (−1, 1), away from 0.
template <class T> Tensors<T> random_like(const Tensors<T>& x, std::uint64_t& state);
/// ⟨a, b⟩ and the sum of its terms' magnitudes.
template <class T> double inner(const Tensors<T>& a, const Tensors<T>& b, double* magnitude = nullptr);
/// The derivative of ⟨f, u⟩ along v by differences.
template <class T>
double difference(const TensorFunction<T>& f, const Tensors<T>& x, const Tensors<T>& v, const Tensors<T>& u,
                  double h, double& size);

/// The checks of a function of tensors of one type: random projections, differences (impl/check_grads.ipp).
template <class T> class Checker {
public:
    Checker(const CheckOptions& o, const Site& at);
    CheckReport check(const TensorFunction<T>& f, const Tensors<T>& x, int order, const std::string& path);

private:
    std::optional<double> forward(const TensorFunction<T>& f, const Tensors<T>& x, const Tensors<T>& v,
                                  const Tensors<T>& u);
    bool uses(Modes m) const { return static_cast<int>(options_.modes) & static_cast<int>(m); }
    CheckReport describe(const std::string& mode, const TensorFunction<T>& f, const Tensors<T>& x,
                         const Tensors<T>& u, double analytic, double numeric, Modes which);

    CheckOptions options_;
    bool single_;
    double h_, tolerance_;
    std::uint64_t state_;
    Site at_;
};

#ifdef WENGERT_COMPILED
extern template Tensors<float> random_like(const Tensors<float>&, std::uint64_t&);
extern template double inner(const Tensors<float>&, const Tensors<float>&, double*);
extern template double difference(const TensorFunction<float>&, const Tensors<float>&, const Tensors<float>&,
                                  const Tensors<float>&, double, double&);
extern template class Checker<float>;
extern template Tensors<double> random_like(const Tensors<double>&, std::uint64_t&);
extern template double inner(const Tensors<double>&, const Tensors<double>&, double*);
extern template double difference(const TensorFunction<double>&, const Tensors<double>&,
                                  const Tensors<double>&, const Tensors<double>&, double, double&);
extern template class Checker<double>;
#endif

/// The first floating-point dtype in a tree decides; all its floating-point tensors are of that one.
template <class T, class X> Tensors<T> flat(const X& x)
{
    Tensors<T> out;
    tree::for_each(
        [&]<class U, class D>(const Tensor<U, D>& t) {
            if constexpr (std::is_same_v<U, T>) out.push_back(on<cpu>(t));
        },
        x);
    return out;
}
template <class T, class X> X unflat(const X& like, const Tensors<T>& tensors)
{
    X out = tree::detail::copied(like);
    std::size_t i = 0;
    tree::for_each(
        [&]<class U, class D>(Tensor<U, D>& t) {
            if constexpr (std::is_same_v<U, T>) t = on<D>(tensors[i++]);
        },
        out);
    return out;
}

template <class X> bool holds_double(const X& x)
{
    bool any = false;
    tree::for_each([&]<class U, class D>(const Tensor<U, D>&) { any = any || std::is_same_v<U, double>; }, x);
    return any;
}

template <class T, class F, class X>
CheckReport check_grads_as(F& f, const X& args, const CheckOptions& options, const Site& at)
{
    const TensorFunction<T> fn = [&](const Tensors<T>& x) {
        return flat<T>(call_with(f, unflat<T>(args, x), at));
    };
    return Checker<T>(options, at).check(fn, flat<T>(args), options.order, "");
}

template <class X> inline constexpr bool is_float_tensor = false;
template <class D> inline constexpr bool is_float_tensor<Tensor<float, D>> = true;

}  // namespace detail

/// Compares the derivatives of f at `args` (a tensor, a struct of tensors, or a tuple of several arguments) with
/// differences, projected on random directions, in both modes and to the given order. Integers in args stay fixed. Where a
/// custom_vjp has no forward mode, reverse mode alone is checked, and the report's `modes` says so.
template <class F, class X>
CheckReport check_grads(F&& f, const X& args, CheckOptions options = {},
                        Site at = {__builtin_FILE(), __builtin_LINE()})
{
    using A = detail::Argument<X>;
    const A& x = detail::argument(args);
    if constexpr (detail::of_numbers<decltype(detail::call_with(f, x, at)), A>)
        return detail::ByTensors<A>::check(f, x, options, at);
    else if constexpr (detail::is_float_tensor<A>)
        return detail::check_grads_as<float>(f, x, options, at);
    else if constexpr (detail::is_tensor<A>)
        return detail::check_grads_as<double>(f, x, options, at);
    else
        return detail::holds_double(x) ? detail::check_grads_as<double>(f, x, options, at)
                                       : detail::check_grads_as<float>(f, x, options, at);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/check_grads.ipp"
#endif

// New tensors by shape and rule, copies, comparison.
#pragma once

#include "../base/located.hpp"
#include "describe/structural.hpp"

namespace wengert {

/// y = x in memory of its own;  x̄ = ȳ
struct Copy {
    static constexpr std::string_view name = "copy";
    static constexpr bool linear = true;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const { return copy_of(*x); }
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.write(i);
        p.read(0, i);
        p.own();
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return g;
    }
};

namespace detail {

/// The tensor of a block that make() gives on the host, where the device's new tensors go.
template <class T, class Device, class Make>
Tensor<T, Device> new_tensor(std::string_view name, const Site& at, const Make& make)
{
    return Tensor<T, Device>(AnyTensor{located(name, at, [&] { return made<Device>(make()); }), {}});
}
/// The same of one that lies where it is to be.
template <class T, class Device, class Make>
Tensor<T, Device> beside(std::string_view name, const Site& at, const Make& make)
{
    return Tensor<T, Device>(AnyTensor{located(name, at, make), {}});
}
template <class T, class Device>
Tensor<T, Device> full_named(std::string_view name, const Shape& shape, T value, const Site& at)
{
    check_shape(name, shape, at);
    return beside<T, Device>(name, at, [&] {
        [[maybe_unused]] const NewOn<Device> there;
        return full_block<T>(shape, value);
    });
}

}  // namespace detail

/// Every element `value`. Throws ShapeError for a negative extent, DTypeError for a number that T does not have, as a fraction.
template <class T, class Device = cpu>
    requires(is_element<T>)
Tensor<T, Device> full(const Shape& shape, std::type_identity_t<detail::GivenNumber<T>> value,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::full_named<T, Device>("full", shape, value.value, at);
}
/// Every element 0.
template <class T, class Device = cpu>
Tensor<T, Device> zeros(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::full_named<T, Device>("zeros", shape, T(0), at);
}
/// Every element 1.
template <class T, class Device = cpu>
Tensor<T, Device> ones(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::full_named<T, Device>("ones", shape, T(1), at);
}

/// Shape and dtype of x; not recorded. Throws DTypeError for a number that T does not have.
template <class T, class Device>
Tensor<T, Device> full_like(const Tensor<T, Device>& x, std::type_identity_t<detail::GivenNumber<T>> value,
                            Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Block& b = *x.any("full_like", at).value;
    return detail::beside<T, Device>("full_like", at,
                                     [&] { return full_beside<T>(b, b.shape, value.value); });
}
/// Zeros of the shape and dtype of x.
template <class T, class Device>
Tensor<T, Device> zeros_like(const Tensor<T, Device>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Block& b = *x.any("zeros_like", at).value;
    return detail::beside<T, Device>("zeros_like", at,
                                     [&] { return zeros_beside(b, dtype_of<T>(), b.shape); });
}
/// Ones of the shape and dtype of x.
template <class T, class Device>
Tensor<T, Device> ones_like(const Tensor<T, Device>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Block& b = *x.any("ones_like", at).value;
    return detail::beside<T, Device>("ones_like", at, [&] { return full_beside<T>(b, b.shape, T(1)); });
}

/// The unit matrix, shape (rows, columns); a square one without `columns`.
template <class T, class Device = cpu>
Tensor<T, Device> eye(std::int64_t rows, std::int64_t columns = -1,
                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (columns == -1) columns = rows;
    const Shape shape{rows, columns};
    check_shape("eye", shape, at);
    return detail::new_tensor<T, Device>("eye", at, [&] {
        auto out = zeros_block(dtype_of<T>(), shape);
        T* x = out->template as<T>();
        for (std::int64_t i = 0; i < std::min(rows, columns); ++i) x[i * columns + i] = T(1);
        return out;
    });
}

namespace detail {

/// start + i step, in one rounding where the target has the instruction for it: not as compilers contract.
template <class T> T stepped(T start, T i, T step)
{
    if constexpr (Lane<T>::fused)
        return std::fma(i, step, start);
    else
        return start + i * step;
}

/// ⌈(stop − start) / step⌉, or 0; for integers exact, whatever their distance. Throws ShapeError.
template <class T> std::int64_t arange_length(T start, T stop, T step, const Site& at)
{
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        if (step != 0) {
            if (step > 0 ? start >= stop : start <= stop) return 0;
            const U way = step > 0 ? U(stop) - U(start) : U(start) - U(stop),
                    stride = step > 0 ? U(step) : U(0) - U(step);
            const U n = way / stride + (way % stride != 0 ? 1 : 0);
            return static_cast<std::int64_t>(std::min<std::uint64_t>(n, max_elements + 1));
        }
    } else {
        const double count =
            std::ceil((static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step));
        if (step != T(0) && std::abs(count) < 0x1p62) return static_cast<std::int64_t>(std::max(count, 0.0));
    }
    fail<ShapeError>("arange",
                     "from " + std::to_string(start) + " to " + std::to_string(stop) + " by " +
                         std::to_string(step) + " has no length",
                     at);
}

}  // namespace detail

/// start, start + step, … up to, but without, stop. Throws ShapeError when the step is 0 or not finite, DTypeError for numbers that
/// T does not have.
template <class T, class Device = cpu>
    requires(!std::is_same_v<T, bool>)
Tensor<T, Device> arange(std::type_identity_t<detail::GivenNumber<T>> start,
                         std::type_identity_t<detail::GivenNumber<T>> stop,
                         std::type_identity_t<detail::GivenNumber<T>> step = T(1),
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const T first = start.value, by = step.value;
    const Shape shape{detail::arange_length<T>(first, stop.value, by, at)};
    check_shape("arange", shape, at);
    return detail::new_tensor<T, Device>("arange", at, [&] {
        auto out = make_block(dtype_of<T>(), shape);
        T* x = out->template as<T>();
        for (std::size_t i = 0; i < out->count; ++i)
            if constexpr (Wrapping<T>)
                x[i] = wrapping_add(first, wrapping_multiply(static_cast<T>(i), by));
            else
                x[i] = detail::stepped(first, static_cast<T>(i), by);
        return out;
    });
}
/// 0, 1, … up to, but without, stop.
template <class T, class Device = cpu>
    requires(!std::is_same_v<T, bool>)
Tensor<T, Device> arange(std::type_identity_t<detail::GivenNumber<T>> stop,
                         Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return arange<T, Device>(T(0), stop, T(1), at);
}

namespace detail {

/// In double, product and sum with a rounding each, as NumPy: the middle of −1 and 1 is 0.
template <class T> Ref<Block> equally_spaced(T first, T last, std::int64_t n)
{
    auto out = make_block(dtype_of<T>(), Shape{n});
    T* x = out->template as<T>();
    const double from = first, step = n > 1 ? (last - from) / static_cast<double>(n - 1) : 0;
    for (std::int64_t i = 0; i < n; ++i)
        x[i] = n > 1 && i == n - 1 ? last : static_cast<T>(from + unfused(static_cast<double>(i) * step));
    return out;
}

}  // namespace detail

/// n numbers from `first` to `last`, both included, at equal distances.
template <Differentiable T, class Device = cpu>
Tensor<T, Device> linspace(std::type_identity_t<T> first, std::type_identity_t<T> last, std::int64_t n,
                           Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_shape("linspace", Shape{n}, at);
    return detail::new_tensor<T, Device>("linspace", at,
                                         [&] { return detail::equally_spaced<T>(first, last, n); });
}
/// base to the power of n numbers from `first` to `last`, both included, at equal distances.
template <Differentiable T, class Device = cpu>
Tensor<T, Device> logspace(std::type_identity_t<T> first, std::type_identity_t<T> last, std::int64_t n,
                           std::type_identity_t<T> base = 10, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_shape("logspace", Shape{n}, at);
    return detail::new_tensor<T, Device>("logspace", at, [&] {
        auto out = detail::equally_spaced<T>(first, last, n);
        T* const x = out->template as<T>();
        for (std::int64_t i = 0; i < n; ++i) x[i] = std::pow(base, x[i]);
        return out;
    });
}

/// x in row-major order in memory of its own, recorded.
template <class T, class D>
Tensor<T, D> copy(const Tensor<T, D>& x, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return apply<Copy, T>(Copy{}, at, x);
}

/// x as a constant: its derivative is 0.
template <class T, class D> Tensor<T, D> stop_gradient(const Tensor<T, D>& x) { return x.detach(); }

/// What allclose forgives.
template <class T> inline constexpr double close_enough = std::is_same_v<T, float> ? 1e-5 : 1e-8;

/// Equal shapes and |a − b| ≤ tolerance (1 + |b|) everywhere; a NaN equals nothing. Throws OptionError for a tolerance that is negative
/// or NaN.
template <class T, class D>
bool allclose(const Tensor<T, D>& a, const std::type_identity_t<Tensor<T, D>>& b,
              double tolerance = close_enough<T>, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (!(tolerance >= 0))
        fail<OptionError>("allclose",
                          "tolerance = " + detail::digits_of(tolerance, 6) + ": 0 or more is expected", at);
    if (!(a.shape("allclose", at) == b.shape("allclose", at))) return false;
    note_read(*a.any().value, Read::elements, {});
    note_read(*b.any().value, Read::elements, {});
    const Ref<Block> x = readable(a.any().value), y = readable(b.any().value);
    for (std::size_t i = 0; i < x->count; ++i) {
        const T p = x->template as<T>()[i], q = y->template as<T>()[i];
        if (p == q) continue;
        const auto u = static_cast<double>(p), v = static_cast<double>(q);
        if (!(std::isfinite(u) && std::isfinite(v) && std::abs(u - v) <= tolerance * (1 + std::abs(v))))
            return false;
    }
    return true;
}

}  // namespace wengert

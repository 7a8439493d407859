// New complex tensors, copies, comparison, printing.
#pragma once

#include "../io/print.hpp"
#include "functions.hpp"

namespace wengert {

template <class C, class Device = cpu>
    requires is_complex<C>
Tensor<C, Device> full(const Shape& shape, std::type_identity_t<C> value,
                       Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_shape("full", shape, at);
    const Tensor<C, Device> one(value);
    return detail::as_complex(copy(broadcast_to(one.parts(), detail::with_parts(shape), at), at));
}
template <class C, class Device = cpu>
    requires is_complex<C>
Tensor<C, Device> zeros(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    check_shape("zeros", shape, at);
    return detail::as_complex(zeros<typename C::value_type, Device>(detail::with_parts(shape), at));
}
template <class C, class Device = cpu>
    requires is_complex<C>
Tensor<C, Device> ones(const Shape& shape, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return full<C, Device>(shape, C(1), at);
}
template <class T, class D>
Tensor<std::complex<T>, D> zeros_like(const Tensor<std::complex<T>, D>& z,
                                      Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(zeros_like(z.parts("zeros_like", at), at));
}
/// z in row-major order in memory of its own, recorded.
template <class T, class D>
Tensor<std::complex<T>, D> copy(const Tensor<std::complex<T>, D>& z,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(copy(z.parts("copy", at), at));
}
template <class T, class D> Tensor<std::complex<T>, D> stop_gradient(const Tensor<std::complex<T>, D>& z)
{
    return z.detach();
}
/// Equal shapes and |a − b| ≤ tolerance (1 + |b|) everywhere; a NaN equals nothing.
template <class T, class D>
bool allclose(const Tensor<std::complex<T>, D>& a, const std::type_identity_t<Tensor<std::complex<T>, D>>& b,
              double tolerance = close_enough<T>, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    if (!(a.shape("allclose", at) == b.shape("allclose", at))) return false;
    const Tensor<std::complex<T>, D> x = copy(a.detach(), at), y = copy(b.detach(), at);
    const std::complex<T>*const p = x.data(at), *const q = y.data(at);
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (p[i] == q[i]) continue;
        const auto distance = static_cast<double>(std::abs(p[i] - q[i])),
                   size = static_cast<double>(std::abs(q[i]));
        if (!(distance <= tolerance * (1 + size)) || !std::isfinite(size)) return false;
    }
    return true;
}

/// The real tensor of the parts, as it prints.
template <class T, class D> std::ostream& operator<<(std::ostream& out, const Tensor<std::complex<T>, D>& z)
{
    if (!z.defined()) return out << "Tensor<complex>(undefined)";
    return out << "complex, by (real, imaginary): " << z.parts();
}

}  // namespace wengert

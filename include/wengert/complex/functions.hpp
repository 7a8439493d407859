// Arithmetic and functions of complex tensors.
#pragma once

#include "../ops/arg_reductions.hpp"
#include "rules.hpp"

namespace wengert {

namespace detail {

template <class T> Tensor<T> times_slope(const Tensor<T>& parts, const Tensor<std::complex<T>>& slope)
{
    return complexwise<rules::Multiply>(Site{}, parts, slope.parts()).parts();
}
template <class T> Tensor<T> times_slope(const Tensor<T>& parts, const Tensor<T>& slope)
{
    return complexwise<rules::Scale>(Site{}, parts, slope).parts();
}
template <class T> Tensor<T> plus_real(const Tensor<T>& parts, const Tensor<T>& x)
{
    return complexwise<rules::AddReal>(Site{}, parts, x).parts();
}
template <class T>
Tensor<T> times_conjugate_slope(const Tensor<T>& parts, const Tensor<std::complex<T>>& slope)
{
    return complexwise<rules::MultiplyConjugate>(Site{}, parts, slope.parts()).parts();
}

/// The operand as parts.
template <class T, class D> Tensor<T, D> as_parts(const Operand<std::complex<T>, D>& x, const Site& at)
{
    if (x.literal)
        return Tensor<T, D>(
            AnyTensor{made<D>(pair_block(std::complex<T>(*x.held.any().value->template as<T>()))), {}});
    return x.pair ? x.held : widened(x.held, at);
}
/// Both, after their shapes have been refused where they do not broadcast: a user knows these and not those of parts.
template <class T, class D>
std::pair<Tensor<T, D>, Tensor<T, D>> both_parts(std::string_view name, const Operand<std::complex<T>, D>& a,
                                                 const Operand<std::complex<T>, D>& b, const Site& at)
{
    if (a.held.shape(name, at) != b.held.shape(name, at))
        static_cast<void>(broadcast_shapes(name, a.shape(), b.shape(), at));
    return {as_parts(a, at), as_parts(b, at)};
}

}  // namespace detail

template <class T, class D>
Tensor<std::complex<T>, D> ops::add(const Operand<std::complex<T>, D>& a,
                                    const Operand<std::complex<T>, D>& b, const Site& at)
{
    if (a.pair != b.pair)
        return detail::complexwise<rules::AddReal>(at, a.pair ? a.held : b.held, a.pair ? b.held : a.held);
    const auto [x, y] = detail::both_parts("add", a, b, at);
    return detail::as_complex(ops::add<T>(x, y, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> ops::subtract(const Operand<std::complex<T>, D>& a,
                                         const Operand<std::complex<T>, D>& b, const Site& at)
{
    if (a.pair && !b.pair) return detail::complexwise<rules::SubtractReal>(at, a.held, b.held);
    if (b.pair && !a.pair) return detail::complexwise<rules::SubtractFromReal>(at, b.held, a.held);
    const auto [x, y] = detail::both_parts("subtract", a, b, at);
    return detail::as_complex(ops::subtract<T>(x, y, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> ops::multiply(const Operand<std::complex<T>, D>& a,
                                         const Operand<std::complex<T>, D>& b, const Site& at)
{
    if (a.pair != b.pair)
        return detail::complexwise<rules::Scale>(at, a.pair ? a.held : b.held, a.pair ? b.held : a.held);
    return detail::complexwise<rules::Multiply>(at, detail::as_parts(a, at), detail::as_parts(b, at));
}
template <class T, class D>
Tensor<std::complex<T>, D> ops::divide(const Operand<std::complex<T>, D>& a,
                                       const Operand<std::complex<T>, D>& b, const Site& at)
{
    if (a.pair && !b.pair) return detail::complexwise<rules::DivideByReal>(at, a.held, b.held);
    return detail::complexwise<rules::Divide>(at, detail::as_parts(a, at), detail::as_parts(b, at));
}
template <class T, class D>
Tensor<bool, D> ops::equal(const Operand<std::complex<T>, D>& a, const Operand<std::complex<T>, D>& b,
                           const Site& at)
{
    const auto [x, y] = detail::both_parts("equal", a, b, at);
    return all(ops::equal<T>(x, y, at), Axes{-1}, false, at);
}
template <class T, class D>
void ops::update(Tensor<std::complex<T>, D>& z, Update u, const Operand<std::complex<T>, D>& b,
                 const Site& at)
{
    check_broadcast("update", b.shape(), z.shape("update", at), at);
    if (b.pair && (u == Update::add || u == Update::subtract)) {
        ops::update<T>(z.parts_unchecked(), u, b.held, at);
        return;
    }
    Tensor<std::complex<T>, D> y;
    {
        const Operand<std::complex<T>, D> a(z);
        y = u == Update::add        ? ops::add<T, D>(a, b, at)
            : u == Update::subtract ? ops::subtract<T, D>(a, b, at)
            : u == Update::multiply ? ops::multiply<T, D>(a, b, at)
                                    : ops::divide<T, D>(a, b, at);
    }
    detail::write_result("update", z.parts_unchecked().any_unchecked(),
                         std::move(y.parts_unchecked().any_unchecked()), at);
}

// Real tensors with complex numbers: complex tensors.
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator+(const Tensor<T, D>& x, const ComplexNumber& v)
{
    return ops::add<T, D>(x, v.value, v.at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator+(const ComplexNumber& v, const Tensor<T, D>& x)
{
    return ops::add<T, D>(v.value, x, v.at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator-(const Tensor<T, D>& x, const ComplexNumber& v)
{
    return ops::subtract<T, D>(x, v.value, v.at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator-(const ComplexNumber& v, const Tensor<T, D>& x)
{
    return ops::subtract<T, D>(v.value, x, v.at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator*(const Tensor<T, D>& x, const ComplexNumber& v)
{
    return ops::multiply<T, D>(x, v.value, v.at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator*(const ComplexNumber& v, const Tensor<T, D>& x)
{
    return ops::multiply<T, D>(v.value, x, v.at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator/(const Tensor<T, D>& x, const ComplexNumber& v)
{
    return ops::divide<T, D>(x, v.value, v.at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> operator/(const ComplexNumber& v, const Tensor<T, D>& x)
{
    return ops::divide<T, D>(v.value, x, v.at);
}

// clang-format off
/// eᶻ
template <class T, class D> Tensor<std::complex<T>, D> exp(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Exp>(at, z.parts("exp", at)); }
/// ln |z| + i arg z, cut along the negative axis.
template <class T, class D> Tensor<std::complex<T>, D> log(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Log>(at, z.parts("log", at)); }
/// The root with Re ≥ 0, cut along the negative axis. The gradient at 0 is infinite.
template <class T, class D> Tensor<std::complex<T>, D> sqrt(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Sqrt>(at, z.parts("sqrt", at)); }
template <class T, class D> Tensor<std::complex<T>, D> sin(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Sin>(at, z.parts("sin", at)); }
template <class T, class D> Tensor<std::complex<T>, D> cos(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Cos>(at, z.parts("cos", at)); }
template <class T, class D> Tensor<std::complex<T>, D> tan(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Tan>(at, z.parts("tan", at)); }
template <class T, class D> Tensor<std::complex<T>, D> sinh(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Sinh>(at, z.parts("sinh", at)); }
template <class T, class D> Tensor<std::complex<T>, D> cosh(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Cosh>(at, z.parts("cosh", at)); }
template <class T, class D> Tensor<std::complex<T>, D> tanh(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Tanh>(at, z.parts("tanh", at)); }
template <class T, class D> Tensor<std::complex<T>, D> square(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Square>(at, z.parts("square", at)); }
/// 1 / z, scaled.
template <class T, class D> Tensor<std::complex<T>, D> reciprocal(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()}) { return detail::complexwise<rules::Reciprocal>(at, z.parts("reciprocal", at)); }
// clang-format on

/// Re z − i Im z.
template <class T, class D>
Tensor<std::complex<T>, D> conj(const Tensor<std::complex<T>, D>& z,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    auto signs = make_block(dtype_of<T>(), Shape{2});
    signs->template as<T>()[0] = T(1);
    signs->template as<T>()[1] = T(-1);
    const Tensor<T, D> both(AnyTensor{detail::made<D>(std::move(signs)), {}});
    return detail::as_complex(ops::multiply<T>(z.parts("conj", at), both, at));
}
/// |z|, by hypot; the gradient at 0 is 0.
template <class T, class D>
Tensor<T, D> abs(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return hypot(real(z, at), imag(z, at), at);
}
/// arg z in [−π, π]; the gradient at 0 is 0.
template <class T, class D>
Tensor<T, D> angle(const Tensor<std::complex<T>, D>& z, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return atan2(imag(z, at), real(z, at), at);
}
/// r (cos φ + i sin φ). Throws ShapeError where the shapes do not broadcast.
template <Differentiable T, class D>
Tensor<std::complex<T>, D> polar(const Tensor<T, D>& r, const std::type_identity_t<Operand<T, D>>& phi)
{
    const Site& at = phi.at;
    return detail::as_complex(detail::joined("polar", ops::multiply<T>(r, cos(*phi, at), at),
                                             ops::multiply<T>(r, sin(*phi, at), at), at));
}
/// zⁿ by repeated squaring for whole numbers n up to 1024, else e^(w ln z), which loses digits as |w ln z| grows. 0 to a power of
/// positive real part is 0.
template <class T, class D, std::integral I>
Tensor<std::complex<T>, D> pow(const Tensor<std::complex<T>, D>& z, I n,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const auto whole = static_cast<std::int64_t>(n);
    auto left =
        whole < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(whole) : static_cast<std::uint64_t>(whole);
    Tensor<std::complex<T>, D> power = z, result;
    for (; left > 0; left >>= 1) {
        if (left & 1) result = result.defined() ? result * power : power;
        if (left > 1) power = square(power, at);
    }
    if (!result.defined()) return detail::as_complex(detail::widened(ones_like(real(z, at), at), at));
    return whole < 0 ? reciprocal(result, at) : result;
}
template <class T, class D>
Tensor<std::complex<T>, D> pow(const Tensor<std::complex<T>, D>& z,
                               const std::type_identity_t<Operand<std::complex<T>, D>>& w)
{
    const Site& at = w.at;
    if (w.literal) {  // a whole number is one in whatever type it comes
        const T number = *w.held.any().value->template as<T>();
        if (std::abs(number) <= T(1024) && number == std::trunc(number))
            return pow(z, static_cast<std::int64_t>(number), at);
    }
    return exp(ops::multiply<T, D>(log(z, at), w, at), at);
}

}  // namespace wengert

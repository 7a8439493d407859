// From a rule over real and imaginary parts to a primitive of complex tensors:
//
//     struct Exp {
//         static constexpr std::string_view name = "exp";
//         static constexpr std::array pairs = {true};              // which operands are complex
//         static constexpr unsigned saves = 0b10;                   // what slopes read: bit i of input i, bit n of the result
//         template <class V> static Pair<V> value(const V& x, const V& y);
//         template <class C> static C slope(wrt<0>, const C& z, const C& w) { return w; }   // ∂w/∂z, a complex tensor
//     };
//
// Reverse mode is z̄ = w̄ conj(slope), the transpose of the map of the pairs; forward mode ẇ = slope ż. A slope may be real or ±1 too.
// The value is one loop over pairs; graphs have what it is composed of, over tensors of parts, with the same bits.
#pragma once

#include "../kernels/cpu/complex.hpp"
#include "../ops/sum.hpp"
#include "tensor.hpp"
#include "zero_pairs.hpp"

namespace wengert {

/// A slope that is the same everywhere.
struct UnitSlope {
    bool minus = false;
};

template <class F> struct Complexwise;

namespace detail {

/// Operand i of rule F: a complex tensor, or a real one.
template <class F, std::size_t i, class T> auto operand_of(const Tensor<T>& x)
{
    if constexpr (F::pairs[i])
        return as_complex(x);
    else
        return x;
}
/// x broadcast to `shape`, in row-major order; one element stays alone.
inline Ref<Block> spread(const Ref<Block>& x, const Shape& shape, std::size_t single)
{
    if (x->count == single || x->shape == shape) return contiguous(x);
    return copy_of(*broadcast_view(x, shape));
}
/// Real numbers beside parts: one more axis.
template <class T> Tensor<T> beside_parts(const Tensor<T>& x) { return expand_dims(x, -1, Site{}); }

template <class T> Tensor<T> times_slope(const Tensor<T>& parts, const Tensor<std::complex<T>>& slope);
template <class T> Tensor<T> times_slope(const Tensor<T>& parts, const Tensor<T>& slope);
template <class T> Tensor<T> times_slope(const Tensor<T>& parts, const UnitSlope& slope)
{
    return slope.minus ? -parts : parts;
}
/// Parts plus real numbers.
template <class T> Tensor<T> plus_real(const Tensor<T>& parts, const Tensor<T>& x);
/// The same of the conjugate.
template <class T>
Tensor<T> times_conjugate_slope(const Tensor<T>& parts, const Tensor<std::complex<T>>& slope);
template <class T> Tensor<T> times_conjugate_slope(const Tensor<T>& parts, const Tensor<T>& slope)
{
    return times_slope(parts, slope);
}
template <class T> Tensor<T> times_conjugate_slope(const Tensor<T>& parts, const UnitSlope& slope)
{
    return times_slope(parts, slope);
}

}  // namespace detail

/// The primitive of rule F.
template <class F> struct Complexwise {
    static constexpr std::string_view name = F::name;
    static constexpr unsigned saves = F::saves;
    static constexpr bool infallible = true;
    static constexpr bool bilinear = requires { F::bilinear; };
    static constexpr std::size_t operands = F::pairs.size();
    Shape a, b;  ///< of the operands, parts included

    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        const Ref<Block> in = contiguous(x);
        auto y = make_block(dtype_of<T>(), in->shape);
        kernels::ComplexLoop<F, T, xsimd::default_arch>::run(y->count / 2, {{{in->template as<T>(), false}}},
                                                             y->template as<T>());
        return y;
    }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Ref<Block>& z, const Site& at) const
    {
        const Shape own = elements(0), other = elements(1);
        const Shape shape = own == other ? own : broadcast_shapes(name, own, other, at);
        auto y = make_block(dtype_of<T>(), detail::with_parts(shape));
        const auto operand = [&](std::size_t k, const Ref<Block>& of, Ref<Block>& held) {
            held = detail::spread(of, F::pairs[k] ? y->shape : shape, F::pairs[k] ? 2 : 1);
            return kernels::ComplexOperand<T>{held->template as<T>(),
                                              held->count != (F::pairs[k] ? y->count : y->count / 2)};
        };
        Ref<Block> p, q;
        const std::array in = {operand(0, x, p), operand(1, z, q)};
        kernels::ComplexLoop<F, T, xsimd::default_arch>::run(y->count / 2, in, y->template as<T>());
        return y;
    }

    template <class... X> auto composed(const X&... x) const
    {
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            const auto z =
                std::apply([](const auto&... v) { return F::value(v...); }, std::tuple_cat(parts<k>(x)...));
            return detail::joined(name, z.re, z.im, Site{});
        }(std::index_sequence_for<X...>());
    }

    template <class T>
    Tensor<T> pull(wrt<0> i, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
        requires(operands == 1)
    {
        return pulled(i, g, x, y);
    }
    template <class T>
    Tensor<T> pull(wrt<0> i, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& z,
                   const Tensor<T>& y) const
        requires(operands == 2)
    {
        return pulled(i, g, x, z, y);
    }
    template <class T>
    Tensor<T> pull(wrt<1> i, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& z,
                   const Tensor<T>& y) const
        requires(operands == 2)
    {
        return pulled(i, g, x, z, y);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& x, const Tensor<T>& y) const
        requires(operands == 1 && !bilinear)
    {
        return pushed<0>(dx, x, y);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& dz, const Tensor<T>& x, const Tensor<T>& z,
                   const Tensor<T>& y) const
        requires(operands == 2 && !bilinear)
    {
        return with_second(pushed<0>(dx, x, z, y), dz, slope<1>(x, z, y));
    }

private:
    /// The shape of operand k without its parts.
    Shape elements(std::size_t k) const
    {
        const Shape& s = k == 0 ? a : b;
        return F::pairs[k] ? Shape(s.data(), s.size() - 1) : s;
    }
    template <std::size_t k, class X> static auto parts(const X& x)
    {
        if constexpr (F::pairs[k])
            return std::tuple(detail::part_of(name, x, 0, Site{}), detail::part_of(name, x, 1, Site{}));
        else
            return std::tuple(x);
    }
    /// F's slope of operand i; of (operands…, result).
    template <std::size_t i, class... X> static auto slope(const X&... x)
    {
        const auto all = std::tie(x...);
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            return F::slope(wrt<i>{}, detail::operand_of<F, k>(std::get<k>(all))...,
                            detail::as_complex(std::get<sizeof...(X) - 1>(all)));
        }(std::make_index_sequence<sizeof...(X) - 1>());
    }
    template <std::size_t i, class T, class... X>
    Tensor<T> pulled(wrt<i>, const Tensor<T>& g, const X&... x) const
    {
        Tensor<T> to;
        if constexpr (requires { F::pull(wrt<i>{}, g, x...); })
            to = detail::contribution(F::pull(wrt<i>{}, g, x...), g);
        else if constexpr (std::is_same_v<decltype(slope<i>(x...)), UnitSlope>)
            to = detail::times_conjugate_slope(g, slope<i>(x...));
        else
            to = detail::contribution(detail::times_conjugate_slope(g, slope<i>(x...)), g);
        if constexpr (!F::pairs[i]) to = detail::part_of(name, to, 0, Site{});
        return sum_to(to, i == 0 ? a : b);
    }
    template <std::size_t i, class T, class... X> static Tensor<T> pushed(const Tensor<T>& d, const X&... x)
    {
        return detail::times_slope(d, slope<i>(x...));
    }
    /// A tangent and what the second operand's adds. A real one may be a number, which is on the host.
    template <class T, class Slope>
    static Tensor<T> with_second(const Tensor<T>& first, const Tensor<T>& d, const Slope& slope)
    {
        if constexpr (F::pairs[operands - 1])
            return first + detail::times_slope(d, slope);
        else if constexpr (std::is_same_v<Slope, UnitSlope>)
            return detail::plus_real(first, detail::times_slope(d, slope));
        else
            return first + detail::times_slope(slope.parts(), d);
    }
};

namespace detail {

/// Rule F on the parts of complex tensors, and on real tensors.
template <class F, class T, class D, class... X>
Tensor<std::complex<T>, D> complexwise(const Site& at, const Tensor<T, D>& x, const X&... more)
{
    Complexwise<F> op{x.shape(F::name, at), {}};
    ((op.b = more.shape(F::name, at)), ...);
    if constexpr (sizeof...(X) > 0) {  // errors before the loop have the line
        const auto elements = [](const Shape& s, bool pair) {
            return Shape(s.data(), s.size() - (pair ? 1 : 0));
        };
        const Shape own = elements(op.a, F::pairs[0]), other = elements(op.b, F::pairs[F::pairs.size() - 1]);
        if (!(own == other)) static_cast<void>(broadcast_shapes(F::name, own, other, at));
    }
    return as_complex(apply<Complexwise<F>, T>(op, at, x, more...));
}

}  // namespace detail
}  // namespace wengert

// The linear primitives behind fft::, each the transpose of another: of real maps between pairs.
#pragma once

#include "../kernels/fourier/fourier.hpp"
#include "../complex/shape.hpp"
#include "../complex/view.hpp"

namespace wengert::fft {

/// yₖ = scale Σ xⱼ e^(∓2πi jk/n) along axes, + where inverse;  x̄ = the same of ȳ with the other sign.
struct ComplexTransform {
    static constexpr std::string_view name = "fft";
    static constexpr bool linear = true;
    Axes axes;
    bool inverse;
    double scale;
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site&) const
    {
        const Ref<Block> x = contiguous(of);
        auto y = make_block(dtype_of<T>(), x->shape);
        const Shape shape(x->shape.data(), x->shape.size() - 1);
        if (y->count > 0)
            kernels::fourier::complex_to_complex<T>(shape, axes, !inverse, static_cast<T>(scale),
                                                    x->template as<T>(), y->template as<T>());
        return y;
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<ComplexTransform, T>({axes, !inverse, scale}, Site{}, g);
    }
    std::string parameters() const
    {
        return std::string(inverse ? "inverse " : "") + "axes=" + to_string(axes);
    }
};

struct HalfToReal;
/// The first n/2 + 1 elements of the transform of a real x along an axis. Where `twice`, those between the first and the one of
/// frequency n/2 count twice: the transpose of irfft.
struct RealToHalf {
    static constexpr std::string_view name = "rfft";
    static constexpr bool linear = true;
    std::int64_t axis, n;
    double scale;
    bool twice;
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site&) const;
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const;
};
/// The real x of n elements along an axis with this half of a spectrum; imaginary parts of the first element and that of frequency
/// n/2 do not count. Where `once`, the elements between them count half: the transpose of rfft.
struct HalfToReal {
    static constexpr std::string_view name = "irfft";
    static constexpr bool linear = true;
    std::int64_t axis, n;
    double scale;
    bool once;
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site&) const;
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<RealToHalf, T>({axis, n, scale, !once}, Site{}, g);
    }
};
template <class T>
Tensor<T> RealToHalf::pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
{
    return apply<HalfToReal, T>({axis, n, scale, !twice}, Site{}, g);
}

namespace detail {

/// Multiplies what lies between the first element and that of frequency n/2 along an axis of complex numbers of this shape.
template <class T> void weigh_middle(T* x, const Shape& shape, std::int64_t axis, std::int64_t n, T by)
{
    const auto k = static_cast<std::size_t>(axis), length = static_cast<std::size_t>(shape[k]);
    const std::size_t last = n % 2 == 0 ? length - 1 : length;
    std::size_t rows = 1, inner = 2;
    for (std::size_t i = 0; i < shape.size(); ++i)
        (i < k ? rows : i > k ? inner : rows) *= i == k ? 1 : static_cast<std::size_t>(shape[i]);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = inner; i < last * inner; ++i) x[r * length * inner + i] *= by;
}

}  // namespace detail

template <class T> Ref<Block> RealToHalf::value(const Ref<Block>& of, const Site&) const
{
    const Ref<Block> x = contiguous(of);
    Shape half = x->shape;
    half[static_cast<std::size_t>(axis)] = n / 2 + 1;
    auto y = make_block(dtype_of<T>(), wengert::detail::with_parts(half));
    if (y->count == 0) return y;
    kernels::fourier::real_to_complex<T>(x->shape, axis, static_cast<T>(scale), x->template as<T>(),
                                         y->template as<T>());
    if (twice) detail::weigh_middle<T>(y->template as<T>(), half, axis, n, T(2));
    return y;
}
template <class T> Ref<Block> HalfToReal::value(const Ref<Block>& of, const Site&) const
{
    const Ref<Block> x = copy_of(*of);  // which the transform overwrites
    const Shape half(x->shape.data(), x->shape.size() - 1);
    Shape full = half;
    full[static_cast<std::size_t>(axis)] = n;
    auto y = make_block(dtype_of<T>(), full);
    if (y->count == 0) return y;
    if (once) detail::weigh_middle<T>(x->template as<T>(), half, axis, n, T(0.5));
    kernels::fourier::complex_to_real<T>(full, axis, static_cast<T>(scale), x->template as<T>(),
                                         y->template as<T>());
    return y;
}

}  // namespace wengert::fft

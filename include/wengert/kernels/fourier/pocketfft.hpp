// Fourier transforms by pocketfft's header, whose licence is BSD's: github.com/mreineck/pocketfft, branch cpp.
#pragma once

#if __has_include(<pocketfft_hdronly.h>)  // so that this one may be read without it

#define POCKETFFT_CACHE_SIZE 64  // plans that it keeps
#define POCKETFFT_NO_MULTITHREADING
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <pocketfft_hdronly.h>
#pragma GCC diagnostic pop

#include "../../base/shape.hpp"

namespace wengert::kernels::pocket {

inline pocketfft::shape_t extents(const Shape& s) { return {s.begin(), s.end()}; }
/// In bytes, of row-major elements of this size.
inline pocketfft::stride_t strides(const Shape& s, std::size_t size)
{
    pocketfft::stride_t out;
    for (const auto stride : row_major(s)) out.push_back(stride * static_cast<std::ptrdiff_t>(size));
    return out;
}
inline Shape half_of(Shape shape, std::int64_t axis)
{
    shape[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)] / 2 + 1;
    return shape;
}

/// As those of fftw.hpp.
template <class T>
void complex_to_complex(const Shape& shape, const Axes& axes, bool forward, T by, const T* x, T* y)
{
    using C = std::complex<T>;
    const auto stride = strides(shape, sizeof(C));
    pocketfft::c2c(extents(shape), stride, stride, extents(axes), forward, reinterpret_cast<const C*>(x),
                   reinterpret_cast<C*>(y), by);
}
template <class T> void real_to_complex(const Shape& shape, std::int64_t axis, T by, const T* x, T* y)
{
    using C = std::complex<T>;
    pocketfft::r2c(extents(shape), strides(shape, sizeof(T)), strides(half_of(shape, axis), sizeof(C)),
                   static_cast<std::size_t>(axis), true, x, reinterpret_cast<C*>(y), by);
}
template <class T> void complex_to_real(const Shape& shape, std::int64_t axis, T by, T* x, T* y)
{
    using C = std::complex<T>;
    pocketfft::c2r(extents(shape), strides(half_of(shape, axis), sizeof(C)), strides(shape, sizeof(T)),
                   static_cast<std::size_t>(axis), false, reinterpret_cast<const C*>(x), y, by);
}

}  // namespace wengert::kernels::pocket

#endif

// Layout: bringing blocks into contiguous order, and reading them as operands of a larger shape.
#pragma once

#include <cmath>

#include "../kernels/cpu/copy.hpp"
#include "../kernels/cpu/elementwise.hpp"
#include "../kernels/executor.hpp"
#include "block.hpp"

namespace wengert {

/// A block read as if it had `shape`.
inline kernels::Operand operand(const Block& b, const Shape& shape)
{
    return {b.data, size_of(b.dtype), broadcast_strides(b.shape, b.strides(), shape)};
}

/// Copies the elements of `from` into `to` (same shape, any layouts, no overlap).
inline void copy_elements(const Block& from, Block& to)
{
    if (from.count == 0) return;
    if (!from.strided && !to.strided) {
        std::memcpy(to.data, from.data, from.bytes());
        return;
    }
    const Strides s = from.strides(), d = to.strides();
    kernels::copy_strided(from.shape.size(), from.shape.data(), s.data(), from.data, d.data(), to.data,
                          size_of(from.dtype));
}

/// A block of its own with the same elements.
inline Ref<Block> copy_of(const Block& b)
{
    auto out = make_block(current_thread(), b.dtype, b.shape, b.count);
    copy_elements(b, *out);
    return out;
}

/// b itself when its elements lie in row-major order, else a copy that does.
inline Ref<Block> contiguous(const Ref<Block>& b) { return b->strided ? copy_of(*b) : b; }

/// b as if it had the larger shape; no copy.
inline Ref<Block> broadcast_view(const Ref<Block>& b, const Shape& shape)
{
    if (b->shape == shape) return b;
    const Strides strides = broadcast_strides(b->shape, b->strides(), shape);
    return make_view(b, shape, &strides, 0);
}

template <class T> bool all_finite_run(const T* p, std::size_t n)
{
    bool finite = true;
    for (std::size_t i = 0; i < n; ++i) finite &= (p[i] - p[i] == T(0));
    return finite;
}

inline bool all_finite(const Block& b)
{
    if (b.strided) return all_finite(*copy_of(b));
    if (b.dtype == DType::float32) return all_finite_run(b.as<float>(), b.count);
    if (b.dtype == DType::float64) return all_finite_run(b.as<double>(), b.count);
    return true;
}

/// Every element is ±0. Ends at the first that is not, so a cotangent that says something costs one look.
inline bool all_zero(const Block& b)
{
    const auto none = [&]<class T>(const T* p, std::size_t n) {
        return std::all_of(p, p + n, [](T v) { return v == T(0); });
    };
    const auto zero = [&]<class T>(T) {
        return b.count == 0 || (*b.as<T>() == T(0) &&
                                (b.strided ? none(copy_of(b)->as<T>(), b.count) : none(b.as<T>(), b.count)));
    };
    return b.dtype == DType::float32 ? zero(0.0F) : zero(0.0);
}

/// Are all elements one and the same in memory: a scalar, or a broadcast of one?
inline bool is_one_element(const Block& b) noexcept
{
    if (b.count == 1) return true;
    if (!b.strided || b.count == 0) return false;
    for (std::size_t i = 0; i < b.shape.size(); ++i)
        if (b.view_strides[i] != 0 && b.shape[i] != 1) return false;
    return true;
}

/// b with another shape for as many elements: itself where nobody else sees it.
inline Ref<Block> relabelled(Ref<Block> b, const Shape& shape)
{
    if (b->strided) b = copy_of(*b);
    if (!may_write(*b)) return make_view(b, shape, nullptr, 0);
    b->shape = shape;
    return b;
}

namespace detail {

/// Calls the kernel over contiguous operands of `count` elements; those marked scalar have one element.
inline void run_direct(TileKernel kernel, std::size_t count, const void* const* in,
                       const std::uint8_t* scalar_size, std::size_t n, void* out, std::size_t out_size)
{
    alignas(64) std::byte fill[kernels::max_operands][kernels::tile * 8];
    const void* now[kernels::max_operands] = {};
    const std::size_t first = std::min(count, kernels::tile);
    bool any = false;
    for (std::size_t k = 0; k < n; ++k) {
        now[k] = in[k];
        if (!scalar_size[k]) continue;
        kernels::gather(static_cast<const std::byte*>(in[k]), 0, scalar_size[k], first, fill[k]);
        now[k] = fill[k];
        any = true;
    }
    if (!any) return kernel(count, now, out);
    for (std::size_t i = 0; i < count; i += kernels::tile) {
        const std::size_t m = std::min(kernels::tile, count - i);
        kernel(m, now, static_cast<std::byte*>(out) + i * out_size);
        for (std::size_t k = 0; k < n; ++k)
            if (!scalar_size[k]) now[k] = static_cast<const std::byte*>(now[k]) + kernels::tile * out_size;
    }
}

}  // namespace detail

/// to += from, elementwise, where to's shape is that of `from` or one that broadcasts to it (then the sum is taken).
void add_into(Block& to, const Block& from);

namespace kernels {
struct Plus {
    template <class V> static V value(const V& a, const V& b) { return a + b; }
};
/// The kernel that adds two tiles of floats or doubles.
template <class A = xsimd::default_arch> TileKernel add_tile(DType d)
{
    return d == DType::float32 ? tile_kernel<Plus, A, float, float, float>
                               : tile_kernel<Plus, A, double, double, double>;
}
template <class T> void copy_tile(std::size_t n, const void* const* in, void* out)
{
    std::memcpy(out, in[0], n * sizeof(T));
}
}  // namespace kernels

namespace detail {
/// out = a + b without strides; false where one has some that mean more than a single element.
inline bool add_direct(const Block& a, const Block& b, Block& out)
{
    const void* in[] = {a.data, b.data};
    const TileKernel add = kernels::add_tile(out.dtype);
    if (!a.strided && !b.strided) return add(out.count, in, out.data), true;
    const auto size = static_cast<std::uint8_t>(size_of(out.dtype));
    const std::uint8_t scalar[] = {is_one_element(a) ? size : std::uint8_t{0},
                                   is_one_element(b) ? size : std::uint8_t{0}};
    if ((a.strided && !scalar[0]) || (b.strided && !scalar[1])) return false;
    run_direct(add, out.count, in, scalar, 2, out.data, size);
    return true;
}
}  // namespace detail

inline void add_into(Block& to, const Block& from)
{
    if (from.count == 0) return;
    const bool single = to.dtype == DType::float32;
    if (to.shape == from.shape) {
        if (!to.strided && detail::add_direct(to, from, to)) return;
        kernels::Operand operands[] = {operand(to, to.shape), operand(to, to.shape), operand(from, to.shape)};
        return kernels::execute(kernels::add_tile(to.dtype), to.shape, to.dtype, operands, 3,
                                kernels::Store::assign);
    }
    kernels::Operand operands[] = {operand(to, from.shape), operand(from, from.shape)};
    kernels::execute(single ? kernels::copy_tile<float> : kernels::copy_tile<double>, from.shape, to.dtype,
                     operands, 2, kernels::Store::accumulate);
}

/// a + b, new.
inline Ref<Block> sum_of(const Block& a, const Block& b)
{
    auto out = make_block(current_thread(), a.dtype, a.shape, a.count);
    if (a.shape == b.shape && detail::add_direct(a, b, *out)) return out;
    kernels::Operand operands[] = {operand(*out, a.shape), operand(a, a.shape), operand(b, a.shape)};
    kernels::execute(kernels::add_tile(a.dtype), a.shape, a.dtype, operands, 3, kernels::Store::assign);
    return out;
}

inline Ref<Block> zeros_block(DType dtype, const Shape& shape)
{
    auto out = make_block(dtype, shape);
    std::memset(out->data, 0, out->bytes());
    return out;
}

}  // namespace wengert

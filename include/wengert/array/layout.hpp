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

inline void add_into(Block& to, const Block& from)
{
    if (from.count == 0) return;
    const bool single = to.dtype == DType::float32;
    if (!to.strided && !from.strided && to.shape == from.shape) {
        const void* in[] = {to.data, from.data};
        kernels::add_tile(to.dtype)(to.count, in, to.data);
        return;
    }
    if (to.shape == from.shape) {
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

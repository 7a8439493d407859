// Layout: bringing blocks into contiguous order, and reading them as operands of a larger shape.
#pragma once

#include <cmath>

#include "../kernels/cpu/copy.hpp"
#include "../kernels/cpu/elementwise.hpp"
#include "../kernels/executor.hpp"
#include "elsewhere.hpp"

namespace wengert {

/// A block read as if it had `shape`.
kernels::Operand operand(const Block& b, const Shape& shape);

/// Copies the elements of `from` into `to` (same shape, any layouts, no overlap).
void copy_elements(const Block& from, Block& to);

/// A block of its own with the same elements.
Ref<Block> copy_of(const Block& b);

/// For who reads elements on the host, in row-major order.
inline Ref<Block> readable(const Ref<Block>& b)
{
    if (b->access.device) [[unlikely]]
        return detail::copy_to_host(b);
    return b->strided ? copy_of(*b) : b;
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

/// x − x is 0 or NaN, and so are sums of it: eight of them, which compilers keep in vectors.
template <class T> bool all_finite_run(const T* p, std::size_t n)
{
    T sums[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::size_t j = 0; j < 8; ++j) sums[j] += p[i + j] - p[i + j];
    for (; i < n; ++i) sums[0] += p[i] - p[i];
    T sum = 0;
    for (const T s : sums) sum += s;
    return sum == T(0);
}

bool all_finite(const Block& b);

/// Every element is ±0. Ends at the first that is not, so a cotangent that says something costs one look.
bool all_zero(const Block& b);
/// The same where b is of this type. On the host the look is taken here.
template <class T> inline bool all_zero_of(const Block& b)
{
    return (b.access.device || b.count == 0 || *b.as<T>() == T(0)) && all_zero(b);
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
Ref<Block> relabelled(Ref<Block> b, const Shape& shape);

namespace detail {

/// Calls the kernel over contiguous operands of `count` elements; those marked scalar have one element.
void run_direct(TileKernel kernel, std::size_t count, const void* const* in, const std::uint8_t* scalar_size,
                std::size_t n, void* out, std::size_t out_size);

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
    return with_real(d, [&]<class T>() { return tile_kernel<Plus, A, T, T, T>; });
}
template <class T> void copy_tile(std::size_t n, const void* const* in, void* out)
{
    std::memcpy(out, in[0], n * sizeof(T));
}
}  // namespace kernels

namespace detail {
/// out = a + b without the general executor; false where an operand has strides that mean more than a single element or rows.
bool add_direct(const Block& a, const Block& b, Block& out);
}  // namespace detail

/// a + b, new.
Ref<Block> sum_of(const Block& a, const Block& b);

/// On the host, and on the device of another block.
Ref<Block> zeros_block(DType dtype, const Shape& shape);
/// A cotangent that says no more than that there is one.
inline Ref<Block> token_block() { return zeros_block(real_dtypes[0], Shape()); }
Ref<Block> zeros_beside(const Block& like, DType dtype, const Shape& shape);
template <class T> Ref<Block> filled_with(Ref<Block> out, T v)
{
    if (out->access.device) [[unlikely]]
        device_table(out->device()).fill(*out, &v);
    else
        std::fill_n(out->template as<T>(), out->count, v);
    return out;
}
/// Every element v, on the device of `like`.
template <class T> Ref<Block> full_beside(const Block& like, const Shape& shape, T v)
{
    return filled_with(make_block_beside(like, dtype_of<T>(), shape, element_count(shape)), v);
}
/// Every element v, where this thread's new tensors go.
template <class T> Ref<Block> full_block(const Shape& shape, T v)
{
    Thread& t = current_thread();
    if (t.device) [[unlikely]]
        return filled_with(make_elsewhere(t, t.device, dtype_of<T>(), shape, element_count(shape)), v);
    return filled_with(make_block(dtype_of<T>(), shape), v);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/elsewhere.ipp"
#include "impl/layout.ipp"
#endif

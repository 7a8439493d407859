// The bodies of layout.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../layout.hpp"

namespace wengert {

WENGERT_INLINE kernels::Operand operand(const Block& b, const Shape& shape)
{
    return {b.data, size_of(b.dtype), broadcast_strides(b.shape, b.strides(), shape)};
}

namespace detail {

/// Between devices by way of the host.
inline void copy_elsewhere(const Block& from, Block& to)
{
    const Ref<Block> near = placed(Ref<Block>(const_cast<Block*>(&from)), to.device());
    if (to.access.device) return device_table(to.device()).copy(*near, to);
    copy_elements(*near, to);
}

}  // namespace detail

WENGERT_INLINE void copy_elements(const Block& from, Block& to)
{
    if (from.count == 0) return;
    if (from.access.device | to.access.device) [[unlikely]]
        return detail::copy_elsewhere(from, to);
    if (!from.strided && !to.strided) {
        std::memcpy(to.data, from.data, from.bytes());
        return;
    }
    const Strides s = from.strides(), d = to.strides();
    kernels::copy_strided(from.shape.size(), from.shape.data(), s.data(), from.data, d.data(), to.data,
                          size_of(from.dtype));
}

WENGERT_INLINE Ref<Block> copy_of(const Block& b)
{
    auto out = make_block_beside(b, b.dtype, b.shape, b.count);
    copy_elements(b, *out);
    return out;
}

WENGERT_INLINE bool all_finite(const Block& b)
{
    if (b.access.device) [[unlikely]]
        return device_table(b.device()).all_finite(b);
    if (b.strided) return all_finite(*copy_of(b));
    if (!differentiable(b.dtype)) return true;
    return with_real(b.dtype, [&]<class T>() { return all_finite_run(b.as<T>(), b.count); });
}

WENGERT_INLINE bool all_zero(const Block& b)
{
    if (b.access.device) [[unlikely]]
        return device_table(b.device()).all_zero(b);
    const auto none = [&]<class T>(const T* p, std::size_t n) {
        return std::all_of(p, p + n, [](T v) { return v == T(0); });
    };
    const auto zero = [&]<class T>() {
        return b.count == 0 || (*b.as<T>() == T(0) &&
                                (b.strided ? none(copy_of(b)->as<T>(), b.count) : none(b.as<T>(), b.count)));
    };
    return with_real(b.dtype, zero);
}

WENGERT_INLINE Ref<Block> relabelled(Ref<Block> b, const Shape& shape)
{
    if (b->strided) b = copy_of(*b);
    if (!may_write(*b)) return make_view(b, shape, nullptr, 0);
    b->shape = shape;
    return b;
}
namespace detail {

WENGERT_INLINE void run_direct(TileKernel kernel, std::size_t count, const void* const* in,
                               const std::uint8_t* scalar_size, std::size_t n, void* out,
                               std::size_t out_size)
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
namespace detail {

/// out = a + b, row by row where rows lie in order, whatever is between them: an operand that is the same for all rows. False where
/// they do not, or are so short that the general way is as good.
inline bool add_rows(TileKernel add, const Block& a, const Block& b, Block& out)
{
    constexpr std::int64_t least = 16;
    const std::size_t rank = out.shape.size();
    if (rank < 2 || out.count == 0 || out.shape[rank - 1] < least) return false;
    const Strides s = a.strides(), t = b.strides();
    if (s[rank - 1] != 1 || t[rank - 1] != 1) return false;
    const auto size = static_cast<std::int64_t>(size_of(out.dtype));
    const std::int64_t n = out.shape[rank - 1];
    Extents at = Extents::filled(rank);
    const std::byte *x = a.data, *y = b.data;
    for (std::byte *to = out.data, *end = to + out.bytes(); to != end; to += n * size) {
        const void* in[] = {x, y};
        add(static_cast<std::size_t>(n), in, to);
        for (std::size_t k = rank - 1; k-- > 0;) {
            x += s[k] * size, y += t[k] * size;
            if (++at[k] < out.shape[k]) break;
            x -= s[k] * size * at[k], y -= t[k] * size * at[k];
            at[k] = 0;
        }
    }
    return true;
}
WENGERT_INLINE bool add_direct(const Block& a, const Block& b, Block& out)
{
    const void* in[] = {a.data, b.data};
    const TileKernel add = kernels::add_tile(out.dtype);
    if (!a.strided && !b.strided) return add(out.count, in, out.data), true;
    const auto size = static_cast<std::uint8_t>(size_of(out.dtype));
    const std::uint8_t scalar[] = {is_one_element(a) ? size : std::uint8_t{0},
                                   is_one_element(b) ? size : std::uint8_t{0}};
    if ((a.strided && !scalar[0]) || (b.strided && !scalar[1])) return add_rows(add, a, b, out);
    run_direct(add, out.count, in, scalar, 2, out.data, size);
    return true;
}

}  // namespace detail

WENGERT_INLINE void add_into(Block& to, const Block& from)
{
    if (from.count == 0) return;
    if (to.access.device | from.access.device) [[unlikely]] {
        const Ref<Block> near = placed(Ref<Block>(const_cast<Block*>(&from)), to.device());
        if (to.access.device) return device_table(to.device()).add(to, *near);
        return add_into(to, *near);
    }
    if (to.shape == from.shape) {
        if (!to.strided && detail::add_direct(to, from, to)) return;
        kernels::Operand operands[] = {operand(to, to.shape), operand(to, to.shape), operand(from, to.shape)};
        return kernels::execute(kernels::add_tile(to.dtype), to.shape, to.dtype, operands, 3,
                                kernels::Store::assign);
    }
    kernels::Operand operands[] = {operand(to, from.shape), operand(from, from.shape)};
    const TileKernel copy = with_real(to.dtype, [&]<class T>() { return kernels::copy_tile<T>; });
    kernels::execute(copy, from.shape, to.dtype, operands, 2, kernels::Store::accumulate);
}

WENGERT_INLINE Ref<Block> sum_of(const Block& a, const Block& b)
{
    if (a.access.device | b.access.device) [[unlikely]] {
        auto out = copy_of(a);
        add_into(*out, b);
        return out;
    }
    auto out = make_block(current_thread(), a.dtype, a.shape, a.count);
    if (a.shape == b.shape && detail::add_direct(a, b, *out)) return out;
    kernels::Operand operands[] = {operand(*out, a.shape), operand(a, a.shape), operand(b, a.shape)};
    kernels::execute(kernels::add_tile(a.dtype), a.shape, a.dtype, operands, 3, kernels::Store::assign);
    return out;
}

WENGERT_INLINE Ref<Block> zeros_block(DType dtype, const Shape& shape)
{
    auto out = make_block(dtype, shape);
    std::memset(out->data, 0, out->bytes());
    return out;
}

WENGERT_INLINE Ref<Block> zeros_beside(const Block& like, DType dtype, const Shape& shape)
{
    if (!like.access.device) return zeros_block(dtype, shape);
    auto out = make_block_beside(like, dtype, shape, element_count(shape));
    const std::uint64_t zero = 0;
    device_table(like.device()).fill(*out, &zero);
    return out;
}

}  // namespace wengert

// What a device has no kernel for is computed on the host: operands are copied there as they lie, results copied back.
#pragma once

#include "../../ops/describe/structural.hpp"

namespace wengert::detail::gpu {

/// How often the host has computed something for a device, in this thread.
inline constinit thread_local std::int64_t host_has_helped __attribute__((visibility("default"))) = 0;

inline void count_host_call(std::uint8_t device)
{
    ++host_has_helped;
    device_table(device).counts->host_calls.fetch_add(1, std::memory_order_relaxed);
}

/// b with its layout on the host: a copy of what it shows elements of, and the same view of that; itself where it is there.
inline Ref<Block> image_of(const Block& b)
{
    if (!b.access.device) return Ref<Block>(const_cast<Block*>(&b));
    const Block& owner = b.base ? *b.base : b;
    auto whole = make_block(current_thread(), owner.dtype, owner.shape, owner.count);
    device_table(b.device()).to_host(whole->data, owner.data, owner.bytes());
    if (!b.base) return whole;
    const Strides strides = b.strides();
    return make_view(whole, b.shape, &strides,
                     (b.data - owner.data) / static_cast<std::ptrdiff_t>(size_of(b.dtype)));
}
/// Of what the host looks at for a device.
inline Ref<Block> read_on_host(const Block& b)
{
    count_host_call(b.device());
    return image_of(b);
}
/// Operands of what the host computes for the device.
inline std::vector<Ref<Block>> images_of(std::uint8_t device, const Ref<Block>* in, std::size_t n)
{
    count_host_call(device);
    std::vector<Ref<Block>> images(n);
    for (std::size_t k = 0; k < n; ++k) images[k] = image_of(*in[k]);
    return images;
}
/// Copies the elements of the image to b.
inline void write_back(const Block& image, Block& b)
{
    const Block &from = image.base ? *image.base : image, &to = b.base ? *b.base : b;
    device_table(b.device()).from_host(to.data, from.data, from.bytes());
}

/// What a host call has made of images: an operand, a view of one, or elements that are copied to the device.
inline Ref<Block> brought_back(const Ref<Block>& y, const std::vector<Ref<Block>>& images,
                               const Ref<Block>* in, std::uint8_t device)
{
    const Block* const owner = y->base ? y->base : y.get();
    for (std::size_t k = 0; k < images.size(); ++k) {
        if (y.get() == images[k].get()) return in[k];
        const Block* const seen = images[k]->base ? images[k]->base : images[k].get();
        if (owner != seen) continue;
        const Strides strides = y->strides();
        return make_view(Ref<Block>(in[k]->base ? in[k]->base : in[k].get()), y->shape, &strides,
                         (y->data - seen->data) / static_cast<std::ptrdiff_t>(size_of(y->dtype)));
    }
    return placed(y, device);
}

inline std::vector<Ref<Block>> host_call(std::uint8_t device, HostFunction f, void* context,
                                         const Ref<Block>* in, std::size_t n)
{
    const OnDevice host(0);
    const auto images = images_of(device, in, n);
    std::vector<Ref<Block>> seen = images, results = f(context, seen);
    for (Ref<Block>& y : results)
        if (y) y = brought_back(y, images, in, device);
    return results;
}

/// A structural primitive by its function for the host.
inline Ref<Block> structural_on_host(std::uint8_t device, const Primitive& p, const void* op,
                                     const Ref<Block>* in, std::size_t n, const Site& at)
{
    const OnDevice host(0);
    const auto images = images_of(device, in, n);
    return brought_back(p.compute(op, images.data(), n, at), images, in, device);
}

/// An elementwise primitive by its kernel for the host. `out` may be an operand.
inline void elementwise_on_host(const Primitive& p, const Block* const* in, Block& out)
{
    Ref<Block> images[kernels::max_operands];
    kernels::Operand operands[kernels::max_operands];
    images[0] = image_of(out);
    operands[0] = operand(*images[0], out.shape);
    for (std::size_t k = 0; k < p.arity; ++k) {
        images[k + 1] = in[k] == &out ? images[0] : image_of(*in[k]);
        operands[k + 1] = operand(*images[k + 1], out.shape);
    }
    kernels::execute(p.value, out.shape, p.dtype, operands, p.arity + 1U, kernels::Store::assign);
    write_back(*images[0], out);
    count_host_call(out.device());
}

/// `f(image)` writes to it.
template <class F> void written_on_host(Block& to, const F& f)
{
    const Ref<Block> image = image_of(to);
    f(*image);
    write_back(*image, to);
    count_host_call(to.device());
}

}  // namespace wengert::detail::gpu

// Blocks on other devices: scopes that set the device of new ones, and copies to and from the host. layout.hpp includes the bodies.
#pragma once

#include "block.hpp"

namespace wengert {

/// While it lives, tensors that this thread makes of numbers, lists and files go to a device. Operations run where their operands
/// are.
class OnDevice {
public:
    explicit OnDevice(std::uint8_t device) : thread_(current_thread()), before_(thread_.device)
    {
        thread_.device = device;
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    ~OnDevice() { thread_.device = before_; }

private:
    Thread& thread_;
    std::uint8_t before_;
};

/// A new block with uninitialised elements on a device, never in line. `count` must be the product of the shape.
Ref<Block> make_elsewhere(Thread& t, std::uint8_t device, DType dtype, const Shape& shape, std::size_t count);

/// A block on a device whose elements belong to somebody else. They must live as long as it or a view of it; `owner` may keep them.
Ref<Block> make_borrowed_elsewhere(std::uint8_t device, DType dtype, const Shape& shape, std::byte* data,
                                   LentOwner owner = {});

/// A new block on the device of `like`.
inline Ref<Block> make_block_beside(const Block& like, DType dtype, const Shape& shape, std::size_t count)
{
    Thread& t = current_thread();
    if (like.access.device) [[unlikely]]
        return make_elsewhere(t, like.device(), dtype, shape, count);
    return make_block(t, dtype, shape, count);
}

namespace detail {
Ref<Block> copy_from_host(const Ref<Block>& b, std::uint8_t device);
Ref<Block> copy_to_host(const Ref<Block>& b);
const std::byte* mirrored(const Block& b);
/// Copies what was written to mirrored(b) to the elements of b.
void written_on_host(const Block& b);
void element_to_host(void* to, const Block& b, const std::byte* from, std::size_t bytes);
}  // namespace detail

/// b, or a copy of it on a device.
inline Ref<Block> placed(Ref<Block> b, std::uint8_t device)
{
    if (device != b->access.device) [[unlikely]]
        return detail::copy_from_host(b, device);
    return b;
}
/// Brings a block that was made on the host to the device of the thread's new tensors.
Ref<Block> placed(Ref<Block> b);

/// b, or a copy of it on the host: for what is to be read there, in any layout.
inline Ref<Block> on_host(const Ref<Block>& b)
{
    if (b->access.device) [[unlikely]]
        return detail::copy_to_host(b);
    return b;
}

/// The elements of b for a reader on the host, in their layout. These are the elements themselves, or a copy that lives as long as
/// the block. The copy shows the elements as they were at the last call.
inline const std::byte* host_data(const Block& b)
{
    if (b.access.device) [[unlikely]]
        return detail::mirrored(b);
    return b.data;
}
template <class T> const T* host_elements(const Block& b) { return reinterpret_cast<const T*>(host_data(b)); }

/// The element of type T at `offset`.
template <class T> T host_element(const Block& b, std::int64_t offset = 0)
{
    const T* const place = b.as<T>() + offset;
    if (!b.access.device) [[likely]]
        return *place;
    T element;
    detail::element_to_host(&element, b, reinterpret_cast<const std::byte*>(place), sizeof element);
    return element;
}

}  // namespace wengert

// The bodies of elsewhere.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../elsewhere.hpp"
#include "../layout.hpp"

namespace wengert {

WENGERT_INLINE Ref<Block> placed(Ref<Block> b) { return placed(std::move(b), current_thread().device); }

WENGERT_INLINE Ref<Block> make_borrowed_elsewhere(std::uint8_t device, DType dtype, const Shape& shape,
                                                  std::byte* data, LentOwner owner)
{
    Ref<Block> b = make_borrowed(dtype, shape, data);
    b->access.device = device;
    new (b->local) Ref<Block>;
    new (b->local + alignof(std::max_align_t)) LentOwner(std::move(owner));
    b->lent = true;
    return b;
}

WENGERT_INLINE Ref<Block> make_elsewhere(Thread& t, std::uint8_t device, DType dtype, const Shape& shape,
                                         std::size_t count)
{
    if (count > max_elements) refuse_shape(shape);
    if (t.planned.data && t.planned.bytes == count * size_of(dtype) && t.planned.device == device)
        return make_borrowed_elsewhere(device, dtype, shape, std::exchange(t.planned.data, nullptr));
    Block* b = make_header(t, dtype, shape, count);
    try {
        memory::inject_failure();
        b->data = device_table(device).take(count * size_of(dtype), b->capacity);
    } catch (...) {
        b->capacity = 0;
        destroy_block(b);
        throw;
    }
    b->access.device = device;
    new (b->local) Ref<Block>;
    memory::Stats& stats = t.pool.stats();
    stats.current_bytes += static_cast<std::int64_t>(b->capacity);
    stats.peak_bytes = std::max(stats.peak_bytes, stats.current_bytes);
    return Ref<Block>::adopt(b);
}

namespace detail {

/// One copy at a time writes a block's mirror.
inline std::mutex& mirror_mutex()
{
    static std::mutex mutex;
    return mutex;
}

/// b, or the block that it is a view of.
inline Block& owner_of(const Block& b) noexcept { return b.base ? *b.base : const_cast<Block&>(b); }

WENGERT_INLINE Ref<Block> copy_from_host(const Ref<Block>& b, std::uint8_t device)
{
    if (device == 0) return b->access.device ? copy_to_host(b) : b;
    const DeviceTable& table = device_table(device);
    if (b->access.device && !table.from_device) return copy_from_host(copy_to_host(b), device);
    const Ref<Block> from = contiguous(b);
    auto out = make_elsewhere(current_thread(), device, b->dtype, b->shape, b->count);
    if (b->access.device)
        return table.from_device(*from, *out) ? out : copy_from_host(copy_to_host(from), device);
    table.from_host(out->data, from->data, from->bytes());
    table.counts->from_host.fetch_add(1, std::memory_order_relaxed);
    return out;
}

WENGERT_INLINE Ref<Block> copy_to_host(const Ref<Block>& b)
{
    const Ref<Block> from = contiguous(b);
    auto out = make_block(current_thread(), b->dtype, b->shape, b->count);
    const DeviceTable& table = device_table(b->device());
    table.to_host(out->data, from->data, from->bytes());
    table.counts->to_host.fetch_add(1, std::memory_order_relaxed);
    return out;
}

WENGERT_INLINE const std::byte* mirrored(const Block& b)
{
    Block& owner = owner_of(b);
    const std::lock_guard lock(mirror_mutex());
    Ref<Block>& mirror = mirror_of(owner);
    const bool fresh = !mirror;
    if (fresh) mirror = make_block(current_thread(), owner.dtype, owner.shape, owner.count);
    if (fresh ||
        !(owner.access.writers | b.access.writers)) {  // what a writer has written is there and nowhere else
        const DeviceTable& table = device_table(owner.device());
        table.to_host(mirror->data, owner.data, owner.bytes());
        table.counts->to_host.fetch_add(1, std::memory_order_relaxed);
    }
    return mirror->data + (b.data - owner.data);
}

WENGERT_INLINE void written_on_host(const Block& b)
{
    Block& owner = owner_of(b);
    const DeviceTable& table = device_table(owner.device());
    const std::byte* const from = mirror_of(owner)->data + (b.data - owner.data);
    table.from_host(const_cast<std::byte*>(b.data), from, b.bytes());
    table.counts->from_host.fetch_add(1, std::memory_order_relaxed);
}

WENGERT_INLINE void element_to_host(void* to, const Block& b, const std::byte* from, std::size_t bytes)
{
    if (owner_of(b).access.writers | b.access.writers) {
        std::memcpy(to, mirrored(b) + (from - b.data), bytes);
        return;
    }
    const DeviceTable& table = device_table(b.device());
    table.to_host(to, from, bytes);
    table.counts->to_host.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace detail
}  // namespace wengert

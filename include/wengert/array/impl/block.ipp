// The bodies of block.hpp: the end of a block, and elements that do not lie in its header. With WENGERT_COMPILED only
// wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../block.hpp"

namespace wengert {

/// Elements that belong to another device, or to the caller.
__attribute__((noinline)) inline void return_elements(Block* b) noexcept
{
    if (b->device()) {
        if (b->capacity) device_table(b->device()).give(b->data, b->capacity);
        if (Thread* t = this_thread) t->pool.stats().current_bytes -= static_cast<std::int64_t>(b->capacity);
        mirror_of(*b).~Ref<Block>();
        if (b->lent) lender_of(*b).~LentOwner();
        return;
    }
    std::launder(reinterpret_cast<LentOwner*>(b->local))->~LentOwner();
}

/// Of an owner.
inline void give_elements_back(Thread* t, Block* b) noexcept
{
    if (b->capacity) {
        if (b->access.device) [[unlikely]]
            return_elements(b);
        else if (t)
            t->pool.give(b->data, b->capacity);
        else
            std::free(b->data);
    } else if (b->lent) [[unlikely]] {
        return_elements(b);
    }
}

WENGERT_INLINE void destroy_block(Counted* counted) noexcept
{
    auto* b = static_cast<Block*>(counted);
    Thread* t = this_thread;
    Block* base = b->base;
    if (base)
        b->view_strides.~Strides();
    else
        give_elements_back(t, b);
    b->~Block();
    if (t)
        t->blocks.give(b);
    else
        std::free(b);
    if (base) release(base, Block::disposal);  // one level deep: a base is no view
}

WENGERT_INLINE void drop_elements(Block& b) noexcept
{
    Block* base = std::exchange(b.base, nullptr);
    if (base)
        b.view_strides.~Strides();
    else
        give_elements_back(this_thread, &b);
    b.data = nullptr;
    b.capacity = 0;
    b.strided = b.lent = false;
    b.access.device = 0;
    if (base) release(base, Block::disposal);
}

WENGERT_INLINE __attribute__((noinline)) void take_elements(Thread& t, Block* b, std::size_t bytes)
{
    if (t.planned.data && t.planned.bytes == bytes && t.planned.device == 0) [[unlikely]] {
        b->data = std::exchange(t.planned.data, nullptr);
        return;
    }
    take_returned(t);
    try {
        b->data = static_cast<std::byte*>(t.pool.take(bytes, b->capacity));
    } catch (...) {
        b->capacity = 0;  // set, but there are no elements
        destroy_block(b);
        throw;
    }
}

[[noreturn]] WENGERT_INLINE void refuse_shape(const Shape& shape)
{
    throw MemoryError("[memory] cannot allocate the elements of shape " + to_string(shape));
}

WENGERT_INLINE Ref<Block> make_block(DType dtype, const Shape& shape)
{
    std::size_t count = 1;
    for (auto e : shape)
        if (__builtin_mul_overflow(count, static_cast<std::size_t>(e), &count)) refuse_shape(shape);
    return make_block(current_thread(), dtype, shape, count);
}

}  // namespace wengert

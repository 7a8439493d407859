// Block: the header of an array (shape, dtype, where its elements are) and, up to 128 bytes, the elements themselves.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "../base/dtype.hpp"
#include "../base/shape.hpp"
#include "counted.hpp"

namespace wengert {

/// A type-erased array. A block either owns its elements (contiguous, row major) or is a view: `base` is then the
/// owner, never another view, and `strides` tell where the elements are.
struct Block : Counted {
    static constexpr std::size_t inline_bytes = 128;

    std::byte* data = nullptr;  ///< the first element
    Block* base = nullptr;      ///< the owner of the elements that a view shows
    std::size_t count = 0;      ///< elements
    std::size_t capacity = 0;   ///< bytes taken from the pool; 0 when the elements are in line or borrowed
    DType dtype{};
    bool strided = false;  ///< a view whose elements do not lie in row-major order
    bool lent =
        false;  ///< the elements are the caller's, `local` holds their owner; nothing is written there
    std::uint8_t variables = 0;  ///< so often requires_grad() has made a variable of it, modulo 256
    /// What keeps an operation from reading `data` at once: nearly always nothing, so both are looked at together.
    struct Access {
        std::uint16_t writers = 0;  ///< scoped writers that live: recording from it throws
        std::uint8_t device =
            0;  ///< where the elements are (array/device.hpp); not on the host: never in line
        /// Made of variables in a first run of a checkpoint: recorded nowhere, and yet no constant (tape/run_log.hpp).
        bool unrecorded : 1 = false;
        /// A value of the function that its owner's thread is tracing (graph/ir/trace.hpp): no other thread may compute with it.
        bool traced : 1 = false;
        std::uint8_t unused : 6 = 0;
        std::uint32_t bits() const noexcept { return std::bit_cast<std::uint32_t>(*this); }
    } access;
    Shape shape;
    std::uint64_t run = 0;  ///< the last run with a log (tape/run_log.hpp) in which an operation made it
    union {
        alignas(64) std::byte local[inline_bytes];
        Strides view_strides;  ///< of views
    };

    static const Disposal disposal;

    template <class T> T* as() noexcept { return reinterpret_cast<T*>(data); }
    template <class T> const T* as() const noexcept { return reinterpret_cast<const T*>(data); }

    bool is_view() const noexcept { return base != nullptr; }
    Strides strides() const { return strided ? view_strides : row_major(shape); }
    std::size_t bytes() const noexcept { return count * size_of(dtype); }
    /// The number of its device, 0 on the host.
    std::uint8_t device() const noexcept { return access.device; }

private:
    Block() noexcept {}
    ~Block() {}
    friend Ref<Block> make_small_block(Thread&, DType, const Shape&, std::size_t);
    friend Block* make_header(Thread&, DType, const Shape&, std::size_t);
    friend Ref<Block> make_view(const Ref<Block>&, const Shape&, const Strides*, std::int64_t);
    friend void destroy_block(Counted*) noexcept;
};

using LentOwner = std::shared_ptr<const void>;  ///< keeps the memory of a lent block

/// In owners on other devices, `local` holds a copy on the host, if one has been asked for (array/elsewhere.hpp).
inline Ref<Block>& mirror_of(Block& b) noexcept
{
    return *std::launder(reinterpret_cast<Ref<Block>*>(b.local));
}

/// Of lent blocks on other devices the owner is kept beside that.
inline LentOwner& lender_of(Block& b) noexcept
{
    return *std::launder(reinterpret_cast<LentOwner*>(b.local + alignof(std::max_align_t)));
}

void destroy_block(Counted* counted) noexcept;
inline const Disposal Block::disposal{destroy_block, true};

/// Gives back the elements, or a view's share in them, of a block that nobody will read again. What is left stands for the value
/// by its address, type and shape.
void drop_elements(Block& b) noexcept;

/// Room for a header. Before a new one is made, what other threads have handed back is taken: a thread may do nothing else than make
/// tensors for others.
inline void* take_header(Thread& t)
{
    if (!t.blocks.has_free()) [[unlikely]]
        take_returned(t);
    return t.blocks.take<sizeof(Block)>();
}

/// A header without elements. Its own function, so that the short path below stays short.
inline Block* make_header(Thread& t, DType dtype, const Shape& shape, std::size_t count)
{
    Block* b = new (take_header(t)) Block;
    b->owner = &t;
    b->dtype = dtype;
    b->count = count;
    if (shape.size() <= Extents::inline_rank) [[likely]] {
        b->shape.copy_inline(shape);
    } else {
        try {
            memory::inject_failure();
            b->shape = shape;
        } catch (...) {
            t.blocks.give(b);
            throw;
        }
    }
    return b;
}

/// A block whose elements lie in its header: at most `inline_bytes` of them, a rank that lies in line.
[[gnu::always_inline]] inline Ref<Block> make_small_block(Thread& t, DType dtype, const Shape& shape,
                                                          std::size_t count)
{
    Block* b = new (take_header(t)) Block;
    b->owner = &t;
    b->dtype = dtype;
    b->count = count;
    b->data = b->local;
    b->shape.copy_inline(shape);
    return Ref<Block>::adopt(b);
}

/// Elements from the thread's pool, or where a plan says. Throws MemoryError, and then b is gone.
void take_elements(Thread& t, Block* b, std::size_t bytes);
[[noreturn]] void refuse_shape(const Shape& shape);

/// A new block on the host with uninitialised elements. `count` must be the product of the shape. Throws MemoryError.
inline Ref<Block> make_block(Thread& t, DType dtype, const Shape& shape, std::size_t count)
{
    if (count > max_elements) [[unlikely]]
        refuse_shape(shape);
    Block* b = make_header(t, dtype, shape, count);
    const std::size_t bytes = count * size_of(dtype);
    if (bytes <= Block::inline_bytes)
        b->data = b->local;
    else
        take_elements(t, b, bytes);
    return Ref<Block>::adopt(b);
}

Ref<Block> make_block(DType dtype, const Shape& shape);

/// A block whose elements belong to somebody else, who keeps them as long as it or a view of it lives.
inline Ref<Block> make_borrowed(DType dtype, const Shape& shape, std::byte* data)
{
    Block* b = make_header(current_thread(), dtype, shape, element_count(shape));
    b->data = data;
    return Ref<Block>::adopt(b);
}

/// The same, of the caller's memory: never written to, and kept by its owner until nobody reads it any more.
inline Ref<Block> make_lent(DType dtype, const Shape& shape, std::byte* data, LentOwner owner)
{
    Ref<Block> b = make_borrowed(dtype, shape, data);
    new (b->local) LentOwner(std::move(owner));
    b->lent = true;
    return b;
}

/// A view of `of` that starts `offset` elements after its first one. No strides: the elements are contiguous.
inline Ref<Block> make_view(const Ref<Block>& of, const Shape& shape, const Strides* strides,
                            std::int64_t offset)
{
    Thread& t = current_thread();
    Block* b = new (take_header(t)) Block;
    auto view = Ref<Block>::adopt(b);
    b->owner = &t;
    b->shape = shape;
    b->count = element_count(shape);
    b->dtype = of->dtype;
    b->data = of->data + offset * static_cast<std::int64_t>(size_of(of->dtype));
    b->access.device = of->access.device;
    new (&b->view_strides) Strides;
    b->base = of->base ? of->base : of.get();
    retain(b->base);
    if (strides && *strides != row_major(shape) && b->count > 1) {
        b->view_strides = *strides;
        b->strided = true;
    }
    return view;
}

/// The same elements under a header of their own.
inline Ref<Block> another_header(const Ref<Block>& b)
{
    return make_view(b, b->shape, b->strided ? &b->view_strides : nullptr, 0);
}

/// True when nobody else can see the elements: a unique owner, or the only view of an owner that nobody holds. Lent memory is
/// always seen by its owner.
inline bool may_write(const Block& b) noexcept
{
    return is_unique(&b) && !b.lent && (b.base == nullptr || (is_unique(b.base) && !b.base->lent));
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/block.ipp"
#endif
